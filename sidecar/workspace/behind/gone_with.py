"""GoneWith: what goes with the file of an open document when that is removed.

The file may have said what the document never had: it was changed beside the editor, and removed before the two were brought together. Such texts are no
part of the document's review. But what is not known to be an agent's in them is gone with the file, so the removal is measured from that. Lines of an
agent's that somebody has worked on, or right beside, go along with that work.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.normal import normal
from sidecar.core.settle import settle
from sidecar.disk import Decoded, decode
from sidecar.workspace.behind.accounts import Accounts
from sidecar.workspace.behind.glimpses import Glimpse
from sidecar.workspace.behind.known_before import KnownBefore
from sidecar.workspace.behind.legs import raw_before
from sidecar.workspace.behind.passing import PassingTexts
from sidecar.workspace.behind.turn_starts import Changed
from sidecar.workspace.behind.whose import Part, Whose
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.tracked import Tracked


class GoneWith:
    """One per workspace."""

    def __init__(self, passing: PassingTexts, known: KnownBefore, whose: Whose, accounts: Accounts) -> None:
        self._passing = passing
        self._known = known
        self._whose = whose
        self._accounts = accounts

    async def note(
        self,
        session: Session,
        tracked: Tracked,
        path: str,
        row: Changed | None,
        seen: Sequence[Glimpse],
        until: int,
    ) -> None:
        """The file of this document is gone, or no text, since `until` (acts.py). Notes as its last text what of it is not known to be an agent's.
        `seen`: texts that the file had and the document never had."""
        uri = tracked.document.uri
        then = await self._known.last(session, uri, path, None, row)
        if then is None or then.text is None or then.why:
            return
        start, account = await self._known.at_start(uri, path), self._accounts.get(uri)
        since = max(0 if known is None else known.at for known in (start, account))
        said = kept = normal(then.text)
        at = None
        for changed_at, now in self._texts(tracked, seen, since, until):
            for part in await self._whose.parts(uri, path, said, now, changed_at, start) or [Part(now, None)]:
                after = part.after or ""
                if part.session is None:
                    changes = settle(said, kept, after, "theirs")
                    if changes is None:
                        break
                    kept, at = changes.apply(kept), changed_at
                said = after
        if at is not None:
            like = then.text if then.exact or then.like is None else then.like.text
            self._accounts.says(uri, raw_before(kept, like), exact=True, at=at)

    def _texts(
        self, tracked: Tracked, seen: Sequence[Glimpse], since: int, until: int
    ) -> list[tuple[int, str]]:
        """Since when the file said what (compared form) after `since` and not after `until`, oldest first."""
        before = tracked.before_gone if tracked.saved is None else tracked.saved
        noted = {at: text for text, at in self._passing.noted(tracked.document.uri, before)}
        for one in seen:
            found = decode(one.data) if isinstance(one.data, bytes) else None
            if isinstance(found, Decoded):
                noted[one.at] = normal(found.text)
        return sorted((at, text) for at, text in noted.items() if since < at <= until)
