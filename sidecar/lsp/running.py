"""Running: the editor's requests and notifications in progress."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from sidecar.lsp.messages import Id

Done = Callable[[Any, BaseException | None], None]
"""Called with (result, None), or (None, error); the error may be CancelledError."""


class Running:
    """Replaces pygls's table, because of what was measured: handlers awaited by its built-ins leak, a cancelled command's coroutine runs on,
    SystemExit in a handler ends the process."""

    def __init__(self) -> None:
        self._requests: dict[Id, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Future[Any]] = set()

    def __contains__(self, msg_id: Id) -> bool:
        return msg_id in self._requests

    def __len__(self) -> int:
        """The number of requests, without notifications."""
        return len(self._requests)

    def start(self, msg_id: Id | None, work: Callable[[], Any], done: Done) -> None:
        """Call `work` now, in the order of arrival; an awaitable that it returns becomes a task. `done` is called once."""
        try:
            result = work()
        except (Exception, asyncio.CancelledError, SystemExit) as error:  # noqa: BLE001 - every request is answered
            done(None, error)
            return
        if not inspect.isawaitable(result):
            done(result, None)
            return
        task = asyncio.ensure_future(_contained(result))
        self._tasks.add(task)
        if msg_id is not None:
            self._requests[msg_id] = task

        def ended(task: asyncio.Future[Any]) -> None:
            self._tasks.discard(task)
            if msg_id is not None:
                self._requests.pop(msg_id, None)
            if inspect.iscoroutine(result):
                result.close()  # if cancelled before it began, nobody else closes it
            if task.cancelled():
                done(None, asyncio.CancelledError())
            elif (error := task.exception()) is not None:
                done(None, error)
            else:
                done(task.result(), None)

        task.add_done_callback(ended)

    def cancel(self, msg_id: Id | None) -> None:
        """Cancel a request. `done` is called when its work has ended."""
        task = None if msg_id is None else self._requests.get(msg_id)
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    async def settle(self, seconds: float) -> None:
        """Wait up to `seconds` for cancelled work to end, so that it is answered."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)


async def _contained(work: Awaitable[Any]) -> Any:
    """Convert SystemExit, which would end the whole event loop."""
    try:
        return await work
    except SystemExit as error:
        raise RuntimeError("a handler called sys.exit") from error
