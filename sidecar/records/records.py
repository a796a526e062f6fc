"""Records: the sessions of one editor connection on their way into their files, and every recorded session back out.

Nothing that records waits or raises: lines are written by one thread, in order; what cannot be written is said once in the log. A
session without a prompt leaves no record.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from sidecar.records import entries
from sidecar.records.about import About
from sidecar.records.entries import Json
from sidecar.records.folder import Entry, RecordFolder

log = logging.getLogger(__name__)
T = TypeVar("T")

WAITING = 4096
"""Writes that wait for the thread at most; beyond that, entries are left out."""


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class _Open:
    about: About
    written: bool = False
    """It has a file."""
    pending: Entry | None = None
    """The last update, which the next may still join."""
    left_out: bool = field(default=False)


class Records:
    """`folder` blocks; everything of it runs in one thread."""

    def __init__(self, folder: RecordFolder | None = None) -> None:
        self._folder = folder or RecordFolder()
        self._open: dict[str, _Open] = {}
        self._thread = ThreadPoolExecutor(1, "records")
        self._waiting = 0
        self._complained = False

    # recording

    def begin(self, about: About, *, known: bool = False) -> None:
        """A session is open from now on; `known`: it has a record, which goes on."""
        about = about if about.created else replace(about, created=now())
        self._open[about.session_id] = _Open(about, known)
        if known:
            self._submit(self._folder.write_about, about)

    def about(self, session_id: str) -> About | None:
        """Of an open session."""
        one = self._open.get(session_id)
        return one.about if one is not None else None

    def reference(self, session_id: str, reference: str) -> None:
        """The agent has another name for it (a new conversation under the same session)."""
        one = self._open.get(session_id)
        if one is not None and one.about.reference != reference:
            self._change(one, reference=reference)

    def prompt(self, session_id: str, turn: int, blocks: Sequence[Json]) -> None:
        one = self._open.get(session_id)
        if one is None:
            return
        kept = entries.shortened(list(blocks))
        if not one.written:
            one.written = True
            self._submit(self._folder.retain, lambda: set(self._open))
        self._append(one, {"at": now(), "type": "prompt", "turn": turn, "prompt": kept})
        self._change(one, turn=turn, updated=now(), title=one.about.title or entries.title_of(kept))

    def update(self, session_id: str, turn: int, update: Json, *, history: bool = False) -> None:
        """`history`: told by the agent of a session that has no record yet."""
        one = self._open.get(session_id)
        if one is None:
            return
        if update.get("sessionUpdate") == "session_info_update" and isinstance(update.get("title"), str):
            self._change(one, title=entries.title_of([{"text": update["title"]}]))
        if not one.written and not history:
            return
        one.written = True
        kept = entries.kept(update)
        if kept is None:
            return
        last = one.pending
        if last is not None and last.get("turn") == turn:
            both = entries.joined(_update(last), kept)
            if both is not None:
                last["update"] = both
                return
        self._flush(one)
        one.pending = {"at": now(), "type": "update", "turn": turn, "update": kept}

    def end(self, session_id: str, outcome: Json) -> None:
        """A turn's outcome, as it is told to the editor."""
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

    def close(self, session_id: str) -> None:
        one = self._open.pop(session_id, None)
        if one is not None:
            self._flush(one)
            if one.written:
                self._submit(self._folder.write_about, one.about)

    # reading; every method raises OSError

    async def list(self) -> list[About]:
        """Every record of this machine's, the last used first."""
        return await self._run(self._folder.abouts)

    async def read(self, session_id: str) -> tuple[About, Sequence[Entry]] | None:
        one = self._open.get(session_id)
        if one is not None:
            self._flush(one)
        return await self._run(self._folder.read, session_id)

    async def delete(self, session_id: str) -> bool:
        """Whether there was a record. An open session's is begun anew by its next prompt."""
        one = self._open.get(session_id)
        if one is not None:
            one.written, one.pending = False, None
        return await self._run(self._folder.delete, session_id)

    async def aclose(self) -> None:
        """Everything said is written, within a bound."""
        for session_id in list(self._open):
            self.close(session_id)
        try:
            async with asyncio.timeout(5.0):
                await self._run(lambda: None)
        except TimeoutError:
            log.warning("the records of sessions could not be written in time")
        self._thread.shutdown(wait=False)

    # the thread

    def _append(self, one: _Open, entry: Entry) -> None:
        self._flush(one)
        self._submit(self._folder.append, one.about.session_id, [entry])

    def _flush(self, one: _Open) -> None:
        if one.pending is not None:
            self._submit(self._folder.append, one.about.session_id, [one.pending])
            one.pending = None

    def _change(self, one: _Open, **fields: Any) -> None:
        one.about = replace(one.about, **fields)
        if one.written:
            self._submit(self._folder.write_about, one.about)

    def _submit(self, work: Callable[..., object], *arguments: object) -> None:
        if self._waiting >= WAITING:
            self._complain("the disk is too slow for them")
            return
        self._waiting += 1
        loop = asyncio.get_running_loop()
        self._thread.submit(work, *arguments).add_done_callback(
            lambda done: loop.call_soon_threadsafe(self._done, done) if not loop.is_closed() else None
        )

    def _done(self, done: Future[object]) -> None:
        self._waiting -= 1
        error = None if done.cancelled() else done.exception()
        if isinstance(error, OSError):
            self._complain(error.strerror or "the disk refuses")
        elif error is not None:
            log.error("a session could not be recorded", exc_info=error)

    def _complain(self, why: str) -> None:
        if not self._complained:
            self._complained = True
            log.warning("what is said in sessions is not recorded: %s", why)

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)


class NoRecords(Records):
    """Where nothing is to be kept."""

    def begin(self, about: About, *, known: bool = False) -> None:
        pass

    async def list(self) -> list[About]:
        return []

    async def read(self, session_id: str) -> tuple[About, Sequence[Entry]] | None:
        return None

    async def delete(self, session_id: str) -> bool:
        return False


def _update(entry: Entry) -> Json:
    update = entry.get("update")
    return update if isinstance(update, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # made by `update` above
