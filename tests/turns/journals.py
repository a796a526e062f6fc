"""Journals of whole turns: the product's own, on the disk, that take their time, and in the middle of which a sidecar may be killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar, TypeVarTuple, Unpack

from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import Entry, EntryState
from tests.support.editor_time import VirtualTimeLoop

NOTED_SECONDS = 0.5
"""In which a save is noted once its file has been read."""
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Fuse:
    """Whoever lights it is killed at that moment: there is one before each call of the journal, and one after it."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self._kill = kill
        self._left = 0
        self._not_before = 0.0
        self._held = 0

    def light(self, moment: int) -> None:
        self._left = moment

    def waits(self, moment: float) -> None:
        """The user has just saved: a sidecar that is killed before it could note that takes the save for the agent's, as it says. Not played.
        `moment`: the longest one of the disk (`SlowDisk`), of which reading a file takes two."""
        self._not_before = asyncio.get_running_loop().time() + 2 * moment + NOTED_SECONDS

    @contextmanager
    def held(self) -> Generator[None]:
        """An agent has told of its first act: of a sidecar that is killed before it could note that, nobody knows that the agent did anything, and
        what changed is nobody's. Not played."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def burns(self) -> None:
        if self._left > 1 or (self._left and self._may_kill()):
            self._left -= 1
            if not self._left:
                self._kill()

    def _may_kill(self) -> bool:
        """A command line has no loop."""
        if self._held:
            return False
        try:
            return asyncio.get_running_loop().time() >= self._not_before
        except RuntimeError:
            return True


class SlowJournal(SqliteJournal):
    """Each entry takes `seconds` more to be durable. For the loop of `editor_time`, whose clock stands still while the journal's thread works."""

    def __init__(self, folder: Path, seconds: float, fuse: Fuse | None = None) -> None:
        super().__init__(folder)
        self._seconds = seconds
        self._fuse = fuse
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.threads.append(self._calls.thread)

    async def begin(self, entry: Entry, takes_back: Sequence[str] = ()) -> str:
        await asyncio.sleep(self._seconds)
        return await super().begin(entry, takes_back)

    async def begin_all(
        self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()
    ) -> list[str]:
        await asyncio.sleep(self._seconds)
        return await super().begin_all(entries, takes_back)

    async def turn_acted(self, session: str) -> None:
        with nullcontext() if self._fuse is None else self._fuse.held():
            await super().turn_acted(session)

    async def _run(self, work: Callable[[Unpack[Ts]], T], *arguments: *Ts) -> T:
        if self._fuse is not None:
            self._fuse.burns()
        done = await super()._run(work, *arguments)
        if self._fuse is not None:
            self._fuse.burns()
        return done


class KilledStore(Store):
    """A command line's, which is killed within."""

    def __init__(self, folder: Path, fuse: Fuse) -> None:
        super().__init__(folder)
        self._fuse = fuse

    def begin_all(self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()) -> list[str]:
        ids = super().begin_all(entries, takes_back)
        self._fuse.burns()
        return ids

    def finish_all(self, entry_ids: Sequence[str], state: EntryState) -> None:
        super().finish_all(entry_ids, state)
        self._fuse.burns()
