"""Settling: enters a change of an open document's file in the ledger, once the two were brought together or that failed.

The change's authors are known by then, and it is journalled (behind.py). What the document could not take stays apart from
it until the user decides, saves over it, or closes the document.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from sidecar.core.final_end import same_lines
from sidecar.core.kept import Kept
from sidecar.core.normal import normal
from sidecar.core.uri import DocumentUri, to_path
from sidecar.journal.entry import EntryState
from sidecar.workspace.behind.accounts import Accounts
from sidecar.workspace.behind.entering import Entering
from sidecar.workspace.behind.legs import Apart, SeenChange, has
from sidecar.workspace.behind.passing import PassingTexts
from sidecar.workspace.behind.written import Written
from sidecar.workspace.edits.conflicts import Open
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.state.acts import changed_at
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked

SETTLE_SECONDS = 2.0
"""How long an edit that is on its way may delay the entering of a change."""
RELOAD_SECONDS = 0.5
"""The longest time between the two messages, closing and opening, with which some editors report a reload."""
ENTER_SECONDS = 5.0
"""How long looks at a file wait for a change that is being brought into its document: all of them together, from when it was seen."""


class Settling:
    """One per workspace."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        recorder: Recorder,
        entering: Entering,
        accounts: Accounts,
        written: Written,
        passing: PassingTexts,
    ) -> None:
        self._state = state
        self._editor = editor
        self._recorder = recorder
        self._entering = entering
        self._accounts = accounts
        self._written = written
        self._passing = passing
        self._apart: dict[DocumentUri, Apart] = {}
        """By open document with unsaved work."""
        self._seen: dict[DocumentUri, SeenChange] = {}
        """By document: the change of its file that is being brought into it."""
        self._last_closed: tuple[DocumentUri, float] | None = None
        """The document that was closed last, and when (seconds of the loop's clock)."""

    def brings_in(self, tracked: Tracked, seen: SeenChange) -> None:
        """The change is about to be brought into the document. If the document is opened again before `settle`,
        `Behind.opened` begins with this change."""
        self._seen[tracked.document.uri] = seen
        seen.until = anyio.current_time() + ENTER_SECONDS

    def under_way(self, uri: DocumentUri) -> SeenChange | None:
        """The change that is being brought into the document."""
        return self._seen.get(uri)

    @asynccontextmanager
    async def one_at_a_time(self, uri: DocumentUri) -> AsyncGenerator[None]:
        """As in `Entering`, for whoever looks at the file beside its document, if there is one: not while a change of the file is being brought into that.
        The accounts have it from the moment it was seen, and lose it again if it cannot be entered."""
        while True:
            seen = self._seen.get(uri)
            if seen is not None:
                with anyio.CancelScope(deadline=seen.until):
                    await seen.settled.wait()
            async with self._entering.one_at_a_time(uri):
                seen = self._seen.get(uri)
                if seen is None or seen.settled.is_set() or anyio.current_time() >= seen.until:
                    yield
                    return

    def apart(self, uri: DocumentUri) -> Apart:
        """The changes that the document could not take."""
        return self._apart.get(uri, Apart())

    def over(self, uri: DocumentUri) -> None:
        """The user has saved over the changes that a document could not take from the disk."""
        self._apart.pop(uri, None)

    async def settle(
        self, tracked: Tracked, seen: SeenChange, disk: str | None, *, is_save: bool = False
    ) -> None:
        """Mirror and disk were brought together, or that failed: enters the change where it belongs. `is_save`: the
        editor reported meanwhile that the user typed this text and saved it."""
        try:
            await self._settle(tracked, seen, disk, is_save=is_save)
        finally:
            seen.settled.set()

    async def _settle(self, tracked: Tracked, seen: SeenChange, disk: str | None, *, is_save: bool) -> None:
        first, uri = tracked, tracked.document.uri
        left = self._apart.pop(uri, Apart())
        known = left.since(seen.start)
        settled = {leg.author for leg in known if leg.author is not None}
        # A change that replaced more than its author had read is recorded again
        for leg in left.legs:
            if leg.author is not None and leg.author not in settled:
                await self._recorder.finish(leg.author, "failed")
        if tracked.apart and not tracked.closed:
            self._apart[uri] = Apart(seen.taken, seen.left(), seen.saved)
        was_closed = self._state.documents.get(uri) is None  # then `closed` enters what is in conflict
        tracked, at_rest = await self._at_rest(tracked, wanted=seen.changes is not None)
        written = first.agents_edits != seen.writes or (tracked is not first and tracked.agents_edits > 0)
        if self._seen.get(uri) is seen:
            del self._seen[uri]
        # After a save on top of the change, only what the document says is left of it.
        saves = seen.saves if tracked is first else 0
        is_there = self.is_same(tracked.saved, disk) or tracked.saves > saves
        # A file that is gone is not looked at again: what the user saved of the change is in the document
        is_seen = tracked.stat is not None or (tracked.saves > saves and self._is_gone(uri))
        together = is_there and is_seen
        state: EntryState = "done"
        if seen.counted:
            pass
        elif is_save:
            state = "failed"
        elif tracked.closed and (seen.changes is not None or was_closed):
            self._entering.enter_closed(uri, seen, first.still_taken_back())
        elif tracked is first and not is_seen and not (seen.changes is None and tracked.apart):
            # The next look begins where this one did
            state = "failed"
            self._apart[uri] = Apart(seen.start, known)
            self._accounts.not_entered(uri, disk, seen.start)
            self._passing.are(uri, known[-1].after if known else seen.start, seen.passed)
        elif seen.changes is not None and not (together and at_rest and not written):
            state = "failed" if tracked.stat is None else "unknown"
        elif tracked is not first and self.is_same(tracked.counted, disk):
            state = "failed"  # it was recorded when the document was opened again
        elif seen.changes is not None:
            self._entering.enter(tracked, seen.review, seen.review.text, seen.legs, seen.changes)
            self._entering.enter_in_file(tracked, seen)
        elif tracked is first and together and not tracked.apart and disk and tracked.history.had(disk):
            self._entering.enter_instead(tracked, seen, disk)
        elif tracked is not first and disk is not None and opened_with(tracked, seen.start, disk):
            self._entering.enter_reopened(tracked, seen, first.still_taken_back())
        if state == "failed" and not tracked.closed:  # the next look finds it again
            self._written.again(uri, seen.start, seen.legs, but_for=settled)
        for leg in seen.legs:
            if not leg.is_ours and leg.author is not None and leg.author not in settled:
                await self._recorder.finish(leg.author, state)
        tracked.is_clean()  # later edits are measured from the disk's text

    async def open_again(self, tracked: Tracked) -> Tracked:
        """The document that is now open under the same URI, once it was compared with its file; else `tracked`."""
        with anyio.move_on_after(SETTLE_SECONDS):
            while tracked.closed and (again := self._state.documents.get(tracked.document.uri)) is not None:
                tracked = again
                await tracked.observed.wait()
        return tracked

    def is_reload(self, uri: DocumentUri) -> bool:
        """Whether the opening of this document, which has just been reported, is the editor's reload from the disk: it was closed right before."""
        return self._since_closed(uri) < RELOAD_SECONDS

    async def until_open_again(self, uri: DocumentUri) -> None:
        """Waits for a document that was closed a moment ago, as it may be a reload. Until that is known, nobody looks at the file as at one that
        is not open: what the editor takes from it is recorded at the opening, with what the user had saved before."""
        with anyio.move_on_after(max(0.0, RELOAD_SECONDS - self._since_closed(uri))):
            await self._state.documents.appearance(uri)

    def _since_closed(self, uri: DocumentUri) -> float:
        """Seconds since this document was closed; infinite if another was closed since."""
        closed, at = self._last_closed or (None, 0.0)
        return anyio.current_time() - at if closed == uri else math.inf

    def _is_gone(self, uri: DocumentUri) -> bool:
        path = to_path(uri)
        return path is not None and self._state.storage.stat(path) is None

    async def _at_rest(self, tracked: Tracked, *, wanted: bool) -> tuple[Tracked, bool]:
        """The document that is now open under the same URI, else `tracked`, and whether no edit of ours is on its way
        to it. `wanted`: waits for that.

        The ledger gets what arrives during such an edit only when the edit is settled, and this very change may be part
        of it. Neovim and eglot report a reload as closing and opening the document; Neovim reports the undo of a reload so, too.
        """
        while True:
            tracked = await self.open_again(tracked)
            at_rest = not wanted or await tracked.rest(SETTLE_SECONDS)
            if not tracked.closed or self._state.documents.get(tracked.document.uri) is None:
                return tracked, at_rest

    def is_same(self, known: Kept | str | None, disk: str | None) -> bool:
        """Whether a file's known text is `disk`. In an editor of lines the final line end is ignored: at each reload,
        it decides anew whether that counts."""
        if known is None or disk is None or not self._editor.capabilities.keeps_lines:
            return known == disk
        return same_lines(str(known), disk)

    def closed(self, tracked: Tracked, conflict: Open | None) -> None:
        """A document was closed. Until somebody writes its file, the file says what it was last found to say. Changes
        that were in `conflict` with unsaved changes, and that are not being decided, are entered as changes of the file."""
        self._last_closed = tracked.document.uri, anyio.current_time()
        if conflict is not None and conflict.is_brought_together:
            self._apart.pop(tracked.document.uri, None)
        elif conflict is not None or not tracked.looking.locked():
            self._left_in_file(tracked)
        if tracked.saved is not None and tracked.stat is not None:
            self._accounts.closed(tracked.document.uri, tracked.saved.text, changed_at(tracked.stat))

    async def closed_while_looked_at(self, tracked: Tracked) -> None:
        """The document was closed while mirror and disk were compared. Changes that did not come into it are entered as
        changes of the file."""
        async with tracked.looking:
            if self._state.documents.get(tracked.document.uri) is None:
                self._left_in_file(tracked)

    def _left_in_file(self, tracked: Tracked) -> None:
        """Enters the changes of the file that the document could not take before it was closed."""
        uri, raw = tracked.document.uri, str(tracked.document.snapshot())
        apart = self._apart.pop(uri, Apart())
        begin, ours = self._written.left(uri, apart.legs[-1].after if apart.legs else None)
        start, legs = apart.start if apart.legs else begin, [*apart.legs, *ours]
        self._entering.enter_in_closed(uri, raw, start, legs, tracked.still_taken_back())


def opened_with(tracked: Tracked, start: str, disk: str) -> bool:
    """Whether a document was opened with its file's text `disk`, which came after `start`, or has taken it since (both
    texts in the compared form). Its current text alone does not tell: what was typed since may hide it."""
    opened = tracked.document.snapshot() if tracked.opened_with is None else tracked.opened_with
    return any(has(start, text, [disk]) for text in (normal(str(opened)), tracked.text()))
