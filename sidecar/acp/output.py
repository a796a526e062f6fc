"""Output: the last bytes of a command's output, as text, never cut inside a character."""

from __future__ import annotations

import codecs


class Output:
    """Takes bytes as they arrive; invalid UTF-8 becomes U+FFFD. `limit` is in bytes of UTF-8."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.truncated = False
        """Whether the beginning was dropped."""

    def add(self, data: bytes, *, final: bool = False) -> str:
        """Add bytes. Returns the text that they complete."""
        text = self._decoder.decode(data, final)
        self._kept += text.encode()
        surplus = len(self._kept) - self._limit
        if surplus > 0:
            self.truncated = True
            while surplus < len(self._kept) and self._kept[surplus] & 0xC0 == 0x80:
                surplus += 1
            del self._kept[:surplus]
        return text

    @property
    def size(self) -> int:
        """The size in bytes."""
        return len(self._kept)

    def __str__(self) -> str:
        return self._kept.decode()
