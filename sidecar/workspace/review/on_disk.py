"""OnDisk: puts hunks back in files that are not open, many at a time: one transaction of the journal, and their saves side by side.

Nearly all of a save is waiting for the disk, which takes a few at once as fast as one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from sidecar.core.ledger import Hunk, Rejection
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import to_path
from sidecar.disk import Decoded, Resolved, Roots, Stat
from sidecar.journal.entry import Entry, JournalFailed
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.review.rejection import Job, Rejected, entry
from sidecar.workspace.state.state import State

AT_ONCE = 16
"""Saves that wait for the disk at the same time."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """What is to be put into one file."""

    job: Job
    path: str
    before: Text
    decoded: Decoded
    stat: Stat
    rejection: Rejection
    hunks: tuple[Hunk, ...]
    """The ledger's, for which it was planned."""
    after: str
    data: bytes
    gone: bool
    """The file is removed."""


class OnDisk:
    """Of one workspace."""

    def __init__(self, state: State, journal: Journal) -> None:
        self._state = state
        self._journal = journal
        self._few = anyio.CapacityLimiter(AT_ONCE)

    async def put_back(self, jobs: Sequence[Job]) -> list[Rejected | None]:
        """What became of each. None: it was opened, or its review changed, before it was its turn; nothing was done, plan it again. A
        few dozen jobs at a time: their texts are held until all are saved."""
        with ExitStack() as held:
            folders: dict[str, Roots | Refusal] = {}
            found = [await self._plan(job, folders, held) for job in jobs]
        planned = [one for one in found if isinstance(one, _Planned)]
        results: dict[int, Rejected | None] = {}
        try:
            ids = await self._journal.begin_all([_entry(one) for one in planned]) if planned else []
        except JournalFailed as failed:
            refused = Rejected(f"it could not be journalled first: {failed}")
            return [refused if isinstance(one, _Planned) else one for one in found]
        done: list[str] = []
        undone: list[str] = []

        async def one_of_them(one: _Planned, entry_id: str) -> None:
            async with self._few:
                result = results[id(one)] = await self._put(one)
            (undone if result is None or result.why else done).append(entry_id)

        async with anyio.create_task_group() as saves:
            for one, entry_id in zip(planned, ids, strict=True):
                saves.start_soon(one_of_them, one, entry_id)
        if done:
            await self._journal.finish_all(done, "done")
        if undone:
            await self._journal.finish_all(undone, "failed")
        return [results[id(one)] if isinstance(one, _Planned) else one for one in found]

    async def _plan(
        self, job: Job, folders: dict[str, Roots | Refusal], held: ExitStack
    ) -> _Planned | Rejected:
        """`folders`: those of the jobs before it, which `held` holds open."""
        await anyio.lowlevel.checkpoint()  # everybody else goes on between two files
        storage, reviewed = self._state.storage, job.reviewed
        path = to_path(reviewed.uri)
        if path is None:
            return Rejected("the document is not open")
        if job.created and storage.stat(path) is None:
            return self._gone(job)
        folder = os.path.dirname(path)
        roots = folders.get(folder)
        if roots is None:
            roots = folders[folder] = storage.roots([folder])
            if not isinstance(roots, Refusal):
                held.enter_context(roots)
        if isinstance(roots, Refusal):
            return Rejected(roots.message)
        file = storage.resolve(roots, path, "write")
        if not isinstance(file, Resolved):
            return Rejected(file.message if isinstance(file, Refusal) else "the file is gone")
        with file:
            decoded = await storage.read(file)
        if isinstance(decoded, Refusal):
            return Rejected(decoded.message)
        before = Text.of(decoded.text)
        created = job.created
        reviewed.seen(before)
        rejection = job.plan(len(before))
        after = rejection.changes.apply(before)
        nothing = not after or after == job.emptied
        if rejection.changes.is_empty and not (nothing and created):
            self._state.ledgers.moved(reviewed)  # somebody has put it back already
            return Rejected(impossible=rejection.impossible)
        data = storage.encode(after, decoded, path)
        if isinstance(data, Refusal):
            return Rejected(data.message)
        gone = created and nothing and not rejection.hunks
        return _Planned(
            job, path, before, decoded, file.stat, rejection, reviewed.ledger.hunks, after, data, gone
        )

    def _gone(self, job: Job) -> Rejected:
        """Nothing is left to take back of what was made."""
        job.reviewed.gone()
        self._state.ledgers.moved(job.reviewed)
        return Rejected()

    async def _put(self, one: _Planned) -> Rejected | None:
        reviewed = one.job.reviewed
        if self._state.documents.get(reviewed.uri) is not None or reviewed.ledger.hunks is not one.hunks:
            return None
        saved = await self._state.storage.put(one.path, one.stat, None if one.gone else one.data)
        if isinstance(saved, Refusal):
            return Rejected(saved.message)
        self._state.documents.disk.taken_back(reviewed.uri, None if one.gone else one.after)
        text = Text.of("" if one.gone else one.after)
        reviewed.ledger.rejected(one.before, one.rejection, text)
        reviewed.text = text
        self._state.ledgers.moved(reviewed)
        return Rejected(impossible=one.rejection.impossible)


def _entry(one: _Planned) -> Entry:
    after = None if one.gone else one.after
    return entry(one.path, one.decoded.text, after, "disk", one.decoded.encoding, one.decoded.bom)
