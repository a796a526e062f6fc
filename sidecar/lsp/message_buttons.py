"""MessageButtons: messages with buttons that open their subject or undo it, for clients that show buttons beside the text (`client.messageButtons`).

In other clients, a `window/showMessageRequest` may be a prompt that takes the keyboard focus from the user (Neovim, Emacs). They get only the
message.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, cast

from sidecar.core.json_types import Json
from sidecar.lsp.wire_port import Wire
from sidecar.lsp.workspace_port import TaskStarter
from sidecar.workspace.ports.ports import EditorGone, EditorRefused

MOST = 16
"""The number of messages whose buttons wait to be pressed. Further messages get no buttons."""


class Button(NamedTuple):
    label: str
    pressed: Callable[[], Awaitable[object]]


class MessageButtons:
    """The messages with buttons of one connection."""

    def __init__(self, wire: Wire, tasks: TaskStarter) -> None:
        self._wire = wire
        self._tasks = tasks
        self._waiting = 0

    def show(self, message: Json, buttons: Sequence[Button]) -> bool:
        """Show the message. `message`: as for `window/showMessage`. Returns False if too many wait; then nothing was shown."""
        if self._waiting >= MOST:
            return False
        self._waiting += 1
        request = {**message, "actions": [{"title": button.label} for button in buttons]}
        answer = self._wire.request("window/showMessageRequest", request)
        self._tasks.start_soon(self._answered, answer, message, buttons)
        return True

    async def _answered(self, answer: Awaitable[object], message: Json, buttons: Sequence[Button]) -> None:
        try:
            chosen = await answer
            title = cast(Json, chosen).get("title") if isinstance(chosen, Mapping) else None
            for button in buttons:
                if button.label == title:
                    await button.pressed()
        except EditorRefused:
            self._wire.notify("window/showMessage", message)
        except EditorGone:
            pass
        finally:
            self._waiting -= 1
