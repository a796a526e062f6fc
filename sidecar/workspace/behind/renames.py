"""Renames: a file that an agent's command moved is one row, "renamed from", and is moved back whole. Later changes in
it are hunks of the new name, as in any other file. What was under review in the file before the move stays under
review, and goes back with it.

A rename is the same file (by its inode) with the same bytes and mode as when the turn began, if the same session made
the changes of both names. Everything else is a removed file and a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.core.file_state import FileState
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path
from sidecar.disk import Decoded, decode
from sidecar.workspace.behind.accounts import Accounts
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.behind.gone import gone_at
from sidecar.workspace.behind.turn_starts import Changed, TurnStarts, size_of
from sidecar.workspace.behind.whose import Whose
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.ports.side_by_side import side_by_side
from sidecar.workspace.state.acts import changed_at
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State


@dataclass(frozen=True, slots=True)
class _Pair:
    old: Changed
    new: Changed
    state: FileState


class Renames:
    """One per workspace."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        recorder: Recorder,
        starts: TurnStarts,
        whose: Whose,
        files: FileReviews,
        accounts: Accounts,
    ) -> None:
        self._state = state
        self._editor = editor
        self._recorder = recorder
        self._starts = starts
        self._whose = whose
        self._files = files
        self._accounts = accounts

    async def rows(self, session: Session, rows: Sequence[Changed]) -> list[Changed]:
        """Enters those of the changes that are renames. Returns the others."""
        entered: set[str] = set()

        async def enter(pair: _Pair) -> None:
            if await self._enter(session, pair):
                entered.update((pair.old.path, pair.new.path))

        await side_by_side(await self._pairs(rows), enter, lambda pair: size_of(pair.new))
        return [row for row in rows if row.path not in entered]

    async def _pairs(self, rows: Sequence[Changed]) -> list[_Pair]:
        gone = {
            row.before.stat.identity: row
            for row in rows
            if row.before.state is not None and row.before.stat is not None and row.is_gone
        }
        found: list[_Pair] = []
        for new in rows:
            old = None if new.stat is None or new.before.state is not None else gone.get(new.stat.identity)
            if old is None or new.before.why or not (self._is_uncounted(new) and self._is_free(old, new)):
                continue
            now = await self._files.found(new.path)
            if isinstance(now, FileState) and now == old.before.state:
                found.append(_Pair(old, new, now))
        return found

    def _is_uncounted(self, new: Changed) -> bool:
        return self._accounts.get(from_path(new.path)) is None and self._files.known(new.path) is None

    def _is_free(self, old: Changed, new: Changed) -> bool:
        """Whether nobody has the new file open. The old one may be open, if nothing is under review in its document."""
        if self._is_open(new.path):
            return False
        reviewed = self._state.ledgers.get(from_path(old.path))
        return not self._is_open(old.path) or reviewed is None or not reviewed.ledger.hunks

    def _is_open(self, path: str) -> bool:
        return self._state.documents.get(from_path(path)) is not None

    async def _enter(self, session: Session, pair: _Pair) -> bool:
        old, new, state = pair.old.path, pair.new.path, pair.state
        assert pair.new.stat is not None, "paired by it"
        decoded = decode(state.data)
        text = decoded.text if isinstance(decoded, Decoded) else None
        compared = "\0" + state.data.hex() if text is None else normal(text)
        at = changed_at(pair.new.stat)
        parts = await self._whose.parts(from_path(new), new, None, compared, at, None)
        if len(parts) != 1 or parts[0].session is not session:
            return False
        row = self._files.removal(old)
        if row is None:
            removed = await self._whose.parts(from_path(old), old, compared, None, gone_at(old), None)
            if len(removed) != 1 or removed[0].session is not session:
                return False
        elif (row.author.session, row.author.turn, row.before) != (session.id, session.turn, state):
            return False
        call = parts[0].call
        self._state.made_folders |= self._starts.made_folders(session.id, new)
        author = await self._recorder.begin_file(session, new, None, state, call=call)
        removal = (
            row.author
            if row is not None
            else await self._recorder.begin_file(session, old, state, None, call=call)
        )
        for one in (author, removal):
            if isinstance(one, Refusal):
                self._editor.show("warning", one.message)
        if isinstance(author, Refusal) or isinstance(removal, Refusal):
            return False
        self._accounts.says(from_path(old), None, exact=True, at=at)
        self._accounts.says(from_path(new), text, exact=True, at=at)
        self._files.is_now(old, None)
        if row is not None:
            self._files.keep(row)
        self._files.enter(new, None, state, author, old, removal.write)
        self._take_along(from_path(old), from_path(new), text)
        session.touch(from_path(new), 0, 0)
        await self._recorder.finish(author, "done")
        await self._recorder.finish(removal, "done")
        return True

    def _take_along(self, old: DocumentUri, new: DocumentUri, text: str | None) -> None:
        """Moves what earlier turns have under review in the file to its new name, if nobody has the old one open: what an undo there brings back is under
        review there. `text`: what the file says (raw)."""
        if self._state.documents.get(old) is not None:
            return
        self._state.renamed(old, new)
        reviewed = self._state.ledgers.get(new)
        if reviewed is not None and text is not None:
            reviewed.seen(Text.of(text))
            self._state.ledgers.moved(reviewed)
