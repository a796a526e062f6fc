"""Held: limits the texts that are held for one agent until its requests are answered, counted in bytes as Python stores them.

One character beyond Latin-1 makes Python store a text with two or four bytes per character, so a count of characters says
nothing. A text beyond the budget is refused on arrival and dropped at once. Nothing waits for room, because an earlier write may
be waiting for the user.
"""

from __future__ import annotations

import sys

from sidecar.core.any_text import AnyText
from sidecar.core.refusal import Kind, Refusal


def as_held(text: AnyText) -> int:
    """The bytes that Python needs to store it as a string."""
    return sys.getsizeof(text) if isinstance(text, str) else text.as_string


class Held:
    """The texts held for one agent."""

    def __init__(self, most: int) -> None:
        """`most`: the most bytes of all texts together."""
        self._most = most
        self._now = 0

    @property
    def nothing(self) -> bool:
        return self._now == 0

    def take(self, *texts: AnyText) -> int | Refusal:
        """Count these texts from now on and return their size in bytes. Returns a refusal if there is no room for all of
        them."""
        return self.take_size(sum(map(as_held, texts)))

    def take_size(self, size: int) -> int | Refusal:
        """As `take`, for something of that many bytes."""
        if self._now + size > self._most:
            return Refusal(
                Kind.TOO_LARGE,
                f"too much text is waiting: {self._now} bytes, and {size} more would exceed {self._most}. "
                "Wait until earlier requests are answered",
                {"limit": self._most},
            )
        self._now += size
        return size

    def give_back(self, size: int) -> None:
        """Record that texts of `size` bytes are no longer held."""
        self._now -= size
