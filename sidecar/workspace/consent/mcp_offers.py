"""McpOffers: offers MCP servers to an agent, which starts or calls them itself: the sidecar's own, and those of the
user's settings.

An editor may have merged the settings with a repository's. So the user is asked once about a server that was never
approved on this machine, and sees exactly what would run or be called. Approvals are stored with those of agents
(approvals.py). A refused server is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from sidecar.config import AgentCommand, McpServer, Transport
from sidecar.core.escape import escape
from sidecar.core.json_types import Json
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State


class McpOffers:
    def __init__(self, state: State, consent: Consent, editor: Editor) -> None:
        self._state = state
        self._consent = consent
        self._editor = editor
        self.own: Callable[[Session], Json | None] = lambda session: None
        """The sidecar's own server for a session, in ACP's shape. It needs no question, because it is how the agent reaches us."""

    def own_for(self, session: Session) -> Json | None:
        """The sidecar's own server; None if it is switched off, or if a server of the user's has its name."""
        if self._state.settings.own_tools == "off":
            return None
        own = self.own(session)
        users = {server.get("name") for server in session.request.mcp_servers}
        users |= {server.name for server in self._state.settings.mcp_servers}
        return own if own is not None and own.get("name") not in users else None

    def own_for_everybody(self) -> bool:
        """Whether it is offered even to agents whose own tools are not led to it. Some agents use the server of one
        session for another, with its rights."""
        return self._state.settings.own_tools == "all"

    async def to(self, session: Session) -> list[Json]:
        """The servers for `session/new`, in ACP's shape. Servers that were given with the session replace those of the same name."""
        agent = self._state.settings.agents.get(session.agent)
        by = agent.transport if agent is not None else None
        given = {server.get("name") for server in session.request.mcp_servers}
        offered: list[Json] = []
        for server in self._state.settings.mcp_servers:
            if server.name in given:
                continue
            if await self._consent.to_offer(session, server.name, _approvable(server, by), server.url):
                offered.append(_in_acp(server))
            else:
                self._editor.show(
                    "info", f"{session.agent} was not given the MCP server {escape(server.name)}."
                )
        return offered


def _approvable(server: McpServer, by: Transport | None) -> AgentCommand:
    """The subject of an approval. A URL can never be mistaken for a program. `by`: the agent's transport, because that
    is what starts or calls the server."""
    if server.url:
        return AgentCommand(f"{server.type} {server.url}", env=server.headers, transport=by)
    return AgentCommand(server.command, server.args, server.env, transport=by)


def _in_acp(server: McpServer) -> Json:
    """ACP, "MCP servers": stdio has no type."""
    if server.url:
        headers = [{"name": name, "value": value} for name, value in server.headers.items()]
        return {"type": server.type, "name": server.name, "url": server.url, "headers": headers}
    env = [{"name": name, "value": value} for name, value in server.env.items()]
    return {"name": server.name, "command": server.command, "args": list(server.args), "env": env}
