"""Ledgers: the unreviewed work in every document that has any, open or not.

An open document's ledger gets every change that the mirror receives. A closed document's ledger keeps the last known text. Later changes are found by
comparison when the document is seen again, and count as the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from sidecar.core.any_text import line_end, line_start
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.half import has_half_of
from sidecar.core.hunk import writes_of
from sidecar.core.ledger import Author, Hunk, Ledger, Mark, Rejection
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri

MAX_TRIED = 8
"""How many earlier texts an edit is compared with, to find out whether it is an undo together with other changes. Each comparison takes the whole
texts."""


class Reviewed:
    """A document's ledger, with the text that contains its hunks while the ledger does not receive every change (see `live`)."""

    def __init__(self, uri: DocumentUri, text: Text, ledger: Ledger | None = None) -> None:
        self.uri = uri
        self.text = text
        self.ledger = ledger or Ledger()
        self.live = False
        """The document is open: the mirror is its text, and `user_edit` gets every change."""
        self._last: tuple[Text, Sequence[Hunk]] | None = None
        """If the file does not exist now: its last text, with what was under review in it."""
        self.guessed: Text | None = None
        """A text that the ledger had not seen before, when it is not known what led to it. The change to it counts as the user's work, but the
        journal may know better."""

    def becomes(self, restored: Reviewed) -> None:
        """Take over what the journal knows of the document. It is not open until `opened` is called."""
        self.text, self.ledger, self.live = restored.text, restored.ledger, False
        self.guessed = self._last = None

    @property
    def is_gone(self) -> bool:
        """The file does not exist now."""
        return self._last is not None

    @property
    def last(self) -> tuple[Text, Sequence[Hunk]] | None:
        """If the file does not exist now: its last text, with what is under review in it once it is back."""
        return None if self._last is None else (self._last[0], self.ledger.unkept(self._last[1]))

    def change_id(self, hunk: int) -> str:
        """The id of the hunk with this number. It is stable while the hunk exists, also over a restart."""
        return f"{hunk}@{self.uri}"

    def opened(self, text: Text, *, is_known: bool = False) -> None:
        """The document is open from now on, with this text, which no agent's change has led to. `is_known`: that is certain, not a guess."""
        if not self.live:
            self._catch_up(text)
        if is_known:
            self.guessed = None
        self.live = True

    def closed(self, text: Text) -> None:
        self.text, self.live = text, False

    def thrown_away(self, text: Text, hunks: Sequence[Hunk]) -> None:
        """The document was closed with unsaved work. Its file has `text`, with these hunks. The earlier hunks are remembered, because editors may
        bring the unsaved text back."""
        self.ledger.may_come_back(self.text)
        self.ledger.user_led(self.text, text)
        self.ledger.goes_to(hunks)
        self.text = text

    @contextmanager
    def lands(self, closed: Text, before: Text, after: Text) -> Generator[None]:
        """Around an edit of ours that was on its way when the document was closed with the text `closed`. If more is known of the file since,
        that stays so, and the edit is remembered, because editors may bring the text back."""
        text, hunks, last = self.text, self.ledger.hunks, self._last
        self.seen(before)
        yield
        self.text = after
        if text is not closed:
            self.thrown_away(text, hunks)
            self._last = last

    def seen(self, text: Text, *, is_known: bool = False) -> None:
        """The text of a document that is not open is now `text`. `is_known`: it is certain, not a guess, that no agent's change led to it."""
        if not self.live:
            self._catch_up(text)
            if is_known:
                self.guessed = None

    def taken_back(self, writes: Container[str]) -> None:
        """Somebody else (the command line) has taken these writes (the journal's ids) back in the file, which is not open. Lines that others had
        changed too are as they would be without these writes; `seen` reports the rest."""

        def whose(author: Author) -> bool:
            return author.write in writes

        ids = self.ledger.ids(whose)
        if ids and not self.live:
            rejection = self.ledger.reject(len(self.text), ids, whose)
            text = Text.of(rejection.changes.apply(self.text))
            self.ledger.rejected(self.text, rejection, text)
            self.text = text

    def gone(self) -> None:
        """The file, which is not open, is gone, with everything that is under review in it."""
        if not self.live and self.ledger.hunks:
            nothing = Text.of("")
            self._last = self.text, self.ledger.hunks
            self.ledger.rejected(
                self.text,
                Rejection(ChangeSet.of(len(self.text), (Edit(0, len(self.text), ""),)), (), ()),
                nothing,
            )
            self.text = nothing

    def begins_anew(self, text: Text) -> None:
        """The file, which is not open, has this text where there was none: nothing that was under review in an earlier text is in it, however alike."""
        if not self.live:
            self.ledger, self.text = self.ledger.elsewhere(()), text
            self.guessed = self._last = None

    def user_edit(
        self,
        edit: Edit,
        length: int,
        after: Callable[[], Text],
        before: Callable[[], Text | None],
    ) -> bool:
        """Record an edit that no agent made. Returns whether hunks appeared, disappeared or changed in any way other than moving.

        An edit counts as what it changes, not as what it spans: editors that reload or format a text may replace all of it. `before` returns the
        text before the edit (None: it is forgotten), `after` the text after it, which has `length` code points."""
        if self.ledger.is_idle:
            return False
        may_span_more = edit.start != edit.end and ("\n" in edit.new or "\r" in edit.new)
        was = before() if may_span_more else None
        if was is None:
            return self.ledger.user_edit(edit, length, after, before)
        hunks = self.ledger.hunks
        old = was.slice(edit.start, edit.end)
        if len(old) == len(was) or _has_other_line_ends(edit.new, old):
            self.ledger.user_led(was, after())
        elif self.ledger.meets(edit):
            # In whole lines: it may begin or end in the midst of a line that is there before and after it.
            start, end = line_start(was, edit.start), line_end(was, edit.end)
            new = f"{was.slice(start, edit.start)}{edit.new}{was.slice(edit.end, end)}"
            within = diff(was.slice(start, end), new).edits
            steps = (Edit(start + step.start, start + step.end, step.new) for step in within)
            self.ledger.user_edits(was, ChangeSet(len(was), tuple(steps)))
        else:
            self.ledger.user_edit(edit, length, after, before)
        self._come_back(after)
        return [(h.id, h.said) for h in hunks] != [(h.id, h.said) for h in self.ledger.hunks]

    def goes_to(self, hunks: Sequence[Hunk]) -> bool:
        """The current text is known to have these hunks. Returns whether they differ from those found before."""
        were = self.ledger.hunks
        self.ledger.goes_to(hunks)
        return self.ledger.hunks != were

    def _come_back(self, after: Callable[[], Text]) -> None:
        """Restore the hunks of an earlier text if an edit that spans more than it changes is an undo together with what was typed since, as Emacs
        reports them. It counts as an undo to that text if all of its hunks are there."""
        found = list(islice(self.ledger.left(), MAX_TRIED))
        if not found:
            return
        text = after()
        said = str(text)
        for seen in found:
            tried = self.ledger.copy()
            tried.goes_back(seen)
            were = {(hunk.id, hunk.said) for hunk in tried.hunks}
            if not all(hunk.text in said for hunk in tried.hunks):
                continue
            tried.user_led(seen.text, text)
            if were <= {(hunk.id, hunk.said) for hunk in tried.hunks}:
                self.ledger.becomes(tried)
                return

    @contextmanager
    def in_one(self, now: Callable[[], Text]) -> Generator[None]:
        """Treat the edits inside as reported together: a hunk that one edit removes and the next one restores was never gone. Neovim reports one
        undo in this way, and several.

        The edits can be taken one by one or as one change. The way after which more of the earlier hunks are there counts. A text in between that
        was seen before is certain (an undo led to it); only what is reported after it can be taken in two ways. `now` returns the document's text."""
        before, together = now(), self.ledger.copy()

        def begins_anew(text: Text) -> None:
            nonlocal before, together
            before, together = text, self.ledger.copy()

        self.ledger.when_seen_again = begins_anew
        try:
            yield
        finally:
            self.ledger.when_seen_again = None
        were, newest = {hunk.id: hunk.said for hunk in together.hunks}, together.newest_id

        def left(ledger: Ledger) -> int:
            """How many hunks are as they were, or as they were when they disappeared earlier."""
            return sum(were.get(h.id, h.said) == h.said for h in ledger.hunks if h.id <= newest)

        there = {hunk.id: hunk.said for hunk in self.ledger.hunks}
        if all(there.get(number) == said for number, said in were.items()):
            return
        together.user_led(before, now())
        if left(together) > left(self.ledger):
            self.ledger.becomes(together)

    def _catch_up(self, text: Text) -> None:
        last, self._last = self._last, None
        if last is not None and (text == last[0] or has_half_of(str(text), str(last[0]))):  # not a new file
            self.text = last[0]
            self.ledger.goes_to(last[1])
        if text != self.text:  # editors unify line ends when they open a file
            self.text = self.ledger.takes_line_ends(self.text, text)
        if text == self.text or self._is_before_the_newest_write(text):
            return
        is_known = self.ledger.has_seen(text)
        if self.guessed is None:
            self.ledger.may_come_back(self.text)
        self.guessed = None if is_known else text
        self.ledger.user_led(self.text, text)
        self.text = text

    def _is_before_the_newest_write(self, text: Text) -> bool:
        """Whether the document is as it was before the newest write under review (an editor has kept it unsaved, or somebody undid the write). Then
        exactly that write leaves review."""
        newest = max(writes_of(self.ledger.hunks), default="")

        def whose(author: Author) -> bool:
            return author.write == newest

        rejection = self.ledger.reject(len(self.text), self.ledger.ids(whose), whose)
        is_before = (
            bool(newest) and not rejection.impossible and rejection.changes.apply(self.text) == str(text)
        )
        if is_before:
            self.ledger.rejected(self.text, rejection, text)
            self.text = text
        return is_before


def _has_other_line_ends(new: str, old: str) -> bool:
    """Whether an edit that replaces `old` by `new` may change the line ends of the whole text: an editor that reloads a text in other line ends may
    leave out what is equal at its start and end."""
    return "\n" in new and "\n" in old and ("\r" in new) is not ("\r" in old)


class Ledgers:
    """The ledgers of all documents."""

    def __init__(self) -> None:
        self._by_uri: dict[DocumentUri, Reviewed] = {}
        self.on_moved: list[Callable[[Reviewed], None]] = []
        """Called when hunks appeared, disappeared or were reviewed, but not when they only moved."""

    def __iter__(self) -> Iterator[Reviewed]:
        return iter(list(self._by_uri.values()))

    def moved(self, reviewed: Reviewed) -> None:
        """Call `on_moved`: hunks of this document appeared, disappeared or were reviewed."""
        for told in self.on_moved:
            told(reviewed)

    def get(self, uri: DocumentUri) -> Reviewed | None:
        return self._by_uri.get(uri)

    def at(self, uri: DocumentUri, text: Text, *, live: bool) -> Reviewed:
        """The document's ledger, brought up to `text`; a new one if there is none."""
        reviewed = self._by_uri.get(uri)
        if reviewed is None:
            reviewed = self._by_uri[uri] = Reviewed(uri, text)
        if live:
            reviewed.opened(text)
        else:
            reviewed.seen(text)
        return reviewed

    def restore(self, uri: DocumentUri, text: str, hunks: Sequence[Hunk]) -> Reviewed:
        """Restore a ledger from the journal, with the text it was stored with. Whoever holds the document's review, such as a rejection that is on
        its way, goes on with this one."""
        restored = Reviewed(uri, Text.of(text), Ledger(hunks))
        reviewed = self._by_uri.setdefault(uri, restored)
        if reviewed is not restored:
            reviewed.becomes(restored)
        return reviewed

    def back_at(self, reviewed: Reviewed, mark: Mark, before: Text, now: Text) -> None:
        """Revert the ledger of an open document to the mark, when its text was `before`. The changes since then were reverted, except those that
        lead to `now`."""
        reviewed.ledger.back_at(mark)
        reviewed.ledger.user_led(before, now)
        self.moved(reviewed)

    def forget(self, uri: DocumentUri) -> None:
        self._by_uri.pop(uri, None)

    def renamed(self, old: DocumentUri, new: DocumentUri) -> Reviewed | None:
        """Move the review of a file that was renamed. None if there was none."""
        reviewed = self._by_uri.pop(old, None)
        if reviewed is not None:
            self.moved(Reviewed(old, Text.of("")))  # nothing is left under the old name
            reviewed.uri = new
            self._by_uri[new] = reviewed
        return reviewed
