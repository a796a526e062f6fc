"""WholeFiles: finds changes of files other than changes of their text: symbolic links, modes, and files that were
created or removed or are not text. Each is journalled and put under review as a row of its own (file_reviews.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sidecar.core.file_state import FileState
from sidecar.core.ledger import Author
from sidecar.core.refusal import Refusal
from sidecar.core.uri import from_path, to_path
from sidecar.workspace.behind.file_change import FileChange
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.behind.glimpses import Glimpses
from sidecar.workspace.behind.turn_starts import Changed, size_of
from sidecar.workspace.behind.whose import Part, Whose
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.ports.side_by_side import side_by_side
from sidecar.workspace.state.state import State


class WholeFiles:
    """One per workspace."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        recorder: Recorder,
        whose: Whose,
        files: FileReviews,
        glimpses: Glimpses,
    ) -> None:
        self._state = state
        self._editor = editor
        self._recorder = recorder
        self._whose = whose
        self._files = files
        self._glimpses = glimpses

    async def rows(self, rows: Sequence[Changed]) -> list[Changed]:
        """Enters the changes of modes, and those of links in place of which an open document has a text. Returns the others: the text may have changed
        beside the mode."""
        left: list[Changed] = []
        await side_by_side(rows, lambda row: self._row(row, left), size_of)
        return left

    async def _row(self, row: Changed, left: list[Changed]) -> None:
        path = row.path
        was = row.before.state or self._files.began_as(path)
        if was is not None and was.is_link and row.stat is not None and self._is_open(path):
            now = await self._files.found(path)
            if not isinstance(now, Refusal) and was != now and not self._files.says(path, now):
                await self._enter_row(row, was, now)
            return
        left.append(row)
        there = self._files.known(path) or was
        if there is not None and not there.is_link and row.mode is not None and there.mode != row.mode:
            await self._enter_row(row, was, replace(there, mode=row.mode))

    def _is_open(self, path: str) -> bool:
        return self._state.documents.get(from_path(path)) is not None

    async def _enter_row(self, row: Changed, was: FileState | None, now: FileState | None) -> None:
        uri = from_path(row.path)
        at = self._glimpses.mode_changed_at(row.path, row.mode)
        parts = await self._whose.parts(uri, row.path, shown(was), shown(now), at, None)
        self._files.is_now(row.path, now)
        if parts:
            await self.enter(row.path, was, now, parts[-1])

    async def enter(self, path: str, before: FileState | None, after: FileState | None, part: Part) -> None:
        """Journals a change of a whole file, and puts it under review."""
        author = await self._recorder.begin_file(part.session, path, before, after, call=part.call)
        if isinstance(author, Refusal):
            self._editor.show("warning", author.message)
            return
        uri = from_path(path)
        self._files.enter(path, before, after, author)
        if part.session is not None:
            lines = before.data.count(b"\n") if before is not None and after is None else 0
            part.session.touch(uri, 0, lines)
        await self._recorder.finish(author, "done")

    def made(self) -> list[str]:
        """The files (canonical) whose whole content was made by an agent and is under review. Open files may be missing."""
        rows = [row for row in self._files if row.kind == "created" and not row.author.unknown]
        found = [row.path for row in rows if self._maker(row.path, row) is row.author]
        for reviewed in self._state.ledgers:
            path, hunks = to_path(reviewed.uri), reviewed.ledger.hunks
            if path is None or len(hunks) != 1 or (hunks[0].start, hunks[0].end) != (0, len(reviewed.text)):
                continue
            authors = [version.author for version in hunks[0].versions]
            if not hunks[0].was and authors[0].created and not any(author.unknown for author in authors):
                found.append(path)
        return found

    def maker(self, path: str) -> Author | None:
        """Who made the file, if its whole content came that way. None: it existed before, it was moved there, or the
        user had a part in it."""
        return self._maker(path, next((change for change in self._files if change.path == path), None))

    def _maker(self, path: str, row: FileChange | None) -> Author | None:
        """`row`: the row of the file, if there is one."""
        made_empty = row.author if row is not None and row.is_made_empty else None
        if row is not None and made_empty is None:
            return row.author if row.kind == "created" else None
        uri = from_path(path)
        reviewed, tracked = self._state.ledgers.get(uri), self._state.documents.get(uri)
        if reviewed is None or not (reviewed.ledger.hunks or reviewed.text):
            return made_empty
        text = tracked.document.snapshot() if reviewed.live and tracked is not None else reviewed.text
        authors = [version.author for hunk in reviewed.ledger.hunks for version in hunk.versions]
        makers = [author for author in [made_empty, *authors] if author is not None]
        if reviewed.ledger.base(str(text)) or not (made_empty or any(author.created for author in authors)):
            return None
        return next((author for author in makers if author.unknown), makers[0])

    def forget(self, path: str) -> None:
        """Whoever made the file has removed it again. What was under review in it is kept in case it comes back."""
        row = self._files.last(path)
        if row is not None and row.kind == "created":
            self._files.keep(row)
        reviewed = self._state.ledgers.get(from_path(path))
        if reviewed is not None and not reviewed.live and reviewed.ledger.hunks:
            reviewed.gone()
            self._state.ledgers.moved(reviewed)


def shown(state: FileState | None) -> str | None:
    """The state as a text that is different for different states."""
    return None if state is None else f"\0{state.kind} {state.mode:o} {state.data.hex()}"
