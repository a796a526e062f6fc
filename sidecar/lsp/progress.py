"""Progress: shows a turn or other long work as `window/workDoneProgress`, which the user can cancel (LSP 3.15, Work Done Progress).

All methods are synchronous. `begin` is sent when the client has answered `create` (it may refuse); until then the newest report is kept. A client
without the capability gets nothing here, only the workspace's messages and the transcript.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from sidecar.lsp.wire_port import Wire
from sidecar.lsp.workspace_port import TaskStarter
from sidecar.workspace.ports.ports import EditorGone, EditorRefused

CREATE_WITHIN = 10.0
"""Seconds for the client's answer to `create`, which needs no user. Afterwards the work goes on without a progress."""


class ProgressBoard:
    """The open progresses of one connection. The server passes `window/workDoneProgress/cancel` to `cancelled`."""

    def __init__(self, wire: Wire, tasks: TaskStarter) -> None:
        self._wire = wire
        self._tasks = tasks
        self._open: dict[str, _Shown] = {}
        self._tokens = (f"sidecar-{number}" for number in itertools.count(1))

    def begin(self, title: str, on_cancel: Callable[[], None] | None) -> _Shown:
        token = next(self._tokens)
        shown = _Shown(self._wire, token, title, on_cancel, self._forget)
        self._open[token] = shown
        self._tasks.start_soon(self._create, shown)
        return shown

    def cancelled(self, token: object) -> None:
        """The user pressed cancel. Unknown and ended tokens are ignored: the end was already on its way."""
        shown = self._open.get(token) if isinstance(token, str) else None
        if shown is not None:
            shown.cancel()

    async def _create(self, shown: _Shown) -> None:
        answer = self._wire.request("window/workDoneProgress/create", {"token": shown.token})
        try:
            async with asyncio.timeout(CREATE_WITHIN):
                await answer
        except (EditorRefused, EditorGone, TimeoutError):
            self._forget(shown.token)  # "a server must not send any progress notification using the token"
        else:
            shown.created()

    def _forget(self, token: str) -> None:
        self._open.pop(token, None)


class NoProgress:
    """For clients without work done progress."""

    def report(self, message: str) -> None: ...
    def end(self, message: str) -> None: ...


class _Shown:
    def __init__(
        self,
        wire: Wire,
        token: str,
        title: str,
        on_cancel: Callable[[], None] | None,
        forget: Callable[[str], None],
    ) -> None:
        self.token = token
        self._wire = wire
        self._title = title
        self._on_cancel = on_cancel
        self._forget = forget
        self._begun = False
        self._message: str | None = None
        self._ended: str | None = None

    def report(self, message: str) -> None:
        if self._ended is not None:
            return
        self._message = message
        if self._begun:
            self._send({"kind": "report", "message": message}, coalesce=True)

    def end(self, message: str) -> None:
        if self._ended is not None:
            return
        self._ended = message
        self._on_cancel = None
        if self._begun:
            self._finish()

    def cancel(self) -> None:
        on_cancel, self._on_cancel = self._on_cancel, None
        if on_cancel is not None:
            on_cancel()

    def created(self) -> None:
        self._begun = True
        begin: dict[str, object] = {
            "kind": "begin",
            "title": self._title,
            "cancellable": self._on_cancel is not None,
        }
        if self._message is not None:
            begin["message"] = self._message
        self._send(begin)
        if self._ended is not None:
            self._finish()

    def _finish(self) -> None:
        self._forget(self.token)
        end: dict[str, object] = {"kind": "end"}
        if self._ended:
            end["message"] = self._ended
        self._send(end)

    def _send(self, value: dict[str, object], *, coalesce: bool = False) -> None:
        key = ("progress", self.token) if coalesce else None
        self._wire.notify("$/progress", {"token": self.token, "value": value}, key)
