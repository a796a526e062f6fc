"""Serving: everything that stands between a client and one agent, put together."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.acp.byte_streams import Sink
from sidecar.acp.quirks import Quirks
from sidecar.proxy.conversations import Conversations, SessionFolders
from sidecar.proxy.file_requests import FileRequests
from sidecar.proxy.guest import Guest, Who
from sidecar.proxy.hosts import Hosts
from sidecar.proxy.own_tools import OwnTools
from sidecar.proxy.passing import Passing
from sidecar.proxy.routes import Routes

LAST_WRITES = 5.0
"""The seconds in which writes that have begun may end."""


class Serving:
    def __init__(
        self, name: str, env: Mapping[str, str], to_agent: Sink, quirks: Quirks, own_tools: OwnTools
    ) -> None:
        """`name`: the agent's name that the user sees."""
        self._own_tools = own_tools
        self._who = Who(name, quirks.rereads)
        self._hosts = Hosts(env)
        self._conversations = Conversations(self._session)
        self._requests = FileRequests(self._conversations.guest, to_agent, quirks)
        self.passing = Passing(self._conversations, self._requests, own_tools)

    def _session(self, folders: SessionFolders, session_id: str, led: str) -> Routes:
        who = self._who._replace(tools=self._own_tools.secret_of(led, session_id))
        return Routes(lambda at: Guest(who, at, self._hosts), folders, self._hosts.editors_folder)

    async def answered(self) -> None:
        """Wait until the agent's requests are answered, or LAST_WRITES is over."""
        await self._requests.over(LAST_WRITES)

    async def aclose(self) -> None:
        await self.answered()
        for guest in self._conversations.guests:
            await guest.aclose()
        await self._hosts.aclose()
