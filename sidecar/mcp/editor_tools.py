"""OpenDocuments and Changes: what the user has open, and which changes of agents they have not reviewed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sidecar.core.refusal import Refusal
from sidecar.mcp.answers import Answer, listed, refused
from sidecar.mcp.arguments import Arguments
from sidecar.mcp.service import Service
from sidecar.workspace.agent_tools import ToolSession


class EditorTools:
    def __init__(self, service: Service) -> None:
        self._service = service

    def table(self) -> dict[str, Callable[[ToolSession, Arguments], Awaitable[Answer]]]:
        return {"OpenDocuments": self.open_documents, "Changes": self.changes}

    async def open_documents(self, session: ToolSession, arguments: Arguments) -> Answer:
        arguments.only()
        return listed({"documents": self._service.tools.open_documents(session.id)})

    async def changes(self, session: ToolSession, arguments: Arguments) -> Answer:
        arguments.only("file_path")
        path = arguments.path(default="") if arguments.text("file_path", "") else None
        found = await self._service.tools.changes(session.id, path)
        return refused(found, path or "") if isinstance(found, Refusal) else listed({"changes": found})
