"""MessageButtons: messages with a button that opens what they tell of, for clients that show such beside the text (`client.messageButtons`).

A `window/showMessageRequest` may also be a prompt that takes the keys of who types (Neovim, Emacs). To these the words alone are shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Protocol, cast

from sidecar.core.json_types import Json
from sidecar.lsp.service import TaskStarter
from sidecar.lsp.wire_port import Wire
from sidecar.workspace.ports.ports import EditorGone, EditorRefused, Opens

MOST = 16
"""Messages whose buttons wait to be pressed; further ones have none."""


class ShowAt(Protocol):
    async def __call__(self, client_uri: str, *, take_focus: bool, line: int | None = None) -> bool: ...


class MessageButtons:
    """Of one connection."""

    def __init__(self, wire: Wire, tasks: TaskStarter, show_document: ShowAt) -> None:
        self._wire = wire
        self._tasks = tasks
        self._show_document = show_document
        self._waiting = 0

    def show(self, message: Json, opens: Opens) -> bool:
        """`message`: what `window/showMessage` would tell. False if too many wait: nothing was shown."""
        if self._waiting >= MOST:
            return False
        self._waiting += 1
        request = {**message, "actions": [{"title": opens.label}]}
        answer = self._wire.request("window/showMessageRequest", request)
        self._tasks.start_soon(self._answered, answer, message, opens)
        return True

    async def _answered(self, answer: Awaitable[object], message: Json, opens: Opens) -> None:
        try:
            chosen = await answer
            if isinstance(chosen, Mapping) and cast(Json, chosen).get("title") == opens.label:
                await self._show_document(opens.uri, take_focus=True, line=opens.line)
        except EditorRefused:
            self._wire.notify("window/showMessage", message)
        except EditorGone:
            pass
        finally:
            self._waiting -= 1
