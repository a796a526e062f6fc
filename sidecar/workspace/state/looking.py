"""Looking: reads the files that tool calls name at once, within a limit on the bytes read. A pre-image read later would be none.

An agent may name the same file in any number of messages and in any spelling: a file that has not changed is not read again. It may also name
any number of files: only a limited number of bytes is read at once, and per second.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from sys import getsizeof

import anyio

from sidecar.core.refusal import Refusal
from sidecar.disk import Decoded, Resolved, Stat

AT_ONCE = 4 * 1024 * 1024
"""The most bytes read without letting others run: about 15 ms."""
A_SECOND = 16 * 1024 * 1024
"""The most bytes read in a second: a few percent of the loop's time."""
KEPT = 4 * 1024 * 1024
"""The most bytes of texts, as Python stores them, that are kept to be returned again."""


class Looking:
    """The files read in one workspace. `read` reads a resolved file without waiting."""

    def __init__(self, read: Callable[[Resolved], Decoded | Refusal]) -> None:
        self._read = read
        self._left = float(AT_ONCE)
        self._at = 0.0
        self._known: OrderedDict[str, tuple[Stat, Decoded | Refusal, int]] = OrderedDict()
        """The last result for each canonical path."""
        self._kept = 0

    def look(self, file: Resolved) -> Decoded | Refusal | None:
        """The file's content. None if too much was read just now."""
        known = self._known.get(file.path)
        if known is not None and known[0] == file.stat:
            self._known.move_to_end(file.path)
            return known[1]
        if not self.may_read(file.size):
            return None
        found = self._read(file)
        self._keep(file, found)
        return found

    def bytes_of(self, file: Resolved) -> bytes | Refusal | None:
        """The file's exact bytes. None if too much was read just now."""
        return file.read_bytes(AT_ONCE) if self.may_read(file.size) else None

    def may_read(self, size: int) -> bool:
        """Whether `size` bytes may be read now. If so, they count as read."""
        now = anyio.current_time()
        self._left = min(AT_ONCE, self._left + (now - self._at) * A_SECOND)
        self._at = now
        if size > self._left:
            return False
        self._left -= size
        return True

    def _keep(self, file: Resolved, found: Decoded | Refusal) -> None:
        if file.path in self._known:
            self._kept -= self._known.pop(file.path)[2]
        size = getsizeof(found.text) if isinstance(found, Decoded) else 0
        self._known[file.path] = file.stat, found, size
        self._kept += size
        while self._kept > KEPT or len(self._known) > 1024:
            _, (_, _, dropped) = self._known.popitem(last=False)
            self._kept -= dropped
