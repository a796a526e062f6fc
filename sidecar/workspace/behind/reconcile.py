"""Reconciler: brings an open document and its file together after the file changed behind the editor.

It looks at the file's stat before every read or write of an open document. A changed file is first left to the editor's
own reload. What the editor does not do by itself is done through the editor: an agent's `sed -i` followed by a read
sees the new text, and the user's unsaved lines stay. If both changed the same place, the buffer stays as it is, and the user is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import anyio

from sidecar.core.change import ChangeSet
from sidecar.core.kept import Kept
from sidecar.core.knowledge import SentText
from sidecar.core.normal import Normal, normal
from sidecar.core.settle import settle
from sidecar.core.text import Text
from sidecar.core.uri import to_path
from sidecar.disk import Missing, Resolved, Stat
from sidecar.journal.turns import SavedOver
from sidecar.workspace.behind.behind import Behind
from sidecar.workspace.behind.emptied import Emptied, is_empty
from sidecar.workspace.behind.from_disk import MAX_REFUSALS, MOVED, FromDisk
from sidecar.workspace.behind.legs import SeenChange, WrittenOver, has
from sidecar.workspace.behind.open_files import PEEKS, OpenFiles
from sidecar.workspace.edits.conflicts import Conflicts, Open
from sidecar.workspace.edits.ends import Ended, Gone, Landed, Unanswered, ended
from sidecar.workspace.edits.keeper import Keeper
from sidecar.workspace.edits.sending import ANSWER_SECONDS, RELOAD_SECONDS, Sender, Sent, Stop
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.state.acts import changed_at, is_before
from sidecar.workspace.state.hunks_then import Noted
from sidecar.workspace.state.save_history import Explained
from sidecar.workspace.state.storage import OnDisk, Storage
from sidecar.workspace.state.tracked import Tracked

OBSERVE_SECONDS = 5.0
"""How long a look waits for `opened` to be done."""
LOOK_AGAIN_SECONDS = 2.0
"""How long a look keeps starting over because the user types in the place that it is about to change."""


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a change on the disk begins. Texts are in the compared form."""

    base: str | None
    """The text from which the change's author made it; None: not known."""
    since: Stat | None
    """The file's stat when mirror and disk were last compared."""
    written_over: WrittenOver | None
    """What was saved on top of `base` and the author had not read; None: nothing."""
    found: str | None
    """As in `Behind.seen`."""
    emptied: int | None
    """Since when the file was empty in between, and the editor has taken that from the disk; None: it was not, or the editor has not."""
    was_gone: bool
    was_told: bool
    """As in `SeenChange`."""


class Reconciler:
    """Compares open documents with the disk."""

    def __init__(
        self,
        storage: Storage,
        editor: Editor,
        sender: Sender,
        keeper: Keeper,
        conflicts: Conflicts,
        behind: Behind,
        tasks: Background,
    ) -> None:
        """`behind` finds out who made a change on the disk, and records it."""
        self._behind = behind
        self._settling = behind.settling
        self._keeper = keeper
        self._conflicts = conflicts
        self._tasks = tasks
        self._storage = storage
        self._editor = editor
        self._files = files = OpenFiles(storage, editor)
        self._from_disk = FromDisk(editor, sender, files, behind.settling)
        self._emptied = Emptied(files, behind, keeper)

    def opened_now(self, tracked: Tracked) -> OnDisk | None:
        """Called at didOpen, before `opened`. Reads the disk at once, because what agents changed until now is there,
        and the user may save over it in the next moment. Returns what the disk says. None: no agent works, nothing is
        new, or the file is too large to be read without waiting."""
        self._behind.accounts.opening(tracked.document.uri)
        found = self._files.newer_now(tracked) if self._acts() else None
        if found is not None:
            tracked.on_disk(found.text, found.stat)
        return found

    async def opened(self, tracked: Tracked, text: Text, found: OnDisk | None = None) -> None:
        """Called after didOpen with `text`. Finds out whether the disk says the same: a document opened after a restart
        may be dirty. `found`: what the disk said at didOpen; None: it is read now. Puts back what the user had saved, if the editor took over from the
        disk what somebody had written over that without having read it."""
        written_over, is_reload = None, self._settling.is_reload(tracked.document.uri)
        try:
            written_over = await self._opened(tracked, text, found)
        finally:
            self._behind.accounts.opened(tracked.document.uri)
            tracked.observed.set()
        if written_over is not None and is_reload:
            async with tracked.looking:
                await self._from_disk.reloaded_without(tracked, written_over)

    async def _opened(self, tracked: Tracked, text: Text, found: OnDisk | None) -> WrittenOver | None:
        path = to_path(tracked.document.uri)
        on_disk = await self._files.peek(tracked, path) if path is not None and found is None else found
        if on_disk is None and not tracked.closed:
            await self._keeper.restore(tracked)  # an editor keeps unsaved text of a file that is gone
        if on_disk is None or tracked.closed:
            return None
        opened, found_text = await aside(len(text), lambda: _compared(tracked, text, on_disk))
        if tracked.closed:
            return None
        is_old = on_disk.text != opened and not tracked.was_left_unsaved(opened)
        is_old = is_old and (tracked.was_on_disk(opened) or await self._said(tracked, path, opened))
        if tracked.closed:
            return None
        is_newest = found is not None or not tracked.saves  # otherwise a save has told more
        is_old = is_old and is_newest
        if is_newest:
            if found is None:
                tracked.on_disk(found_text, on_disk.stat)
            if is_old:  # not unsaved: the editor had it in memory, and the file was written since
                tracked.not_yet(opened)
            elif on_disk.text != opened:
                tracked.was_written()
                if tracked.document.snapshot() == text:
                    # Or the editor read the file before somebody wrote it, and takes that change together with the next one
                    noted = Noted(text, tracked.hunks(), tracked.history.newest)
                    tracked.hunks_then.note(noted, tracked.saves, is_clean=False)
            else:
                tracked.has(tracked.saved)
        await self._keeper.restore(tracked)
        if not is_old and on_disk.text != opened and await self._is_save_since(tracked, on_disk):
            return None
        if path is None or on_disk.text is None:
            return None
        if is_old or not is_newest:
            at = tracked.history.opened_at
            await self._behind.opened(tracked, path, opened, at, is_gone=is_old)
            return None
        at = changed_at(on_disk.stat)
        before = await self._behind.opened(tracked, path, on_disk.text, at)
        if isinstance(before, str) and not tracked.closed:
            self._emptied.opened(tracked, before, at)
        return before if isinstance(before, WrittenOver) else None

    async def _is_save_since(self, tracked: Tracked, on_disk: OnDisk) -> bool:
        """Whether the document was saved since it was opened, and its file says that. Both may have happened by the
        time that the editor reports the opening."""
        if not self._acts() or self._files.explained(tracked, on_disk) is None:
            return False
        if self._files.save(tracked, on_disk) is None:
            await tracked.history.until_told(RELOAD_SECONDS)
        return self._files.save(tracked, on_disk) is not None

    async def _said(self, tracked: Tracked, path: str | None, text: str) -> bool:
        """Whether the document's file is known to have said `text` before agents changed it."""
        return path is not None and await self._behind.said(tracked, path, text)

    def edited_now(self, tracked: Tracked, *, was_clean: bool) -> OnDisk | None:
        """Called at an edit of a document. The edit may be the editor's reload of a changed file, and the user may save
        over that file in the next moment, so the file is read at once. A reload can be the first edit of a clean
        document, the first edit after the file was found empty, or any edit that leaves nothing. Returns what the disk
        says, if that is new; for `edited`."""
        may_fill = was_clean or tracked.document.uri in self._emptied
        has_nothing = is_empty(tracked)
        if tracked.said is None or not (may_fill or has_nothing) or not self._acts():
            return None
        newer = self._files.newer_now(tracked)
        if newer is None or newer.text is None or (not may_fill and newer.text.strip("\n")):
            return None
        self._note(tracked, newer)
        self._emptied.note_taken(tracked, newer)
        return newer

    async def edited(self, tracked: Tracked, newer: OnDisk | None) -> None:
        """Called after such an edit. Notes what the disk says, which an agent may read before somebody writes the file
        again. `newer`: what `edited_now` returned and noted; None: the file is read now."""
        path = to_path(tracked.document.uri)
        if path is None or tracked.said is None:
            return
        if tracked.apart and tracked.is_clean():  # the user took the disk's side, by the editor's own means
            self._conflicts.rows(tracked.document.uri)
            return
        if newer is None and self._storage.stat(path) != tracked.stat:
            newer = await self._files.peek(tracked, path)
            if newer is not None and newer.text is not None:
                self._note(tracked, newer)
                self._emptied.note_taken(tracked, newer)

    def _note(self, tracked: Tracked, on_disk: OnDisk) -> None:
        if on_disk.text is not None and tracked.disk is not None:
            tracked.disk.seen(tracked.document.uri, on_disk.text)
            self._behind.passes(tracked, on_disk.text, changed_at(on_disk.stat))

    def _acts(self) -> bool:
        return self._behind.is_acting()

    def saved_now(self, tracked: Tracked, text: Text, told_at: int) -> SavedOver | None:
        """Called at didSave, as `saved` is later. If that has to wait for a change of the file that is still being recorded, returns what
        the user saved on top of that change. The next sidecar needs it if this one ends before `saved` is done.

        A save that was not made is found out here, before the next one is reported or the document is closed: afterwards it would count as one that
        somebody has written over."""
        if tracked.saved is None or not self._behind.accounts.open:
            return None
        newer = self._files.newer_now(tracked)
        if newer is None or newer.text is None:
            return None
        if self._files.explained(tracked, newer) is None:
            if _refuses(tracked, text, newer, told_at):
                tracked.not_saved(text)
            return None
        is_counted = tracked.observed.is_set() and not tracked.looking.locked()
        if is_counted:
            return None
        return SavedOver(tracked.was_on_disk_before(newer.text) or str(tracked.saved), newer.text)

    async def saved(self, tracked: Tracked, text: Text, told_at: int) -> Text | None:
        """Called after didSave with `text`, received at `told_at` (acts.py). Returns which of the document's texts was
        saved; `text` if somebody has written the file since, which the next look sees; None if nothing was saved
        (Neovim also reports a save that the user declined)."""
        # Record changes from before the opening, and those that are being looked at, before the save over them. A look that is under way would bring
        # into the document what this save settles
        await tracked.observed.wait()
        async with tracked.looking:
            return await self._saved(tracked, text, told_at)

    async def _saved(self, tracked: Tracked, text: Text, told_at: int) -> Text | None:
        path = to_path(tracked.document.uri)
        saves = tracked.saves
        on_disk = await self._files.peek(tracked, path) if path is not None else None
        if path is None or on_disk is None or tracked.saves != saves:
            self._over(tracked)
            return text  # nothing to compare, or saved again meanwhile
        is_unwritten = on_disk.stat == tracked.stat or _refuses(tracked, text, on_disk, told_at)
        if tracked.closed:
            is_save = self._files.save(tracked, on_disk) is not None
        else:
            is_save = await self._is_save(tracked, path, on_disk)
        if is_unwritten and not is_save:
            tracked.not_saved(text)
            return None
        self._over(tracked)
        if tracked.closed or tracked.saves != saves:
            return text
        if is_save:
            return Text.of("") if tracked.saved is None else tracked.saved.text
        tracked.to_compare()
        return text

    def _over(self, tracked: Tracked) -> None:
        """The user has saved over what was in conflict with the document."""
        tracked.fits()
        self._conflicts.ended(tracked, "saved")
        self._settling.over(tracked.document.uri)

    async def _is_save(self, tracked: Tracked, path: str, on_disk: OnDisk) -> bool:
        """As `OpenFiles.is_save`. Whoever finds the save first records what was saved over."""
        before = None if tracked.saved is None else str(tracked.saved)
        is_being_filled = self._behind.is_being_filled(tracked.document.uri, before, on_disk.text)
        if is_being_filled and not self._emptied.is_saved(tracked, on_disk):
            return False  # the editor may have taken the empty text from the disk
        saves = tracked.saves
        if self._files.save(tracked, on_disk) is not None:
            await self._emptied.saved_over(tracked, path, on_disk)
            await self._behind.saved_over(tracked, path, on_disk.text or "", changed_at(on_disk.stat))
            if tracked.closed or tracked.saves != saves:
                return False
        is_save = self._files.is_save(tracked, on_disk)
        if is_save:  # whatever had emptied the file, it now says what the document said
            self._emptied.over(tracked)
        return is_save

    def is_current(self, tracked: Tracked, found: Resolved | Missing | None = None) -> bool:
        """Whether `look` would find nothing to do. `found`: what is at some path at this moment, perhaps the document's."""
        if not tracked.observed.is_set() or tracked.closed or tracked.document.desynchronised is not None:
            return False
        path = to_path(tracked.document.uri)
        if isinstance(found, Resolved) and found.path == path:
            return found.stat == tracked.stat
        return path is None or tracked.is_known_with(self._storage.stat(path))

    async def look(self, tracked: Tracked) -> bool:
        """Brings mirror and disk together if the file changed since it was last seen. If the user types or somebody
        writes the file meanwhile, the editor refuses the edit, and the look starts over. Returns False while an edit is
        on its way (`Tracked.rest`), also one that was sent since the look began: nothing is planned beside it."""
        with anyio.move_on_after(OBSERVE_SECONDS):
            await tracked.observed.wait()
        if (tracked.flight is not None or tracked.saving) and not tracked.looking.locked():
            return tracked.flight is None  # a save under way is looked at when it is reported
        if tracked.looking.locked() or not self.is_current(tracked):
            await self._tasks.to_its_end(
                self._look_until_unmoved, tracked
            )  # the editor may be making a change by then, to be entered
        return tracked.flight is None

    async def _look_until_unmoved(self, tracked: Tracked) -> None:
        async with tracked.looking:
            until, reload_waited_for = anyio.current_time() + LOOK_AGAIN_SECONDS, None
            while not self.is_current(tracked):
                version, stat = tracked.document.version, self._stat(tracked)
                await self._look(tracked, 0.0 if stat == reload_waited_for else RELOAD_SECONDS)
                if tracked.document.uri not in self._emptied:
                    self._keeper.let_go(tracked.document.uri)
                is_unmoved = (tracked.document.version, self._stat(tracked)) == (version, stat)
                if is_unmoved or tracked.closed or tracked.flight or anyio.current_time() > until:
                    break
                reload_waited_for = stat  # wait only once for each of the file's texts

    async def fits_again(self, tracked: Tracked) -> bool:
        """Whether a document that was in conflict with its file is not any more, and has taken what the file says."""
        self._conflicts.rows(tracked.document.uri)  # ends one that is none any more
        await self.look(tracked)
        return not tracked.apart

    def _stat(self, tracked: Tracked) -> Stat | None:
        path = to_path(tracked.document.uri)
        return None if path is None else self._storage.stat(path)

    async def _look(self, tracked: Tracked, reload_seconds: float) -> None:
        path = to_path(tracked.document.uri)
        if path is None or tracked.closed or tracked.document.desynchronised is not None:
            return
        if tracked.is_known_with(self._storage.stat(path)):
            return
        on_disk = await self._files.peek(tracked, path)
        if on_disk is None:
            if is_empty(tracked) and not await self._emptied.for_good(tracked, path):
                return
            tracked.on_disk(None, None)
            tracked.history.put_there()
            self._behind.gone(tracked.document.uri)
            return
        found = await self._not_a_save(tracked, path, on_disk)
        if found is None:
            return
        on_disk, explained = found
        start = await self._start(tracked, path, on_disk, explained)
        if start is None:
            return
        first, written_over, writes = tracked, start.written_over, tracked.agents_edits
        async with self._behind.one_at_a_time(tracked):
            seen = await self._behind.seen(
                tracked,
                path,
                start.base,
                on_disk.text,
                changed_at(on_disk.stat),
                since=start.since,
                emptied=start.emptied is not None,
                saved=None if written_over is None else written_over.saved,
                was_told=start.was_told,
                found=start.found,
            )
            if seen is not None:
                self._settling.brings_in(tracked, seen)
        base = start.base
        if start.emptied is not None:
            # The editor had taken that from the disk, and nobody typed it
            base, explained = tracked.text(), None
        elif seen is not None:
            base = seen.taken
        elif start.was_gone and on_disk.text is not None:
            base = tracked.before_it_is_back(base, on_disk.text)

        def about_to() -> None:
            nonlocal seen
            seen = seen or self._behind.written_before(tracked, base, on_disk, writes)
            if seen is not None:
                self._behind.comes_after(tracked, seen)

        is_save = False
        try:
            if explained is not None and explained[1] == "typed since" and on_disk.text is not None:
                # The editor took the disk's text, and the user typed since
                tracked.on_disk_is(explained[0], on_disk.text, on_disk.stat, by_editor=False)
                tracked.fits()
                tracked.has(on_disk.text)
                await self._from_disk.gives_back(tracked, written_over, on_disk.text)
            else:
                by_itself = await self._from_disk.bring_together(
                    tracked,
                    base,
                    on_disk,
                    reload_seconds,
                    written_over,
                    about_to,
                )
                is_save = by_itself and seen is not None and await self._is_told_late(tracked, seen, on_disk)
                if tracked.stat is None:  # the next look begins where this one did
                    tracked.begins_with(start.base, start.since)
                    if start.emptied is not None:
                        self._emptied.again(tracked, start.emptied, on_disk)
                if not by_itself and written_over is not None and (tracked.closed or base != start.base):
                    tracked = await self._from_disk.reloaded_without(tracked, written_over)
            if start.was_gone and on_disk.text is not None and not tracked.says(on_disk.text):
                # Also if nobody here had seen the file before it was gone
                tracked.was_written()
            if written_over is not None and on_disk.text is not None:
                self._from_disk.lacks_save(tracked, on_disk.text)
            said = None if written_over is None else written_over.saved
            self._told_apart(tracked, base, said, on_disk.text, seen)
        finally:
            if seen is not None:
                with anyio.CancelScope(shield=True):
                    await self._settling.settle(first, seen, on_disk.text, is_save=is_save)

    async def _start(
        self, tracked: Tracked, path: str, on_disk: OnDisk, explained: tuple[int, Explained] | None
    ) -> _Start | None:
        """Where the change that led to `on_disk` begins. Notes `on_disk` as what the file says. None: there is no
        change, or the next look has to begin anew."""
        behind = self._behind
        was, was_gone = None, tracked.saved is None and tracked.stat is None
        if was_gone and on_disk.text is not None:
            was = await behind.before_it_was_gone(tracked, path)
        before, known, since = (
            was if tracked.saved is None else str(tracked.saved),
            tracked.stat,
            tracked.since,
        )
        if behind.is_being_filled(tracked.document.uri, before, on_disk.text):
            self._emptied.note(tracked, changed_at(on_disk.stat))
            return None
        told = tracked.history.told_text() if explained is None else None
        if told is not None and _refuses(tracked, told, on_disk, tracked.history.told_at):
            tracked.not_saved(told)  # known here before `saved` finds it
        # `taken`: the text that the editor took over from the disk by itself
        emptied, taken = self._emptied.taken(tracked), None
        if explained is not None:
            taken = explained[0]
        elif emptied is not None:
            taken = tracked.history.emptied
        if taken is None and on_disk.text is not None and tracked.said is not None:
            save, saves = tracked.history.base(on_disk.text, before), tracked.saves
            if save is not None and save != before:  # nobody saw its bytes, or what it was saved over
                saved_at = tracked.history.saved_at(changed_at(on_disk.stat))
                await behind.saved_over(tracked, path, save, saved_at)
                is_same = self._storage.stat(path) == on_disk.stat and self._emptied.taken(tracked) is None
                if tracked.closed or tracked.saves != saves or not is_same:
                    return None
        if tracked.flight is not None:
            return None  # what the disk says may be part of it
        was_told = tracked.history.is_told
        self._emptied.filled(tracked)
        tracked.on_disk(on_disk.text, on_disk.stat)
        if known is not None and on_disk.text == before and emptied is None:
            return None  # touched only
        if on_disk.text is not None and tracked.was_saved(on_disk.text):
            if tracked.says(on_disk.text):
                tracked.is_unwritten()
            return None  # saved by the editor: where the document differs now, it was edited since
        said = before  # by the file, until somebody wrote `on_disk`
        if taken is None and on_disk.text is not None:
            before = said = tracked.history.base(on_disk.text, before)
        elif taken is not None and before is not None:
            said = behind.saved_before(tracked, before, taken, changed_at(on_disk.stat))
        if on_disk.text is not None:
            tracked.history.written_over(None if explained is None else explained[0])
        # The mirror has nothing of an undecided conflict: the file's text is measured from where the conflict began.
        undecided = self._conflicts.on_disk(tracked)
        base, written_over = before, None
        if undecided is not None and on_disk.text is not None:
            base = undecided.said if emptied is not None else undecided.start(on_disk.text, tracked.text())
            written_over = None if base == undecided.said else WrittenOver(base, undecided.said)
        if said is not None and on_disk.text and undecided is None:
            # The author may have read a save that nobody here has seen on the disk
            read = behind.had_read(tracked, path, said, on_disk.text, changed_at(on_disk.stat))
            if read != said:
                base, written_over = read, WrittenOver(read, said)
        found = None if undecided is None else before
        return _Start(base, since, written_over, found, emptied, was_gone, was_told)

    async def _not_a_save(
        self, tracked: Tracked, path: str, on_disk: OnDisk
    ) -> tuple[OnDisk, tuple[int, Explained] | None] | None:
        """What the file says by now, and how the document's history explains that. None: it is a save, or the next look
        has to begin anew.

        A text that the document had is given time to be reported as a save while an agent may change files, and always if the document's history does not
        explain it: a save that had begun before somebody wrote the file may land on top of that.
        """
        is_told = False
        for _ in range(PEEKS):
            saves = tracked.saves
            if await self._is_save(tracked, path, on_disk) or tracked.closed or tracked.saves != saves:
                return None
            if is_told or not self._files.had(tracked, on_disk):
                break
            if not self._acts() and self._files.explained(tracked, on_disk) is not None:
                break  # nobody is asked whose it is, and the document stays as it is
            # A save may be seen before it is reported
            self._emptied.note_taken(tracked, on_disk)
            self._behind.passes(tracked, on_disk.text or "", changed_at(on_disk.stat))
            is_told = await tracked.history.until_told(RELOAD_SECONDS)
            if self._storage.stat(path) != on_disk.stat:
                newer = None if is_told else await self._files.peek(tracked, path)
                if newer is None:
                    return None  # another save, or the file is gone: the next look sees it
                on_disk = newer
            elif not is_told:
                break
        else:
            return None
        # Whoever opens it again begins anew, and otherwise it is a change of a file that is not open
        return None if tracked.closed else (on_disk, self._files.explained(tracked, on_disk))

    async def _is_told_late(self, tracked: Tracked, seen: SeenChange, on_disk: OnDisk) -> bool:
        """Whether the document, which says what was found on the disk, was saved with that text. An editor may report
        typed text only when it is on the disk, together with the save. It is not known of every editor whether it reports
        a reload otherwise: there, what nobody known has written counts as such a save if nobody has written the file since."""
        reopens = self._editor.capabilities.reopens
        if tracked.closed or not (reopens or seen.is_nobody_knowns):
            return False
        is_told = tracked.saves > seen.saves or await tracked.history.until_told(RELOAD_SECONDS)
        return is_told and (reopens or self._stat(tracked) == on_disk.stat)

    def _told_apart(
        self, tracked: Tracked, base: str | None, said: str | None, disk: str | None, seen: SeenChange | None
    ) -> None:
        """Records the result: mirror and disk were brought together, or are in conflict now."""
        if not tracked.apart or base is None or disk is None:
            self._conflicts.ended(tracked, "gone")
            return
        refused = tracked.refused[0] == tracked.stat and tracked.refused[1] >= MAX_REFUSALS
        if seen is not None:
            # Nothing of it is in the document, even if the newest change alone would have fitted
            seen.changes = None
        session, author = (None, None) if seen is None else (seen.last.session, seen.last.author)
        self._conflicts.found(tracked, "disk", base, disk, session, author, said=said, refused=refused)

    async def resolve(
        self,
        conflict: Open,
        take: Literal["mine", "agent"],
        about_to: Callable[[], None],
        ended_late: Callable[[Ended], None],
    ) -> Ended | Stop[str]:
        """Brings mirror and disk together as the user decided. Landed: they are. `about_to`: called before the editor is asked for anything; whoever waits
        must not be cancelled from then on. `ended_late`: called with the end of an edit that is returned as Unanswered."""
        tracked = conflict.tracked
        if not await tracked.rest(ANSWER_SECONDS):
            return Unanswered()
        async with tracked.looking:
            path = to_path(tracked.document.uri)
            if tracked.closed:
                return Gone(tracked, "the document was closed")
            if path is None or tracked.document.desynchronised is not None:
                return Stop("the editor's text of it is not known for certain; save it or reopen it")
            on_disk = await self._files.peek(tracked, path)
            if on_disk is None or on_disk.text is None or on_disk.text != conflict.theirs:
                return Stop(MOVED)
            now = Normal(str(tracked.document.snapshot()))
            side = "ours" if take == "mine" else "theirs"
            settled = settle(conflict.base, now.text, on_disk.text, side)
            if conflict.refused and take == "mine":
                settled = ChangeSet.of(len(now.text), ())  # nothing from the disk is wanted
            if settled is None:
                return Stop(MOVED)
            raw = self._editor.capabilities.fitted(now.raw, now.changes_in_raw(settled))
            tracked.on_disk(on_disk.text, on_disk.stat)
            about_to()
            seen = self._behind.resolving(tracked, conflict, now.raw, raw)
            end = await self._from_disk.take(tracked, conflict.base, now, on_disk, raw)
            if isinstance(end, Landed):
                await self._resolved(tracked, on_disk.text, seen)
        if isinstance(end, Unanswered) and end.sent is not None:
            self._tasks.start_soon(self._resolved_late, conflict, end.sent, on_disk.text, seen, ended_late)
        return end

    async def _resolved(self, tracked: Tracked, disk: str, seen: SeenChange | None) -> None:
        tracked.fits()
        tracked.has(disk)
        if seen is not None:
            await self._settling.settle(tracked, seen, disk)

    async def _resolved_late(
        self,
        conflict: Open,
        sent: Sent,
        disk: str,
        seen: SeenChange | None,
        ended_late: Callable[[Ended], None],
    ) -> None:
        await sent.settled.wait()
        async with conflict.tracked.looking:
            end = ended(sent)
            try:
                if isinstance(end, Landed) and self._conflicts.get(conflict.id) is conflict:
                    await self._resolved(conflict.tracked, disk, seen)
            finally:
                ended_late(end)


def _compared(tracked: Tracked, text: Text, on_disk: OnDisk) -> tuple[str, Kept | str | None]:
    """`text` in the compared form; and what the disk says, as the text that it was last known to hold if that is the same."""
    known = None if tracked.disk is None else tracked.disk.newest(tracked.document.uri)
    is_known = known is not None and on_disk.text is not None and known == on_disk.text
    return normal(str(text)), known if is_known else on_disk.text


def _refuses(tracked: Tracked, text: Text, on_disk: OnDisk, told_at: int) -> bool:
    """Whether the file lacks a save of `text` that was reported at `told_at` (acts.py). Either the save was not made,
    because the file had changed by then; or somebody overwrote it at that moment without knowing it. In both cases the
    document still has `text` unsaved. Whoever kept half of it has read it."""
    if tracked.saved is None or on_disk.text is None or is_before(told_at, changed_at(on_disk.stat)):
        return False
    saved, told = str(tracked.saved), normal(str(text))
    if (
        told == saved
    ):  # nothing of it would show: the file, which says something else since before that, was not written again
        return told != on_disk.text
    return not (has(saved, on_disk.text, [told]) or SentText(on_disk.text).shows(told, saved))
