"""Caller: passes a tool's call from its process to the sidecar, and says so in words if there is no sidecar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import anyio

from sidecar.mcp.local_tools import LOCAL, Local
from sidecar.mcp.sidecars import Connect, Sidecar

GONE = (
    "The editor or its acp-sidecar is not running any more, so the text as the user sees it is not known. "
    "Use your own file tools: they work on the disk"
)
NO_SIDECAR = "no_sidecar"
"""The `errorKind` if nothing was done because there is no sidecar for the call. opencode.js then works on the disk."""
NO_TOKEN = "acp-sidecar mcp was started without a session: only agents that the editor starts are given one. Use your own file tools"


class Caller:
    """Passes calls to the sidecar. It connects at the first call, and again after the connection was lost."""

    def __init__(self, token: str, connect: Connect, *, numbered: bool = False, whole: bool = False) -> None:
        """`whole`: the other side carries out every call, including the parts that are usually done here."""
        self._local: Mapping[str, Local] = {} if whole else LOCAL
        self._numbered = numbered
        self._token = token
        self._connect = connect
        self._sidecar: Sidecar | None = None
        self._connecting = anyio.Lock()

    async def hello(self) -> None:
        """Tell the sidecar that the tools are there. The first call shows whether it heard this."""
        if self._token:
            await self._asked("hello", {"token": self._token})

    async def call(self, name: str, arguments: Mapping[str, Any], session: str = "") -> dict[str, Any]:
        """MCP's CallToolResult as JSON. Never raises for a fault of the sidecar. `session`: see `library.SESSION`."""

        async def ask(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
            return await self.ask(name, arguments, session)

        return await carried_out(ask, name, arguments, numbered=self._numbered, parts=self._local)

    async def removes(self, path: str, session: str) -> None:
        """Tell the sidecar that the agent is about to remove this file. It does not matter to the agent whether the sidecar
        hears it."""
        if self._token:
            await self._asked("removes", {"token": self._token, "session": session, "path": path})

    async def ask(self, name: str, arguments: Mapping[str, Any], session: str = "") -> dict[str, Any]:
        if not self._token:
            return not_done(NO_TOKEN)
        params = {"token": self._token, "session": session, "name": name, "arguments": dict(arguments)}
        return await self._asked("tool", params)

    async def _asked(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        try:
            async with self._connecting:  # calls are sent in the order in which they came
                if self._sidecar is None:
                    self._sidecar = await self._connect()
                sidecar = self._sidecar
        except ConnectionError as error:
            return not_done(f"{GONE} ({error})")
        try:
            answer = await sidecar.call(method, params)
        except ConnectionError as error:
            self._sidecar = None
            return failed(f"{GONE} ({error})")
        except ValueError as error:
            return failed(str(error))
        return not_done(str(answer["refused"])) if "refused" in answer else answer


class Ask(Protocol):
    """Passes a call on, and returns the answer."""

    async def __call__(self, name: str, arguments: Mapping[str, Any], /) -> dict[str, Any]: ...


async def carried_out(
    ask: Ask, name: str, arguments: Mapping[str, Any], *, numbered: bool, parts: Mapping[str, Local] = LOCAL
) -> dict[str, Any]:
    """The answer to a tool's call. A part of the call may be carried out here (`parts`, by tool)."""
    local = parts.get(name)
    answer = await (ask(name, arguments) if local is None else local(ask, arguments))
    return _numbered(answer, arguments) if numbered and name == "Read" else answer


def _numbered(answer: dict[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer with a number and a tab before each line, as in Claude's own Read; also before the empty line after a final
    line end."""
    if answer.get("isError"):
        return answer
    first = max(1, arguments.get("offset") or 1)
    content = [
        {**block, "text": "\n".join(f"{n}\t{line}" for n, line in enumerate(_lines(block["text"]), first))}
        if block.get("type") == "text"
        else block
        for block in answer["content"]
    ]
    return {**answer, "content": content}


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def failed(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "isError": True}


def not_done(words: str) -> dict[str, Any]:
    return {**failed(words), "structuredContent": {"errorKind": NO_SIDECAR}}
