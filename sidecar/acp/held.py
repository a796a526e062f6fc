"""Held: the texts that one agent has us keep until its writes are done, in bytes as Python keeps them.

One character beyond Latin-1 makes a text take two or four bytes for every one of its characters, so characters say nothing. What comes beyond
the budget is refused on arrival and dropped at once; nothing waits for room, since what is in front may wait for a person.
"""

from __future__ import annotations

import sys

from sidecar.acp import errors
from sidecar.acp.errors import Failure
from sidecar.core.refusal import Kind


class Held:
    """Of one agent."""

    def __init__(self, most: int) -> None:
        """`most`: bytes of all texts together."""
        self._most = most
        self._now = 0

    def take(self, text: str) -> int | Failure:
        """What the text takes, counted from now on; a refusal in words when there is no room for it."""
        size = sys.getsizeof(text)
        if self._now + size > self._most:
            return Failure(
                errors.REFUSED,
                f"too much text is waiting to be written: {self._now} bytes, and {size} more would exceed {self._most}. "
                "Wait until earlier writes are answered",
                {"errorKind": str(Kind.TOO_LARGE), "limit": self._most},
            )
        self._now += size
        return size

    def give_back(self, size: int) -> None:
        """The text that took so much is no longer kept."""
        self._now -= size
