"""Read, ReadMany, ReadBytes: texts as the user sees them; images and other bytes as they are on the disk."""

from __future__ import annotations

import base64
import os
from collections.abc import Awaitable, Callable

from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind, Refusal
from sidecar.mcp.answers import ToolAnswer, failed, refused, said, text_block
from sidecar.mcp.arguments import ToolArguments
from sidecar.mcp.schemas import MAX_MANY
from sidecar.mcp.workspace_port import McpWorkspace
from sidecar.workspace.sessions.agent_tools import ToolSession
from sidecar.workspace.state.queues import Ticket

MAX_BYTES = 1024 * 1024
"""The most bytes of one ReadBytes."""
MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""The limit of the large providers' vision interfaces. A larger image would fail the turn."""
_IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_STARTS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


class ReadTools:
    def __init__(self, service: McpWorkspace) -> None:
        self._service = service

    def table(self) -> dict[str, Callable[[ToolSession, ToolArguments], Awaitable[ToolAnswer]]]:
        return {"Read": self.read, "ReadMany": self.read_many, "ReadBytes": self.read_bytes}

    async def read(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("file_path", "offset", "limit")
        path, line, limit = _part(arguments)
        ticket = self._service.ticket(session.id, path, "read")
        return await self._one(session, ticket, path, line, limit)

    async def read_many(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("files")
        parts: list[tuple[str, int | None, int | None]] = []
        for item in arguments.items("files", MAX_MANY):
            item.only("file_path", "offset", "limit")
            parts.append(_part(item))
        # takes all places in the queues at once: a later write of this session does not overtake any of them
        asked = [(self._service.ticket(session.id, path, "read"), path, *part) for path, *part in parts]
        content: list[Json] = []
        size = 0
        try:
            for number, (ticket, path, line, limit) in enumerate(asked):
                answer = await self._one(session, ticket, path, line, limit)
                size += sum(len(str(block.get("text", block.get("data", "")))) for block in answer.content)
                if number and size > session.max_bytes:
                    words = f"{len(asked) - number} files were left out: one answer holds {session.max_bytes} characters. Read them in another call"
                    content.append(text_block(words))
                    break
                content.append(text_block(f"{'error' if answer.is_error else 'file'}: {path}"))
                content += answer.content
        finally:
            for ticket, *_ in asked:
                ticket.release()
        return ToolAnswer(content)

    async def _one(
        self, session: ToolSession, ticket: Ticket, path: str, line: int | None, limit: int | None
    ) -> ToolAnswer:
        answer = await self._service.read(ticket, line, limit)
        if isinstance(answer, str):
            return said(answer)
        if answer.kind is Kind.BINARY and (image := _IMAGES.get(os.path.splitext(path)[1].lower())):
            return await self._image(session, path, image)
        return refused(answer, path)

    async def _image(self, session: ToolSession, path: str, kind: str) -> ToolAnswer:
        ticket = self._service.ticket(session.id, path, "read")
        found = await self._service.tools.read_bytes(ticket, 0, MAX_IMAGE_BYTES)
        if isinstance(found, Refusal):
            return refused(found, path)
        data, size = found
        if size > MAX_IMAGE_BYTES:
            return failed(f"{path} is an image of {size} bytes; at most {MAX_IMAGE_BYTES} can be shown")
        if not data.startswith(_STARTS[kind]):
            return failed(f"{path} is named like an image and is none; read it with ReadBytes")
        return ToolAnswer((_image_block(data, kind),))

    async def read_bytes(self, session: ToolSession, arguments: ToolArguments) -> ToolAnswer:
        arguments.only("file_path", "offset", "length")
        path = arguments.path()
        offset = arguments.number("offset", 0) or 0
        length = arguments.number("length", 1, MAX_BYTES) or MAX_BYTES
        ticket = self._service.ticket(session.id, path, "read")
        found = await self._service.tools.read_bytes(ticket, offset, length)
        if isinstance(found, Refusal):
            return refused(found, path)
        data, size = found
        whole = len(data) == size
        image = next((kind for kind, start in _STARTS.items() if whole and data.startswith(start)), None)
        if image is not None:
            return ToolAnswer((_image_block(data, image),), structured={"size": size, "offset": 0})
        told = {
            "size": size,
            "offset": offset,
            "length": len(data),
            "base64": base64.b64encode(data).decode(),
        }
        words = f"bytes {offset} to {offset + len(data)} of {size}, base64:\n{told['base64']}"
        return ToolAnswer((text_block(words),), structured=told)


def _part(arguments: ToolArguments) -> tuple[str, int | None, int | None]:
    return arguments.path(), arguments.number("offset", 0), arguments.number("limit", 0)


def _image_block(data: bytes, kind: str) -> Json:
    return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": kind}
