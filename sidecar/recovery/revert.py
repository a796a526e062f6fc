"""revert: reverts writes, file by file, through a running sidecar that has the file open, otherwise on the disk.

What was taken back stays so, whatever is taken back after it: if a write had removed another's work, and that work was taken back, reverting the
write does not restore it. For each file, all writes are reverted or none. But where a file was removed, or its mode changed, between changes of its
text, by anybody, as many of them as possible are reverted, newest first.

A revert on the disk is journalled like any write (agent "revert"), so it can itself be reverted. Files on the disk are reverted in groups: one
transaction of the journal, parallel saves, and one wait for each folder. Only then does the journal record that they were reverted.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias, TypeVar

from sidecar import disk
from sidecar.core.file_state import FileState, States
from sidecar.core.kept_hunks import to_json
from sidecar.core.merge import ConflictHunk
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.retold import retold
from sidecar.core.taken_back import less, without_gone
from sidecar.core.uri import from_path
from sidecar.disk import Decoded, FolderSyncs, Missing, Resolved, Sync
from sidecar.disk.states import less_gone, saying, text_of
from sidecar.journal import Store
from sidecar.journal.entry import TAKES_BACK, Entry, EntryState, JournalFailed, Recorded, Texts
from sidecar.journal.selecting import Selection
from sidecar.recovery import files
from sidecar.recovery.live import Live
from sidecar.recovery.plan import Already, Becomes, Clash, Stands, take_back

AGENT = "revert"
"""The agent in journal entries of reverts."""
TRIES = 3
"""How many times a file is examined while it keeps changing."""
TOGETHER = 64
"""The number of files in one transaction of the journal, which are open at the same time."""
AT_ONCE = 16
"""The number of saves that wait for the disk at the same time."""
T = TypeVar("T")


class RevertOutcome(Enum):
    PUT_BACK = auto()
    REMOVED = auto()
    MADE_AGAIN = auto()
    ALREADY = auto()
    """Nothing to do: the file already has that text."""
    CONFLICT = auto()
    """Later work overlaps, at `places`. Nothing was changed."""
    STANDS = auto()
    """Not reverted, for the reason in `why`. Nothing was changed."""

    @property
    def is_failure(self) -> bool:
        return self in (RevertOutcome.CONFLICT, RevertOutcome.STANDS)


@dataclass(frozen=True, slots=True)
class Reverted:
    """The result for one file."""

    path: str
    root: str
    writes: tuple[str, ...]
    outcome: RevertOutcome
    why: str = ""
    places: tuple[ConflictHunk, ...] = ()
    texts: Texts | None = None
    """The texts before and after the revert. None if it was done elsewhere or not at all."""
    not_there: str = ""
    """Why an editor that has the file open did not take it back in its text too, as a clause for the user. It was taken back on the disk."""


def new_session() -> str:
    """Return a session id for one run of the command, so that the run can be reverted as a whole."""
    return f"r-{secrets.token_hex(3)}"


def revert(
    store: Store,
    writes: Sequence[Recorded],
    session: str,
    *,
    dry_run: bool = False,
    live: Live | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Generator[Reverted]:
    """Revert `writes` file by file. Yields each result as soon as it is known.

    `stopped`: called now and then; when it returns True, no further file is begun."""
    by_path: dict[str, list[Recorded]] = {}
    for write in sorted(writes, key=lambda write: write.id, reverse=True):
        by_path.setdefault(write.path, []).append(write)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for paths in _together(by_path):
            if stopped():
                return
            open_in = {path: live for path in paths if live is not None and live.has_open(path)}
            jobs = [_Job(store, path, by_path[path], session, dry_run, open_in.get(path)) for path in paths]
            having = [(job, open_in[job.path]) for job in jobs if job.path in open_in]
            done = {job: job.through(having_it) for job, having_it in having if not job.is_whole()}
            done |= _side_by_side(store, threads, [job for job in jobs if job not in done])
            for job, having_it in having if not dry_run else ():
                if job.is_whole():
                    having_it.look(job.path)
            yield from (done[job] for job in jobs)


def _together(paths: Iterable[str]) -> Generator[list[str]]:
    """Yield the paths in groups, in their order. A path is never in the same group as a path beneath it."""
    these: list[str] = []
    folders: set[str] = set()
    for path in paths:
        above = set(disk.folders_above(path))
        if len(these) == TOGETHER or path in folders or not above.isdisjoint(these):
            yield these
            these, folders = [], set()
        these.append(path)
        folders |= above
    if these:
        yield these


def _side_by_side(store: Store, threads: ThreadPoolExecutor, jobs: Sequence[_Job]) -> dict[_Job, Reverted]:
    """Run the jobs in step. Each job runs until it has a change to make to its file; the changes of all jobs are then journalled together and made in
    parallel."""
    done: dict[_Job, Reverted] = {}
    running = {job: job.on_disk() for job in jobs}
    sent: dict[_Job, Refusal | JournalFailed | None] = dict.fromkeys(jobs)
    while running:
        todo: dict[_Job, _ToDo] = {}
        for job, steps in list(running.items()):
            try:
                todo[job] = steps.send(sent[job])
            except StopIteration as end:
                done[job] = end.value
                del running[job]
        if todo:
            sent.update(_journalled_and_done(store, threads, todo))
    return done


def _journalled_and_done(
    store: Store, threads: ThreadPoolExecutor, todo: Mapping[_Job, _ToDo]
) -> dict[_Job, Refusal | JournalFailed | None]:
    try:
        ids = store.begin_all([one.entry for one in todo.values()], [one.takes_back for one in todo.values()])
    except JournalFailed as failed:
        return dict.fromkeys(todo, failed)
    with FolderSyncs() as syncs:

        def do(one: _ToDo) -> Refusal | None:
            return one.do(syncs.later)

        results = dict(zip(todo, threads.map(do, todo.values()), strict=True))
        syncs.sync()
    ended: dict[EntryState, list[str]] = {"done": [], "failed": []}
    for entry_id, refusal in zip(ids, results.values(), strict=True):
        ended["done" if refusal is None else "failed"].append(entry_id)
    for state, some in ended.items():
        if some:
            store.finish_all(some, state)
    return {**results}


@dataclass(frozen=True, slots=True)
class _ToDo:
    """A change of one file that is about to be made."""

    entry: Entry
    takes_back: Sequence[str]
    do: Callable[[Sync], Refusal | None]
    """Makes the change. Runs in any thread. Returns None on success."""


_Steps: TypeAlias = "Generator[_ToDo, Refusal | JournalFailed | None, T]"
"""Yields the changes to make, one after another; each is answered with how it went."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The change to make to the file, as it was found."""

    found: Resolved | Missing
    data: bytes | None
    now: Decoded | None
    after: str | None
    outcome: RevertOutcome


class _Whole(NamedTuple):
    """A write of the whole file, with the states that it found and left."""

    write: Recorded
    before: FileState | None
    after: FileState | None


class _Job:
    """The revert of one file. `writes`: newest first."""

    def __init__(
        self,
        store: Store,
        path: str,
        writes: Sequence[Recorded],
        session: str,
        dry_run: bool,
        live: Live | None,
    ) -> None:
        """`live`: the running sidecar that has the file open."""
        self._store = store
        self._live = live
        self._path = path
        self._writes = writes
        self._ids = {write.id for write in writes}
        self._session = session
        self._dry_run = dry_run
        self._made_folders = store.made_folders([write.id for write in writes])

    @property
    def path(self) -> str:
        return self._path

    def is_whole(self) -> bool:
        """Whether some of the changes concern what only the disk has: no editor has modes, links or removed files. The document of an open file is
        then brought up to date afterwards."""
        return any(self._store.states(write.id) is not None for write in self._writes)

    def through(self, live: Live) -> Reverted:
        if self._dry_run:
            return self._done(RevertOutcome.PUT_BACK, "in the editor, which has it open")
        try:
            texts = self._texts()
        except JournalFailed as failed:
            return self._done(RevertOutcome.STANDS, str(failed))
        why = live.revert(self._path, self._writes, texts, self._session)
        return (
            self._done(RevertOutcome.PUT_BACK, "in the editor")
            if why is None
            else self._done(RevertOutcome.STANDS, why)
        )

    def on_disk(self) -> _Steps[Reverted]:
        """Revert on the disk, newest first: changes of the text, and changes that a text does not cover (modes, links, bytes, removals), in the order
        in which they were made."""
        every, done, out = self._writes, list[Reverted](), list[str]()
        marked = self._mark()
        for whole, some in self._apart():
            self._writes = some
            try:
                done.append((yield from self._these(whole, on_disk=any(map(_is_done, done)))))
            except JournalFailed as failed:
                done.append(self._done(RevertOutcome.STANDS, str(failed)))
            if done[-1].outcome.is_failure or self._dry_run:
                break
            if done[-1].outcome is RevertOutcome.ALREADY:
                out += [write.id for write in some]
        self._writes = every
        if (
            done[-1].outcome is RevertOutcome.ALREADY
            and not self._dry_run
            and not os.path.lexists(self._path)
        ):
            self._prune()  # whoever removed the file may have left its folders, or was interrupted
        if out and not self._dry_run:
            self._store.finish_all(out, "undone")
        if marked and not done[-1].outcome.is_failure:
            self._store.forget_ledger(from_path(self._path))
        if any(map(_is_done, done)) and not self._dry_run:
            self._comes_back()
        return replace(_altogether(done), writes=tuple(write.id for write in every))

    def _these(self, whole: bool, *, on_disk: bool) -> _Steps[Reverted]:
        """Revert one group of writes. If an editor has the file open, revert changes of the text there too: the editor may have some of them unsaved.
        `on_disk`: part of the file was already taken back on the disk."""
        done = yield from (self._whole() if whole else self._text())
        if whole or self._live is None or self._dry_run or done.outcome.is_failure:
            return done
        if on_disk or _is_done(done):
            self._live.look(self._path)
        there = self.through(self._live)
        if not _is_done(done):
            return there
        # The journal has it as taken back. Another text in the editor is unsaved work, or the editor has not read the file again yet.
        return replace(done, not_there=there.why) if there.outcome.is_failure else done

    def _apart(self) -> Generator[tuple[bool, list[Recorded]]]:
        """Yield the groups of writes that are taken back together, and whether they are changes of the whole file. Writes from before the file was
        removed by somebody else and created again belong to another file: between the groups, that removal is in force again."""
        removals = [one.id for one in self._every if one.has_removed]
        some: list[Recorded] = []
        was_whole = False
        for write in self._writes:
            whole = self._store.states(write.id) is not None
            if some and (whole is not was_whole or _is_another_file(write, some[-1], removals)):
                yield was_whole, some
                some = []
            some.append(write)
            was_whole = whole
        if some:
            yield was_whole, some

    def _text(self) -> _Steps[Reverted]:
        texts = self._texts()
        for _ in range(TRIES):
            with files.at(self._writes[0].root, self._path, "write") as found:
                step = self._step(found, texts)
                if not isinstance(step, _Step):
                    return step
                refusal = None if self._dry_run else (yield from self._do(step))
                if refusal is None:
                    before = None if step.now is None else step.now.text
                    return self._done(step.outcome, texts=Texts(before, step.after))
                if refusal.kind is not Kind.CHANGED_ON_DISK:
                    return self._done(RevertOutcome.STANDS, refusal.message)
        return self._done(RevertOutcome.STANDS, "it keeps changing; try again")

    @cached_property
    def _every(self) -> Sequence[Recorded]:
        """All writes of the file, newest first."""
        return self._store.entries(Selection(paths=(self._path,)))

    def _texts(self) -> list[Texts]:
        """Return what to take back of each write: everything that it changed, except what is already taken back."""
        return [
            Texts(*without_gone(self._store.texts(write.id), [texts for texts, _ in self._gone(write)]))
            for write in self._writes
        ]

    def _gone(self, write: Recorded) -> list[tuple[Texts, States | None]]:
        """Return the earlier writes that were taken back after this one was made, as `Store.gone` does. None of them for a revert: taking back a
        revert is meant to restore them."""
        return [] if write.agent in TAKES_BACK else self._store.gone(write)

    def _whole(self) -> _Steps[Reverted]:
        done = RevertOutcome.ALREADY
        for run in self._runs():
            outcome = yield from self._put_whole(run)
            if isinstance(outcome, Reverted):
                return outcome
            done = outcome if done is RevertOutcome.ALREADY else done
        return self._done(done)

    def _mark(self) -> bool:
        """If one of these writes removed the file, the file may be gone between two steps. If we are interrupted there, that removal must be under
        review again: a sidecar recognises it by a stored review without hunks of a file that is gone. Store that, and return whether it was missing."""
        is_step = len(self._writes) > 1 and any(write.has_removed for write in self._writes)
        if self._dry_run or not is_step or self._store.load_ledger(from_path(self._path)) is not None:
            return False
        self._store.save_ledger(from_path(self._path), "", to_json(()))
        return True

    def _comes_back(self) -> None:
        """Put under review again what others had written and these writes had removed, because it is in the file again. If others had removed the
        file before, that is under review again too (see `_mark`)."""
        open_ones = [
            one
            for one in self._every
            if one.agent not in TAKES_BACK and one.state in ("done", "unknown") and one not in self._writes
        ]
        if not open_ones or self._store.load_ledger(from_path(self._path)) is not None:
            return
        state = self._now()
        now = text_of(state)
        hunks = None if now is None else retold(self._store.told(self._path, now), now)
        if now is not None and hunks:
            self._store.save_ledger(from_path(self._path), now, to_json(hunks))
        elif state is None and open_ones[0].has_removed:
            self._store.save_ledger(from_path(self._path), "", to_json(()))

    def _now(self) -> FileState | None:
        root = files.folder_of(self._writes[0].root, self._path)
        found = disk.found(root, self._path, at_most=files.AT_MOST)
        return None if isinstance(found, Refusal) else found

    def _runs(self) -> list[list[_Whole]]:
        """Group writes that follow one another exactly. They are taken back in one step, as they are one row of the review: an interruption leaves
        all of them, or none."""
        runs: list[list[_Whole]] = []
        for write in self._writes:
            states = self._store.states(write.id)
            assert states is not None, "grouped by it"
            if runs and runs[-1][-1].before == states[1]:
                runs[-1].append(_Whole(write, *states))
            else:
                runs.append([_Whole(write, *states)])
        return runs

    def _put_whole(self, run: Sequence[_Whole]) -> _Steps[RevertOutcome | Reverted]:
        root = files.folder_of(self._writes[0].root, self._path)
        now = disk.found(root, self._path, at_most=files.AT_MOST)
        if isinstance(now, Refusal):
            return self._done(RevertOutcome.STANDS, now.message)
        first = next((one for one in run if now != one.before), run[-1])  # newer ones are already taken back
        write, before, after = first.write, run[-1].before, first.after
        if before is not None and first.before is not None and now is None and after is None:
            removed = self._less_taken_back_since(write, first.before)
            before = replace(removed, mode=before.mode) if before.data == first.before.data else before
        before = self._without_gone(run[-1].write, before)
        if before is not None and after is not None and now is not None and before.data == after.data:
            before, after = replace(now, mode=before.mode), replace(now, mode=after.mode)
        if now == before or (now is None and after is None and self._is_removed_since(write)):
            return RevertOutcome.ALREADY
        if now is not None and after is None and self._is_back(write):
            older = run[run.index(first) + 1 :]
            return (yield from self._put_whole(older)) if older else RevertOutcome.ALREADY
        if now != after and not (before is None and self._is_as_made(write, text_of(after), text_of(now))):
            return self._done(RevertOutcome.STANDS, "it is no longer what the agent left there")
        if not self._dry_run:
            entry = Entry(
                self._session,
                AGENT,
                1,
                None,
                write.root,
                self._path,
                None,
                None,
                "utf-8",
                b"",
                "disk",
                (now, before),
                self._to_be_made(now, before),
            )

            def put(sync: Sync) -> Refusal | None:
                return disk.restore(root, self._path, now, before, sync=sync)

            writes = [one.write.id for one in run]
            refusal = _raised((yield _ToDo(entry, writes, partial(self._with_folders, before, put))))
            if refusal is not None:
                return self._done(RevertOutcome.STANDS, refusal.message)
        return (
            RevertOutcome.REMOVED
            if before is None
            else RevertOutcome.MADE_AGAIN
            if now is None
            else RevertOutcome.PUT_BACK
        )

    def _is_removed_since(self, removal: Recorded) -> bool:
        """Whether somebody else has removed the file later. If so, only taking back that removal restores the file."""
        later = (one for one in self._every if one.id > removal.id and one.id not in self._ids)
        return any(one.has_removed and one.agent not in TAKES_BACK for one in later)

    def _is_back(self, removal: Recorded) -> bool:
        """Whether the file existed again when it was next written, whoever had restored it. If so, this removal is no longer in force."""
        later = (one for one in reversed(self._every) if one.id > removal.id and one.state != "failed")
        newer = next(later, None)
        return newer is not None and newer.existed

    def _is_removed_with_others_work(self) -> bool:
        """Whether others have changed the file since, and it was removed after that. If so, taking back that removal would restore the content of
        these writes."""
        later = [one for one in self._every if one.id > self._writes[0].id and one.id not in self._ids]
        standing = [
            one for one in later if one.agent not in TAKES_BACK and one.state in ("done", "unknown", "kept")
        ]
        removals = [one.id for one in standing if one.has_removed]
        return any(one.existed and one.exists and one.id < max(removals, default="") for one in standing)

    def _is_emptied(self, texts: Sequence[Texts], now: Decoded | None) -> bool:
        """Whether a file that these writes created is empty now, because a rejection was interrupted before it removed the file."""
        made = texts[-1].before is None and now is not None and not now.text
        return made and self._is_as_made(self._writes[0], texts[0].after, "")

    def _is_as_made(self, write: Recorded, made: str | None, now: str | None) -> bool:
        """Whether a file with the text `now` is as this write `made` it, except for what was taken back in it since: others' work that was moved here
        with it, or its own, by a rejection that was interrupted before it removed the file."""
        text = now
        for later in self._store.entries(Selection(paths=(self._path,))):  # newest first
            if later.id <= write.id:
                break
            if later.state in ("failed", "undone", "rejected"):
                continue
            texts = self._store.texts(later.id)
            if later.agent not in TAKES_BACK or texts.after is None or texts.after != text:
                return False
            text = texts.before
        return text is not None and text == made

    def _without_gone(self, write: Recorded, state: FileState | None) -> FileState | None:
        """Return the state that the write found, without earlier writes that are taken back by now. None: without them, there would be no file."""
        return less_gone(state, self._gone(write), self._path)

    def _less_taken_back_since(self, removal: Recorded, removed: FileState) -> FileState:
        """Return the state of a removed file without what was taken back in it since, in a document that an editor still had of it, or under the name
        to which it was moved. That must not come back with the file."""
        was = text_of(removed)
        for since in (removal, *self._store.moved_to(removal.id)):
            text = was
            for later in reversed(self._store.entries(Selection(paths=(since.path,)))):
                if later.id <= since.id or later.state in ("failed", "undone", "rejected"):
                    continue
                texts = self._store.texts(later.id)
                if (
                    later.agent not in TAKES_BACK
                    or text is None
                    or texts.before is None
                    or texts.after is None
                ):
                    break
                text = less(text, texts.before, texts.after)
            if text is not None and text != was:
                return saying(removed, text, self._path)
        return removed

    def _step(self, found: Resolved | Missing | Refusal, texts: Sequence[Texts]) -> _Step | Reverted:
        data: bytes | None = None
        now: Decoded | None = None
        if isinstance(found, Resolved):
            contents = files.read(found)
            if isinstance(contents, Refusal):
                return self._done(RevertOutcome.STANDS, contents.message)
            data, now = contents
        elif isinstance(found, Refusal):
            return self._done(RevertOutcome.STANDS, found.message)
        match take_back(None if now is None else now.text, texts):
            case Already() if now is None and self._is_removed_with_others_work():
                return self._done(RevertOutcome.STANDS, "it was removed since")
            case Already():
                return self._done(RevertOutcome.ALREADY)
            case Clash(places):
                return self._done(RevertOutcome.CONFLICT, places=places)
            case Stands() if self._is_emptied(texts, now):
                return _Step(found, data, now, None, RevertOutcome.REMOVED)
            case Stands(why):
                return self._done(RevertOutcome.STANDS, why)
            case Becomes(None):
                return _Step(found, data, now, None, RevertOutcome.REMOVED)
            case Becomes(after):
                outcome = RevertOutcome.MADE_AGAIN if now is None else RevertOutcome.PUT_BACK
                return _Step(found, data, now, after, outcome)

    def _do(self, step: _Step) -> _Steps[Refusal | None]:
        """Journal the revert, then change the disk. Returns None on success."""
        oldest = self._writes[-1]
        encoding, bom = (
            (oldest.encoding, oldest.bom) if step.now is None else (step.now.encoding, step.now.bom)
        )
        data = b"" if step.after is None else disk.encode(step.after, encoding, bom, self._path)
        if isinstance(data, Refusal):
            return data
        unwritable = disk.check_writable(step.found, len(data))
        if unwritable is not None:
            return unwritable
        before = None if step.now is None else step.now.text
        entry = Entry(
            self._session,
            AGENT,
            1,
            None,
            oldest.root,
            self._path,
            before,
            step.after,
            encoding,
            bom,
            "disk",
            made=self._to_be_made(before, step.after),
        )
        writes = [write.id for write in self._writes]
        put = partial(self._with_folders, step.after, partial(_put, step, data))
        return _raised((yield _ToDo(entry, writes, put)))

    def _to_be_made(self, now: object | None, then: object | None) -> tuple[str, ...]:
        """Return the folders that are created with the file. A None argument means that there is no file."""
        return () if now is not None or then is None else tuple(disk.missing_folders(self._path))

    def _with_folders(
        self, then: object | None, put: Callable[[Sync], Refusal | None], sync: Sync
    ) -> Refusal | None:
        """Call `put`. If it leaves no file (`then` is None), the folders that were created for the file are removed too."""
        refusal = put(sync)
        if refusal is None and then is None:
            self._prune()
        return refusal

    def _prune(self) -> None:
        disk.remove_empty(self._made_folders)

    def _done(
        self,
        outcome: RevertOutcome,
        why: str = "",
        places: tuple[ConflictHunk, ...] = (),
        texts: Texts | None = None,
    ) -> Reverted:
        ids = tuple(write.id for write in self._writes)
        return Reverted(self._path, self._writes[0].root, ids, outcome, why, places, texts)


def _is_done(one: Reverted) -> bool:
    return one.outcome is not RevertOutcome.ALREADY and not one.outcome.is_failure


def _is_another_file(older: Recorded, newer: Recorded, removals: Sequence[str]) -> bool:
    """Whether the older write's file was removed before the newer write, by one of `removals` (the journal's ids) or by somebody who is not in the journal."""
    return any(older.id < one < newer.id for one in removals) or (not newer.existed and older.exists)


def _altogether(done: Sequence[Reverted]) -> Reverted:
    """Combine the results of several steps with one file. Only the last step may have failed."""
    changed = [one for one in done if one.outcome is not RevertOutcome.ALREADY]
    if len(changed) < 2 or changed[-1].outcome.is_failure:
        return changed[-1] if changed else done[-1]
    was_gone = changed[0].outcome is RevertOutcome.MADE_AGAIN
    is_gone = changed[-1].outcome is RevertOutcome.REMOVED
    outcome = (
        RevertOutcome.REMOVED if is_gone else RevertOutcome.MADE_AGAIN if was_gone else RevertOutcome.PUT_BACK
    )
    not_there = next((one.not_there for one in changed if one.not_there), "")
    return replace(changed[-1], outcome=outcome, not_there=not_there)


def _put(step: _Step, data: bytes, sync: Sync) -> Refusal | None:
    match step.found, step.after:
        case Missing(), _:
            done = disk.create(step.found, data, sync=sync)
        case _, None:
            done = disk.remove(step.found, step.found.stat, before=step.data, sync=sync)
        case _:
            done = disk.save(step.found, data, step.found.stat, before=step.data, sync=sync)
    return done if isinstance(done, Refusal) else None


def _raised(answer: Refusal | JournalFailed | None) -> Refusal | None:
    if isinstance(answer, JournalFailed):
        raise answer
    return answer
