"""Pending: a request sent to the editor and not yet answered. Awaiting it gives the result as plain JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator


class Pending:
    """Sent before it was returned. Raises what `ports` names: EditorRefused (message, code), EditorGone.

    Cancelling whoever awaits it, or `withdraw`, tells the editor by `$/cancelRequest`; a late answer is ignored."""

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
        """The answer is no longer wanted. Harmless when it is there already."""
        if not self._future.done() or self._future.cancelled():
            self._future.cancel()
            self._on_withdrawn(self.id)

    def resolve(self, result: object) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def fail(self, error: Exception) -> None:
        if not self._future.done():
            self._future.set_exception(error)
            self._future.exception()  # looked at: nobody may be waiting, and that is no reason to complain

    def add_done_callback(self, callback: Callable[[asyncio.Future[object]], None]) -> None:
        self._future.add_done_callback(callback)
