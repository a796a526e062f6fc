"""RecentTexts: the texts that the journal met last, in memory. What they share is held, and counts, once."""

from __future__ import annotations

from collections import OrderedDict

from sidecar.core.any_text import AnyText
from sidecar.core.narrow import as_kept
from sidecar.core.sharing import sharing
from sidecar.core.text import Text

REMEMBERED = 4 * 1024 * 1024
"""Characters that the texts may have together. The most recent one is kept whatever its size."""
BESIDE = REMEMBERED // 4
"""Characters that the others may have of their own beside a most recent text that fills all the room: enough for the versions of a large text before
it, to which a rejection goes back."""
LARGE = 256 * 1024
"""Characters from which on a text is looked for by comparing it: that takes less time than hashing it. There is room for a few dozens of such texts, or for
some hundreds of versions of one, but for tens of thousands of small ones."""
_ENTRY = 64
"""What a text's list of chunks costs for each chunk, in characters, though it shares all of them."""


class RecentTexts:
    """Texts by their hashes."""

    def __init__(self) -> None:
        self._texts: OrderedDict[bytes, Text] = OrderedDict()
        self._large: dict[bytes, Text] = {}
        """Those of them that are."""
        self._times: dict[int, int] = {}
        """By a chunk's identity: how many of the texts have it."""
        self._size = 0

    @property
    def size(self) -> int:
        """The number of characters of these texts, those that several have counted once."""
        return self._size

    def hash_of(self, text: AnyText) -> bytes | None:
        """Return the hash of a large text that is one of these, without computing it."""
        if len(text) < LARGE:
            return None
        return next((digest for digest, known in reversed(self._large.items()) if known == text), None)

    def get(self, digest: bytes) -> Text | None:
        """Return the text with this hash; it is the most recent one from now on."""
        text = self._texts.get(digest)
        if text is not None:
            self._texts.move_to_end(digest)
        return text

    def add(self, digest: bytes, text: AnyText) -> None:
        """Remember a text as the most recent one, and forget the oldest ones for which there is no room."""
        if self.get(digest) is None:
            if isinstance(text, str):
                last = next(reversed(self._texts.values()), None)
                text = Text.of(text) if last is None else sharing(text, last)
            self._texts[digest] = text
            if len(text) >= LARGE:
                self._large[digest] = text
            self._count(text, 1)
        room = max(REMEMBERED, len(self._texts[digest]) + BESIDE)
        while len(self._texts) > 1 and self._size > room:
            oldest, text = self._texts.popitem(last=False)
            self._large.pop(oldest, None)
            self._count(text, -1)

    def clear(self) -> None:
        self._texts.clear()
        self._large.clear()
        self._times.clear()
        self._size = 0

    def _count(self, text: Text, by: int) -> None:
        """Count a text that came (1) or went (-1)."""
        times = self._times
        for chunk, size in zip(as_kept(text.chunks), text.sizes, strict=True):
            self._size += by * _ENTRY
            before = times.get(id(chunk), 0)
            if not before or not before + by:
                self._size += by * size
            if before + by:
                times[id(chunk)] = before + by
            else:
                del times[id(chunk)]
