"""Pending: a request sent to the editor and not yet answered. Asked: all such requests, by id."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, cast

from sidecar.workspace.ports.ports import EditorGone, EditorRefused


class Pending:
    """A request that is sent before it is returned. Awaiting it gives the result as plain JSON, or raises EditorRefused (message, code) or EditorGone
    from `ports`. Cancelling the waiting task, or `withdraw`, sends `$/cancelRequest` to the editor; a late answer is ignored.
    """

    __slots__ = ("_future", "_on_withdrawn", "id")

    def __init__(self, request_id: str, on_withdrawn: Callable[[str], None]) -> None:
        self.id = request_id
        self._future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._on_withdrawn = on_withdrawn

    def __await__(self) -> Generator[object, None, object]:
        try:
            return (yield from self._future.__await__())
        except asyncio.CancelledError:
            self.withdraw()
            raise

    def withdraw(self) -> None:
        """Withdraw the request, because its answer is no longer wanted. Harmless after the answer."""
        if not self._future.done() or self._future.cancelled():
            self._future.cancel()
            self._on_withdrawn(self.id)

    def resolve(self, result: object) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def fail(self, error: Exception) -> None:
        if not self._future.done():
            self._future.set_exception(error)
            self._future.exception()  # retrieved, or asyncio complains if nobody waits

    def add_done_callback(self, callback: Callable[[asyncio.Future[object]], None]) -> None:
        self._future.add_done_callback(callback)


class Asked:
    """The open requests to one editor. `on_withdrawn(id)` is called for a request that is withdrawn before its answer."""

    def __init__(self, on_withdrawn: Callable[[str], None]) -> None:
        self._on_withdrawn = on_withdrawn
        self._open: dict[str, Pending] = {}
        self._serial = 0
        self._gone = False

    def new(self) -> Pending:
        """Return a new request, already failed with EditorGone if the connection has ended."""
        self._serial += 1
        pending = Pending(f"s{self._serial}", self._withdrawn)
        if self._gone:
            pending.fail(EditorGone("the editor's connection has ended"))
        else:
            self._open[pending.id] = pending
        return pending

    def answered(self, request_id: object, result: object, error: object) -> bool:
        """Deliver an answer. Returns False if nobody waits for it (withdrawn meanwhile, or never asked)."""
        pending = self._open.pop(request_id, None) if isinstance(request_id, str) else None
        if pending is None:
            return False
        if error is None:
            pending.resolve(result)
        else:
            fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
            pending.fail(EditorRefused(str(fields.get("message", "")), fields.get("code")))
        return True

    def end(self) -> None:
        """Fail all open requests: no more answers will come."""
        self._gone = True
        for pending in self._open.values():
            pending.fail(EditorGone("the editor's connection has ended"))
        self._open.clear()

    def _withdrawn(self, request_id: str) -> None:
        if self._open.pop(request_id, None) is not None:
            self._on_withdrawn(request_id)
