"""ClosedFiles: files with unreviewed work that are not open are looked at before anybody lists it.

Nobody tells what happens to them: a checkout, another editor or a script puts lines back, or takes the file away. What is not there
any more is not to be reviewed. A file that is gone keeps its review in mind: there again as it was, so are its hunks.
"""

from __future__ import annotations

import os

from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Missing, Stat
from sidecar.workspace.ledgers import Reviewed
from sidecar.workspace.state import State

WAIT_SECONDS = 2.0
"""How long a write that is under way is waited for; with a longer one the file is looked at the next time."""


class ClosedFiles:
    """Brings ledgers of files that are not open up to what the disk says."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._seen: dict[DocumentUri, tuple[Stat | None, Text]] = {}
        """The file when it was looked at last, and what its ledger was brought up to then."""

    async def look(self, only: DocumentUri | None = None) -> None:
        """At all of them, or at one. Not while an agent works: what changes then may be its doing, and is noted as that."""
        for reviewed in self._state.ledgers:
            if only is not None and reviewed.uri != only:
                continue
            if any(session.running for session in self._state.sessions):
                return
            path = to_path(reviewed.uri)
            if path is not None and not (reviewed.live or reviewed.ledger.is_idle):
                await self._look(reviewed, path)
        known = {reviewed.uri for reviewed in self._state.ledgers}
        self._seen = {uri: seen for uri, seen in self._seen.items() if uri in known}

    async def _look(self, reviewed: Reviewed, path: str) -> None:
        state = self._state
        if self._seen.get(reviewed.uri) == (state.storage.stat(path), reviewed.text):
            return
        ticket = state.queues.take("", path, state.storage.order_key, "write")
        try:
            if not await ticket.turn(WAIT_SECONDS):
                return
            stat = state.storage.stat(path)
            text = await self._text(path)
            if text is None or reviewed.live or any(session.running for session in state.sessions):
                return
            hunks = reviewed.ledger.hunks
            reviewed.seen(text) if stat is not None else reviewed.gone()
            self._seen[reviewed.uri] = stat, reviewed.text
            if reviewed.ledger.hunks != hunks:
                state.ledgers.moved(reviewed)
        finally:
            ticket.release()

    async def _text(self, path: str) -> Text | None:
        """What the file says, "" when it is gone; None when that cannot be told."""
        storage = self._state.storage
        if storage.stat(path) is None:
            return Text.of("")
        roots = storage.roots([os.path.dirname(path)])
        if isinstance(roots, Refusal):
            return None
        with roots:
            file = storage.resolve(roots, path, "read")
            if isinstance(file, Missing | Refusal):
                return None
            with file:
                decoded = await storage.read(file)
        return None if isinstance(decoded, Refusal) else Text.of(decoded.text)
