"""OpenDocuments, Selection, Diagnostics, Watch and Changes: what the user has open, has selected and types, and which changes of agents the
user has not reviewed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sidecar.core.refusal import Refusal
from sidecar.mcp.answers import ToolAnswer, listed, refused, said
from sidecar.mcp.arguments import ToolArguments
from sidecar.mcp.schemas import MAX_SECONDS, SAVE, SECONDS
from sidecar.mcp.workspace_port import McpWorkspace
from sidecar.workspace.sessions.agent_tools import ToolSession


class EditorTools:
    def __init__(self, service: McpWorkspace) -> None:
        self._service = service

    def table(self) -> dict[str, Callable[[ToolSession, ToolArguments], Awaitable[ToolAnswer]]]:
        return {
            "OpenDocuments": self.open_documents,
            "Selection": self.selection,
            "Diagnostics": self.diagnostics,
            "Watch": self.watch,
            "Changes": self.changes,
            SAVE: self.save,
        }

    async def open_documents(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only()
        return listed({"documents": self._service.tools.open_documents(session.id)})

    async def selection(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only()
        found = await self._service.tools.editor_context.selection(session.id)
        return refused(found, "") if isinstance(found, Refusal) else listed(found)

    async def diagnostics(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("file_path")
        path = _path(arguments)
        found = await self._service.tools.editor_context.diagnostics(session.id, path)
        return refused(found, path or "") if isinstance(found, Refusal) else listed({"diagnostics": found})

    async def watch(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("file_path", "since", "seconds")
        path, since = arguments.path(), arguments.text("since", "") or None
        seconds = arguments.number("seconds", 1, MAX_SECONDS) or SECONDS
        found = await self._service.tools.file_changes.wait(session.id, path, since, seconds)
        return refused(found, path) if isinstance(found, Refusal) else listed(found)

    async def save(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        """Never an error: the answer to an agent's hook must not keep the agent from working."""
        arguments.only("file_path")
        path = _path(arguments)
        return said("saved" if path is not None and await self._service.save_first(session.id, path) else "")

    async def changes(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("file_path")
        path = _path(arguments)
        found = await self._service.tools.changes(session.id, path)
        if isinstance(found, Refusal):
            return refused(found, path or "")
        told: dict[str, object] = {"changes": found.rows}
        if found.need_permission:
            told["needPermission"] = (
                f"{found.need_permission} files need the user's permission and were left out; name one to ask for it"
            )
        return listed(told)


def _path(arguments: ToolArguments) -> str | None:
    """None if no file is named."""
    return arguments.path() if arguments.text("file_path", "") else None
