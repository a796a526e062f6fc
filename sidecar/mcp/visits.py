"""Visit: one process that serves a guest's tools, for as long as its connection lasts.

    visit  {agent, folder}  →  {"token"}  |  {"refused": words}

The token is used for calls (calls.py), like a session's. The session and the token end with the connection.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from sidecar.mcp.arguments import LONGEST_PATH
from sidecar.mcp.guest_names import GUESTS, SHOWN
from sidecar.mcp.tokens import Tokens
from sidecar.workspace.ports.ports import AgentFailed


class Guests(Protocol):
    """`workspace.guests.Guests`; see there for the contract of the methods."""

    def open(self, agent: str, folder: str, *, allowed: bool | None = None) -> str: ...
    def close(self, session_id: str) -> None: ...


class Visit:
    def __init__(self, guests: Guests, tokens: Tokens, *, allowed: bool | None = None) -> None:
        """`allowed`: the answer, if the user is not to be asked. None: ask."""
        self._guests = guests
        self._tokens = tokens
        self._allowed = allowed
        self._session = ""

    def methods(self) -> dict[str, Callable[[Mapping[str, Any]], Awaitable[object]]]:
        return {"visit": self.visit}

    async def visit(self, params: Mapping[str, Any]) -> object:
        agent, folder = params.get("agent"), params.get("folder")
        name = SHOWN.get(agent) if isinstance(agent, str) else None
        if name is None:
            return {"refused": f"this acp-sidecar knows no such agent; it knows: {', '.join(GUESTS)}"}
        if not isinstance(folder, str) or not os.path.isabs(folder) or "\0" in folder:
            return {"refused": "the folder should be an absolute path"}
        if len(folder) > LONGEST_PATH:
            return {"refused": "the folder's path is too long"}
        self.gone()  # a second visit replaces the first
        try:
            self._session = self._guests.open(name, folder, allowed=self._allowed)
        except AgentFailed as failed:
            return {"refused": failed.message}
        return {"token": self._tokens.make(self._session)}

    def gone(self) -> None:
        """The process has hung up."""
        if self._session:
            self._tokens.forget(self._session)
            self._guests.close(self._session)
            self._session = ""
