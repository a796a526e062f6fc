"""KnownBefore: what a file is known to have said before a change.

That is what was last found or written there (accounts.py); or what the file said when the turn began (turn_starts.py),
if that is newer; or else what it said when a tool call named it (evidence.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from sidecar.core.file_state import FileState
from sidecar.core.normal import normal
from sidecar.core.uri import DocumentUri
from sidecar.disk import Decoded, decode
from sidecar.workspace.behind.accounts import Accounts
from sidecar.workspace.behind.evidence import Evidence, NamedFile
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.behind.tree_starts import Before
from sidecar.workspace.behind.turn_starts import Changed, TurnStarts
from sidecar.workspace.behind.whose import Known
from sidecar.workspace.state.acts import changed_at, is_before
from sidecar.workspace.state.sessions import Session


@dataclass(frozen=True, slots=True)
class Then:
    """What a file is known to have said last before the change."""

    text: str | None = None
    """None: there was no file, or it was not text."""
    like: Decoded | None = None
    """A text with the file's encoding and BOM."""
    exact: bool = False
    """`text` is raw."""
    state: FileState | None = None
    """What was under the name when the turn began, if nothing was written there since."""
    mode: int = 0o644
    why: str = ""
    """Why it is not known what the file said; empty if it is known."""


class KnownBefore:
    """One per workspace."""

    def __init__(
        self, evidence: Evidence, starts: TurnStarts, accounts: Accounts, files: FileReviews
    ) -> None:
        self._evidence = evidence
        self._starts = starts
        self._accounts = accounts
        self._files = files

    async def at_start(self, uri: DocumentUri, path: str, *, exact: bool = False) -> Known | None:
        """What the file said when the turn of the nearest acting session began; raw if `exact`, otherwise in the
        compared form. None: not known."""
        session = self._evidence.during(path)
        before = None if session is None else await self._starts.before(session.id, path)
        if before is None or before.why:
            return None
        if before.state is None:
            return Known(None)
        text = _text(before.state)
        if text is None:
            return None
        at = 0 if before.stat is None else changed_at(before.stat)
        return Known(text.text if exact else normal(text.text), at)

    async def last(
        self, session: Session, uri: DocumentUri, path: str, named: NamedFile | None, row: Changed | None
    ) -> Then | None:
        """What the file is known to have said last; None: nothing is known of it."""
        start = row.before if row is not None else await self._starts.before(session.id, path)
        like = _like(start, named)
        account = self._accounts.get(uri)
        is_known = start is not None and not start.why and not start.is_unseen
        if account is not None and is_known and is_before(account.at, self._starts.began(session.id)):
            account = None  # from another turn: it may be outdated
        if account is not None and account.lost:
            return Then(why="too much changed in this turn to keep all of it")
        if account is not None:
            state = self._files.known(path)
            if account.text is None and state is not None:
                return Then(state=state)
            was = None if start is None else start.state
            was = state if was is None or was.is_link else was
            text = None if account.text is None else str(account.text)
            return Then(text, like, account.exact, mode=0o644 if was is None or was.is_link else was.mode)
        if start is not None:
            named = named or self._evidence.named_as(session, uri)
            if _saw_it(named, start):
                return Then(named.text, _like(None, named), exact=True)
            if start.why:
                return Then(why=start.why)
            if start.state is None:
                return Then()
            return Then(None if like is None else like.text, like, exact=True, state=start.state)
        if named is None:
            return None
        return Then(named.text, like, exact=True, why=named.why)


def _saw_it(named: NamedFile | None, start: Before) -> TypeGuard[NamedFile]:
    """Whether the call that named the file read in time what it said when the turn began, and the turn's own notes lack
    that text: the file was not looked at before the agent got its prompt, or there was no room to keep its text."""
    if named is None or named.text is None or not start.why:
        return False
    if start.is_unseen:
        return named.changed <= start.asked
    return start.stat is not None and named.changed == changed_at(start.stat)


def _like(start: Before | None, named: NamedFile | None) -> Decoded | None:
    if start is not None and start.state is not None:
        return _text(start.state)
    if named is not None and named.text is not None:
        return Decoded(named.text, named.encoding, named.bom)  # pyright: ignore[reportArgumentType]  # it came from decoding
    return None


def _text(state: FileState) -> Decoded | None:
    decoded = None if state.is_link else decode(state.data)
    return decoded if isinstance(decoded, Decoded) else None
