"""Ledgers: the unreviewed work in every document that has any, open or not.

An open document's ledger gets every change that the mirror receives. A closed document's ledger keeps the last known text: later
changes are found by comparison when the document is seen again, and count as the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Hunk, Ledger, Mark, Rejection
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri

MAX_TRIED = 8
"""How many texts that were seen an edit is compared with, to find out whether it is an undo with more besides: that takes the whole texts."""


class Reviewed:
    """A document's ledger, and the text that contains its hunks while it does not receive every change (see `live`)."""

    def __init__(self, uri: DocumentUri, text: Text, ledger: Ledger | None = None) -> None:
        self.uri = uri
        self.text = text
        self.ledger = ledger or Ledger()
        self.live = False
        """The document is open: the mirror is its text, and `user_edit` gets every change."""
        self.is_gone = False
        """The file does not exist at the moment; its review stays in the journal."""
        self.guessed: Text | None = None
        """A text that the ledger has not seen before, and of which it is not known what led to it: that counts as the user's work. The journal may know
        better."""

    def change_id(self, hunk: int) -> str:
        """Of the hunk with this number; stable while the hunk exists, also over a restart."""
        return f"{hunk}@{self.uri}"

    def opened(self, text: Text, *, is_known: bool = False) -> None:
        """The document is open from now on, with this text; changes since are not an agent's. `is_known`: that is no guess."""
        if not self.live:
            self._catch_up(text)
        if is_known:
            self.guessed = None
        self.live = True

    def closed(self, text: Text) -> None:
        self.text, self.live = text, False

    def thrown_away(self, text: Text, hunks: Sequence[Hunk]) -> None:
        """The document was closed with unsaved work: its file says `text`, with these hunks. Editors may bring back what it said."""
        self.ledger.may_come_back(self.text)
        self.ledger.user_led(self.text, text)
        self.ledger.goes_to(hunks)
        self.text = text

    def seen(self, text: Text, *, is_known: bool = False) -> None:
        """The text of a document that is not open is now this one. `is_known`: and what led to it is somebody else's work, which is no guess."""
        if not self.live:
            self._catch_up(text)
            if is_known:
                self.guessed = None

    def taken_back(self, writes: Container[str]) -> None:
        """The document is not open, and somebody else (the command line) has taken these writes (the journal's ids) back in its file. What
        others had changed on the same lines is as it was without them; `seen` tells the rest."""

        def whose(author: Author) -> bool:
            return author.write in writes

        ids = self.ledger.ids(whose)
        if ids and not self.live:
            rejection = self.ledger.reject(len(self.text), ids, whose)
            text = Text.of(rejection.changes.apply(self.text))
            self.ledger.rejected(self.text, rejection, text)
            self.text = text

    def gone(self) -> None:
        """The file of a document that is not open is gone, with everything to review in it."""
        if not self.live and self.ledger.hunks:
            nothing = Text.of("")
            self.ledger.rejected(
                self.text,
                Rejection(ChangeSet.of(len(self.text), (Edit(0, len(self.text), ""),)), (), ()),
                nothing,
            )
            self.text = nothing
            self.is_gone = True

    def user_edit(
        self,
        edit: Edit,
        length: int,
        after: Callable[[], Text],
        before: Callable[[], Text | None],
    ) -> bool:
        """An edit that is not an agent's. Returns whether hunks appeared, disappeared or changed, apart from moving along.

        An edit is what it changes, not what it spans: editors that reload or format a text may replace all of it. `before` gives the text
        before it (None: it is forgotten), `after` the one that it led to, of that `length`."""
        if self.ledger.is_idle:
            return False
        was = before() if edit.start != edit.end and "\n" in edit.new else None
        if was is None:
            return self.ledger.user_edit(edit, length, after, before)
        hunks = self.ledger.hunks
        if edit.start == 0 and edit.end == len(was):
            self.ledger.user_led(was, after())
        elif self.ledger.meets(edit):
            within = diff(was.slice(edit.start, edit.end), edit.new).edits
            steps = (Edit(edit.start + step.start, edit.start + step.end, step.new) for step in within)
            self.ledger.user_edits(was, ChangeSet(len(was), tuple(steps)))
        else:
            self.ledger.user_edit(edit, length, after, before)
        self._come_back(after)
        return [(h.id, h.said) for h in hunks] != [(h.id, h.said) for h in self.ledger.hunks]

    def goes_to(self, hunks: Sequence[Hunk]) -> bool:
        """The text is one that has these hunks. Returns whether they are others than those that were found."""
        were = self.ledger.hunks
        self.ledger.goes_to(hunks)
        return self.ledger.hunks != were

    def _come_back(self, after: Callable[[], Text]) -> None:
        """An edit that spans more than it changes may be an undo together with what was typed since, as Emacs tells them: it has gone back to a text
        that was seen if all hunks of that are there."""
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
        """Edits within that are told together: what goes with one and comes back with the next has not gone. Neovim tells one undo so, and several.
        Of the two ways to see them, that one counts after which more of the hunks there are ones that were there before. A text in between that was
        seen before is certain (an undo led there), and only what is told after it may be seen in two ways. `now` gives the document's text."""
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
            """How many hunks are as they were, or as they were when they went earlier."""
            return sum(were.get(h.id, h.said) == h.said for h in ledger.hunks if h.id <= newest)

        there = {hunk.id: hunk.said for hunk in self.ledger.hunks}
        if all(there.get(number) == said for number, said in were.items()):
            return
        together.user_led(before, now())
        if left(together) > left(self.ledger):
            self.ledger.becomes(together)

    def _catch_up(self, text: Text) -> None:
        self.is_gone = False
        if text != self.text:  # editors even out line ends when they open a file
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
        """Whether the document is as it was before the newest write that is under review (an editor has kept it unsaved, or somebody undid the write):
        then all of that goes out of review, and only that."""
        newest = max(writes(self.ledger.hunks), default="")

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


def writes(hunks: Sequence[Hunk]) -> list[str]:
    """The journal's ids of the writes that the hunks are of."""
    return list({version.author.write for hunk in hunks for version in hunk.versions})


class Ledgers:
    """All of them, by document."""

    def __init__(self) -> None:
        self._by_uri: dict[DocumentUri, Reviewed] = {}
        self.on_moved: list[Callable[[Reviewed], None]] = []
        """Called when hunks appeared, disappeared or were reviewed (not when they only moved along)."""

    def __iter__(self) -> Iterator[Reviewed]:
        return iter(list(self._by_uri.values()))

    def moved(self, reviewed: Reviewed) -> None:
        """Hunks of this document appeared, disappeared or were reviewed."""
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
        """Restores a ledger from the journal, with the text it was stored with."""
        reviewed = self._by_uri[uri] = Reviewed(uri, Text.of(text), Ledger(hunks))
        return reviewed

    def back_at(self, reviewed: Reviewed, mark: Mark, before: Text, now: Text) -> None:
        """The changes in an open document since it contained `before`, at that mark, were reverted, except those that lead to `now`."""
        reviewed.ledger.back_at(mark)
        reviewed.ledger.user_led(before, now)
        self.moved(reviewed)

    def forget(self, uri: DocumentUri) -> None:
        self._by_uri.pop(uri, None)

    def renamed(self, old: DocumentUri, new: DocumentUri) -> Reviewed | None:
        """The file was renamed: its review moves with it. None if there was none."""
        reviewed = self._by_uri.pop(old, None)
        if reviewed is not None:
            self.moved(Reviewed(old, Text.of("")))  # nothing is left under the old name
            reviewed.uri = new
            self._by_uri[new] = reviewed
        return reviewed
