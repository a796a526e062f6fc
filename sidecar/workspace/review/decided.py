"""Decided: how many changes of each turn the user kept and rejected, told once for every decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager

from sidecar.core.ledger import Author
from sidecar.workspace.ports.ports import Verdict

Tell = Callable[[str, int, Verdict, int], None]
"""Gets the session, the turn, what was decided, and about how many changes."""


class Decided:
    """Changes that nobody is known to have made belong to no turn, and are not counted."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._counts: Counter[tuple[str, int, Verdict]] = Counter()
        self._depth = 0

    def count(self, author: Author, verdict: Verdict) -> None:
        """One change, listed as this author's. Within `together`."""
        if not author.unknown:
            self._counts[author.session, author.turn, verdict] += 1

    @contextmanager
    def together(self) -> Generator[None]:
        """What is counted in here is one decision; told at the end, also if something fails."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                counts, self._counts = self._counts, Counter()
                for (session_id, turn, verdict), number in counts.items():
                    self._tell(session_id, turn, verdict, number)
