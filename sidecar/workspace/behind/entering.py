"""Entering: journals changes that were found on the disk, and enters those of open documents in the ledger where they belong."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import anyio

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Ledger, ReviewThen
from sidecar.core.lines_changed import lines_changed
from sidecar.core.normal import Normal, normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.behind.legs import Leg, SeenChange, as_one, changes_of, raw_before, without
from sidecar.workspace.behind.whose import Known, Part, Whose
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.state.hunks_then import Noted
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import TakenBack, Tracked, out_of


class Entering:
    """One per workspace."""

    def __init__(self, state: State, editor: Editor, recorder: Recorder, whose: Whose) -> None:
        self._state = state
        self._editor = editor
        self._recorder = recorder
        self._whose = whose
        self._entering: dict[DocumentUri, anyio.Lock] = {}

    async def legs(
        self,
        uri: DocumentUri,
        path: str,
        before: str | None,
        texts: Sequence[tuple[str, int]],
        start: Known | None,
    ) -> list[Leg]:
        """The legs of a change from `before`, over each of `texts`, to the last of them, with their authors. Texts are
        in the compared form, each with since when the file said it (acts.py). Successive legs of one author are combined."""
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
        if legs and legs[-1].session is not None:
            self._whose.wrote(legs[-1].session, uri)
        return legs

    async def begin_legs(self, path: str, before: str | None, legs: Sequence[Leg]) -> list[Leg] | None:
        """Journals the legs that are not journalled yet. Returns all legs, with their authors; None if that failed."""
        begun: list[Leg] = []
        for leg in legs:
            author = leg.author
            if leg.part is not None and author is None:
                author = await self.begin(leg.part, path, before, leg.after)
            if leg.part is not None and author is None:
                for one, was in zip(begun, legs, strict=False):
                    if one.author is not None and was.author is None:
                        await self._recorder.finish(one.author, "failed")
                return None
            begun.append(replace(leg, author=author))
            before = leg.after
        return begun

    def enter(
        self,
        tracked: Tracked,
        review: ReviewThen,
        before: str,
        legs: Sequence[Leg],
        changes: Sequence[ChangeSet],
    ) -> None:
        """Enters a change in the ledger before everything else that has happened to the document since.

        `review`: what was under review in the text from which the user led to `before` (raw). `changes`: one for each
        leg, in raw texts.
        """
        uri = tracked.document.uri
        opened = self._state.documents.get(uri)  # None: closed while the change was journalled
        now = (opened or tracked).document.snapshot()
        reviewed = self._state.ledgers.at(uri, now, live=opened is not None)
        ledger = reviewed.ledger
        ledger.back_to(review)
        ledger.user_led(Text.of(review.text), Text.of(before))
        for leg, change in zip(legs, changes, strict=True):
            after = change.apply(before)
            if leg.author is None:
                ledger.user_led(Text.of(before), Text.of(after))
            else:
                ledger.agent_edit(Text.of(before), change, Text.of(after), leg.author)
            if leg.session is not None:
                leg.session.touch(uri, *lines_changed(Text.of(before), change))
            before = after
        ledger.user_led(Text.of(_noted_since(tracked, ledger, before)), now)
        if opened is None:
            reviewed.text = now
        self._state.ledgers.moved(reviewed)

    def enter_in_file(self, tracked: Tracked, seen: SeenChange) -> None:
        """Enters the change in the review of the file's text, if the document has unsaved changes: it may be closed without a save."""
        then, reviewed = tracked.hunks_then.file, self._state.ledgers.get(tracked.document.uri)
        if then is None or reviewed is None or tracked.is_clean():
            return
        start, legs = seen.in_file()
        if seen.file is not None and normal(str(seen.file.text)) == start:
            then = seen.file  # if it was opened again since, the newer note already includes this change
        ledger = reviewed.ledger.elsewhere(then.hunks)
        raw = str(then.text)
        before = Text.of(raw_before(start, raw))
        ledger.user_led(Text.of(raw), before)
        for leg in legs:
            after = Text.of(raw_before(leg.after, str(before)))
            if leg.author is None:
                ledger.user_led(before, after)
            else:
                ledger.agent_edit(before, changes_of(str(before), str(after)), after, leg.author)
            before = after
        hunks = reviewed.ledger.numbered(tracked.document.snapshot(), before, ledger.hunks)
        tracked.hunks_then.file = Noted(before, hunks, -1)

    def enter_opened(
        self, tracked: Tracked, part: Part, author: Author, before: str | None, after: str
    ) -> None:
        """Enters a change of a document's file from before the document was opened, or while it was opened. `before`,
        `after`: compared form."""
        if tracked.agents_edits or tracked.flight is not None:
            return  # do not lose what agents have written in it since
        now = Normal(str(tracked.document.snapshot()))
        raw_after = without(diff(after, now.text), now, after)
        raw = without(diff(before or "", after), Normal(raw_after), before or "")
        opened = tracked.review_when_opened
        # Prefer the text that is known exactly to one of which only the length and the hunks are known
        clean = None if opened is not None and opened.text == raw else tracked.hunks_then.of(raw)
        opened = opened or ReviewThen(raw, ())
        review = opened if clean is None else ReviewThen(raw, clean, opened.texts_seen)
        leg = Leg(after, 0, part, author)
        self.enter(tracked, review, raw, [leg], [changes_of(raw, raw_after)])
        tracked.is_reviewed(self.review(tracked.document.uri, str(tracked.document.snapshot())))

    def enter_reopened(
        self, tracked: Tracked, seen: SeenChange, taken_back: Sequence[TakenBack] = ()
    ) -> None:
        """Enters the change in a document that was opened again with the file's text. The unsaved work that conflicted
        with the change is gone, and so is what was under review in it: the change begins with the review of the file, if that is known.
        `taken_back`: as in `enter_in_closed`."""
        review, (start, legs) = seen.review, seen.in_file()
        if seen.file is not None and normal(str(seen.file.text)) == start:
            review = ReviewThen(str(seen.file.text), seen.file.hunks, review.texts_seen)
        texts = _file_texts(start, legs, review.text, taken_back)
        changes = [changes_of(before, after) for before, after in pairwise(texts)]
        self.enter(tracked, review, texts[0], legs, changes)

    def enter_instead(self, tracked: Tracked, seen: SeenChange, disk: str) -> None:
        """Enters a change that the editor took by replacing the document's whole text, with which the change conflicts,
        by `disk` (compared form). If that text was saved, the change's author overwrote it. If it was not saved, the
        user threw it away."""
        now = Normal(seen.review.text)
        is_told_now = tracked.saves > seen.saves and str(tracked.text_at_save) == now.raw
        if not (seen.was_told or is_told_now):
            self.enter_reopened(tracked, seen)
            return
        changes = now.changes_in_raw(diff(now.text, disk))
        self.enter(tracked, seen.review, now.raw, [as_one(seen.legs)], [changes])

    def enter_closed(self, uri: DocumentUri, seen: SeenChange, taken_back: Sequence[TakenBack]) -> None:
        """Enters the change as one of the file: the document was closed while the change was journalled."""
        raw = seen.review.text
        for change in seen.changes or ():
            raw = change.apply(raw)
        self.enter_in_closed(uri, raw, *seen.in_file(), taken_back)

    def enter_in_closed(
        self, uri: DocumentUri, raw: str, start: str, legs: Sequence[Leg], taken_back: Sequence[TakenBack]
    ) -> None:
        """Enters changes of the file of a document that was closed with the text `raw`. `taken_back`: the unsaved rejections in it. They are made in the
        file, too (`Unsaved`), so that the changes are measured in texts without them, and no rejection brings any of that back."""
        texts = _file_texts(start, legs, raw, taken_back)
        for leg, (before, after) in zip(legs, pairwise(texts), strict=True):
            if leg.author is not None:
                self._recorder.disk_edit(leg.session, uri, leg.author, before, changes_of(before, after))

    def review(self, uri: DocumentUri, text: str) -> ReviewThen:
        """What is under review in the document now, which says `text` (raw)."""
        reviewed = self._state.ledgers.get(uri)
        return ReviewThen(text, ()) if reviewed is None else reviewed.ledger.now(text)

    async def begin(
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
    async def one_at_a_time(self, uri: DocumentUri) -> AsyncGenerator[None]:
        """A lock for each document: whoever comes second finds what the first one entered."""
        lock = self._entering.setdefault(uri, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.statistics().tasks_waiting and not lock.locked():
                self._entering.pop(uri, None)


def _file_texts(start: str, legs: Sequence[Leg], raw: str, taken_back: Sequence[TakenBack]) -> list[str]:
    """The file's text before the legs and after each of them, with the line ends of `raw`, and without what was taken back; only its present text is
    as it is."""
    texts = [raw_before(text, raw) for text in (start, *(leg.after for leg in legs))]
    return [*(out_of(text, taken_back) for text in texts[:-1]), texts[-1]]


def _noted_since(tracked: Tracked, ledger: Ledger, before: str) -> str:
    """Advances the ledger from `before` (raw) through the document's later texts in which the editor may already have
    taken the next change from the disk, and notes what was under review in each. Returns the last of these texts."""
    noted, number = tracked.hunks_then, tracked.history.number(normal(before))
    later = [one for one in noted.numbers() if number is not None and one > number]
    if tracked.saved is not None and normal(before) == tracked.saved:
        noted.only(Noted(Text.of(before), ledger.hunks, -1 if number is None else number))
    else:
        noted.forget()
    for one in later:
        text = tracked.history.text(one)
        if text is not None:
            ledger.user_led(Text.of(before), text)
            noted.found_out(Noted(text, ledger.hunks, one))
            before = str(text)
    return before
