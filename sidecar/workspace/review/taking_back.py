"""TakingBack: a rejection of many files in progress: the user sees how far it is, and may stop it between two files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.review.units import Unit

SHOWN_FROM = 20
"""The number of files above which progress is shown."""
TOGETHER = 64
"""The number of files taken back in one transaction of the journal. A stop by the user takes effect before the next ones are
begun."""


class TakingBack:
    """Runs in a task of its own: whoever waits for it may be cancelled, and no file is left half taken back."""

    def __init__(
        self,
        editor: Editor,
        tasks: Background,
        units: Sequence[Unit],
        work: Callable[[Sequence[Unit]], Awaitable[None]],
    ) -> None:
        """`work` takes some of the units back, each wholly."""
        self._editor = editor
        self._tasks = tasks
        self._units = units
        self._work = work
        self._is_stopped = False
        self._error: Exception | None = None
        self._ended = anyio.Event()
        self.untouched = 0
        """The number of units that were not begun because the user stopped it."""

    async def run(self) -> None:
        """Run, and return at the end. Cancelling this stops the work. Raises what `work` raised."""
        self._tasks.start_soon(self._run)
        try:
            await self._ended.wait()
        except BaseException:
            self._stop()
            raise
        if self._error is not None:
            raise self._error

    def _stop(self) -> None:
        self._is_stopped = True

    async def _run(self) -> None:
        count = len(self._units)
        shown = self._editor.progress("Taking back changes", self._stop) if count > SHOWN_FROM else None
        done = 0
        try:
            while done < count and not self._is_stopped:
                if shown is not None:
                    shown.report(f"{done} of {count} files")
                with anyio.CancelScope(shield=True):
                    await self._work(self._units[done : done + TOGETHER])
                done = min(count, done + TOGETHER)
                await anyio.lowlevel.checkpoint()
        except Exception as error:  # noqa: BLE001 - whoever waits for it is told
            self._error = error
        finally:
            self.untouched = count - done
            said = self._said(done)
            if shown is not None:
                shown.end(said)
            if self._is_stopped and self.untouched:
                self._editor.show("info", said)
            self._ended.set()

    def _said(self, done: int) -> str:
        if not self.untouched:
            return f"{done} files taken back"
        return f"Stopped: {done} of {len(self._units)} files were taken back. The other {self.untouched} are as they were."
