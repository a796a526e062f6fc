"""given_back: returns the memory of large texts to the system soon after the texts are gone.

glibc keeps freed memory, in an arena of its own for each thread that ever allocated memory. After a file of 5 MB was read, written and closed, 75 MB
stayed. With a single arena, less is left in the first place; its free memory is returned once no large text was in use for a while. (Allocating each
large block from the system, and returning it at once, made reads and writes of large files a third slower.)
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
from collections.abc import Callable

LARGE = 256 * 1024
"""Characters. Only texts that are longer than this count."""
QUIET = 1.0
"""Seconds without large texts after which memory is returned."""

SETTLED = 2 * 1024 * 1024
"""Bytes. glibc maps a block by itself if it is larger than any mapped block that was freed before (at first 128 KiB, at most 32 MiB)."""

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
    """Limit glibc to one arena, and let it settle at once where blocks of up to SETTLED bytes are, not in the middle of work. Call this before there are
    threads."""
    if _mallopt is not None and _malloc_trim is not None:
        _mallopt(_ARENA_MAX, 1)
        bytearray(SETTLED)


def _trim() -> None:
    if _malloc_trim is not None:
        _malloc_trim(0)


class GivesBack:
    """Waits until there were no large texts for a while."""

    def __init__(self, give: Callable[[], None] = _trim, quiet: float = QUIET) -> None:
        """`give`: called in a thread. `quiet`: seconds."""
        self._give = give
        self._quiet = quiet
        self._waits: asyncio.AbstractEventLoop | None = None
        """The loop on which it waits."""
        self._until = 0.0
        """The end of the wait, by that loop's time."""

    def soon(self, size: int) -> None:
        """Note that a text of `size` characters was used, or released. Does nothing for small ones."""
        if size <= LARGE:
            return
        loop = asyncio.get_running_loop()
        self._until = loop.time() + self._quiet
        if self._waits is not loop:
            self._waits = loop
            loop.call_at(self._until, self._due, loop)

    def _due(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop.time() < self._until:
            loop.call_at(self._until, self._due, loop)
        else:
            self._waits = None
            threading.Thread(target=self._give, name="given back", daemon=True).start()


soon = GivesBack().soon
