"""FileReviews: changes of whole files that are under review beside the hunks in texts: files that came, went or moved, that are not text,
their modes, and symbolic links.

Each is a row of its own, is kept and rejected like a hunk, and outlives editor and sidecar in the journal. A row lasts as long as the disk
shows what it says: what somebody put back or changed since is no longer the agent's to take back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import anyio.to_thread

from sidecar import disk
from sidecar.core.file_state import FileState
from sidecar.core.hunks import line_hunks
from sidecar.core.json_types import Json
from sidecar.core.kept_files import KEPT, KeptFile, from_kept, to_kept
from sidecar.core.ledger import Author
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.retold import retold
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path
from sidecar.disk import FolderSyncs, Stat
from sidecar.disk.states import less_gone, text_of
from sidecar.journal.entry import author_of
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.in_steps import in_steps
from sidecar.workspace.ports.ports import Editor, Journal
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

_MOST = 64 * 1024 * 1024
"""Bytes of a file that are compared."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """`before` and `after`: what was and is under the path; None: nothing."""

    id: int
    path: str
    """Canonical."""
    before: FileState | None
    after: FileState | None
    author: Author
    moved_from: str = ""
    """Where the file was, when it was renamed; `before` is None then."""
    removal: str = ""
    """The journal's id of its going from there."""

    @property
    def uri(self) -> DocumentUri:
        return from_path(self.path)

    @property
    def change_id(self) -> str:
        return f"f{self.id}@{self.uri}"

    @property
    def leaves_nothing(self) -> bool:
        return self.after is None or not (self.after.data or self.after.is_link)

    @property
    def begins_with_text(self) -> bool:
        return self.before is None or self.old_text is not None

    @property
    def is_made_empty(self) -> bool:
        """What is in the file by now is hunks."""
        return self.kind == "created" and self.leaves_nothing

    @property
    def old_text(self) -> str | None:
        """The text that was under the path; None: there was nothing, or no text. Raw."""
        return text_of(self.before)

    @property
    def new_text(self) -> str | None:
        """The same of what is there now."""
        return text_of(self.after)

    @property
    def kind(self) -> str:
        """created, deleted, renamed, mode, link or changed."""
        before, after = self.before, self.after
        if self.moved_from:
            return "renamed"
        if before is None:
            return "created"
        if after is None:
            return "deleted"
        if before.is_link or after.is_link:
            return "link"
        return "mode" if before.data == after.data else "changed"


class FileReviews:
    """Of one workspace."""

    def __init__(self, state: State, journal: Journal, editor: Editor, tasks: Background) -> None:
        self._state = state
        self._journal = journal
        self._editor = editor
        self._tasks = tasks
        self.was_put_back: Callable[[str, FileState | None, Stat | None], None] = lambda path, state, stat: (
            None
        )
        """Told what is under a path again (None: nothing), and of a file its stat."""
        self._changes: dict[int, FileChange] = {}
        self._next_id = 1
        self._now: dict[str, FileState | None] = {}
        """What was found under paths while turns run."""
        self._began_as: dict[str, FileState] = {}
        self._to_tell: dict[DocumentUri, None] = {}
        self._telling = 0
        self._told = anyio.Event()
        """Where rows came or went."""
        self._entered: list[FileChange] = []
        """Rows that the journal does not keep yet."""
        self._dropped: list[str] = []
        """Rows that the journal still keeps."""

    def __iter__(self) -> Iterator[FileChange]:
        return iter(list(self._changes.values()))

    # What is found while turns run

    def says(self, path: str, state: FileState | None) -> bool:
        """Whether that was found there before."""
        return path in self._now and self._now[path] == state

    def is_now(self, path: str, state: FileState | None) -> None:
        self._now[path] = state

    def says_mode(self, path: str, mode: int) -> bool:
        """Whether that mode was found there before."""
        state = self._now.get(path)
        return state is not None and state.mode == mode

    def known(self, path: str) -> FileState | None:
        return self._now.get(path)

    def came(self, path: str, session: Session | None = None) -> FileChange | None:
        """There is a text under the path: its changes are hunks from now on. The row that ended in none (the file was removed, or emptied whole)
        goes, and is returned: the hunks begin with what was there before it. `session`: whose turn put the text there; a file that somebody else had
        made, empty, stays theirs."""
        for renamed in [c for c in self if c.moved_from == path]:
            self._drop(renamed)  # there are two files now: one that is new, and one that is back
            if renamed.new_text is not None:
                self._state.back_under(from_path(path), renamed.uri, renamed.new_text)
            self.enter(renamed.path, None, renamed.after, renamed.author)
            self.enter(path, renamed.after, None, replace(renamed.author, write=renamed.removal))
        self._now.pop(path, None)
        gone = next((c for c in self if c.path == path and c.leaves_nothing and c.begins_with_text), None)
        if gone is not None and gone.is_made_empty and session is not None:
            is_its = (gone.author.session, gone.author.turn) == (session.id, session.turn)
            gone = gone if is_its else None
        if gone is not None:
            self._drop(gone)
            if gone.before is not None:
                self._began_as[path] = gone.before
        return gone

    def began_as(self, path: str) -> FileState | None:
        """What the changes of a file begin with that came in this turn where an agent had removed one."""
        return self._began_as.get(path)

    def holds_bytes(self, path: str) -> bool:
        """Whether something that was not text was removed from there."""
        return any(c.path == path and c.after is None and not c.begins_with_text for c in self)

    def removal(self, path: str) -> FileChange | None:
        """The row that says that the file was removed."""
        return next((c for c in self if c.path == path and c.after is None), None)

    def was_removed(self, path: str) -> bool:
        """Whether it is under review that an agent removed the file, or moved it."""
        gone = (c for c in self if c.moved_from == path or (c.path == path and c.after is None))
        return any(not change.author.unknown for change in gone)

    def is_back(self, path: str, now: FileState) -> bool:
        """Whether the file is as an agent had removed it, or moved it, which is under review: nothing is left of that, whoever brought it back."""
        return any(
            (c.path == path and c.after is None and c.before == now)
            or (c.moved_from == path and c.after == now)
            for c in self
        )

    def turns_over(self) -> None:
        self._now.clear()
        self._began_as.clear()

    def enter(
        self,
        path: str,
        before: FileState | None,
        after: FileState | None,
        author: Author,
        moved_from: str = "",
        removal: str = "",
    ) -> None:
        """Puts a change under review. One on top of the same turn's is one with it."""
        self._now[path] = after
        for known in self:
            if (
                known.path == path
                and known.author.same_turn(author)
                and known.author.unknown == author.unknown
            ):
                before = known.before
                moved_from, removal = (
                    (known.moved_from, known.removal) if known.moved_from else (moved_from, removal)
                )
                self._drop(known)
        if before == after and not moved_from:
            return
        change = FileChange(self._next_id, path, before, after, author, moved_from, removal)
        self._next_id += 1
        self._changes[change.id] = change
        self._entered.append(change)
        self._moved(change)

    async def removed_again(self, path: str, undone: Sequence[str]) -> None:
        """The file is gone. Where the command line has taken back that it was made anew, an agent's removal before that is all there is of it, and is under
        review again; so it is of the other files of these writes (the journal's ids), which it has taken back."""
        paths = [path] if await self._journal.put_back(path, None) else []
        paths += await self._journal.paths(undone) if undone else ()
        if paths:
            await self._less_undone()
        for gone in dict.fromkeys(paths):
            found = await self._journal.removal(gone) if self._state.storage.stat(gone) is None else None
            if found is None or any(gone in (change.path, change.moved_from) for change in self):
                continue
            entry, before = found
            if less_gone(before, await self._journal.gone_before(entry.id), gone) is None:
                continue  # what it removed is taken back, too
            await self._remember(gone, before)
            self.enter(gone, before, None, author_of(entry, created=False))

    async def _remember(self, path: str, before: FileState) -> None:
        """What agents had changed in a text that is gone with its file comes back with it, and is under review then."""
        uri, text = from_path(path), text_of(before)
        known = self._state.ledgers.get(uri)
        if text is None or (known is not None and (known.is_gone or known.ledger.hunks)):
            return
        hunks = retold(await self._journal.told(path), text)
        if hunks:
            self._state.ledgers.restore(uri, text, hunks).gone()

    async def look_at_old_names(self) -> None:
        """A renamed file that somebody brought back to its old name is there twice: from now on it is a copy that the agent made, whatever becomes
        of the other one."""
        newest = {change.path: change.id for change in self}
        renamed = [c for c in self if c.moved_from and newest.get(c.moved_from, 0) < c.id]
        for change in await anyio.to_thread.run_sync(
            lambda: [c for c in renamed if os.path.lexists(c.moved_from)]
        ):
            now = await self.found(change.path)
            if not isinstance(now, FileState):
                continue
            if await self._is_back(change, now) and self._changes.get(change.id) is change:
                copy = self._changes[change.id] = replace(change, after=now, moved_from="", removal="")
                self._moved(copy)
                await self._store(copy)

    # Review

    async def look(self) -> None:
        """Drops the rows that the command line has taken back, and those that the disk does not show any more: each is measured by what would be there if
        all later ones were put back. While an agent works, what the disk shows may be its doing, and is recorded as such: nothing is dropped for it."""
        await self.look_at_old_names()
        await self._less_undone()
        if self._is_acting():
            return
        paths = {path: None for change in self for path in (change.path, change.moved_from) if path}
        there = await anyio.to_thread.run_sync(lambda: {path: _found(path) for path in paths})
        async for change in in_steps(sorted(self, key=_number, reverse=True)):
            now = there.get(change.path)
            if change.id not in self._changes or change.path not in there:
                continue
            if self._is_acting():
                return
            if not _shows(now, change) and not (change.is_made_empty and self._is_filled(change.path, now)):
                self._drop(change)
            elif change.moved_from:
                there[change.moved_from], there[change.path] = now, None
            elif change.kind == "mode" and isinstance(now, FileState) and change.before is not None:
                there[change.path] = replace(now, mode=change.before.mode)
            else:
                there[change.path] = change.before

    def _is_acting(self) -> bool:
        return any(session.running for session in self._state.sessions)

    def _is_filled(self, path: str, now: FileState | Refusal | None) -> bool:
        """Whether all that is in the file, `now`, is under review, and somebody's."""
        reviewed = self._state.ledgers.get(from_path(path))
        text = text_of(now) if isinstance(now, FileState) else None
        if reviewed is None or text is None:
            return False
        tracked = self._state.documents.get(reviewed.uri)
        if reviewed.live and tracked is not None:
            return not reviewed.ledger.base_of_known(str(tracked.settled_text()))
        ledger = reviewed.ledger.copy()
        ledger.user_led(reviewed.text, Text.of(text))
        return not ledger.base_of_known(text)

    async def _less_undone(self) -> None:
        undone = await self._journal.undone([change.author.write for change in self])
        for change in self:
            if change.author.write in undone:
                await self._drop_beneath(change)

    async def goes_on(self, change: FileChange, text: str) -> None:
        """What agents had changed in the file before it was made here, as a copy of another, was taken back, so that it says `text` (raw) now."""
        now = await self.found(change.path)
        followed = None if not isinstance(now, FileState) else replace(change, after=now)
        if followed is not None and change.id in self._changes and followed.new_text == text:
            self._changes[change.id] = followed
            await self._store(followed)

    def keep(self, change: FileChange) -> None:
        self._drop(change)

    async def as_it_is_put_back(self, change: FileChange) -> FileChange:
        """With what is and what will be there, as the journal is to say it: a file that was moved, or of which the mode changed, keeps whatever it holds
        by now; one that was made empty, and is so again, has whatever mode."""
        if not (change.moved_from or change.kind == "mode" or change.is_made_empty):
            return await self._without_gone(change)
        now = await self.found(change.path)
        if not isinstance(now, FileState) or (change.is_made_empty and (now.data or now.is_link)):
            return change
        was = change.before
        return replace(change, after=now, before=None if was is None else replace(now, mode=was.mode))

    async def put_back(self, change: FileChange, syncs: FolderSyncs) -> str:
        """Puts back what was there; `change` is as `as_it_is_put_back` gave it. In words, why not; "" when it is done: that outlasts a crash only after
        `syncs`, and is to be told to `rejected` after that."""
        if change.moved_from:
            why = await self._move_back(change, syncs)
        elif change.kind == "mode":
            why = await self._put_mode(change, syncs)
        elif change.before == change.after:  # it was a change of what is taken back by now
            why = ""
        else:
            why = await self._put(change.path, change.after, change.before, syncs)
            if why and change.is_made_empty:
                reviewed = self._state.ledgers.get(change.uri)
                if reviewed is not None and reviewed.ledger.hunks:
                    why = "later work has put text into it; reject that first"
                elif reviewed is not None and reviewed.live:
                    why = "its text is taken back in the editor, and not saved yet; save it and try again"
        if not why:
            self._now[change.path] = change.before
        return why

    def rejected(self, change: FileChange) -> None:
        """It was put back, and that outlasts a crash."""
        self._drop(change)

    async def _without_gone(self, change: FileChange) -> FileChange:
        """What was taken back in the file while it was gone does not come back with it."""
        if change.before is None or change.after is not None:
            return change
        gone = await self._journal.gone_before(change.author.write)
        return replace(change, before=less_gone(change.before, gone, change.path))

    async def _move_back(self, change: FileChange, syncs: FolderSyncs) -> str:
        now = await self.found(change.path)
        if not isinstance(now, FileState):
            return "the file is gone"
        if await self._put(change.moved_from, None, now, syncs):
            return f"there is another file at {os.path.basename(change.moved_from)} by now"
        self._now[change.moved_from] = now
        return await self._put(change.path, now, None, syncs)

    async def _is_back(self, change: FileChange, now: FileState) -> bool:
        """Whether a renamed file is under its old name, too: as it is `now`, or, where nobody changed it since, with half of its text (it was
        brought back and then changed), or as it was before an agent changed it."""
        there = await self.found(change.moved_from)
        if not isinstance(there, FileState):
            return False
        ours, theirs = text_of(now), text_of(there)
        if there == now or now != change.after or ours is None or theirs is None:
            return there == now
        if await aside(len(ours) + len(theirs), lambda: _has_half_of(theirs, ours)):
            return True
        return await self._journal.held(change.moved_from, normal(theirs))

    async def _put_mode(self, change: FileChange, syncs: FolderSyncs) -> str:
        """Whatever the file holds by now."""
        now = await self.found(change.path)
        if not isinstance(now, FileState) or change.before is None:
            return "the file is gone"
        return await self._put(change.path, now, replace(now, mode=change.before.mode), syncs)

    async def _put(
        self, path: str, expected: FileState | None, wanted: FileState | None, syncs: FolderSyncs
    ) -> str:
        done = await self._state.storage.restore(_folder(path), path, expected, wanted, syncs)
        if isinstance(done, Refusal):
            return done.message
        self.was_put_back(path, wanted, done)
        return ""

    async def found(self, path: str) -> FileState | Refusal | None:
        """What is under the path now."""
        return await anyio.to_thread.run_sync(_found, path)

    def _drop(self, change: FileChange) -> None:
        if self._changes.pop(change.id, None) is not None:
            self._dropped.append(_name(change))
            self._moved(change)

    async def _drop_beneath(self, change: FileChange) -> None:
        """The row that is on top of it, because somebody had put that right, begins with what was there before it, if that is anything else."""
        self._drop(change)
        above = next((c for c in self if c.path == change.path and c.id > change.id), None)
        if above is None or above.moved_from or above.before != change.after:
            return
        if above.after == change.before:
            return self._drop(above)
        followed = self._changes[above.id] = replace(above, before=change.before)
        self._moved(followed)
        await self._store(followed)

    def _moved(self, change: FileChange) -> None:
        """Rows that come and go in one moment are told and forgotten together."""
        if not self._to_tell:
            self._telling += 1
            self._tasks.start_soon(self._tell_soon)
        self._to_tell[change.uri] = None

    async def stored(self) -> None:
        """Until the journal has every row that came or went."""
        while self._telling:
            await self._told.wait()

    async def _tell_soon(self) -> None:
        try:
            await self._tell()
        finally:
            self._telling -= 1
            self._told.set()
            self._told = anyio.Event()

    async def _tell(self) -> None:
        moved, self._to_tell = self._to_tell, {}
        entered, self._entered = self._entered, []
        dropped, self._dropped = self._dropped, []
        if moved:
            self._editor.changes_moved(list(moved))
        for change in entered:  # before those that they replace are forgotten: whatever ends the sidecar in between, one of both is there
            await self._store(self._changes.get(change.id, change))
        forgotten = {name for name in dropped if not self._is_listed(name)}
        if forgotten:
            await self._journal.forget_ledger(*forgotten)

    def _is_listed(self, name: str) -> bool:
        """`name`: as of `_name`."""
        number = name.removeprefix(KEPT).partition(":")[0]
        change = self._changes.get(int(number)) if number.isdecimal() else None
        return change is not None and _name(change) == name

    # Over a restart

    async def _store(self, change: FileChange) -> None:
        kept = KeptFile(
            change.path, change.before, change.after, change.author, change.moved_from, change.removal
        )
        if change.id in self._changes:
            await self._journal.save_ledger(_name(change), *to_kept(kept))

    async def restore(self, folders: Sequence[str]) -> None:
        """The rows of an earlier process, of files beneath `folders`, are under review again."""
        found: list[tuple[str, KeptFile]] = []
        for name in await self._journal.ledger_uris():
            kept = await self._journal.load_ledger(name) if name.startswith(KEPT) else None
            row = None if kept is None else from_kept(*kept)
            if row is not None and any(row.path.startswith(os.path.join(f, "")) for f in folders):
                found.append((name, row))
        for name, row in sorted(found, key=lambda one: one[1].author.write):  # as they were made
            self._dropped.append(name)
            self.enter(row.path, row.before, row.after, row.author, row.moved_from, row.removal)
        await self._tell()
        self._now.clear()


def _name(change: FileChange) -> str:
    """Under which the journal keeps it."""
    return f"{KEPT}{change.id}:{change.uri}"


def _has_half_of(text: str, wanted: str) -> bool:
    """As git tells what was renamed by default."""
    old, new = normal(wanted), normal(text)
    changed = sum(hunk.old_end - hunk.old_start for hunk in line_hunks(old, new))
    return 2 * (len(old) - changed) >= len(old) > 0


def _number(change: FileChange) -> int:
    return change.id


def _shows(now: FileState | Refusal | None, change: FileChange) -> bool:
    if change.moved_from:  # whatever was changed in it since
        return isinstance(now, FileState)
    if change.kind == "mode" and isinstance(now, FileState) and change.after is not None:
        return not now.is_link and now.mode == change.after.mode
    return now == change.after


def row(change: FileChange, uri: str) -> Json:
    """As `changes` lists it."""
    file: dict[str, object] = {"kind": change.kind}
    if change.moved_from:
        file["from"] = from_path(change.moved_from)
    if change.kind == "mode" and change.before is not None and change.after is not None:
        file |= {"oldMode": f"{change.before.mode:o}", "newMode": f"{change.after.mode:o}"}
    if change.kind == "link":
        file |= {"oldTarget": _target(change.before), "newTarget": _target(change.after)}
    author = change.author
    found: dict[str, object] = {
        "changeId": change.change_id,
        "uri": uri,
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "oldText": (change.old_text or "") if change.kind == "deleted" else "",
        "newText": "",
        "sessionId": author.session,
        "turn": author.turn,
        "agent": author.agent,
        "state": "unreviewed",
        "file": file,
    }
    if author.unknown:
        found["unknown"] = True
    if author.tool_call is not None:
        found["toolCallId"] = author.tool_call
    return found


def _target(state: FileState | None) -> str:
    return "" if state is None or not state.is_link else state.data.decode("utf-8", "replace")


def _found(path: str) -> FileState | Refusal | None:
    return disk.found(_folder(path), path, at_most=_MOST)


def _folder(path: str) -> str:
    """The nearest folder above `path` that is there."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder
