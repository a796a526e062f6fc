"""GoneWith: what goes with the file of an open document when that is removed.

The file may have said what the document never had: it was changed beside the editor, and removed before the two were brought together. Such texts are no
part of the document's review. But what others than agents had made of the file is gone with it, so the removal is measured from that.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.change import changes_as_steps
from sidecar.core.diff import diff
from sidecar.core.misapplied import taken_out
from sidecar.core.normal import normal
from sidecar.core.uri import DocumentUri
from sidecar.disk import Decoded, decode
from sidecar.workspace.behind.accounts import Accounts
from sidecar.workspace.behind.glimpses import Glimpse
from sidecar.workspace.behind.known_before import KnownBefore
from sidecar.workspace.behind.passing import Passing
from sidecar.workspace.behind.turn_starts import Changed
from sidecar.workspace.behind.whose import Part, Whose
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State


class GoneWith:
    """One per workspace."""

    def __init__(
        self, state: State, passing: Passing, known: KnownBefore, whose: Whose, accounts: Accounts
    ) -> None:
        self._state = state
        self._passing = passing
        self._known = known
        self._whose = whose
        self._accounts = accounts

    async def note(
        self, session: Session, uri: DocumentUri, path: str, row: Changed | None, seen: Sequence[Glimpse]
    ) -> None:
        """Notes as what the file of an open document said last what others than agents had made of it. `seen`: texts that it had and the document never
        had."""
        is_open = self._state.documents.get(uri) is not None
        texts = self._texts(uri, seen) if is_open else []
        then = await self._known.last(session, uri, path, None, row) if texts else None
        if then is None or then.text is None or then.why:
            return
        said = kept = normal(then.text)
        since, start = None, await self._known.at_start(uri, path)
        for now, at in texts:
            for part in await self._whose.parts(uri, path, said, now, at, start) or [Part(now, None)]:
                after = part.after or ""
                if part.session is None:
                    agents, others = (
                        changes_as_steps(diff(*texts)) for texts in ((kept, said), (said, after))
                    )
                    kept, since = taken_out(kept, agents, others).without, at
                said = after
        if since is not None:
            self._accounts.says(uri, kept, at=since)

    def _texts(self, uri: DocumentUri, seen: Sequence[Glimpse]) -> list[tuple[str, int]]:
        """Each text (compared form) that is newer than what is known of the file, with since when, oldest first."""
        account = self._accounts.get(uri)
        decoded = ((decode(one.data), one.at) for one in seen if isinstance(one.data, bytes))
        found = [(normal(text.text), at) for text, at in decoded if isinstance(text, Decoded)]
        noted = {*found, *self._passing.noted(uri)}
        return sorted(
            (one for one in noted if account is None or one[1] > account.at), key=lambda one: one[1]
        )
