"""ListFolder, and the list of files for Glob and Search. Glob and Search themselves run in the tool's own process (local_tools.py): a
pattern that takes for ever must not hold up the editor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sidecar.core.refusal import Refusal
from sidecar.mcp.answers import ToolAnswer, listed, refused
from sidecar.mcp.arguments import ToolArguments
from sidecar.mcp.workspace_port import McpWorkspace
from sidecar.workspace.sessions.agent_tools import ToolSession

MAX_DEPTH = 20


class BrowseTools:
    def __init__(self, service: McpWorkspace) -> None:
        self._service = service

    def table(self) -> dict[str, Callable[[ToolSession, ToolArguments], Awaitable[ToolAnswer]]]:
        return {"ListFolder": self.list_folder, "Files": self.files}

    async def list_folder(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("path", "depth")
        path = arguments.path("path", session.folder)
        found = await self._service.tools.list_folder(
            session.id, path, arguments.number("depth", 1, MAX_DEPTH) or 1
        )
        if isinstance(found, Refusal):
            return refused(found, path)
        told: dict[str, object] = {"path": found.path, "entries": found.entries}
        if found.left_out:
            told["leftOut"] = (
                f"more than {len(found.entries)} entries; list a folder below, or with less depth"
            )
        return listed(told)

    async def files(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        """For the tool's own process only: not in its list of tools."""
        arguments.only("path", "texts")
        path = arguments.path("path", session.folder)
        found = await self._service.tools.files(session.id, path, arguments.flag("texts"))
        if isinstance(found, Refusal):
            return refused(found, path)
        told: dict[str, object] = {
            "folder": found.folder,
            "names": found.names,
            "texts": found.texts,
            "needPermission": found.need_permission,
            "tooMany": found.too_many,
        }
        return ToolAnswer((), structured=told)
