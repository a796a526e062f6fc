"""FileReviews: the review of whole files, beside the hunks in texts: files that were created, removed or moved, files
that are not text, file modes, and symbolic links.

Each change is a row of its own. It is kept and rejected like a hunk, and outlives editor and sidecar in the journal. A
row lasts as long as the disk shows its state: what somebody has put back or changed since is no longer the agent's change.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import anyio.to_thread

from sidecar import disk
from sidecar.core.file_state import FileState
from sidecar.core.half import has_half_of
from sidecar.core.ledger import Author, Hunk, Ledger
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.retold import retold
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path, to_path
from sidecar.disk import FolderSyncs, Stat
from sidecar.disk.refusals import refuse
from sidecar.disk.states import less_gone, saying, text_of
from sidecar.journal.entry import Recorded, author_of
from sidecar.workspace.behind.file_change import FileChange, is_between_texts, shows, without
from sidecar.workspace.behind.kept_rows import KeptRows
from sidecar.workspace.edits.keeper import Keeper
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.in_steps import in_steps
from sidecar.workspace.ports.ports import Editor, Journal
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

_Says: TypeAlias = "DocumentUri | tuple[Hunk, ...] | None"
"""The document whose review has the hunks of a text, or these themselves; None: nobody knows them."""

_MOST = 64 * 1024 * 1024
"""Bytes up to which a file's content is compared."""


class FileReviews:
    """One per workspace."""

    def __init__(
        self, state: State, journal: Journal, editor: Editor, tasks: Background, keeper: Keeper
    ) -> None:
        self._state = state
        self._journal = journal
        self._keeper = keeper
        self.was_put_back: Callable[[str, FileState | None, Stat | None], None] = lambda path, state, stat: (
            None
        )
        """Called with what is under a path again (None: nothing), and a file's stat."""
        self.mode_was_put_back: Callable[[str, int], None] = lambda path, mode: None
        """Called when only a file's mode is as it was again."""
        self.was_brought_back: Callable[[str, FileState, Stat], Awaitable[object]] = _nobody_asks
        """Called with a file that is back, as it was, under the path from which an agent had moved it."""
        self.goes_back: Callable[[FileChange], Awaitable[object]] = _nobody_moves
        """Puts back a moved file that is under both of its names, because the sidecar that put it back was killed in between."""
        self._rows = KeptRows(journal, editor, tasks)
        self._now: dict[str, FileState | None] = {}
        """What was found under paths while turns run."""
        self._began_as: dict[str, FileState] = {}

    def __iter__(self) -> Iterator[FileChange]:
        return iter(self._rows)

    # While turns run

    def says(self, path: str, state: FileState | None) -> bool:
        """Whether this state was found there before."""
        return path in self._now and self._now[path] == state

    def is_now(self, path: str, state: FileState | None) -> None:
        self._now[path] = state

    def is_text(self, path: str) -> None:
        """A text is there, which is accounted for, and its mode is not: that is measured from what it was when the turn began."""
        self._now.pop(path, None)

    def known(self, path: str) -> FileState | None:
        return self._now.get(path)

    def came(self, path: str, session: Session | None = None) -> FileChange | None:
        """There is a text under the path: from now on its changes are hunks. Drops the newest rows that ended in no text (the file was removed, or
        emptied as a whole), and returns them as one. The hunks begin with what was there before them.

        `session`: whose turn put the text there; None: nobody's. The row of an empty file stays if another session or turn had made it, or if it stands where
        something that was not text was removed.
        """
        for renamed in [c for c in self._left_alone() if c.moved_from == path]:
            self._is_a_copy(renamed)  # there are two files now: a new one, and one that is back
            if renamed.new_text is not None:
                self._state.back_under(from_path(path), renamed.uri, renamed.new_text)
            self.enter(path, renamed.after, None, replace(renamed.author, write=renamed.removal))
        gone: FileChange | None = None
        while (last := self._left_nothing(path, session)) is not None:
            self._rows.drop(last)
            gone = last if gone is None else replace(last, after=gone.after)
        if gone is not None and gone.before is not None:
            self._began_as[path] = gone.before
            self._is_back(gone, gone.old_text)
        last = self.last(path)
        if last is None or not last.makes_text:
            self.is_text(path)
        return gone

    def _left_nothing(self, path: str, session: Session | None) -> FileChange | None:
        """The newest row of the path, if `came` drops it."""
        last = self.last(path)
        if last is None or not (last.leaves_nothing and last.begins_with_text):
            return None
        is_its = session is not None and (last.author.session, last.author.turn) == (session.id, session.turn)
        return last if not last.is_made_empty or (is_its and not self.holds_bytes(path, last)) else None

    def began_as(self, path: str) -> FileState | None:
        """What the changes of a file begin with, if it came in this turn where an agent had removed a file."""
        return self._began_as.get(path)

    def holds_bytes(self, path: str, above: FileChange | None = None) -> bool:
        """Whether something that was not text was removed from there; `above`: before this row."""
        gone = self.last(path, above)
        if gone is not None and gone.after is None:
            return not gone.begins_with_text
        return any(c.moved_from == path and c.new_text is None for c in self)

    def removal(self, path: str) -> FileChange | None:
        """The row of the file's removal."""
        last = self.last(path)
        return last if last is not None and last.after is None else None

    def last(self, path: str, above: FileChange | None = None) -> FileChange | None:
        """The newest row of the path, on top of which is what somebody does there next; `above`: of those from before this row."""
        rows = [c for c in self if c.path == path and (above is None or c.id < above.id)]
        return rows[-1] if rows else None

    def _left_alone(self) -> list[FileChange]:
        """The moved files of which no row is newer under the old path: what has a row there is another file, which does not come back."""
        newest = {change.path: change.id for change in self}
        return [c for c in self if c.moved_from and newest.get(c.moved_from, 0) < c.id]

    def _is_a_copy(self, moved: FileChange, after: FileState | None = None) -> FileChange:
        """There is a file again where this one was moved from: from now on, this one counts as made by who moved it."""
        copy = replace(moved, after=self._less_hunks(moved, after or moved.after), moved_from="", removal="")
        self._rows.put(copy)
        return copy

    def _less_hunks(self, change: FileChange, after: FileState | None) -> FileState | None:
        """The file without what is under review in its text, if it says `after`."""
        reviewed, text = self._state.ledgers.get(change.uri), text_of(after)
        if after is None or reviewed is None or text is None:
            return after
        tracked = self._state.documents.get(reviewed.uri)
        now = tracked.settled_text() if reviewed.live and tracked is not None else reviewed.text
        return saying(after, reviewed.ledger.base_of_known(text), change.path) if str(now) == text else after

    def was_removed(self, path: str) -> bool:
        """Whether an agent's removal of the file, or its move to another path, is under review."""
        gone = (c for c in self if c.moved_from == path or (c.path == path and c.after is None))
        return any(not change.author.unknown for change in gone)

    def is_back(self, path: str, now: FileState) -> bool:
        """Whether the file is again as it was when an agent removed or moved it, and that is under review. Nothing is
        left of that change then, whoever brought the file back."""
        gone = self.removal(path)
        is_removed = gone is not None and gone.before == now
        return is_removed or any(c.moved_from == path and c.after == now for c in self)

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
        *,
        is_whole: bool = False,
        hunks: tuple[Hunk, ...] | None = None,
        alone: bool = False,
    ) -> None:
        """Puts a change under review. It is combined with the last change of the path if that is of the same turn. `is_whole`: where it led from one text
        to another, that is this row; otherwise it is hunks.
        `hunks`: what was under review in the text before it; None: what is so now. `alone`: it is not combined."""
        self._now[path] = after
        is_whole |= before is not None and text_of(before) is None
        known = self.last(path)
        same = known is not None and known.author.same_turn(author) and known.author.unknown == author.unknown
        if known is not None and same and not alone:
            before, hunks = known.before, known.hunks
            is_whole |= is_between_texts(known.before, known.after)
            moved_from, removal = (
                (known.moved_from, known.removal) if known.moved_from else (moved_from, removal)
            )
            self._rows.drop(known)
        if is_between_texts(before, after) and not is_whole and before is not None and after is not None:
            before = replace(after, mode=before.mode)
        if before == after and not moved_from:
            return
        change = FileChange(self._rows.next_id, path, before, after, author, moved_from, removal, hunks)
        if change.ends_text and hunks is None:
            change = replace(change, hunks=self._ends(change))
        self._rows.put(change)

    def _ends(self, change: FileChange) -> tuple[Hunk, ...] | None:
        """Takes what is under review in the text that the change ends out of the document's review, and returns it; None if it is not known."""
        reviewed, text = self._state.ledgers.get(change.uri), change.old_text
        assert text is not None, "it ends a text"
        if reviewed is None or reviewed.live:
            return self._hunks_in(change.uri, text)
        reviewed.seen(Text.of(text))
        hunks = tuple(reviewed.ledger.hunks)
        if hunks:
            reviewed.gone()
            self._state.ledgers.moved(reviewed)
        return hunks

    def _is_back(self, change: FileChange, text: str | None) -> None:
        """The text that the change had ended is back, as `text` (raw) by now, and with it what was under review there. Not what was done there since,
        although it may say the same."""
        uri, old = change.uri, change.old_text
        reviewed = self._state.ledgers.get(uri)
        if text is None or old is None or not change.ends_text or self._state.documents.get(uri) is not None:
            return
        if change.hunks is not None and (change.hunks or reviewed is not None):
            hunks = change.hunks if reviewed is None else reviewed.ledger.unkept(change.hunks)
            reviewed = self._state.ledgers.restore(uri, old, hunks)
        if reviewed is not None:
            reviewed.seen(Text.of(text))
            self._state.ledgers.moved(reviewed)

    async def removed_again(self, path: str, undone: Sequence[str]) -> None:
        """The file is gone. The command line may have taken back that it was created anew. Then an agent's earlier
        removal is all that is left, and is under review again. So are the earlier removals of the other files of the
        writes `undone` (ids in the journal), which the command line took back."""
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
                continue  # what it removed was taken back, too
            await self._remember(entry, before)
            self.enter(gone, before, None, author_of(entry, created=False))

    async def _remember(self, removal: Recorded, before: FileState) -> None:
        """Keeps what agents changed in a text that is gone with its file. If the file comes back, it is under review again.
        What an agent made there anew after that removal may say the same; it is not in the text that comes back. Nor does what was last known to be under
        review there say anything of it, if that was in another text."""
        uri, text = from_path(removal.path), text_of(before)
        known = self._state.ledgers.get(uri)
        if text is None or (known is not None and known.ledger.hunks):
            return
        last = None if known is None else known.last
        if last is not None and normal(str(last[0])) == normal(text):
            return
        writes = [one for one in await self._journal.told(removal.path) if one.author.write < removal.id]
        hunks = retold(writes, text)
        if hunks and known is not None:
            hunks = known.ledger.unkept(hunks)
        if hunks:
            self._state.ledgers.restore(uri, text, hunks).gone()

    async def look_at_old_names(self, *, while_acting: bool = False) -> None:
        """If somebody brought a renamed file back under its old name, it exists twice. From then on, the new file
        counts as a copy that the agent made, whatever becomes of the old one. `while_acting`: an agent is at work, and may
        have made another text there, which is recorded as its doing."""
        renamed = self._left_alone()
        twice = await anyio.to_thread.run_sync(lambda: [c for c in renamed if os.path.lexists(c.moved_from)])
        half_back = await self._half_back(twice)
        for change in twice:
            stat = self._state.storage.stat(change.moved_from)
            there, now = await self.found(change.moved_from), await self.found(change.path)
            if not isinstance(there, FileState) or not isinstance(now, FileState):
                continue
            if there == now and change in half_back:
                if not while_acting:
                    await self.goes_back(change)
                continue
            is_back = there == now or (not while_acting and await self._is_changed_since(change, there, now))
            if is_back and self._rows.get(change) is change:
                self._is_a_copy(change, now)
                await self._rows.store()
                if there == now and stat is not None:  # nobody's change
                    self._now[change.moved_from] = there
                    await self.was_brought_back(change.moved_from, there, stat)

    async def _half_back(self, moved: Sequence[FileChange]) -> list[FileChange]:
        """Those of which the journal has that a rejection brought the file back, but not that it went: the sidecar was killed in between."""
        removals = [change.removal for change in moved]
        back, by_others = (
            await self._journal.undone(removals, or_rejected=True) if removals else (),
            await self._journal.undone(removals) if removals else (),
        )
        return [one for one in moved if one.removal in back and one.removal not in by_others]

    # Review

    async def look(self) -> None:
        """Drops the rows that were taken back, and the rows that the disk does not show any more. A row is
        compared with what would be there if all later rows were put back.

        While an agent works, what the disk shows may be its doing, and is recorded as such. So nothing is dropped
        because of the disk then.
        """
        await self.look_at_old_names(while_acting=self._is_acting())
        await self._less_undone()
        if self._is_acting():
            return
        paths = {path: None for change in self for path in (change.path, change.moved_from) if path}
        there = await anyio.to_thread.run_sync(lambda: {path: _found(path) for path in paths})
        on_disk = dict(there)
        says: dict[str, _Says] = {path: from_path(path) for path in paths}
        async for change in in_steps(sorted(self, key=_number, reverse=True)):
            now = there.get(change.path)
            if self._rows.get(change) is None or change.path not in there:
                continue
            if self._is_acting():
                return
            less = self._without_hunks(change, now, says[change.path])
            if not shows(now, change) and not shows(less, change):
                self._rows.drop(change)
                if isinstance(now, FileState) and now is on_disk[change.path] and now == change.before:
                    self._is_back(change, change.old_text)
            elif change.moved_from:
                there[change.moved_from], there[change.path] = now, None
                says[change.moved_from] = says[change.path]
            elif change.kind == "mode" and isinstance(now, FileState) and change.before is not None:
                there[change.path] = replace(now, mode=change.before.mode)
            else:
                there[change.path], says[change.path] = change.before, change.hunks

    def _is_acting(self) -> bool:
        return any(session.running for session in self._state.sessions)

    def _without_hunks(
        self, change: FileChange, now: FileState | Refusal | None, says: _Says
    ) -> FileState | Refusal | None:
        """The file, which is `now`, without the changes of its text that are under review and have a known author; `change.after` if nobody knows which
        these are."""
        text = text_of(now) if isinstance(now, FileState) else None
        if not change.makes_text or not isinstance(now, FileState) or text is None:
            return now
        hunks = self._hunks_in(says, text) if isinstance(says, str) else says
        base = change.new_text if hunks is None else Ledger(hunks).base_of_known(text)
        if base == change.new_text and change.after is not None:  # in whatever encoding
            return change.after if hunks is None else replace(change.after, mode=now.mode)
        return now

    def _hunks_in(self, uri: DocumentUri, text: str) -> tuple[Hunk, ...] | None:
        """What is under review in the file, which says `text` (raw); None if nobody knows, because its document says something else."""
        reviewed = self._state.ledgers.get(uri)
        if reviewed is None:
            return ()
        tracked = self._state.documents.get(uri)
        ledger, was = reviewed.ledger.copy(), reviewed.text
        if reviewed.live and tracked is not None:
            was = tracked.settled_text()
            if str(was) != text:
                file = tracked.hunks_then.file
                if file is None or str(file.text) != text:
                    return None
                ledger, was = ledger.elsewhere(file.hunks), file.text
        ledger.user_led(was, Text.of(text))
        return tuple(ledger.hunks)

    async def _less_undone(self) -> None:
        """Drops the rows that were taken back: by the command line, or by a sidecar that ended before it had dropped them."""
        undone = await self._journal.undone([change.author.write for change in self], or_rejected=True)
        gone = [change for change in self if change.author.write in undone]
        for change in gone:
            there = await self.found(change.moved_from) if self._has_left_hunks(change) else None
            if isinstance(there, FileState):
                self._take_hunks_along(change, text_of(there))
        await self._go([change for change in gone if self._rows.get(change) is not None])

    async def goes_on(self, change: FileChange, text: str) -> None:
        """In a file that an agent made as a copy of another, or moved, earlier changes by agents were taken back, so that
        it now says `text` (raw). The row takes that over."""
        now = await self.found(change.path)
        followed = None if not isinstance(now, FileState) else replace(change, after=now)
        if followed is not None and self._rows.get(change) is not None and followed.new_text == text:
            self._rows.put(followed)
            await self._rows.store()

    def keep(self, change: FileChange) -> None:
        self._rows.drop(change)

    def kept_in(self, uri: DocumentUri, text: Text, was: Ledger, now: Ledger) -> None:
        """In `text`, in which a row may have made what is beneath the hunks, the user kept some hunks: of `was` under review, `now` is left. What was
        kept counts as made by the row from now on."""
        path, newest = to_path(uri), self._rows.next_id
        for change in sorted(self, key=_number, reverse=True):
            if change.path != path or change.id > newest or change.kind == "mode":
                continue
            if not change.moved_from:
                if change.makes_text and change.new_text == was.base_of_known(str(text)):
                    self._makes(change, now.base_of_known(str(text)))
                return
            path, newest = change.moved_from, change.id  # the text came from there

    def _makes(self, change: FileChange, text: str) -> None:
        """The row has made this text (raw)."""
        if change.after is not None:
            self._rows.put(replace(change, after=saying(change.after, text, change.path)))

    async def as_it_is_put_back(self, change: FileChange) -> FileChange:
        """The row with the states right before and after it is put back, for the journal. A moved file and a file whose
        mode changed keep their current content, and the mode that a later row has set. A file that was created empty,
        and is empty again, may have any mode."""
        change = self._rows.get(change) or change  # `goes_on` may have been called
        if change.makes_text and not change.is_made_empty:
            now = await self.found(change.path)  # perhaps in another encoding since
            if isinstance(now, FileState) and change.after is not None and text_of(now) == change.new_text:
                change = replace(change, after=replace(now, mode=change.after.mode))
            return change
        if not (change.moved_from or change.kind == "mode" or change.is_made_empty):
            return await self._without_gone(change)
        now = await self.found(change.path)
        if not isinstance(now, FileState) or (change.is_made_empty and (now.data or now.is_link)):
            return change
        was = now if self._is_covered(change) else change.before
        return replace(change, after=now, before=None if was is None else replace(now, mode=was.mode))

    async def in_the_way(self, change: FileChange) -> str:
        """Why the change cannot be put back, in words; empty if nothing is in the way. `change`: as `as_it_is_put_back` returned it. What cannot be put
        back is not to be journalled as about to be: where the disk shows what was there before the change, because later work led
        there, a sidecar that is killed would be taken to have put it back."""
        later = [c for c in self if c.id > change.id]
        if any(c.moved_from == change.path for c in later):
            return "the file was moved since; reject that first"
        if change.moved_from and any(c.path == change.path and c.after is None for c in later):
            return "the file was removed since; reject that first"  # what is there now is another one
        now = await self.found(change.path)
        if (change.moved_from or change.kind == "mode") and not isinstance(now, FileState):
            return "the file is gone"
        if change.moved_from:
            there = await self.found(change.moved_from)
            return "" if there is None or there == now else _another_there(change)
        if change.before == change.after or now == change.after:
            return ""
        return self._changed_since(change, refuse(Kind.CHANGED_ON_DISK, change.path).message)

    def _changed_since(self, change: FileChange, why: str) -> str:
        reviewed = self._state.ledgers.get(change.uri) if change.makes_text else None
        if reviewed is not None and reviewed.ledger.hunks:
            return "later work has put text into it; reject that first"
        if reviewed is not None and reviewed.live:
            return "its text is taken back in the editor, and not saved yet; save it and try again"
        return why

    async def put_back(self, change: FileChange, syncs: FolderSyncs) -> str:
        """Puts back what was there before, if nothing was `in_the_way`. `change`: as `as_it_is_put_back` returned it. Returns
        why that failed, in words; empty if it is done.

        It outlasts a crash only after `syncs`. Call `rejected` after that.
        """
        if change.moved_from:
            why = await self._move_back(change, syncs)
        elif change.kind == "mode":
            why = await self._put_mode(change, syncs)
        elif change.before == change.after:  # what it changed is taken back by now
            why = ""
        elif why := await self._put(change.path, change.after, change.before, syncs):
            why = self._changed_since(change, why)
        if not why:
            self._now[change.path] = change.before
        return why

    async def rejected(self, changes: Sequence[FileChange]) -> None:
        """The changes were put back, and that outlasts a crash."""
        for change in changes:
            if change.moved_from:
                self._take_hunks_along(change, text_of(change.after))
            else:
                self._is_back(self._rows.get(change) or change, text_of(change.before))
        writes = [write for change in changes for write in (change.author.write, change.removal) if write]
        await self._go(changes, rejected=writes)

    async def _go(self, changes: Sequence[FileChange], rejected: Sequence[str] = ()) -> None:
        """The changes were put back, and their rows go. First, the journal gets the hunks that came back with that. Then it learns at once that the writes
        (its ids) were `rejected`, that the rows are gone, and what the rows above them are without them. A part of this would have the next sidecar
        put back a state that was never there: the disk does not show all of it."""
        await self._keeper.store([from_path(change.moved_from or change.path) for change in changes])
        for change in changes:
            row = self._rows.get(change) or change
            if row.moved_from:
                self._take_rows_along(row)
            self._drop_beneath(row)
        await self._rows.store(rejected)

    def _take_rows_along(self, moved: FileChange) -> None:
        """What was done to a file since it was moved goes back with it."""
        for above in self:
            if above.path == moved.path and above.id > moved.id and not above.moved_from:
                self._rows.put(replace(above, path=moved.moved_from))

    def _take_hunks_along(self, moved: FileChange, text: str | None) -> None:
        """So do the hunks in it. And what was under review in it when it was moved is so again, also if the user changes the file before anybody looks.
        `text`: what it says (raw)."""
        old = from_path(moved.moved_from)
        self._state.renamed(moved.uri, old)
        reviewed = self._state.ledgers.get(old)
        if text is not None and reviewed is not None and reviewed.is_gone:
            reviewed.seen(Text.of(text))
            self._state.ledgers.moved(reviewed)

    def _has_left_hunks(self, moved: FileChange) -> bool:
        """Whether the hunks of a file that was moved back are still where it no longer is."""
        if not moved.moved_from:
            return False
        here, there = (self._state.ledgers.get(uri) for uri in (moved.uri, from_path(moved.moved_from)))
        return here is not None and here.is_gone and (there is None or not there.ledger.hunks)

    async def _without_gone(self, change: FileChange) -> FileChange:
        """The row without what was taken back in the file while it was gone: that must not come back with the file."""
        if change.before is None or change.after is not None:
            return change
        gone = await self._journal.gone_before(change.author.write)
        return replace(change, before=less_gone(change.before, gone, change.path))

    async def _move_back(self, change: FileChange, syncs: FolderSyncs) -> str:
        now = await self.found(change.path)
        if not isinstance(now, FileState):
            return "the file is gone"
        if await self.found(change.moved_from) != now and await self._put(
            change.moved_from, None, now, syncs
        ):
            return _another_there(change)
        self._now[change.moved_from] = now
        return await self._put(change.path, now, None, syncs)

    async def _is_changed_since(self, change: FileChange, there: FileState, now: FileState) -> bool:
        """Whether what is `there`, under the old name of a renamed file, was brought back, and then changed. If nobody
        changed the renamed file, which is as it is `now`, it may have half of its text, or be as it was before an agent
        changed it."""
        ours, theirs = text_of(now), text_of(there)
        if now != change.after or ours is None or theirs is None:
            return False
        if await aside(len(ours) + len(theirs), lambda: has_half_of(theirs, ours)):
            return True
        return await self._journal.held(change.moved_from, normal(theirs))

    async def _put_mode(self, change: FileChange, syncs: FolderSyncs) -> str:
        """Puts back the mode. The file keeps its content."""
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
        if expected is not None and wanted is not None and expected.differs_in_mode(wanted):
            self.mode_was_put_back(path, wanted.mode)
        else:
            self.was_put_back(path, wanted, done)
        return ""

    async def found(self, path: str) -> FileState | Refusal | None:
        """What is under the path now; None: nothing."""
        return await anyio.to_thread.run_sync(_found, path)

    def _drop_beneath(self, change: FileChange) -> None:
        """Drops a row that is put back. Later rows of the same path that begin with its result then begin with what was
        there before it. One that ends with that is dropped, too."""
        self._rows.drop(change)
        for above in self._without_it(change)[0]:
            if above.after == above.before:
                self._rows.drop(above)
            else:
                self._rows.put(above)

    def _without_it(self, change: FileChange) -> tuple[list[FileChange], bool]:
        """The later rows of the same path that begin with this row's result, as they are once it is put back; and whether
        they all go on with it. A mode goes on in a file that is changed otherwise, all else ends with the next row."""
        found: list[FileChange] = []
        for above in [c for c in self if c.path == change.path and c.id > change.id]:
            begins = without(change, above.before)
            if above.moved_from or begins is above.before:
                return found, False
            ends = without(change, above.after) if change.kind == "mode" else above.after
            hunks = above.hunks if change.kind == "mode" else change.hunks
            found.append(replace(above, before=begins, after=ends, hunks=hunks))
            if ends is above.after:
                return found, False
        return found, True

    def _is_covered(self, change: FileChange) -> bool:
        """Whether a later row has set the mode that this one had set: nothing of this one is left on the disk."""
        return change.kind == "mode" and not self._without_it(change)[1]

    async def stored(self) -> None:
        """Waits until the journal has every row that came, and has forgotten every row that went."""
        await self._rows.stored()

    # Over a restart

    async def restore(self, folders: Sequence[str]) -> None:
        """Puts the rows of an earlier process under review again, for files beneath `folders`."""
        for row in await self._rows.earlier(folders):
            is_whole = is_between_texts(row.before, row.after)
            last = self.last(row.path)
            alone = last is None or last.after != row.before  # the one between them was kept
            self.enter(*row[:6], is_whole=is_whole, hunks=row.hunks, alone=alone)
        await self._rows.store()
        self._now.clear()


async def _nobody_asks(path: str, state: FileState, stat: Stat) -> None: ...


async def _nobody_moves(change: FileChange) -> None: ...


def _another_there(change: FileChange) -> str:
    return f"there is another file at {os.path.basename(change.moved_from)} by now"


def _number(change: FileChange) -> int:
    return change.id


def _found(path: str) -> FileState | Refusal | None:
    return disk.found(_folder(path), path, at_most=_MOST)


def _folder(path: str) -> str:
    """The nearest folder above `path` that exists."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder
