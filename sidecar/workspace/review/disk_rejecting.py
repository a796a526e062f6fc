"""DiskRejecter: reverts hunks in files that are not open, many at a time, with one transaction of the journal, parallel saves, and one wait for each
folder.

Nearly all of a save is waiting for the disk, which handles several at once as fast as one. The journal first says what is to be done, and each file
has the old text or the new one at any moment. The journal is told that hunks are reverted, and that nothing is under review any more, only when the
files would survive a crash.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.lowlevel

from sidecar.core.ledger import Hunk, Rejection
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import to_path
from sidecar.disk import Decoded, FolderSyncs, Resolved, Roots
from sidecar.journal.entry import Entry, EntryState, JournalFailed
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.review.rejection import Job, Rejected, entry
from sidecar.workspace.state.state import State
from sidecar.workspace.state.storage import Put, Saved

AT_ONCE = 16
"""The number of threads whose saves wait for the disk at the same time."""

WAIT_SECONDS = 2.0
"""Seconds that a rejection waits for a write of its file that is in progress."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """The text planned for one file."""

    job: Job
    path: str
    before: Text
    file: Resolved
    """Closed, but its folder is held open."""
    decoded: Decoded
    rejection: Rejection
    hunks: tuple[Hunk, ...]
    """The ledger's hunks at the time of planning."""
    after: Text
    """The raw text after the rejection, in the form that is kept."""
    data: bytes | None
    """The bytes to write. None: the file is removed."""


class DiskRejecter:
    """Reverts hunks on the disk for one workspace."""

    def __init__(self, state: State, journal: Journal) -> None:
        self._state = state
        self._journal = journal

    async def put_back(self, jobs: Sequence[Job]) -> list[Rejected | None]:
        """Carry out the jobs and return what became of each. None: the file was opened, or its review changed, before its turn; nothing was done,
        plan it again. Pass a few dozen jobs at a time: their texts are held until all are saved."""
        queues, key_of = self._state.queues, self._state.storage.order_key
        paths = filter(None, (to_path(job.reviewed.uri) for job in jobs))
        async with queues.places(paths, key_of, WAIT_SECONDS):
            return await self._put_back(jobs)

    async def _put_back(self, jobs: Sequence[Job]) -> list[Rejected | None]:
        with ExitStack() as held:
            folders: dict[str, Roots | Refusal] = {}
            found = [await self._plan(job, folders, held) for job in jobs]
            planned = [one for one in found if isinstance(one, _Planned)]
            results = iter(await self._journalled(planned) if planned else ())
        return [next(results) if isinstance(one, _Planned) else one for one in found]

    async def _journalled(self, planned: Sequence[_Planned]) -> list[Rejected | None]:
        try:
            ids = await self._journal.begin_all([_entry(one) for one in planned])
        except JournalFailed as failed:
            refused = Rejected(f"it could not be journalled first: {failed}")
            return [refused] * len(planned)
        results: list[Rejected | None] = [None] * len(planned)
        with FolderSyncs() as syncs:

            async def some_of_them(first: int) -> None:
                results[first::AT_ONCE] = await self._put(planned[first::AT_ONCE], syncs)

            async with anyio.create_task_group() as saves:
                for first in range(min(AT_ONCE, len(planned))):
                    saves.start_soon(some_of_them, first)
                    await anyio.lowlevel.checkpoint()  # starting a thread may take a few milliseconds
            await self._state.storage.sync(syncs)
        ended: dict[EntryState, list[str]] = {"done": [], "failed": []}
        for one, entry_id, result in zip(planned, ids, results, strict=True):
            is_done = result is not None and not result.why
            ended["done" if is_done else "failed"].append(entry_id)
            if is_done:
                self._state.ledgers.moved(one.job.reviewed)
        for state, some in ended.items():
            if some:
                await self._journal.finish_all(some, state)
        return results

    async def _plan(
        self, job: Job, folders: dict[str, Roots | Refusal], held: ExitStack
    ) -> _Planned | Rejected:
        """`folders`: the folders of the jobs so far, which `held` holds open."""
        await anyio.lowlevel.checkpoint()  # everybody else continues between two files
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
            self._state.ledgers.moved(reviewed)  # somebody has already reverted it
            return Rejected(impossible=rejection.impossible)
        data = storage.encode(after, decoded, path)
        if isinstance(data, Refusal):
            return Rejected(data.message)
        gone = created and nothing and not rejection.hunks
        text = Text.of("" if gone else after)
        hunks = reviewed.ledger.hunks
        return _Planned(job, path, before, file, decoded, rejection, hunks, text, None if gone else data)

    def _gone(self, job: Job) -> Rejected:
        """The created file is gone, so nothing is left to revert."""
        job.reviewed.gone()
        self._state.ledgers.moved(job.reviewed)
        return Rejected()

    async def _put(self, some: Sequence[_Planned], syncs: FolderSyncs) -> list[Rejected | None]:
        puts = [Put(one.file, one.data, partial(self._is_as_planned, one)) for one in some]
        saved = await self._state.storage.put_some(puts, syncs)
        return [self._entered(one, how) for one, how in zip(some, saved, strict=True)]

    def _is_as_planned(self, one: _Planned) -> bool:
        reviewed = one.job.reviewed
        return self._state.documents.get(reviewed.uri) is None and reviewed.ledger.hunks is one.hunks

    def _entered(self, one: _Planned, saved: Saved) -> Rejected | None:
        if saved == "unwanted":
            return None
        if isinstance(saved, Refusal):
            return Rejected(saved.message)
        reviewed = one.job.reviewed
        self._state.documents.disk.taken_back(reviewed.uri, None if one.data is None else one.after)
        reviewed.ledger.rejected(one.before, one.rejection, one.after)
        reviewed.text = one.after
        return Rejected(impossible=one.rejection.impossible)


def _entry(one: _Planned) -> Entry:
    after = None if one.data is None else one.after
    made = entry(one.path, one.before, after, "disk", one.decoded.encoding, one.decoded.bom)
    return replace(made, changes=None if after is None else one.rejection.changes)
