"""Records: writes the sessions of one editor connection to files, and reads every recorded session back.

Recording never waits or raises: one thread writes the lines in order, and a failure is logged once. A session without a
prompt leaves no record.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from sidecar.core.json_types import Json
from sidecar.records import entries
from sidecar.records.about import About
from sidecar.records.folder import Entry, RecordFolder
from sidecar.records.titles import Titles

log = logging.getLogger(__name__)
T = TypeVar("T")

WAITING = 4096
"""The number of writes that may wait for the thread. Beyond that, entries are left out."""


class _Reading(NamedTuple):
    """A read in the queue of writes: it returns everything that was recorded before it, and nothing that came later."""

    session_id: str
    found: Future[tuple[About, Sequence[Entry]] | None]


_Work = About | frozenset[str] | tuple[str, Entry] | str | _Reading
"""A session's description · a check of the number of records, except for these sessions · an entry of a session · a session to delete · one to read."""


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class _Open:
    about: About
    written: bool = False
    """Whether the session has a file."""
    pending: Entry | None = None
    """The last update, which the next one may still extend."""
    part_of: entries.PartOf | None = None
    """Identifies the running text that `pending` is part of."""
    parts: list[str] = field(default_factory=list[str])
    size: int = 0


class Records:
    """Records of one editor connection. All access to `folder` blocks and happens in one thread."""

    def __init__(self, folder: RecordFolder | None = None) -> None:
        self._folder = folder or RecordFolder()
        self._open: dict[str, _Open] = {}
        self._thread = ThreadPoolExecutor(1, "records")
        self._waiting: deque[_Work] = deque()
        self._writing = False
        self._complained = False
        self.titles = Titles(self.read)

    # recording

    def begin(self, about: About, *, known: bool = False) -> None:
        """Open a session. `known`: it already has a record, which continues."""
        about = about if about.created else replace(about, created=now())
        self._open[about.session_id] = _Open(about, known)
        if known:
            self._submit(about)

    def about(self, session_id: str) -> About | None:
        """Return the description of an open session, or None if it is not open."""
        one = self._open.get(session_id)
        return one.about if one is not None else None

    def reference(
        self, session_id: str, reference: str, *, loads: bool | None = None, forks: bool | None = None
    ) -> None:
        """Record that the agent uses another id for the session (a new conversation in the same session). `loads`, `forks`: as in About; None: unchanged."""
        one = self._open.get(session_id)
        if one is None:
            return
        loads = one.about.loads if loads is None else loads
        forks = one.about.forks if forks is None else forks
        if (one.about.reference, one.about.loads, one.about.forks) != (reference, loads, forks):
            self._change(one, reference=reference, loads=loads, forks=forks)

    def prompt(self, session_id: str, turn: int, blocks: Sequence[Json]) -> None:
        one = self._open.get(session_id)
        if one is None:
            return
        kept = entries.shortened(list(blocks))
        self.titles.note(session_id, turn, kept)
        self._begun(one)
        self._append(one, {"at": now(), "type": "prompt", "turn": turn, "prompt": kept})
        self._change(one, turn=turn, updated=now(), title=one.about.title or entries.title_of(kept))

    def update(self, session_id: str, turn: int, update: Json, *, history: bool = False) -> None:
        """Record an update. `history`: the agent replays a session that has no record yet."""
        one = self._open.get(session_id)
        if one is None:
            return
        if update.get("sessionUpdate") == "session_info_update" and isinstance(update.get("title"), str):
            self._change(one, title=entries.title_of([{"text": update["title"]}]))
        if not one.written and not history:
            return
        self._begun(one)
        last = one.pending if one.pending is not None and one.pending["turn"] == turn else None
        if (piece := entries.chunk(update)) is not None:
            part_of, text = piece
            if last is None or one.part_of != part_of or one.size + len(text) > entries.JOINED:
                self._flush(one)
                one.pending, one.part_of = {"at": now(), "type": "update", "turn": turn}, part_of
            one.parts.append(text)
            one.size += len(text)
            return
        kept = entries.kept(update)
        if kept is None:
            return
        if last is not None and (both := entries.joined(_update(last), kept)) is not None:
            last["update"] = both
            return
        self._flush(one)
        one.pending = {"at": now(), "type": "update", "turn": turn, "update": kept}

    def end(self, session_id: str, outcome: Json) -> None:
        """Record the end of a turn, in the form that the editor gets."""
        one = self._open.get(session_id)
        if one is None or not one.written:
            return
        entry: Entry = {"at": now(), "type": "end"}
        entry |= {
            key: entries.shortened(outcome[key])
            for key in ("turn", "stopReason", "changes", "error")
            if key in outcome
        }
        self._append(one, entry)
        self._change(one, updated=now())

    def reviewed(self, session_id: str, turn: int, verdict: str, changes: int) -> None:
        """Record that the user decided about this number of changes of a turn."""
        one = self._open.get(session_id)
        if one is not None and one.written:
            self._append(
                one, {"at": now(), "type": "reviewed", "turn": turn, "verdict": verdict, "changed": changes}
            )

    async def copy(self, session_id: str, said: Sequence[Entry]) -> None:
        """Start the record of an open session with what was said in another. Call this before anything else is recorded of it. Raises OSError."""
        one = self._open.get(session_id)
        if one is not None and said:
            self._begun(one)
            await self._run(self._folder.append, session_id, said)

    def close(self, session_id: str) -> None:
        one = self._open.pop(session_id, None)
        if one is not None:
            self._flush(one)
            if one.written:
                self._submit(one.about)

    def abandon(self, session_id: str) -> None:
        """Forget a session that its agent failed to open, unless it had a record before."""
        one = self._open.get(session_id)
        if one is None or one.about.reference:
            self.close(session_id)
            return
        del self._open[session_id]
        if one.written:
            self._submit(session_id)

    # reading: every method raises OSError

    async def list(self) -> list[About]:
        """Return all records on this machine, most recently used first."""
        return await self._run(self._folder.abouts)

    def read(self, session_id: str) -> Awaitable[tuple[About, Sequence[Entry]] | None]:
        """Read a session with everything that was recorded before this call returns, and nothing later. A listener from then on misses nothing and
        hears nothing twice."""
        one = self._open.get(session_id)
        if one is not None:
            self._flush(one)
        reading = _Reading(session_id, Future())
        self._waiting.append(reading)
        if not self._writing:
            self._start_writing()
        return asyncio.wrap_future(reading.found)

    async def delete(self, session_id: str) -> bool:
        """Delete a record. Returns whether there was one. If the session is open, its next prompt starts a new record."""
        one = self._open.get(session_id)
        if one is not None:
            one.written, one.pending, one.part_of = False, None, None
            one.parts.clear()
            one.size = 0
        self.titles.forget(session_id)
        return await self._run(self._folder.delete, session_id)

    async def aclose(self) -> None:
        """Write everything that was recorded, within a time limit."""
        for session_id in list(self._open):
            self.close(session_id)
        try:
            async with asyncio.timeout(5.0):
                await self._run(lambda: None)
        except TimeoutError:
            log.warning("the records of sessions could not be written in time")
        self._thread.shutdown(wait=False)

    # the thread

    def _begun(self, one: _Open) -> None:
        """Mark the session as having a file."""
        if not one.written:
            one.written = True
            self._submit(frozenset(self._open))
            self._submit(one.about)

    def _append(self, one: _Open, entry: Entry) -> None:
        self._flush(one)
        self._submit((one.about.session_id, entry))

    def _flush(self, one: _Open) -> None:
        pending = one.pending
        if pending is None:
            return
        if one.part_of is not None:
            pending["update"] = entries.of_chunks(one.part_of, "".join(one.parts))
            one.part_of = None
            one.parts.clear()
            one.size = 0
        one.pending = None
        self._submit((one.about.session_id, pending))

    def _change(self, one: _Open, **fields: Any) -> None:
        one.about = replace(one.about, **fields)
        if one.written:
            self._submit(one.about)

    def _submit(self, work: _Work) -> None:
        if len(self._waiting) >= WAITING:
            self._complain("the disk is too slow for them")
            return
        self._waiting.append(work)
        if not self._writing:
            self._start_writing()

    def _start_writing(self) -> None:
        self._writing = True
        loop = asyncio.get_running_loop()
        self._thread.submit(self._write).add_done_callback(
            lambda _: None if loop.is_closed() else loop.call_soon_threadsafe(self._written)
        )

    def _written(self) -> None:
        self._writing = False
        if self._waiting:
            self._start_writing()

    def _complain(self, why: str) -> None:
        if not self._complained:
            self._complained = True
            log.warning("what is said in sessions is not recorded: %s", why)

    # in the thread

    def _write(self) -> None:
        """Write everything that is waiting, in order, joining consecutive entries of one session. Only the thread removes from the front."""
        while self._waiting:
            work = self._waiting.popleft()
            if isinstance(work, _Reading):
                self._read(work)
                continue
            try:
                match work:
                    case About():
                        self._folder.write_about(work)
                    case str():
                        self._folder.delete(work)
                    case frozenset():
                        self._folder.retain(work)
                    case (session_id, entry):
                        together = [entry]
                        while self._waiting and (more := _entry_of(self._waiting[0], session_id)) is not None:
                            together.append(more)
                            self._waiting.popleft()
                        self._folder.append(session_id, together)
            except OSError as error:
                self._complain(error.strerror or "the disk refuses")
            except Exception:
                log.exception("a session could not be recorded")

    def _read(self, reading: _Reading) -> None:
        if not reading.found.set_running_or_notify_cancel():
            return
        try:
            reading.found.set_result(self._folder.read(reading.session_id))
        except Exception as error:  # noqa: BLE001 - it is raised where it is awaited
            reading.found.set_exception(error)

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        """Run a function in the thread, after everything recorded before."""

        def run() -> T:
            self._write()
            return work(*arguments)

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)


class NoRecords(Records):
    """For connections that keep no records."""

    def begin(self, about: About, *, known: bool = False) -> None:
        pass

    async def list(self) -> list[About]:
        return []

    async def read(self, session_id: str) -> tuple[About, Sequence[Entry]] | None:
        return None

    async def copy(self, session_id: str, said: Sequence[Entry]) -> None:
        pass

    async def delete(self, session_id: str) -> bool:
        return False


def _entry_of(work: _Work, session_id: str) -> Entry | None:
    if isinstance(work, _Reading) or not isinstance(work, tuple):
        return None
    return work[1] if work[0] == session_id else None


def _update(entry: Entry) -> Json:
    update = entry.get("update")
    return update if isinstance(update, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # made by `update` above
