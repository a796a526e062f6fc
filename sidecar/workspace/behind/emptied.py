"""Emptied: open documents whose files were found empty while a command was about to fill them, and what the editor has taken of that."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from sidecar.core.ledger import ReviewThen
from sidecar.core.normal import normal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.behind.behind import Behind
from sidecar.workspace.behind.open_files import OpenFiles
from sidecar.workspace.edits.keeper import Keeper
from sidecar.workspace.state.acts import changed_at, is_before
from sidecar.workspace.state.hunks_then import Noted
from sidecar.workspace.state.storage import OnDisk
from sidecar.workspace.state.tracked import Tracked


@dataclass(slots=True)
class _Emptied:
    """When a file was emptied. The editor may have taken the empty text from the disk. Times: acts.py."""

    at: int
    """Since when the file was empty."""
    filled_at: int | None = None
    """Since when the file said what it was filled with, if the document was found to have taken that, too. It may also be the user's save."""


class Emptied:
    """One per workspace. Until a document is known to have its file's text again, what it was before is kept (keeper.py)."""

    def __init__(self, files: OpenFiles, behind: Behind, keeper: Keeper) -> None:
        self._files = files
        self._behind = behind
        self._settling = behind.settling
        self._keeper = keeper
        self._emptied: dict[DocumentUri, _Emptied] = {}

    def __contains__(self, uri: DocumentUri) -> bool:
        return uri in self._emptied

    def note(self, tracked: Tracked, at: int) -> None:
        """The file is empty since `at`. If the document has taken that already, somebody has written the empty file again, perhaps the user."""
        known = self._emptied.get(tracked.document.uri)
        if known is None or known.filled_at is not None or not _has_taken_that(tracked, known.at):
            self._emptied[tracked.document.uri] = _Emptied(at)
        self._keeper.hold(tracked.document.uri)

    def opened(self, tracked: Tracked, before: str, at: int) -> None:
        """The document was opened empty, as its file is since `at`, and a command may be about to fill that. The file said `before` until then. Leaves
        both to the next look."""
        self.note(tracked, at)
        then = tracked.review_when_opened
        if then is None or normal(then.text) != before:
            then = ReviewThen(before, ())
        if tracked.agents_edits == 0:
            tracked.hunks_then.note(
                Noted(Text.of(then.text), tuple(then.hunks), -1), tracked.saves, is_clean=True
            )
        if tracked.stat is not None:
            tracked.not_yet(before)

    def note_taken(self, tracked: Tracked, on_disk: OnDisk) -> None:
        """Notes whether the document has the disk's text: both are empty, or the document has what the emptied file was filled with."""
        emptied, at = self._emptied.get(tracked.document.uri), changed_at(on_disk.stat)
        if emptied is not None and (on_disk.text or "").strip("\n") and tracked.says(on_disk.text or ""):
            emptied.filled_at = at
        if not (on_disk.text or "").strip("\n") and is_empty(tracked) and self._behind.is_acting():
            self.note(tracked, changed_at(on_disk.stat))

    def again(self, tracked: Tracked, at: int, on_disk: OnDisk) -> None:
        """The file was emptied at `at`, and what it says now could not be brought in: the next look begins where this one did."""
        self.note(tracked, at)
        if (on_disk.text or "").strip("\n") and self._files.had(tracked, on_disk):
            self._emptied[tracked.document.uri].filled_at = changed_at(on_disk.stat)

    def taken(self, tracked: Tracked) -> int | None:
        """Since when the file was empty, if the document has taken that and is still empty."""
        emptied = self._emptied.get(tracked.document.uri)
        if emptied is None or not is_empty(tracked) or not _has_taken_that(tracked, emptied.at):
            return None
        return emptied.at

    def filled(self, tracked: Tracked) -> None:
        """The file says something again, and that is about to be brought into the document."""
        self._emptied.pop(tracked.document.uri, None)

    def over(self, tracked: Tracked) -> None:
        """Whatever had emptied the file, it says what the document said."""
        self._emptied.pop(tracked.document.uri, None)
        self._keeper.let_go(tracked.document.uri)

    def is_saved(self, tracked: Tracked, on_disk: OnDisk) -> bool:
        """Whether the file, which is empty, was written since it was emptied, and that is a save that the editor reported then."""
        emptied, at = self._emptied.get(tracked.document.uri), changed_at(on_disk.stat)
        if emptied is None or not is_before(emptied.at, at) or is_before(tracked.history.told_by, at):
            return False
        return self._files.save(tracked, on_disk) is not None

    async def saved_over(self, tracked: Tracked, path: str, on_disk: OnDisk) -> None:
        """The user has saved the document over the empty text, unless the document had taken what the file was filled with."""
        emptied = self._emptied.get(tracked.document.uri)
        if emptied is None or emptied.filled_at in (None, changed_at(on_disk.stat)):
            await self.for_good(tracked, path)

    async def for_good(self, tracked: Tracked, path: str) -> bool:
        """The document will not get what a file is filled with that was emptied for that: the file is gone, or the user has saved. If the document has
        taken the empty text, whatever was typed there since, that its text is gone is a change of whoever emptied the file. Returns False if that
        cannot be entered: then it is found when the file is back."""
        uri, before = tracked.document.uri, tracked.saved
        emptied = self._emptied.get(uri)
        if emptied is None or before is None or not _has_taken_that(tracked, emptied.at):
            return True
        empty, taken = self._files.empty, tracked.history.emptied
        if taken is not None:
            self._behind.saved_before(tracked, str(before), taken, emptied.at)
        async with self._behind.one_at_a_time(tracked):
            seen = await self._behind.seen(
                tracked, path, str(before), empty, emptied.at, since=tracked.since, emptied=True
            )
            if seen is not None:
                self._settling.brings_in(tracked, seen)
        if seen is None:
            return False
        if seen.changes is not None:
            tracked.on_disk(empty, tracked.since)  # as the document last took it
            self._emptied.pop(uri, None)
        with anyio.CancelScope(shield=True):
            await self._settling.settle(tracked, seen, empty)
        return seen.changes is not None


def is_empty(tracked: Tracked) -> bool:
    """Whether the document has no text but perhaps a line end."""
    return len(tracked.document.rope) <= 1 and not tracked.text().strip("\n")


def _has_taken_that(tracked: Tracked, at: int) -> bool:
    """Whether the document was empty because its file was, since `at` (acts.py), whatever was typed there since: not if the user had emptied it before,
    or opened it later and emptied it then."""
    history = tracked.history
    if is_before(at, history.opened_at):
        return history.is_opened_empty
    return history.emptied_by is not None and not is_before(history.emptied_by, at)
