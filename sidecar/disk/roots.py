"""Roots: the folders of a session. Each has a canonical path and an open descriptor, so paths beneath it need no second
check.

The user grants a root by name. If another folder appears under that name (deleted and cloned again, or swapped on
purpose), the next request notices. The new folder is accepted if it is a real folder of the same owner at the same
canonical path. Otherwise everything beneath the root is refused.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from sidecar.disk import beneath, windows
from sidecar.disk.beneath import FOLDER

_MAX_REPLACEMENTS = 16
"""How many times a replacement of one root may be accepted. Old descriptors stay open until `close`, because another thread may be using them."""

FOLDS_CASE = sys.platform == "darwin"
"""Whether a root may be named in other letter case. macOS's usual file systems ignore letter case, and a resolved path keeps that of the request.
Windows has rules of its own (windows.py)."""


class Root:
    """One folder. `path` is canonical; `aliases` are other spellings that requests may use."""

    __slots__ = ("_old", "aliases", "descriptor", "identity", "owner", "path", "prefix")

    def __init__(self, path: str) -> None:
        """Raises OSError if `path` is not a folder that can be opened."""
        given = os.path.normpath(path)
        self.path = os.path.realpath(path, strict=True)
        if sys.platform == "win32":
            self.path, given = windows.plain(self.path), windows.plain(given)
        self.prefix = _with_separator(self.path)
        self.aliases: tuple[str, ...] = () if given == self.path else (given,)
        self._old: list[int] = []
        self.descriptor, stat = _hold(self.path)
        self.identity = (stat.st_dev, stat.st_ino)
        self.owner = stat.st_uid

    @property
    def spellings(self) -> tuple[str, ...]:
        """All spellings, the canonical one first; pass them as `roots` to `core.policy.decide`."""
        return (self.path, *self.aliases)

    def still_there(self, spelling: str) -> bool:
        """Whether `spelling` (canonical path or alias) still names this folder. Accepts a legitimate replacement and
        switches to it.
        """
        try:
            stat = os.stat(spelling)
            if (stat.st_dev, stat.st_ino) == self.identity:
                return True
            return spelling == self.path and self._take_over()
        except OSError:
            return False

    def _take_over(self) -> bool:
        if len(self._old) >= _MAX_REPLACEMENTS:
            return False
        descriptor, stat = _hold(self.path)
        if stat.st_uid != self.owner:
            os.close(descriptor)
            return False
        self._old.append(self.descriptor)
        self.descriptor = descriptor
        self.identity = (stat.st_dev, stat.st_ino)
        return True

    def close(self) -> None:
        for descriptor in (self.descriptor, *self._old):
            if descriptor >= 0:
                os.close(descriptor)
        self.descriptor = -1
        self._old.clear()


class Roots:
    """The folders that one session may access. Close it, or use it as a context manager; descriptors are held until then."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Open these folders. Folders that cannot be opened are left out and listed in `unusable`."""
        roots: dict[str, Root] = {}
        self.unusable: list[str] = []
        for path in paths:
            try:
                root = Root(path)
            except (OSError, ValueError):
                self.unusable.append(path)
                continue
            if (known := roots.get(root.path)) is not None:
                known.aliases = tuple(dict.fromkeys((*known.aliases, *root.aliases)))
                root.close()
            else:
                roots[root.path] = root
        self.roots: tuple[Root, ...] = tuple(roots.values())
        # Deepest first. The trailing slash makes the prefix comparison match whole components (`/ws` is no prefix of
        # `/ws-secret`).
        self._prefixes = sorted(
            (
                (_with_separator(spelling), spelling, root)
                for root in self.roots
                for spelling in root.spellings
            ),
            key=lambda entry: -len(entry[0]),
        )

    def respelled(self, path: str) -> str:
        """Return `path` with its root spelled as we hold it. Another spelling counts only if it names the same folder: some volumes distinguish letter case."""
        if not FOLDS_CASE or self.match(path) is not None:
            return path
        for prefix, spelling, root in self._prefixes:
            parts = path.split("/")
            depth = prefix.count("/")
            head = "/".join(parts[:depth])
            if _folded(head) == _folded(spelling) and root.still_there(head):
                return "/".join([spelling, *parts[depth:]])
        return path

    def match(self, path: str) -> tuple[Root, str, str] | None:
        """Find the deepest root that `path` is beneath, as text. Returns (root, the spelling that matched, path relative to it)."""
        for prefix, spelling, root in self._prefixes:
            if sys.platform == "win32":
                relative = windows.relative(path, spelling)
                if relative is not None:
                    return root, spelling, relative
            elif path.startswith(prefix):
                return root, spelling, path[len(prefix) :]
        return None

    def is_root(self, path: str) -> bool:
        """Whether `path` is itself a root, in any of its spellings."""
        if sys.platform == "win32":
            path = os.path.normcase(windows.plain(path))
            return any(path == os.path.normcase(spelling) for _, spelling, _ in self._prefixes)
        return any(path == spelling for _, spelling, _ in self._prefixes)

    def is_known(self, path: str) -> bool:
        """Whether a canonical path is a root, beneath a root or above one. Revealing that such a folder exists tells an
        agent nothing new.
        """
        inside = path + "/" if path else "/"
        return any(inside.startswith(root.prefix) or root.prefix.startswith(inside) for root in self.roots)

    def close(self) -> None:
        for root in self.roots:
            root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _with_separator(path: str) -> str:
    return path if path.endswith(os.sep) else path + os.sep


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _hold(path: str) -> tuple[int, os.stat_result]:
    """Open the folder at a canonical path and return its descriptor and state. Raises OSError if any component has become a link. The descriptor is
    -1 on Windows, where nothing can be opened relative to a folder.
    """
    if sys.platform == "win32":
        return -1, os.stat(path)
    if sys.platform == "darwin":  # the descriptor walk would need read permission on every folder above
        descriptor = os.open(path, FOLDER | os.O_NOFOLLOW_ANY | os.O_CLOEXEC)
    else:
        top = os.open("/", FOLDER | os.O_CLOEXEC)
        try:
            descriptor = beneath.open_beneath(top, path[1:] or ".", FOLDER)
        finally:
            os.close(top)
    return descriptor, os.fstat(descriptor)
