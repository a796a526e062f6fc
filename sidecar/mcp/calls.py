"""ToolCalls: what the bridge passes to the tools: the caller, the tool, and its answer.

    hello    {token}  →  {} | {"refused": words}
    removes  {token, session?, path}  →  {}: the agent is about to remove this file by itself
    tool     {token, session?, name, arguments}  →  {"content": […], "isError"?, "structuredContent"?}  |  {"refused": words}

`session`: needed with the token of an agent's process: one of its sessions, by the agent's own id. WORKING or "": the only one that has a
turn.

The calls of one connection begin in the order in which they come: a tool takes its places in the documents' queues before it awaits
anything.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from sidecar.core.refusal import Kind, Refusal
from sidecar.mcp.answers import ToolAnswer, failed, refused
from sidecar.mcp.arguments import ToolArguments, Wrong, quoted
from sidecar.mcp.browse_tools import BrowseTools
from sidecar.mcp.editor_tools import EditorTools
from sidecar.mcp.kept import KeptTexts
from sidecar.mcp.read_tools import ReadTools
from sidecar.mcp.tokens import WORKING, Tokens
from sidecar.mcp.workspace_port import McpWorkspace, ToolSession
from sidecar.mcp.write_tools import WriteTools

log = logging.getLogger(__name__)

Tool = Callable[[ToolSession, ToolArguments], Awaitable[ToolAnswer]]

NOBODY = (
    "this token belongs to no open session: the conversation was closed, or the editor was started again. "
    "Use your own file tools"
)


class McpCalls:
    def __init__(
        self,
        service: McpWorkspace,
        tokens: Tokens,
        session_of: Callable[[str, str], str | None] = lambda agent, reference: None,
        working: Callable[[str], str | None] = lambda agent: None,
    ) -> None:
        """`session_of`: the session that an agent knows by an id of its own. `working`: the agent's only session that has a turn."""
        self._service = service
        self._tokens = tokens
        self._session_of = session_of
        self._working = working
        self._kept = KeptTexts()
        self.tools: dict[str, Tool] = {
            **ReadTools(service).table(),
            **WriteTools(service).table(),
            **BrowseTools(service).table(),
            **EditorTools(service).table(),
        }

    def methods(self) -> dict[str, Callable[[Mapping[str, Any]], Awaitable[object]]]:
        """For the bridge's table."""
        return {"tool": self.call, "hello": self.hello, "removes": self.removes}

    async def hello(self, params: Mapping[str, Any]) -> object:
        """The tool process is there: the session's agent can use our tools in place of its own."""
        token = params.get("token")
        session_id = self._tokens.session(token) if isinstance(token, str) else None
        if session_id is not None:
            self._service.tools.arrived(session_id)
        elif not isinstance(token, str) or self._tokens.agent(token) is None:
            return {"refused": NOBODY}
        return {}

    async def removes(self, params: Mapping[str, Any]) -> object:
        session_id = self._speaks_for(params.get("token"), params.get("session"))
        path = params.get("path")
        if session_id is not None and isinstance(path, str):
            self._service.tools.removes(session_id, path)
        return {}

    async def call(self, params: Mapping[str, Any]) -> object:
        name, arguments = params.get("name"), params.get("arguments", {})
        session_id = self._speaks_for(params.get("token"), params.get("session"))
        session = self._service.tools.session(session_id) if session_id is not None else None
        if session is None:
            log.warning("a tool was called with a token that belongs to no session")
            return {"refused": NOBODY}
        tool = self.tools.get(name) if isinstance(name, str) else None
        if name in ("Read", "Edit", "Write"):
            self._service.tools.called(session.id)
        if tool is None or not isinstance(arguments, dict):
            return failed(f"there is no tool {quoted(name)}; there are: {', '.join(self.tools)}").as_json()
        given = cast("dict[str, object]", arguments)
        kept = self._kept.of(session.id, given)
        if isinstance(kept, Refusal):
            return refused(kept, "").as_json()
        try:
            async with self._service.guests.call(session.id) as no:
                answer = (
                    refused(no, "")
                    if no is not None
                    else await tool(session, ToolArguments(given, session.folder, kept=kept))
                )
        except Wrong as wrong:
            answer = refused(Refusal(Kind.BAD_PARAMS, f"{name}: {wrong}"), "")
        finally:
            kept.done()
        return answer.as_json()

    def _speaks_for(self, token: object, reference: object) -> str | None:
        if not isinstance(token, str):
            return None
        agent = self._tokens.agent(token)
        if agent is None:
            return self._tokens.session(token)
        if reference in (WORKING, ""):
            return self._working(agent)
        return self._session_of(agent, reference) if isinstance(reference, str) else None
