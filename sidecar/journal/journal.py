"""SqliteJournal: the Store for the event loop. It runs on its own thread, so that an fsync never blocks the loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Container, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar, TypeVarTuple, Unpack

import anyio

from sidecar.core.file_state import FileState, States
from sidecar.core.kept_files import KeptFile
from sidecar.core.kept_hunks import AsJson
from sidecar.core.retold import Told
from sidecar.core.text import Text
from sidecar.journal.calls import Calls
from sidecar.journal.database import BUSY_SECONDS
from sidecar.journal.entry import Entry, EntryState, JournalFailed, JournalLocked, Recorded, Texts
from sidecar.journal.interrupted import Interrupted
from sidecar.journal.retention import RetentionLimits
from sidecar.journal.selecting import Selection
from sidecar.journal.store import Store
from sidecar.journal.turns import CutOff, PreImage, SavedOver, TurnStart

log = logging.getLogger(__name__)
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_PAUSE = 0.005
"""The minimum number of seconds between two slices."""

LOCKED = (
    "Another program has locked the journal of agents' changes. Until it releases the lock, agents cannot write. "
    "Close programs that have journal.sqlite3 open."
)


@dataclass(slots=True, eq=False, repr=False)
class _Begin:
    """A write that waits to be journalled. It has no repr: that would copy whole texts, and `deque.remove` builds one for its error."""

    entry: Entry
    takes_back: tuple[str, ...]
    id: str | None = None


class SqliteJournal:
    """Implements `ports.Journal`. Opens the store at first use; if that fails, each `begin` raises the reason. Calls are carried out in the order in
    which they were made.
    """

    def __init__(self, folder: Path | None = None, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._store = Store(folder)
        self._busy_seconds = busy_seconds
        self._locked = False
        self._calls = Calls()
        self._tidying: asyncio.Task[None] | None = None
        self._waiting: deque[_Begin] = deque()
        """Writes that wait to be journalled."""
        self.tell: Callable[[str], None] = log.warning
        """Called on the event loop with one sentence at a time that the user should know about the journal."""

    @classmethod
    @asynccontextmanager
    async def opened(
        cls, folder: Path | None = None, *, busy_seconds: float = BUSY_SECONDS
    ) -> AsyncGenerator[SqliteJournal]:
        """A context manager that provides a journal and closes it at the end. Never raises."""
        journal = cls(folder, busy_seconds=busy_seconds)
        try:
            yield journal
        finally:
            with anyio.CancelScope(shield=True):
                await journal.close()

    async def close(self) -> None:
        if self._tidying is not None:
            self._tidying.cancel()
        await self._calls.make(self._store.close)

    # ports.Journal

    async def begin(self, entry: Entry, takes_back: Sequence[str] = ()) -> str:
        """Journal a write and return the entry's id; durable when this returns. `takes_back`: see Store. Raises JournalFailed. Writes that arrive
        while the disk is busy are journalled together, with a single wait for the disk.
        """
        mine = _Begin(entry, tuple(takes_back))
        self._waiting.append(mine)
        try:
            return await self._run(self._begin_waiting, mine)
        finally:
            with suppress(ValueError):  # nobody waits for it any more
                self._waiting.remove(mine)

    def _begin_waiting(self, mine: _Begin) -> str:
        """Journal all waiting writes, unless this one was already journalled with others. If that fails, each caller journals its own write, because
        the failure may concern only one of them. Runs in the journal's thread."""
        if mine.id is None and mine in self._waiting:
            some: list[_Begin] = []
            with suppress(IndexError):  # each may be withdrawn at any moment
                while True:
                    some.append(self._waiting.popleft())
            if len(some) > 1:
                with suppress(JournalFailed):
                    ids = self._store.begin_all([one.entry for one in some], [one.takes_back for one in some])
                    for one, found in zip(some, ids, strict=True):
                        one.id = found
        if mine.id is None:
            mine.id = self._store.begin(mine.entry, mine.takes_back)
        return mine.id

    async def begin_all(
        self, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]] = ()
    ) -> list[str]:
        """Like `begin`, for many: all are journalled, with one wait for the disk, or none. `takes_back`: one list for each entry, or empty."""
        return await self._run(self._store.begin_all, entries, takes_back)

    async def finish(self, entry_id: str, state: EntryState, after: str | None = None) -> None:
        """Record how a write ended, even if the caller is being cancelled: a write that was made must not look unfinished."""
        with anyio.CancelScope(shield=True):
            await self._try(self._store.finish, entry_id, state, after)

    async def finish_all(self, entry_ids: Sequence[str], state: EntryState) -> None:
        """Like `finish`, for many with the same outcome."""
        with anyio.CancelScope(shield=True):
            await self._try(self._store.finish_all, entry_ids, state)

    async def put_back(self, path: str, text: str | None, since: int = 0) -> bool:
        return await self._try(self._store.put_back, path, text, since) or False

    async def told(self, path: str, text: str | None = None) -> Sequence[Told]:
        return await self._try(self._store.told, path, text) or ()

    async def held(self, path: str, text: str) -> bool:
        return await self._try(self._store.held, path, text) or False

    async def save_ledger(
        self,
        uri: str,
        text: str | Text,
        hunks: bytes | AsJson,
        in_file: tuple[Text, AsJson] | None = None,
    ) -> None:
        await self._try(self._store.save_ledger, uri, text, hunks, in_file)
        await self._tidy_if_grown()

    async def save_rows(
        self, rows: Mapping[str, KeptFile], forgotten: Collection[str] = (), rejected: Collection[str] = ()
    ) -> None:
        """See Store. Also if the caller is being cancelled: what was put back must not be listed again."""
        with anyio.CancelScope(shield=True):
            await self._try(self._store.save_rows, rows, forgotten, rejected)
        await self._tidy_if_grown()

    async def save_picked(self, path: str, text: str, hunks: bytes) -> None:
        await self._try(self._store.save_picked, path, text, hunks)

    async def load_ledger(self, uri: str) -> tuple[str, bytes] | None:
        return await self._try(self._store.load_ledger, uri)

    async def load_ledger_in_file(self, uri: str) -> tuple[str, bytes] | None:
        return await self._try(self._store.load_ledger_in_file, uri)

    async def ledger_uris(self) -> list[str]:
        return await self._try(self._store.ledger_uris) or []

    async def undone(self, entry_ids: Collection[str], *, or_rejected: bool = False) -> Container[str]:
        return await self._try(partial(self._store.undone, or_rejected=or_rejected), entry_ids) or ()

    async def removal(self, path: str) -> tuple[Recorded, FileState] | None:
        return await self._try(self._store.removal, path)

    async def gone_before(self, entry_id: str) -> Sequence[tuple[Texts, States | None]]:
        return await self._try(self._store.gone_before, entry_id) or ()

    async def paths(self, entry_ids: Collection[str]) -> list[str]:
        return await self._try(self._store.paths, entry_ids) or []

    async def folders_under_review(self) -> list[str]:
        return await self._try(self._store.folders_under_review) or []

    async def forget_ledger(self, *uris: str) -> None:
        await self._try(self._store.forget_ledger, *uris)

    # Turns; these never raise

    async def turn_began(self, start: TurnStart) -> None:
        """Store the state of the files in the turn's folders; durable when this returns."""
        await self._try(self._store.turn_began, start)
        await self._tidy_if_grown()

    async def turn_saved(self, session: str, path: str, image: PreImage) -> None:
        await self._try(self._store.turn_saved, session, path, image)

    async def turn_saving(self, session: str, path: str, save: SavedOver) -> None:
        await self._try(self._store.turn_saving, session, path, save)

    async def turns_seen(self) -> None:
        await self._try(self._store.turns_seen)

    async def turn_acted(self, session: str) -> None:
        await self._try(self._store.turn_acted, session)

    async def turn_ended(self, session: str) -> None:
        with anyio.CancelScope(shield=True):
            await self._try(self._store.turn_ended, session)

    async def last_turn(self, session: str) -> int:
        """Return the highest number of a turn in the session that wrote something, or 0 if none did."""
        return await self._try(self._store.last_turn, session) or 0

    # Sessions

    async def session_opened(self, session: str, agent: str, cwd: str) -> None:
        """Never raises. A session's first write has the same effect."""
        await self._try(self._store.session_opened, session, agent, cwd)

    async def session_closed(self, session: str) -> None:
        """Allow the session's entries to be deleted once they are old or too many. Never raises."""
        await self._try(self._store.session_closed, session)

    # Reading; these raise JournalFailed

    async def entries(self, selection: Selection | None = None) -> list[Recorded]:
        """Return the entries, newest first."""
        return await self._run(self._store.entries, selection)

    async def texts(self, entry_id: str) -> Texts:
        return await self._run(self._store.texts, entry_id)

    async def interrupted(self) -> list[Interrupted]:
        return await self._run(self._store.interrupted)

    async def settle(self, entry_id: str, state: EntryState) -> bool:
        return await self._run(self._store.settle, entry_id, state)

    async def cut_off(self) -> list[CutOff]:
        return await self._run(self._store.cut_off)

    async def turn_settled(self, row: int) -> None:
        await self._run(self._store.turn_settled, row)

    # Deleting

    async def tidy(self, limits: RetentionLimits | None = None) -> None:
        """Delete entries by age and size, in slices between which other calls get their turn. Never raises."""
        done = False
        while not done:
            began = time.monotonic()
            try:
                done = await self._run(self._store.tidy_slice, limits) is not None
            except JournalFailed:
                return
            # other processes poll for their turn
            await asyncio.sleep(max(_PAUSE, time.monotonic() - began))

    async def _tidy_if_grown(self) -> None:
        """Start tidying in the background if this process has written much since the last time."""
        if self._tidying is None and await self._try(self._store.has_grown):
            self._tidying = asyncio.ensure_future(self.tidy())
            self._tidying.add_done_callback(self._tidied)

    def _tidied(self, tidying: asyncio.Future[None]) -> None:
        self._tidying = None

    async def purge(self, selection: Selection) -> int:
        """Delete the selected entries; see Store. Raises JournalFailed."""
        return await self._run(self._store.purge, selection)

    async def _try(self, work: Callable[[Unpack[Ts]], T], *arguments: *Ts) -> T | None:
        try:
            return await self._run(work, *arguments)
        except JournalFailed:
            return None

    async def _run(self, work: Callable[[Unpack[Ts]], T], *arguments: *Ts) -> T:
        """Run `work` in the journal's thread. No call waits longer than `busy_seconds` for another program, whatever is queued before it: the time
        starts with the call."""
        last = time.monotonic() + self._busy_seconds

        def call() -> T:
            self._store.wait_at_most(max(0.0, last - time.monotonic()))
            return work(*arguments)

        try:
            done = await self._calls.make(call)
            self._locked = False
            return done
        except JournalFailed as failed:
            if isinstance(failed, JournalLocked) and not self._locked:
                self._locked = True
                self._store.notices.append(LOCKED)
            log.error("the journal in %s: %s (%s)", self._store.folder, failed, failed.__cause__)
            raise
        finally:
            self._tell()

    def _tell(self) -> None:
        notices, self._store.notices = self._store.notices, []
        for sentence in notices:
            self.tell(sentence)
