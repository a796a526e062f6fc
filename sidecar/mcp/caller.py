"""Caller: hands a tool's call from its process to the sidecar, and says in words when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from sidecar.mcp.local_tools import LOCAL
from sidecar.mcp.tool_process import Connect, Sidecar

GONE = (
    "The editor or its acp-sidecar is not running any more, so the text as the user sees it is not known. "
    "Use your own file tools: they work on the disk"
)
NO_TOKEN = "acp-sidecar mcp was started without a session: only agents that the editor starts are given one. Use your own file tools"


class Caller:
    """Hands calls to the sidecar; connects at the first one, and again after the connection was lost."""

    def __init__(self, token: str, connect: Connect) -> None:
        self._token = token
        self._connect = connect
        self._sidecar: Sidecar | None = None
        self._connecting = anyio.Lock()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """MCP's CallToolResult as JSON. Never raises what is the sidecar's fault."""
        local = LOCAL.get(name)
        return await (self.ask(name, arguments) if local is None else local(self.ask, arguments))

    async def ask(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if not self._token:
            return _failed(NO_TOKEN)
        params = {"token": self._token, "name": name, "arguments": dict(arguments)}
        try:
            async with self._connecting:  # calls go out in the order in which they came
                if self._sidecar is None:
                    self._sidecar = await self._connect()
                sidecar = self._sidecar
            answer = await sidecar.call("tool", params)
        except ConnectionError as error:
            self._sidecar = None
            return _failed(f"{GONE} ({error})")
        except ValueError as error:
            return _failed(str(error))
        return _failed(str(answer["refused"])) if "refused" in answer else answer


def _failed(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "isError": True}
