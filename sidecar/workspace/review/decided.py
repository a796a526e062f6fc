"""Decided: counts how many changes of each turn the user kept and rejected, reported once for every decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager

from sidecar.core.ledger import Author
from sidecar.workspace.ports.ports import Verdict

Tell = Callable[[str, int, Verdict, int], None]
"""Gets the session, the turn, the decision, and the number of changes."""


class Decided:
    """Counts decisions. Changes by unknown authors belong to no turn and are not counted."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._counts: Counter[tuple[str, int, Verdict]] = Counter()
        self._depth = 0

    def count(self, author: Author, verdict: Verdict) -> None:
        """Count one change, listed as this author's. Call it within `together`."""
        if not author.unknown:
            self._counts[author.session, author.turn, verdict] += 1

    @contextmanager
    def together(self) -> Generator[None]:
        """Count everything inside as one decision. It is reported at the end, even if something fails."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                counts, self._counts = self._counts, Counter()
                for (session_id, turn, verdict), number in counts.items():
                    self._tell(session_id, turn, verdict, number)
