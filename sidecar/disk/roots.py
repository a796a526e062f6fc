"""Roots: the folders of a session, each as its canonical path and an open descriptor, so that what is beneath it needs no second look.

A root is granted by name. When another folder stands at that name (deleted and cloned again, or swapped on purpose) it is noticed at the
next request: taken over if it is a real folder of the same owner at the same canonical path, else everything beneath is refused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from sidecar.disk import beneath
from sidecar.disk.beneath import FOLDER

_MAX_REPLACEMENTS = 16
"""How often one root may be taken over; old descriptors stay open until `close` because another thread may be using them."""


class Root:
    """One folder. `path` is canonical; `aliases` are other spellings of it that requests may use."""

    __slots__ = ("_old", "aliases", "descriptor", "identity", "owner", "path", "prefix")

    def __init__(self, path: str) -> None:
        """Raises OSError where `path` is not a folder that can be opened."""
        given = os.path.normpath(path)
        self.path = os.path.realpath(path, strict=True)
        self.prefix = self.path if self.path.endswith("/") else self.path + "/"
        self.aliases: tuple[str, ...] = () if given == self.path else (given,)
        self._old: list[int] = []
        self.descriptor = _open_without_links(self.path)
        stat = os.fstat(self.descriptor)
        self.identity = (stat.st_dev, stat.st_ino)
        self.owner = stat.st_uid

    @property
    def spellings(self) -> tuple[str, ...]:
        """Canonical first; what `core.policy.decide` wants as `roots`."""
        return (self.path, *self.aliases)

    def still_there(self, spelling: str) -> bool:
        """Whether `spelling` (canonical path or alias) still names this folder; takes a legitimate replacement over."""
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
        descriptor = _open_without_links(self.path)
        stat = os.fstat(descriptor)
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
    """The folders one session may touch. Close it, or use it as a context manager; descriptors are held until then."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Folders that cannot be opened are left out and named in `unusable`."""
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
        # Deepest first; the trailing slash makes a prefix comparison one of whole components (`/ws` is no prefix of `/ws-secret`).
        self._prefixes = sorted(
            (
                (spelling if spelling.endswith("/") else spelling + "/", spelling, root)
                for root in self.roots
                for spelling in root.spellings
            ),
            key=lambda entry: -len(entry[0]),
        )

    def match(self, path: str) -> tuple[Root, str, str] | None:
        """(root, the spelling of it that matched, path relative to it) of the deepest root `path` is lexically beneath."""
        for prefix, spelling, root in self._prefixes:
            if path.startswith(prefix):
                return root, spelling, path[len(prefix) :]
        return None

    def is_known(self, path: str) -> bool:
        """Whether a canonical path is a root, beneath one or above one: walking there tells nobody anything new."""
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


def _open_without_links(path: str) -> int:
    """The folder at a canonical path; OSError when any component of it is a link by now."""
    if sys.platform == "darwin":  # the walk would need read permission on every folder above
        return os.open(path, FOLDER | os.O_NOFOLLOW_ANY | os.O_CLOEXEC)
    top = os.open("/", FOLDER | os.O_CLOEXEC)
    try:
        return beneath.open_beneath(top, path[1:] or ".", FOLDER)
    finally:
        os.close(top)
