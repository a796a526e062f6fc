"""The same server with an ACP client of the Python SDK in the process, as its documentation makes one: agents read its documents.

bench/agent {command, args, cwd}    starts an agent and opens a session with it
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import acp
from acp.schema import ClientCapabilities, FileSystemCapabilities, ReadTextFileResponse, WriteTextFileResponse

from benchmarks._peers.pygls_server import server
from sidecar.core.uri import from_path

held = AsyncExitStack()


class Client(acp.Client):
    def __init__(self) -> None:
        self._split: tuple[str, int | None, list[str]] = ("", None, [])

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        document = server.workspace.get_text_document(from_path(path))
        if line is None and limit is None:
            return ReadTextFileResponse(content=document.source)
        if self._split[:2] != (document.uri, document.version):
            self._split = (document.uri, document.version, document.lines)
        first = max((line or 1) - 1, 0)
        last = None if limit is None else first + limit
        return ReadTextFileResponse(content="".join(self._split[2][first:last]))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> WriteTextFileResponse:
        return WriteTextFileResponse()


@server.feature("bench/agent")
async def agent(params: Any) -> dict[str, str]:
    connection, _ = await held.enter_async_context(
        acp.spawn_agent_process(
            Client(),
            params.command,
            *params.args,
            cwd=params.cwd,
            transport_kwargs={"limit": 64 * 1024 * 1024},
        )
    )
    can = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True))
    await connection.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=can)
    session = await connection.new_session(cwd=params.cwd, mcp_servers=[])
    return {"sessionId": session.session_id}


if __name__ == "__main__":
    server.start_io()
