"""ClosedFiles: checks files with unreviewed work that are not open, before that work is listed.

Nobody reports what happens to these files: a checkout, another editor or a script may restore lines or remove the file. Changes that no longer exist
are not listed. The review of a removed file is remembered: if the file returns unchanged, so do its hunks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Container, Sequence

from sidecar.core.hunk import writes_of
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Stat
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.edits.keeper import Keeper
from sidecar.workspace.edits.moved_back import moved_back
from sidecar.workspace.ports.in_steps import in_steps
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.ledgers import Reviewed
from sidecar.workspace.state.state import State

WAIT_SECONDS = 2.0
"""Seconds to wait for a write that is in progress. If it takes longer, the file is checked the next time."""


async def _nobodys(path: str) -> None:
    pass


class ClosedFiles:
    """Brings the ledgers of files that are not open up to date with the disk."""

    def __init__(
        self,
        state: State,
        journal: Journal,
        files: FileReviews,
        keeper: Keeper,
        folders: Callable[[], Sequence[str]],
    ) -> None:
        """`folders`: returns the workspace's folders."""
        self._state = state
        self._folders = folders
        self._keeper = keeper
        self._files = files
        self._journal = journal
        self.count: Callable[[str], Awaitable[None]] = _nobodys
        """Attributes what changed in a file (canonical path) until now, while turns run."""
        self._seen: dict[DocumentUri, tuple[Stat | None, Text]] = {}
        """The file's stat at the last check, and the text that its ledger was brought up to."""

    async def look(self, only: Collection[DocumentUri] | None = None, *, which_moved: bool = False) -> None:
        """Check all of these files, or some. What the command line has restored is under review too.

        While an agent works, the files are not checked: changes at that time may be the agent's, and are recorded as such. If some of them are
        about to be rejected, this happens at once, because nobody can find them afterwards.

        `which_moved`: check only the files that are gone or were gone, have nothing under review, or have changes that the command line has taken
        back. Any other change in a file is seen when the file's changes are rejected."""
        if only is None and not any(session.running for session in self._state.sessions):
            await self.removed_again(await self._keeper.restore_all(self._folders()))
        checked = [
            (reviewed, path)
            for reviewed in self._state.ledgers
            if (only is None or reviewed.uri in only)
            and (path := to_path(reviewed.uri)) is not None
            and not reviewed.live
        ]
        if any(session.running for session in self._state.sessions):
            async for _, path in in_steps(checked if which_moved else ()):
                await self.count(path)
            return
        under_review = [
            write async for reviewed, _ in in_steps(checked) for write in writes_of(reviewed.ledger.hunks)
        ]
        undone = await self._journal.undone(under_review)
        async for reviewed, path in in_steps(checked):
            hunks = reviewed.ledger.hunks
            moved = reviewed.is_gone or not hunks or any(write in undone for write in writes_of(hunks))
            if which_moved and not moved and self._state.storage.stat(path) is not None:
                continue
            if any(session.running for session in self._state.sessions):
                return
            if not reviewed.live:
                await self._look(reviewed, path, undone)
        known = {reviewed.uri for reviewed in self._state.ledgers}
        self._seen = {uri: seen for uri, seen in self._seen.items() if uri in known}

    async def removed_again(self, gone: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Record files under review that are gone, each with the writes in it (the journal's ids) that the command line has taken back."""
        for path, undone in gone:
            await self._files.removed_again(path, undone)
        if gone:
            await self._files.stored()
            await self._keeper.found_out([path for path, _ in gone])

    async def _look(self, reviewed: Reviewed, path: str, undone: Container[str]) -> None:
        state = self._state
        is_seen = self._seen.get(reviewed.uri) == (state.storage.stat(path), reviewed.text)
        if is_seen and not any(write in undone for write in writes_of(reviewed.ledger.hunks)):
            return
        ticket = state.queues.take("", path, state.storage.order_key, "write")
        try:
            if not await ticket.turn(WAIT_SECONDS):
                return
            stat = state.storage.stat(path)
            text = await self._text(path)
            if text is None or reviewed.live or any(session.running for session in state.sessions):
                return
            hunks, was_gone = reviewed.ledger.hunks, reviewed.is_gone
            under_review = writes_of(hunks)
            reviewed.taken_back(undone)
            old = None
            if stat is None:
                was = str(reviewed.text)
                old = await moved_back(state, self._journal, reviewed.uri, was, under_review)
            if reviewed.live or any(session.running for session in state.sessions):
                return
            if old is not None:
                return state.renamed(reviewed.uri, old)
            if stat is None:
                await self._files.removed_again(path, [write for write in under_review if write in undone])
            reviewed.seen(text) if stat is not None else reviewed.gone()
            await self._keeper.as_told(reviewed)
            self._seen[reviewed.uri] = stat, reviewed.text
            if reviewed.ledger.hunks != hunks or reviewed.is_gone != was_gone:
                state.ledgers.moved(reviewed)
        finally:
            ticket.release()

    async def _text(self, path: str) -> Text | None:
        """The file's text; "" if it is gone; None if that cannot be determined."""
        storage = self._state.storage
        if storage.stat(path) is None:
            return Text.of("")
        decoded = await storage.read_named(path)
        return None if isinstance(decoded, Refusal) else Text.of(decoded.text)
