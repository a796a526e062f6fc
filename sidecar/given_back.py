"""given_back: returns the memory of texts to the system soon after the texts are gone.

glibc keeps freed memory, in an arena of its own for each thread that ever allocated memory. After a file of 5 MB was read, written and closed, 75 MB
stayed. With a single arena, less is left in the first place; its free memory is returned once no large text was in use for a while. (Allocating each
large block from the system, and returning it at once, made reads and writes of large files a third slower.) Many small texts leave as much as a large
one: each moment with more of them at once than any before makes the heap longer, and it does not become shorter by itself.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
from collections.abc import Callable

LARGE = 256 * 1024
"""Characters. A text that is longer counts by itself."""
MANY = 16 * LARGE
"""Characters of smaller texts, together, that count as much."""
QUIET = 1.0
"""Seconds without such texts after which memory is returned."""
LATEST = 30.0
"""Seconds after which memory is returned although the work goes on."""
SETTLED = 2 * 1024 * 1024
"""Bytes. Blocks up to this size lie in the heap from the start. glibc puts a block into a mapping of its own only if it is larger than every such block
that was freed before (at first 128 KiB, at most 32 MiB)."""

_ARENA_MAX = -8
"""M_ARENA_MAX of malloc.h."""


def _of_libc(name: str) -> Callable[..., int] | None:
    """Return a function that only glibc has, or None."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None


_mallopt = _of_libc("mallopt")
_malloc_trim = _of_libc("malloc_trim")


def one_arena() -> None:
    """Limit glibc to one arena, and settle which blocks lie in it (see SETTLED). Call this before there are threads."""
    if _mallopt is not None and _malloc_trim is not None:
        _mallopt(_ARENA_MAX, 1)
        bytearray(SETTLED)  # freed at once, which moves the limit


def _trim() -> None:
    if _malloc_trim is not None:
        _malloc_trim(0)


class GivesBack:
    """Waits until the work with texts pauses, but not for ever."""

    def __init__(
        self, give: Callable[[], None] = _trim, quiet: float = QUIET, latest: float = LATEST
    ) -> None:
        """`give`: called in a thread. `quiet`, `latest`: seconds."""
        self._give = give
        self._quiet = quiet
        self._latest = latest
        self._used = 0
        """Characters of the texts since memory was last returned."""
        self._waits: asyncio.AbstractEventLoop | None = None
        """The loop on which it waits."""
        self._until = 0.0
        """The end of the wait, by that loop's time, if no more texts come."""
        self._at_most = 0.0
        """Its end even if they come."""

    def soon(self, size: int) -> None:
        """Note that texts of `size` characters were used, or released. Call this on the event loop."""
        self._used += size
        if size <= LARGE and self._used < MANY:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._until = now + self._quiet
        if self._waits is not loop:
            self._waits = loop
            self._at_most = now + self._latest
            loop.call_at(self._end, self._due, loop)

    @property
    def _end(self) -> float:
        return min(self._until, self._at_most)

    def _due(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop.time() < self._end:
            loop.call_at(self._end, self._due, loop)
        else:
            self._waits = None
            self._used = 0
            threading.Thread(target=self._give, name="given back", daemon=True).start()


soon = GivesBack().soon
