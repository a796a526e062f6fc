"""Held: the texts that are kept for one agent until its writes are done, counted in bytes as Python stores them.

One character beyond Latin-1 makes a text take two or four bytes for every character, so a count of characters says nothing. A
text beyond the budget is refused on arrival and dropped at once. Nothing waits for room, because an earlier write may be waiting
for the user.
"""

from __future__ import annotations

import sys

from sidecar.core.any_text import AnyText
from sidecar.core.refusal import Kind, Refusal


def as_held(text: AnyText) -> int:
    """Bytes that Python keeps for it, as a string."""
    return sys.getsizeof(text) if isinstance(text, str) else text.as_string


class Held:
    """The texts kept for one agent."""

    def __init__(self, most: int) -> None:
        """`most`: bytes of all texts together."""
        self._most = most
        self._now = 0

    @property
    def nothing(self) -> bool:
        return self._now == 0

    def take(self, *texts: AnyText) -> int | Refusal:
        """What the texts take, counted from now on; a refusal in words when there is no room for all of them."""
        size = sum(map(as_held, texts))
        if self._now + size > self._most:
            return Refusal(
                Kind.TOO_LARGE,
                f"too much text is waiting to be written: {self._now} bytes, and {size} more would exceed {self._most}. "
                "Wait until earlier writes are answered",
                {"limit": self._most},
            )
        self._now += size
        return size

    def give_back(self, size: int) -> None:
        """The texts that took so much are no longer kept."""
        self._now -= size
