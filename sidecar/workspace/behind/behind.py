"""Behind: finds out who changed the files of open documents while agents work, and journals the changes.

The reconciler brings an open document and its changed file together. Before that it calls `seen`, which finds out who
made the change and journals it. Afterwards it calls `settle` (settling.py), which enters the change in the ledger, where
it can be rejected. The change is worked out from texts and not from what the editor was seen to do: the editor may have reloaded the file long before
anybody looked. A change that the mirror already had is not recorded twice (some agents write to the disk *and* send the write).

A file that is opened after it changed is compared with what it is known to have said (known_before.py). whose.py
decides who made the difference. Files that are not open: unopened.py.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import anyio

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Hunk, Ledger, ReviewThen
from sidecar.core.normal import Normal, normal
from sidecar.core.refusal import Refusal
from sidecar.core.shared import with_shared
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path
from sidecar.disk import Missing, Resolved, Stat
from sidecar.workspace.behind.accounts import Accounts
from sidecar.workspace.behind.entering import Entering
from sidecar.workspace.behind.evidence import Evidence
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.behind.glimpses import Glimpses
from sidecar.workspace.behind.gone_with import GoneWith
from sidecar.workspace.behind.known_before import KnownBefore
from sidecar.workspace.behind.legs import (
    Leg,
    SeenChange,
    WrittenOver,
    as_one,
    has,
    on_top,
    taken_from,
    without,
)
from sidecar.workspace.behind.passing import PassingTexts, with_start
from sidecar.workspace.behind.settling import SETTLE_SECONDS, Settling, opened_with
from sidecar.workspace.behind.turn_starts import TurnStarts
from sidecar.workspace.behind.unopened import Unopened
from sidecar.workspace.behind.whose import Part, Whose
from sidecar.workspace.behind.written import Written
from sidecar.workspace.edits.conflicts import Open
from sidecar.workspace.edits.recording import DiskChange, Recorder
from sidecar.workspace.ports.ports import Editor, Level
from sidecar.workspace.state.acts import changed_at, now_at_most
from sidecar.workspace.state.acts import now as file_time
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.storage import OnDisk
from sidecar.workspace.state.tracked import Tracked

EMPTY_SECONDS = 2.0
"""How long a command is given to fill a file that it emptied: `command > file` empties the file first."""


class Behind:
    """Records changes. It looks only when it is called."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        recorder: Recorder,
        evidence: Evidence,
        starts: TurnStarts,
        whose: Whose,
        files: FileReviews,
    ) -> None:
        self._state = state
        self._editor = editor
        self._recorder = recorder
        recorder.in_editor = evidence.had_read.sent
        self._evidence = evidence
        self._files = files
        self._starts = starts
        files.was_put_back, files.mode_was_put_back = starts.put_back, starts.mode_put_back
        self.accounts = Accounts()
        state.documents.disk.wrote = self.accounts.wrote
        state.documents.disk.not_wrote = self.accounts.unwritten
        self._glimpses = Glimpses(state, evidence, starts, files)
        self._known = KnownBefore(evidence, starts, self.accounts, files)
        self._entering = Entering(state, editor, recorder, whose)
        self._passing = PassingTexts(self._glimpses)
        self._written = Written()
        self.settling = Settling(
            state, editor, recorder, self._entering, self.accounts, self._written, self._passing
        )
        self.unopened = Unopened(
            state,
            editor,
            recorder,
            starts,
            whose,
            files,
            self.accounts,
            self._glimpses,
            self._known,
            GoneWith(self._passing, self._known, whose, self.accounts),
            self._entering,
            self.is_being_filled,
            self.settling,
        )
        files.was_brought_back = self.unopened.was_brought_back
        self._empty: dict[DocumentUri, float] = {}
        """By file that a command may be about to fill: since when it is empty (the loop's time, in seconds)."""
        self.making: set[DocumentUri] = set()
        """Files that the sidecar is creating in the editor. They are empty at first."""

    def turns_over(self, *, begins: bool = False) -> None:
        """No turn is running, and none ended a moment ago. `begins`: a new turn is about to begin."""
        self.accounts.clear()
        self.accounts.open = begins
        self._files.turns_over()
        self._empty.clear()
        self._glimpses.clear()
        self._passing.clear()

    async def turn_begins(self) -> None:
        """A turn is about to begin. Records what somebody put back since the last one, before an agent works with it."""
        await self._files.look_at_old_names()

    async def before_write(
        self, uri: DocumentUri, path: str, file: Resolved | Missing, data: bytes | Refusal | None
    ) -> None:
        """We are about to write a file that is not open, over `data`. Unrecorded changes of the file are recorded
        first: afterwards nobody can find them. The caller holds the file's place in the queue."""
        session = self._evidence.during(path)
        if session is None:
            return
        is_there = isinstance(file, Resolved)
        stat, mode = (file.stat, file.mode) if is_there else (None, None)
        named = self._evidence.named_as(session, uri)
        await self.unopened.look_at(session, uri, path, stat, mode, data, named, last=True)

    async def count(self, path: str) -> None:
        """The same, for a caller that does not hold a place in the queue yet: we may be about to write a file that is not open."""
        session = self._evidence.during(path)
        if session is not None:
            named = self._evidence.named_as(session, from_path(path))
            await self.unopened.look(session, path, named, last=True)

    def came(self, path: str, author: Author) -> tuple[Author, str]:
        """We created a file. Returns its author, and the text with which its hunks begin (raw): what an agent had
        removed there, else empty."""
        gone = self._files.came(path)
        if gone is None or gone.before is None:
            return author, ""
        return replace(author, created=False), gone.old_text or ""

    # Open documents

    def is_acting(self) -> bool:
        """Whether any agent may be changing files at this moment."""
        return self._evidence.is_acting()

    def is_being_filled(self, uri: DocumentUri, before: str | None, now: str | None) -> bool:
        """Whether the file has just been emptied by a command that may be about to fill it. If so, it has to be looked at again."""
        if now is None or now.strip("\n") or not before or not self._evidence.may_be_under_way(uri):
            self._empty.pop(uri, None)
            return False
        since = self._empty.setdefault(uri, anyio.current_time())
        return anyio.current_time() - since < EMPTY_SECONDS

    async def before_it_was_gone(self, tracked: Tracked, path: str) -> str | None:
        """What a document's file, which is back, said before it was removed (compared form): new text in it is measured
        from that. None: not known, or no text."""
        gone, session = self._files.came(path), self._evidence.during(path)
        if gone is not None:
            return None if gone.old_text is None else normal(gone.old_text)
        then = (
            None
            if session is None
            else await self._known.last(session, tracked.document.uri, path, None, None)
        )
        return None if then is None or then.text is None else normal(then.text)

    def gone(self, uri: DocumentUri) -> None:
        """A document's file does not exist any more."""
        self._evidence.had_read.gone(uri)

    def had_read(self, tracked: Tracked, path: str, before: str, disk: str, at: int) -> str:
        """The text from which the author of `disk` made it, at the time `at` (acts.py), over `before`, as far as that matters for the document. All
        texts are in the compared form."""
        uri = tracked.document.uri
        whose = self._evidence.whose(uri, path, at, at)
        if whose is None or self._evidence.made_from(whose[0], uri, disk) == before:
            return before
        base = self._evidence.had_read.base(*whose, uri, before, disk)
        return before if base == before or _has_again(tracked.text(), base, before, disk) else base

    def one_at_a_time(self, tracked: Tracked) -> AbstractAsyncContextManager[None]:
        """A lock of the document. Within it, a change of its file is searched for and recorded, so that the next holder
        finds it recorded."""
        return self._entering.one_at_a_time(tracked.document.uri)

    def writes(self, session: Session, uri: DocumentUri, author: Author, change: DiskChange) -> None:
        """We are about to make a journalled write of a file for an agent. The editor may have the file open, or open it
        at that moment, with the old text or the new one."""
        self._written.begins(session, uri, author, change)

    def did_not_write(self, uri: DocumentUri, author: Author) -> None:
        self._written.forget(uri, author)

    def wrote(self, uri: DocumentUri, path: str, author: Author) -> bool:
        """The write is done. Returns False if no document has it or will have it: then the caller enters it as a change of the file."""
        tracked, is_known = self._state.documents.get(uri), self._written.ends(uri, author)
        if tracked is None:
            self._written.forget(uri, author)
            return not is_known
        if tracked.observed.is_set() and tracked.saved is not None:
            self._opened_with_written(tracked, path, str(tracked.saved))
        return True

    def _opened_with_written(self, tracked: Tracked, path: str, disk: str) -> None:
        """Enters what we wrote in its file, if the document was opened with that. `disk`: what the file said then (compared form)."""
        uri, before = tracked.document.uri, None
        if uri not in self._written:
            return
        write = self._written.opened_with(uri, disk)
        if write is None or not opened_with(tracked, write.before, disk):
            return
        for leg in self._written.takes(uri, before, disk):
            if leg.part is not None and leg.author is not None:
                author, old = self.came(path, leg.author) if leg.author.created else (leg.author, "")
                self._entering.enter_opened(tracked, leg.part, author, normal(old) or before, leg.after)
            before = leg.after
        self.accounts.says(uri, write.after_it)

    async def seen(
        self,
        tracked: Tracked,
        path: str,
        before: str | None,
        disk: str | None,
        at: int,
        *,
        since: Stat | None = None,
        emptied: bool = False,
        saved: str | None = None,
        was_told: bool = False,
        found: str | None = None,
    ) -> SeenChange | None:
        """Finds out who made a change of a document's file, and journals it. None: there is nothing to review, the
        change was recorded already, or it could not be journalled.

        The file said `before` when mirror and disk were last compared, and had the stat `since` then. It says `disk`
        now, and was last changed at `at` (acts.py). Both texts are in the compared form.

        `emptied`: the file was empty in between, and the editor has taken that from the disk. `saved`: what somebody
        saved on top of `before`, if the author of `disk` had not read that. `was_told`: as in `SeenChange`. `found`: what the
        file was last found to say, if it is in conflict with the document since `before`. That part of the change may
        have other authors than the newest part.
        """
        uri, saves = tracked.document.uri, tracked.saves
        if before is None or disk is None:
            return None
        known = self.settling.apart(uri).since(before)
        last = known[-1].after if known else before
        ours = self._written.takes(uri, last, disk)
        waits = bool(ours) or any(leg.is_ours for leg in known)
        is_ours = self._state.documents.disk.is_ours(uri, disk)
        was_emptied = emptied and not disk.strip("\n")
        if not waits and is_ours and not was_emptied and not self._was_there_first(tracked, disk, at):
            return None  # a save that nobody has looked at yet
        legs, passed = await self._legs_since(uri, path, last, ours, disk, at, since, found)
        raw, writes = str(tracked.document.snapshot()), tracked.agents_edits
        file = tracked.hunks_then.file
        review = self._entering.review(uri, raw)
        if not review.hunks and not any(leg.is_somebodys for leg in [*known, *legs]):
            return None
        legs = [*known, *legs]
        now = Normal(raw)
        has_disk = has(before, now.text, [disk])
        unended = self._editor.capabilities.keeps_lines
        if (
            has_disk or tracked.history.explains(disk, unended=unended) is not None
        ):  # perhaps typed over since
            has_taken = disk
        else:
            texts = (text for text, since in passed if not self._was_typed_first(tracked, text, since))
            has_taken = taken_from(before, now.text, texts)
        if emptied or has_taken != before:
            taken = self._before_it_was_taken(tracked, now, before if saved is None else saved)
            if taken is None and known and file is not None and now.text == disk:
                taken = (
                    str(file.text),
                    file.hunks,
                )  # the user took the disk's side of a conflict and dropped their unsaved work
            if taken is not None:
                raw, hunks = taken
                review = ReviewThen(raw, hunks, review.texts_seen)
            elif emptied or has_disk:
                return None  # it also came through the editor, or with line ends that are no longer known
        changes = on_top(raw, before, legs)
        if changes is None:
            one = [as_one(legs)]
            changes = on_top(raw, before, one)
            legs = legs if changes is None else one
        shared = before if saved is None else with_shared(before, saved, legs[0].after)
        if shared != before:  # saved meanwhile, and so not made by the author of `disk`
            apart = [Leg(shared, at), *legs]
            apart_changes = None if changes is None else on_top(raw, before, apart)
            if changes is None or apart_changes is not None:
                legs, changes = apart, apart_changes
        passed.append((disk, at))
        if not any(leg.is_somebodys for leg in legs):
            begun = None if changes is None else legs
        else:
            begun = await self._entering.begin_legs(path, before, legs)
        if begun is None:
            return None
        return SeenChange(
            begun, before, has_taken, review, changes, writes, saves, passed, saved, file, was_told
        )

    async def _legs_since(
        self,
        uri: DocumentUri,
        path: str,
        last: str,
        ours: list[Leg],
        disk: str,
        at: int,
        since: Stat | None,
        found: str | None,
    ) -> tuple[list[Leg], list[tuple[str, int]]]:
        """The legs from `last` to `disk`, beginning with our own writes (`ours`), and the texts that the file had in
        between, each with since when. The other arguments are as in `seen`."""
        passed: list[tuple[str, int]] = []
        begins = ours[-1].after if ours else last
        if ours and begins == disk:
            return ours, passed
        if not self._evidence.is_acting():
            return [*ours, *([Leg(disk, at)] if disk != begins else [])], passed
        if ours:
            start, then = None, {last, *(leg.after for leg in ours)}
            passed = self._passing.take(uri, path, (last,), disk, since, at)
            passed = [one for one in passed if one[1] >= ours[-1].at and one[0] not in then]
        else:
            start = await self._known.at_start(uri, path)
            passed = self._passing.take(uri, path, (last, found or last), disk, since, at)
            if found is not None and since is not None:
                passed = [(found, changed_at(since)), *passed]
            passed = with_start(passed, start, since)
        legs = await self._entering.legs(uri, path, begins, [*passed, (disk, at)], start)
        self.accounts.says(uri, disk, at=at)
        return [*ours, *legs], passed

    def written_before(
        self, tracked: Tracked, before: str | None, on_disk: OnDisk, writes: int
    ) -> SeenChange | None:
        """A change from `before` (compared form), for which `seen` returned None, is about to be brought in. If agents
        have written in the document since it had had `writes` edits of theirs, their work must still be under review
        afterwards. None: they have not."""
        if tracked.agents_edits == writes or before is None or on_disk.text is None:
            return None
        review = self._entering.review(tracked.document.uri, str(tracked.document.snapshot()))
        legs, file = [Leg(on_disk.text, changed_at(on_disk.stat))], tracked.hunks_then.file
        seen = SeenChange(legs, before, before, review, None, writes, tracked.saves, file=file)
        self.settling.brings_in(tracked, seen)
        return seen

    def comes_after(self, tracked: Tracked, seen: SeenChange) -> None:
        """The change is about to be brought into the document's current text. Agents' edits since it was seen come before it."""
        if tracked.agents_edits == seen.writes:
            return
        raw = str(tracked.document.snapshot())
        seen.review = self._entering.review(tracked.document.uri, raw)
        seen.changes = on_top(raw, seen.start, seen.legs)
        seen.writes = tracked.agents_edits

    def _before_it_was_taken(
        self, tracked: Tracked, now: Normal, before: str
    ) -> tuple[str, tuple[Hunk, ...]] | None:
        """The mirror's text (raw) before the editor took the disk's new text, and the hunks in it; None: not known."""
        if not tracked.hunks_then:
            return None
        raw = without(diff(before, now.text), now, before)
        hunks = tracked.hunks_then.of(raw)
        newest = tracked.hunks_then.newest
        if hunks is None and newest is not None:
            # The mirror never said that: the editor took it together with what is new. The changes up to it are not an agent's
            ledger = Ledger(newest.hunks)
            ledger.user_led(newest.text, Text.of(raw))
            # If hunks are missing, agents wrote through us what is not in `raw`. A save put that on the disk, and nothing was taken from there
            hunks = ledger.hunks if len(ledger.hunks) == len(newest.hunks) else None
        return None if hunks is None else (raw, hunks)

    def passes(self, tracked: Tracked, text: str, at: int, *, start: str | None = None) -> None:
        """The file of an open document says `text` (compared form) since `at` (acts.py). It may say something else
        before the two are brought together. `start`: what it said when they were last brought together; None: `tracked.said`."""
        if start is None and tracked.said is not None:
            start = str(tracked.said)
        if start is None or not text.strip("\n") or not self._evidence.is_acting():
            return
        self._passing.note(tracked.document.uri, start, text, at)

    def saved_before(self, tracked: Tracked, before: str, taken: int, at: int) -> str:
        """What the file of an open document said (compared form) when somebody wrote, at the time `at` (acts.py), what the editor took over as the text
        with the number `taken`: the save right before that, although nobody has seen its bytes; else `before`, what the file was known to say."""
        save = tracked.history.saved_before(taken)
        if save is None:
            return before
        self.passes(tracked, save, tracked.history.saved_at(at), start=before)
        return save

    async def said(self, tracked: Tracked, path: str, text: str) -> bool:
        """Whether the file of a document is known to have last said `text` (compared form), before what is found there now."""
        session = self._evidence.during(path)
        if session is None:
            return False
        then = await self._known.last(session, tracked.document.uri, path, None, None)
        return then is not None and then.text is not None and normal(then.text) == text

    async def saved_over(self, tracked: Tracked, path: str, saved: str, at: int) -> None:
        """The editor saved `saved` (compared form) at the time `at` (acts.py). Changes that it had taken from the disk
        before, and that are not recorded yet, are recorded now."""
        async with self._entering.one_at_a_time(tracked.document.uri):
            if tracked.said is None or not self._evidence.is_acting():
                return
            before = str(tracked.said)
            uri = tracked.document.uri
            texts = self._passing.take(uri, path, [before], saved, tracked.stat, now_at_most())
            ours = self._state.documents.disk.was_ours
            later: list[tuple[str, int]] = []
            while texts:
                text, since = texts[-1]
                is_this_save = (text, since) == (saved, at)  # it was seen before it was reported
                is_later = since > at or tracked.history.is_after_save(text)
                is_ours = ours(uri, text) and not self._was_there_first(tracked, text, since)
                if not (is_this_save or is_later or is_ours or not tracked.history.had(text)):
                    break
                texts.pop()
                later = [(text, since), *later] if is_later else later
            if not texts or texts[-1][0] == before:
                self._passing.come_after(uri, saved, later)
                return  # saved on top of a text that is recorded
            gone = self._files.came(path) if tracked.saved is None else None
            if gone is not None and gone.old_text is not None:
                before = normal(gone.old_text)
            text, at = texts[-1]
            number = tracked.history.number(text)
            save = None if number is None else tracked.history.saved_before(number)
            under = [] if save is None else [(save, at - 1)]  # nobody may have seen its bytes
            self._passing.are(uri, before, [*texts[:-1], *under])
            seen = await self.seen(tracked, path, before, text, at)
            self._passing.come_after(uri, saved, later)
            if seen is None:
                return
            taken = seen.changes if await tracked.rest(SETTLE_SECONDS) and not tracked.closed else None
            if taken is not None and tracked.agents_edits == seen.writes:
                self._entering.enter(tracked, seen.review, seen.review.text, seen.legs, taken)
            for leg in seen.legs:
                if leg.author is not None:
                    await self._recorder.finish(leg.author, "unknown" if taken is None else "done")

    def _was_there_first(self, tracked: Tracked, text: str, since: int) -> bool:
        """Whether the file had `text` since `since`, before the document did, so that the editor's save of it, the newest one, tells
        nothing of who wrote it."""
        said = tracked.history.said_at(text)
        return (
            said is not None and said > since and self._state.documents.disk.saved(tracked.document.uri, text)
        )

    def _was_typed_first(self, tracked: Tracked, text: str, since: int) -> bool:
        """Whether the document had `text` by the time `since`, since when the file had it: a save put it there, and the editor has not taken it from
        there."""
        said = tracked.history.said_at(text)
        return said is not None and said <= since

    def resolving(
        self, tracked: Tracked, conflict: Open, before: str, changes: ChangeSet
    ) -> SeenChange | None:
        """The user decided a conflict, and `changes` of the mirror, which says `before` (raw), are about to be made.
        The change on the disk was journalled when it was found. None: there is nothing of it to review."""
        if conflict.author is None:
            return None
        review = self._entering.review(tracked.document.uri, before)
        leg = Leg(conflict.theirs, file_time(), Part(conflict.theirs, conflict.session), conflict.author)
        return SeenChange(
            [leg], conflict.base, conflict.base, review, [changes], tracked.agents_edits, tracked.saves
        )

    async def opened(
        self, tracked: Tracked, path: str, disk: str, at: int, *, is_gone: bool = False
    ) -> str | WrittenOver | None:
        """A document was opened, whose file said `disk` (compared form) then, since `at` (acts.py). Earlier changes of
        the file are recorded as if they had been found before. `is_gone`: the editor had read `disk` earlier, and the
        file says something newer.

        Returns what the file had said (compared form) if it was emptied, and a command may be about to fill it: then nothing is recorded, and it has
        to be looked at again. Returns a WrittenOver if the author of `disk` had not read what somebody had saved before. Otherwise None."""
        uri = tracked.document.uri
        self._opened_with_written(tracked, path, disk)
        if not self._evidence.is_acting():
            return None
        session = self._evidence.during(path)
        if session is None:
            return None
        if not disk and uri not in self.making:
            await self.unopened.opened_empty(session, uri, path)
        async with self._entering.one_at_a_time(uri):
            then = await self._known.last(session, uri, path, None, None)
            if then is None or then.why or (then.state is not None and then.text is None) or tracked.closed:
                return None
            before = None if then.text is None else normal(then.text)
            if self.settling.is_same(before or "", disk):
                return None
            if self.is_being_filled(uri, before, disk):
                return before
            if is_gone and not self._state.documents.disk.came_after(uri, disk, before):
                return None
            seen, begun = self.settling.under_way(uri), list[Leg]()
            if seen is not None and self.settling.is_same(seen.legs[-1].after, before):
                begun = list(seen.legs)
            has_disk = has(before or "", tracked.text(), [disk])
            if not has_disk and not tracked.has_taken_back(disk):
                return None  # it was opened with an older text; the reconciler brings the two together
            written_over = None
            if before is not None and has_disk and not begun:
                had_read = self.had_read(tracked, path, before, disk, at)
                written_over = None if had_read == before else WrittenOver(had_read, before)
            start = await self._known.at_start(uri, path)
            passed = self._passing.take(uri, path, before or "", disk, None, at)
            passed = [one for one in passed if not self.accounts.has_newer(uri, one[1])]
            legs = await self._entering.legs(uri, path, before, [*passed, (disk, at)], start)
            self.accounts.says(uri, disk, at=at)
            first = next((leg.part for leg in legs if leg.part is not None), None)
            if then.text is None:
                self._state.made_folders |= self._starts.made_folders(session.id, path)
            gone = self._files.came(path, None if first is None else first.session)
            if gone is not None and not before and gone.old_text is not None:
                before = normal(gone.old_text)
            tracked.counts(disk)
            legs = await self._entering.begin_legs(path, before, legs) or []
            if seen is not None and begun and legs:
                before, legs, seen.counted = seen.start, [*begun, *legs], True
            for leg in legs:
                if leg.part is not None and leg.author is not None:
                    self._entering.enter_opened(tracked, leg.part, leg.author, before, leg.after)
                    await self._recorder.finish(leg.author, "done")
                before = leg.after
        return written_over

    def tell(self, level: Level, words: str) -> None:
        self._editor.show(level, words)


def _has_again(now: str, base: str, before: str, disk: str) -> bool:
    """Whether a document, which says `now`, has lines again that `base` had and `before` had not. Whoever wrote `disk` over `before` did not remove
    them, even if that was made from `base`. All texts are in the compared form."""
    gone = set(base.split("\n")).difference(before.split("\n"), disk.split("\n"), ("",))
    return not gone.isdisjoint(now.split("\n"))
