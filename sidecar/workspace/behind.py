"""Behind: what is changed on the disk while agents work is found out about, journalled, and entered as its author's, rejectable.

The reconciler brings an open document and its changed file together; before it does so, `seen` finds out whose change that is
and journals it, and afterwards `settle` enters it in the ledger. The change is worked out from texts, not from what the editor was
seen to do: the editor may have reloaded the file long before anybody looked. A change that the mirror had already (agents
that write the disk *and* send it) is not counted again.

Files that are not open, and those that are opened after they changed, are compared with what they are known to say (accounts.py), else
with what they said when the turn began (turn_starts.py). Whose the difference is, whose.py says.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.escape import escape, shorten
from sidecar.core.file_state import FileState
from sidecar.core.ledger import Author, Hunk
from sidecar.core.normal import Normal, normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.disk import Decoded, Missing, Stat, decode
from sidecar.journal.entry import EntryState
from sidecar.workspace.accounts import Accounts
from sidecar.workspace.acts import changed_at
from sidecar.workspace.acts import now as file_time
from sidecar.workspace.conflicts import Open
from sidecar.workspace.documents import Tracked
from sidecar.workspace.evidence import Evidence, Named
from sidecar.workspace.file_reviews import FileReviews
from sidecar.workspace.glimpses import Glimpses, gone_at
from sidecar.workspace.known_before import KnownBefore, Then
from sidecar.workspace.legs import Leg, Seen, as_one, changes_of, has, on_top, raw_before, user_steps, without
from sidecar.workspace.places import locate
from sidecar.workspace.ports import Editor, Level
from sidecar.workspace.recording import Recorder, lines_changed
from sidecar.workspace.sessions import Session
from sidecar.workspace.state import State
from sidecar.workspace.storage import OnDisk
from sidecar.workspace.turn_starts import Changed, TurnStarts
from sidecar.workspace.whole_files import WholeFiles
from sidecar.workspace.whose import Known, Part, Whose

WAIT_SECONDS = 2.0
"""How long a look at a file waits for a write of it that is under way."""
SETTLE_SECONDS = 2.0
"""How long an edit that is on its way may take until a change on the disk is entered beside it."""
EMPTY_SECONDS = 2.0
"""How long a file that is empty all at once, while a command runs, is given to be filled: `command > file` empties it first."""


class Behind:
    """Notes changes; looks at nothing by itself."""

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
        self._evidence = evidence
        self._starts = starts
        self._whose = whose
        self._files = files
        self.accounts = Accounts()
        state.documents.disk.wrote = self.accounts.wrote
        self.left: dict[tuple[str, int], dict[str, str]] = {}
        """By session and turn: files that changed in it and cannot be taken back, and why."""
        self._glimpses = Glimpses(state, evidence, starts, files)
        self._known = KnownBefore(evidence, starts, self.accounts, files)
        self.whole = WholeFiles(state, editor, recorder, whose, files, self._glimpses)
        self._passing: dict[DocumentUri, tuple[str, list[tuple[str, int]]]] = {}
        """What files of open documents were found to say before that was brought into these: from what on, what then, and when."""
        self._entering: dict[DocumentUri, anyio.Lock] = {}
        self._empty: dict[DocumentUri, float] = {}
        """Since when files are empty that a command may be about to fill."""

    def turns_over(self, *, begins: bool = False) -> None:
        """No turn runs any more, and nothing of one; `begins`: but a new one is about to."""
        self.accounts.clear()
        self.accounts.open = begins
        self._files.turns_over()
        self._empty.clear()
        self._glimpses.clear()
        self._passing.clear()

    # Open documents

    def may_be_an_agents(self, tracked: Tracked) -> bool:
        """Whether a change of its file now may count as an agent's."""
        return self._evidence.is_acting()

    def is_acting(self) -> bool:
        """Whether any agent does something in this moment that may change files."""
        return self._evidence.is_acting()

    def is_being_filled(self, uri: DocumentUri, before: str | None, now: str | None) -> bool:
        """Whether the file was emptied just now by a command that may be about to fill it. Then it is looked at again."""
        if now is None or now.strip("\n") or not before or not self._evidence.may_be_under_way(uri):
            self._empty.pop(uri, None)
            return False
        since = self._empty.setdefault(uri, anyio.current_time())
        return anyio.current_time() - since < EMPTY_SECONDS

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
    ) -> Seen | None:
        """The file says `disk`, `at` last changed (acts.py), and said `before` (both in the compared form), with the stat `since`, when mirror
        and disk were last compared. None: it is nobody's, or was counted already. `emptied`: it was empty in between, and the editor has
        taken that from there."""
        uri = tracked.document.uri
        if before is None or disk is None:
            return None
        if self._state.documents.disk.is_ours(uri, disk):
            return None  # a save that nobody has looked at yet
        legs: list[Leg] = []
        passed: list[tuple[str, int]] = []
        if self._evidence.is_acting():
            start = await self._known.at_start(uri, path)
            passed += self._passed(uri, path, before, disk, since, at)
            legs = await self._legs(uri, path, before, [*passed, (disk, at)], start)
            self.accounts.says(uri, disk, at=at)
        hunks = self._hunks(uri)
        if not hunks and not any(leg.is_somebodys for leg in legs):
            return None
        legs = legs or [Leg(disk, at)]
        raw, writes = str(tracked.document.snapshot()), tracked.agents_edits
        now = Normal(raw)
        if emptied or has(before, now.text, [disk, *(text for text, _ in passed)]):
            taken = self._before_it_was_taken(tracked, now, before)
            if taken is not None:
                raw, hunks = taken
            elif emptied or has(before, now.text, [disk]):
                return None  # it came through the editor as well, or in line ends that nobody knows any more
        changes = on_top(raw, before, legs)
        if changes is None:
            legs = [as_one(legs)]
            changes = on_top(raw, before, legs)
        if not any(leg.is_somebodys for leg in legs):
            return None if changes is None else Seen(legs, before, raw, hunks, changes, writes)
        begun = await self._begin_legs(path, before, legs)
        return None if begun is None else Seen(begun, before, raw, hunks, changes, writes)

    def _before_it_was_taken(
        self, tracked: Tracked, now: Normal, before: str
    ) -> tuple[str, tuple[Hunk, ...]] | None:
        """The mirror (raw) before the editor took what is new on the disk from there, and the hunks in it; None: nobody knows."""
        hunks = tracked.hunks_when_clean
        if hunks is None:
            return None
        raw = without(diff(before, now.text), now, before)
        if len(raw) != tracked.length_when_clean or any(raw[h.start : h.end] != h.text for h in hunks):
            return None
        return raw, hunks

    def _passed(
        self, uri: DocumentUri, path: str, before: str, disk: str, since: Stat | None, until: int
    ) -> list[tuple[str, int]]:
        """What the file of an open document said between `before` and `disk` (compared form), which it said `until`, and when it had become
        so."""
        start, found = self._passing.pop(uri, ("", []))
        found = found if start == before else []
        for seen in self._glimpses.pop(path, until):
            decoded = None if seen.data is None else decode(seen.data)
            old = since is not None and (seen.stat == since or seen.at < changed_at(since))
            if isinstance(decoded, Decoded) and not old and decoded.text.strip("\r\n"):
                text = normal(decoded.text)
                found.append((text if disk.endswith("\n") else text.removesuffix("\n"), seen.at))
        return sorted(found, key=lambda one: one[1])

    async def _legs(
        self,
        uri: DocumentUri,
        path: str,
        before: str | None,
        texts: Sequence[tuple[str, int]],
        start: Known | None,
    ) -> list[Leg]:
        """Whose the change is from `before` over these texts to the last of them (compared form)."""
        legs: list[Leg] = []
        for text, at in texts:
            if text == before:
                continue
            is_save = text != texts[-1][0] and self._state.documents.disk.was_ours(uri, text)
            parts = [] if is_save else await self._whose.parts(uri, path, before, text, at, start)
            found = [Leg(part.after or "", at, part) for part in parts]
            if not found or found[-1].after != text:
                found.append(Leg(text, at))
            for leg in found:
                if legs and legs[-1].is_with(leg):
                    legs.pop()
                legs.append(leg)
            before = text
        return legs

    async def _begin_legs(self, path: str, before: str | None, legs: Sequence[Leg]) -> list[Leg] | None:
        """Journals them; None when that failed."""
        begun: list[Leg] = []
        for leg in legs:
            author = None if leg.part is None else await self._begin(leg.part, path, before, leg.after)
            if leg.part is not None and author is None:
                for one in begun:
                    if one.author is not None:
                        await self._recorder.finish(one.author, "failed")
                return None
            begun.append(replace(leg, author=author))
            before = leg.after
        return begun

    def passes(self, tracked: Tracked, text: str, at: int, *, start: str | None = None) -> None:
        """The file of an open document says `text` (compared form) since `at` (acts.py). It may say something else before the two are
        brought together. `start`: what it said when they were last; None: what is noted of the document."""
        start = tracked.saved if start is None else start
        if start is None or not text.strip("\n") or not self._evidence.is_acting():
            return
        began, texts = self._passing.get(tracked.document.uri, ("", []))
        self._passing[tracked.document.uri] = start, [*(texts if began == start else []), (text, at)]

    async def said(self, tracked: Tracked, path: str, text: str) -> bool:
        """Whether the file of a document is known to have said `text` (compared form) last, before what is found there now."""
        session = self._evidence.during(path)
        if session is None:
            return False
        then = await self._known.last(session, tracked.document.uri, path, None, None)
        return then is not None and then.text is not None and normal(then.text) == text

    async def saved_over(self, tracked: Tracked, path: str, saved: str) -> None:
        """The editor saved `saved` (compared form). What it had taken from the disk before, and nobody has counted yet, is counted now."""
        before = tracked.saved
        if before is None or not self._evidence.is_acting():
            return
        uri = tracked.document.uri
        texts = self._passed(uri, path, before, saved, tracked.stat, file_time())
        ours = self._state.documents.disk.was_ours
        while texts and (ours(uri, texts[-1][0]) or not tracked.history.had(texts[-1][0])):
            texts.pop()
        if not texts:
            return
        self._passing[uri] = before, texts[:-1]
        seen = await self.seen(tracked, path, before, *texts[-1])
        if seen is None:
            return
        taken = seen.changes if await tracked.rest(SETTLE_SECONDS) and not tracked.closed else None
        if taken is not None and tracked.agents_edits == seen.writes:
            self._enter(tracked, (seen.before, seen.hunks), seen.before, seen.legs, taken)
        for leg in seen.legs:
            if leg.author is not None:
                await self._recorder.finish(leg.author, "unknown" if taken is None else "done")

    def resolving(self, tracked: Tracked, conflict: Open, before: str, changes: ChangeSet) -> Seen | None:
        """What the user decided about a conflict is about to be made: `changes` of the mirror, `before`, raw. The change on the
        disk was journalled when it was found; None: it was nobody's."""
        if conflict.author is None:
            return None
        reviewed = self._state.ledgers.get(tracked.document.uri)
        hunks = reviewed.ledger.hunks if reviewed is not None else ()
        leg = Leg(conflict.theirs, file_time(), Part(conflict.theirs, conflict.session), conflict.author)
        return Seen([leg], conflict.base, before, hunks, [changes], tracked.agents_edits)

    async def settle(self, tracked: Tracked, seen: Seen, disk: str | None) -> None:
        """Mirror and disk were brought together, or not."""
        writes, first = seen.writes, tracked
        again = self._state.documents.get(tracked.document.uri) if tracked.closed else None
        if again is not None:
            # Neovim and eglot tell a reload as the document's closing and opening
            with anyio.move_on_after(SETTLE_SECONDS):
                await again.observed.wait()
            tracked, writes = again, 0
        # What comes while an edit of ours is on its way is told to the ledger when that is settled; it may be this very change.
        at_rest = seen.changes is None or await tracked.rest(SETTLE_SECONDS)
        together = tracked.saved == disk and tracked.stat is not None
        state: EntryState = "done"
        if seen.changes is not None and not (together and at_rest and tracked.agents_edits == writes):
            state = "failed" if tracked.stat is None else "unknown"
            if tracked is first and tracked.stat is None:  # the next look begins where this one did
                self._passing[tracked.document.uri] = seen.start, [(leg.after, leg.at) for leg in seen.legs]
        elif tracked is not first and tracked.counted == disk:
            state = "failed"  # it was counted when the document was opened again
        elif seen.changes is not None and not tracked.closed:
            self._enter(tracked, (seen.before, seen.hunks), seen.before, seen.legs, seen.changes)
        for leg in seen.legs:
            if leg.author is not None:
                await self._recorder.finish(leg.author, state)
        tracked.is_clean()  # what is edited from now on is edited in the text of the disk

    async def opened(self, tracked: Tracked, path: str, on_disk: OnDisk) -> None:
        """A document was opened, and its file says this. What changed there before is somebody's, as if it had been found before that."""
        uri = tracked.document.uri
        if on_disk.text is None or not self._evidence.is_acting():
            return
        session = self._evidence.during(path)
        if session is None:
            return
        async with self._one_at_a_time(uri):
            then = await self._known.last(session, uri, path, None, None)
            if then is None or then.why or (then.state is not None and then.text is None) or tracked.closed:
                return
            before = None if then.text is None else normal(then.text)
            if (before or "") == on_disk.text or self.is_being_filled(uri, before, on_disk.text):
                return
            if not has(before or "", tracked.text(), [on_disk.text]):
                return  # it was opened with an older text; the reconciler brings the two together
            start, at = await self._known.at_start(uri, path), changed_at(on_disk.stat)
            passed = self._passed(uri, path, before or "", on_disk.text, None, at)
            legs = await self._legs(uri, path, before, [*passed, (on_disk.text, at)], start)
            self.accounts.says(uri, on_disk.text, at=at)
            tracked.counted = on_disk.text
            for leg in await self._begin_legs(path, before, legs) or ():
                if leg.part is not None and leg.author is not None:
                    self._enter_opened(tracked, leg.part, leg.author, before, leg.after)
                    await self._recorder.finish(leg.author, "done")
                before = leg.after

    def closed(self, tracked: Tracked) -> None:
        """A document was closed: what its file says is what it was last found to say, until somebody writes it."""
        if tracked.saved is not None and tracked.stat is not None:
            known = self.accounts.get(tracked.document.uri)
            if known is None or known.text is None or normal(known.text) != tracked.saved:
                self.accounts.says(tracked.document.uri, tracked.saved)

    def _enter(
        self,
        tracked: Tracked,
        review: tuple[str, Sequence[Hunk]],
        before: str,
        legs: Sequence[Leg],
        changes: Sequence[ChangeSet],
    ) -> None:
        """Puts a change where it belongs: before everything else that happened since. `review`: hunks, and the text they are in, from which
        the user led to `before` (both raw). `changes`: each leg's, in raw texts."""
        uri, now = tracked.document.uri, tracked.document.snapshot()
        reviewed = self._state.ledgers.at(uri, now, live=True)
        ledger = reviewed.ledger
        ledger.hunks = tuple(review[1])
        user_steps(ledger, review[0], Text.of(before))
        for leg, change in zip(legs, changes, strict=True):
            after = change.apply(before)
            if leg.author is None:
                user_steps(ledger, before, Text.of(after))
            else:
                ledger.agent_edit(Text.of(before), change, Text.of(after), leg.author)
            if leg.session is not None:
                leg.session.touch(uri, *lines_changed(Text.of(before), change))
            before = after
        # The editor may have taken the next change from the disk already
        is_clean = tracked.saved is not None and normal(before) == tracked.saved
        tracked.hunks_when_clean, tracked.length_when_clean = ledger.hunks if is_clean else None, len(before)
        user_steps(ledger, before, now)
        self._state.ledgers.moved(reviewed)

    def _enter_opened(
        self, tracked: Tracked, part: Part, author: Author, before: str | None, after: str
    ) -> None:
        """A change of its file before a document was opened, or while it was. `before`, `after`: compared form."""
        if tracked.agents_edits or tracked.flight is not None:
            return  # what agents have written in it since is not to be lost
        now = Normal(str(tracked.document.snapshot()))
        raw_after = without(diff(after, now.text), now, after)
        raw_before = without(diff(before or "", after), Normal(raw_after), before or "")
        review = tracked.review_when_opened or (raw_before, ())
        leg = Leg(after, 0, part, author)
        self._enter(tracked, review, raw_before, [leg], [changes_of(raw_before, raw_after)])
        tracked.review_when_opened = str(tracked.document.snapshot()), self._hunks(tracked.document.uri)

    def _hunks(self, uri: DocumentUri) -> tuple[Hunk, ...]:
        reviewed = self._state.ledgers.get(uri)
        return () if reviewed is None else reviewed.ledger.hunks

    def tell(self, level: Level, words: str) -> None:
        self._editor.show(level, words)

    # Files that are not open

    async def look(
        self,
        session: Session,
        path: str,
        named: Named | None = None,
        row: Changed | None = None,
        *,
        last: bool = False,
    ) -> str:
        """Whether a file has changed, how, and whose that is. `named`: by a call of the session's; `row`: what the session's turn began with;
        `last`: it is not looked at again. In words, why the change cannot be taken back; "" else."""
        state = self._state
        if row is None and named is not None and path not in self._glimpses:
            stat = state.storage.stat(named.path)
            if stat == named.stat and not (stat is None and named.text is not None):
                return ""
        ticket = state.queues.take("", path, state.storage.order_key, "write")
        try:
            if not await ticket.turn(WAIT_SECONDS):
                return ""  # what is being written now is seen by the next look
            place = locate(state.storage, state.documents, session.roots, path, "read")
            if isinstance(place, Refusal):
                return ""
            with place:
                uri = place.uri
                on_disk = place.on_disk
                is_open = place.tracked is not None
                stat = None if isinstance(on_disk, Missing) else on_disk.stat
                mode = None if isinstance(on_disk, Missing) else on_disk.mode
                data = None if isinstance(on_disk, Missing) else await state.storage.read_bytes(on_disk)
                path = place.path
            if is_open and stat is not None:
                return ""  # the reconciler's
            async with self._one_at_a_time(uri):
                for seen in self._glimpses.pop(path):
                    await self._look(
                        session, uri, path, None, row, seen.stat, seen.mode, seen.data, at=seen.at, last=False
                    )
                at = gone_at(path) if stat is None else changed_at(stat)
                return await self._look(session, uri, path, named, row, stat, mode, data, at=at, last=last)
        finally:
            ticket.release()

    async def _look(
        self,
        session: Session,
        uri: DocumentUri,
        path: str,
        named: Named | None,
        row: Changed | None,
        stat: Stat | None,
        mode: int | None,
        data: bytes | Refusal | None,
        *,
        at: int,
        last: bool,
    ) -> str:
        then = await self._known.last(session, uri, path, named, row)
        if then is None:
            return ""
        decoded = decode(data) if isinstance(data, bytes) else None
        found = decoded if isinstance(decoded, Decoded) else None
        is_text = (data is None or found is not None) and (then.state is None or then.text is not None)
        now = None if found is None else found.text
        if is_text and not last and self.is_being_filled(uri, then.text, now):
            return ""
        if named is not None:
            named.stat = stat
        why = then.why or (data.message if isinstance(data, Refusal) else "")
        if why:
            return self._lost(session, uri, path, named, found, why, gone=stat is None)
        if not is_text or found is None or now is None or then.text is None:
            return await self._look_at_bytes(session, uri, path, then, data, decoded, mode, at)
        if now == then.text or (not then.exact and normal(now) == normal(then.text)):
            return ""
        await self._note(session, uri, path, then, found, at)
        return ""

    def _lost(
        self,
        session: Session,
        uri: DocumentUri,
        path: str,
        named: Named | None,
        found: Decoded | None,
        why: str,
        *,
        gone: bool,
    ) -> str:
        """It changed, and what it said before nobody knows."""
        self.left.setdefault((session.id, session.turn), {})[path] = why
        self.accounts.says(uri, None if found is None else found.text, exact=True)
        if named is not None and not named.quiet and not gone:
            words = f"{shorten(escape(path), 300)} was changed by {session.agent} and cannot be taken back: {why}."
            self._editor.show("warning", words)
        return why

    async def _look_at_bytes(
        self,
        session: Session,
        uri: DocumentUri,
        path: str,
        then: Then,
        data: bytes | Refusal | None,
        decoded: Decoded | Refusal | None,
        mode: int | None,
        at: int,
    ) -> str:
        """A file that came or went, or is or was not text."""
        assert not isinstance(data, Refusal), "looked at before"
        if then.text is None and then.state is None and isinstance(decoded, Decoded) and decoded.text:
            await self._note(session, uri, path, then, decoded, at)
            return ""
        state = None if data is None else FileState(data, mode or 0o644)
        before = then.state
        if before is None and then.text is not None:
            encoded = self._state.storage.encode(then.text, then.like, path)
            if isinstance(encoded, Refusal):
                return encoded.message
            before = FileState(encoded, then.mode)
        if before == state or self._files.says(path, state):
            return ""
        if before is None:
            self._state.made_folders |= self._starts.made_folders(session.id, path)
        start = await self._known.at_start(uri, path)
        after = decoded.text if isinstance(decoded, Decoded) else None if data is None else "\0" + data.hex()
        old = then.text if then.text is not None else None if before is None else "\0" + before.data.hex()
        parts = await self._whose.parts(
            uri,
            path,
            None if old is None else normal(old),
            None if after is None else normal(after),
            at,
            start,
        )
        self.accounts.says(uri, decoded.text if isinstance(decoded, Decoded) else None, exact=True)
        self._files.is_now(path, state)
        if parts:
            await self.whole.enter(path, before, state, parts[-1])
        elif data is None:
            self.whole.forget_review(uri)
        return ""

    async def _note(
        self, session: Session, uri: DocumentUri, path: str, then: Then, found: Decoded, at: int
    ) -> None:
        """A text is another one now."""
        now = found.text
        before = None if then.text is None else normal(then.text)
        if before == normal(now):  # the line ends: it is a change of all of it
            before, compared = then.text, now
        else:
            compared = normal(now)
        if then.text is None:
            self._state.made_folders |= self._starts.made_folders(session.id, path)
        start = await self._known.at_start(uri, path)
        parts = await self._whose.parts(uri, path, before, compared, at, start)
        self.accounts.says(uri, now, exact=True)
        self._files.came(path)
        if not parts:
            self._is_nobodys(uri, now)
            return
        raw = then.text if then.exact or then.text is None else raw_before(then.text, now)
        for part in parts:
            after = now if part.after == compared else raw_before(part.after or "", now)
            author = await self._begin(part, path, raw, after, found.encoding, found.bom)
            if author is not None:
                self._enter_text(uri, part, author, raw, after)
                await self._recorder.finish(author, "done")
            raw = after
        if raw is not None:
            self._state.documents.disk.seen(uri, normal(raw))

    def _enter_text(
        self, uri: DocumentUri, part: Part, author: Author, before: str | None, after: str
    ) -> None:
        tracked = self._state.documents.get(uri)
        if tracked is not None:  # it was opened while this was journalled
            self._enter_opened(
                tracked, part, author, None if before is None else normal(before), normal(after)
            )
            return
        self._recorder.disk_edit(part.session, uri, author, before or "", changes_of(before or "", after))

    def _is_nobodys(self, uri: DocumentUri, now: str) -> None:
        """The file's text came from the user, or is as it was when the turn began: so is what was under review in it."""
        reviewed = self._state.ledgers.get(uri)
        if reviewed is not None and not reviewed.live:
            hunks = reviewed.ledger.hunks
            reviewed.seen(Text.of(now))
            if reviewed.ledger.hunks != hunks:
                self._state.ledgers.moved(reviewed)

    async def _begin(
        self,
        part: Part,
        path: str,
        before: str | None,
        after: str | None,
        encoding: str = "utf-8",
        bom: bytes = b"",
    ) -> Author | None:
        if part.session is None:
            author = await self._recorder.begin_unknown(path, before, after, encoding, bom)
        else:
            author = await self._recorder.begin(
                part.session, path, before, after, "disk", encoding, bom, call=part.call
            )
        if isinstance(author, Refusal):
            self._editor.show("warning", author.message)
            return None
        return author

    @asynccontextmanager
    async def _one_at_a_time(self, uri: DocumentUri) -> AsyncGenerator[None]:
        """Whoever comes second finds what the first one entered."""
        lock = self._entering.setdefault(uri, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.statistics().tasks_waiting and not lock.locked():
                self._entering.pop(uri, None)
