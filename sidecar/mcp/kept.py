"""Kept: the memory that the texts of one call take, until nothing needs them: neither the call nor a write that continues after its
caller has hung up."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.core.any_text import AnyText
from sidecar.core.held import Held
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text

MOST = 128 * 1024 * 1024
"""The most bytes, as Python keeps them, of the texts in all unfinished calls of one session; the same as for writes over ACP."""


class KeptMemory:
    """Counts its users. The memory is given back when the last one is done."""

    def __init__(self, held: Held, size: int) -> None:
        self._held = held
        self._size = size
        self._users = 1

    def needed(self) -> None:
        """Add a holder."""
        self._users += 1

    def done(self, _: object = None) -> None:
        """Remove a holder."""
        self._users -= 1
        if not self._users:
            self._held.give_back(self._size)


class KeptTexts:
    """The texts of all sessions."""

    def __init__(self) -> None:
        self._sessions: dict[str, Held] = {}

    def of(self, session_id: str, arguments: Mapping[str, object]) -> KeptMemory | Refusal:
        """Count the texts of a call from now on. Returns a Refusal if its session keeps too much already."""
        held = self._sessions.setdefault(session_id, Held(MOST))
        size = held.take(*_texts(arguments))
        self._sessions = {one: held for one, held in self._sessions.items() if not held.nothing}
        return KeptMemory(held, size) if isinstance(size, int) else size


def _texts(arguments: Mapping[str, object]) -> list[AnyText]:
    found: list[AnyText] = []
    left: list[object] = list(arguments.values())
    while left:
        value = left.pop()
        if isinstance(value, (str, Text)):
            found.append(value)
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
    return found
