"""given_back: the memory that large texts took goes back to the system soon after they are gone.

glibc keeps what is freed, in an arena of its own for each thread that ever asked for memory. After a file of 5 MB was read, written and closed, 75 MB
stayed. In one arena less is left in the first place; what is free there is given back once nothing large has been worked on for a while.
(To have each large block from the system, and give it back at once, made reads and writes of large files a third slower.)
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
from collections.abc import Callable

LARGE = 256 * 1024
"""Characters of a text that is worth the trouble."""
QUIET = 1.0
"""Seconds without large texts."""

_ARENA_MAX = -8
"""M_ARENA_MAX of malloc.h."""


def _of_libc(name: str) -> Callable[..., int] | None:
    """A function that only glibc has."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None


_mallopt = _of_libc("mallopt")
_malloc_trim = _of_libc("malloc_trim")


def one_arena() -> None:
    """To be called before there are threads."""
    if _mallopt is not None and _malloc_trim is not None:
        _mallopt(_ARENA_MAX, 1)


def _trim() -> None:
    if _malloc_trim is not None:
        _malloc_trim(0)


class GivesBack:
    """Waits until there were no large texts for a while."""

    def __init__(self, give: Callable[[], None] = _trim, quiet: float = QUIET) -> None:
        """`give`: is called in a thread. `quiet`: seconds."""
        self._give = give
        self._quiet = quiet
        self._waits: asyncio.AbstractEventLoop | None = None
        """The loop on which it waits."""
        self._until = 0.0
        """By that loop's time."""

    def soon(self, size: int) -> None:
        """A text of so many characters was worked on, or let go. Nothing is done for small ones."""
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
