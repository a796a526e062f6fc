"""The official library's server over our streams: everything but the first answers.

The streams are ours because texts must arrive unchanged: the library's own streams replace what is not UTF-8. The library is
first told what `Front` has answered, and its own answers to that are dropped.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, BinaryIO, Protocol, cast

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from sidecar import __version__
from sidecar.mcp.front import MAX_LINE
from sidecar.mcp.schemas import INSTRUCTIONS, TOOLS

log = logging.getLogger(__name__)

Call = Callable[[str, Mapping[str, Any], str], Awaitable[dict[str, Any]]]
"""(a tool's name, its arguments, the session from SESSION) → MCP's CallToolResult as JSON."""
SESSION = "acp-sidecar/session"
"""The field in `_meta` of a call that names its session, by the agent's own id. Only a caller that speaks for a whole agent
needs it."""


def server(call: Call, offered: Sequence[Mapping[str, Any]] = TOOLS) -> Server[dict[str, Any]]:
    tools = types.ListToolsResult.model_validate({"tools": offered})

    async def list_tools(context: object, params: object) -> types.ListToolsResult:
        return tools

    async def call_tool(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        told: object = (params.meta or {}).get(SESSION)
        session = told if isinstance(told, str) else ""
        return types.CallToolResult.model_validate(await call(params.name, params.arguments or {}, session))

    return Server(
        "acp-sidecar",
        title="acp-sidecar",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


class ToolCaller(Protocol):
    async def hello(self) -> None:
        """The tools are there."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any], session: str, /) -> dict[str, Any]:
        """See Call."""
        ...


async def run(
    tools: ToolCaller,
    said: Sequence[bytes],
    left: bytes | None,
    lines: BinaryIO,
    write: Callable[[bytes], None],
    offered: Sequence[Mapping[str, Any]] = TOOLS,
) -> None:
    """Serve until the client hangs up. `said`: the lines that were answered already; `left`: a line that was read and not
    answered."""
    made = server(tools.call, offered)
    answered = {json.loads(line).get("id") for line in said} - {None}
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, [*said, *([] if left is None else [left])], lines, to_server, write)
        tasks.start_soon(_write, from_server, write, answered)
        tasks.start_soon(tools.hello)
        await made.run(from_client, to_client, made.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _read(
    first: Sequence[bytes],
    lines: BinaryIO,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    write: Callable[[bytes], None],
) -> None:
    async with to_server:
        for line in first:
            await _hand_over(line, to_server, write)
        while line := await anyio.to_thread.run_sync(lines.readline, MAX_LINE, abandon_on_cancel=True):
            await _hand_over(line, to_server, write)


async def _hand_over(
    line: bytes,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    write: Callable[[bytes], None],
) -> None:
    if not line.strip():
        return
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        # the library would say nothing, and the client would wait for ever
        write(json.dumps(_not_understood(line)).encode() + b"\n")
        return
    await to_server.send(SessionMessage(message))


def _not_understood(line: bytes) -> dict[str, Any]:
    """The error for a line that is no message (JSON-RPC 2.0, section 5.1)."""
    try:
        value: object = json.loads(line)
        number = cast("dict[str, object]", value).get("id") if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return _error(None, -32700, "that is not JSON in UTF-8")
    return _error(number if isinstance(number, str | int) else None, -32600, "that is no message of MCP")


def _error(number: str | int | None, code: int, words: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": words}}


async def _write(
    from_server: MemoryObjectReceiveStream[SessionMessage],
    write: Callable[[bytes], None],
    answered: set[str | int],
) -> None:
    async with from_server:
        async for sent in from_server:
            message = sent.message
            number = getattr(message, "id", None)
            if number in answered and not hasattr(message, "method"):
                answered.discard(number)
                continue
            text = message.model_dump_json(by_alias=True, exclude_unset=True)
            await anyio.to_thread.run_sync(write, text.encode() + b"\n")
