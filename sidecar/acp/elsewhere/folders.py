"""Folders: which folder where the agent runs ("there") stands for which folder on this machine ("here").

`.` and `..` are resolved first. Then the longest folder that contains the path counts, compared by whole components. So a mapped path has no `..`
and lies beneath a folder that the user named. The workspace still decides whether the agent may use it, as for any path.

Paths there are POSIX paths, whatever the paths of this machine are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from sidecar.config import WORKSPACE_FOLDER
from sidecar.core.escape import plain

_LONGEST = 4096
"""The most code points of a path. Longer paths are unmapped."""
_MOST_PARTS = 256
"""The most components of a path that has to be normalised. Paths with more are unmapped."""
_NOT_IN_A_NAME = frozenset('\\:*?"<>|' if sys.platform == "win32" else "")
"""The characters that a name there may contain and a name here may not: they would name a drive, a stream or another folder."""


class Folders:
    """`pairs`: (there, here), both absolute. If several have the same folder here, the first counts."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.pairs = tuple(pairs)
        mapped = [(plain_path(there) or "", here) for there, here in pairs]
        self._inward = sorted(mapped, key=lambda pair: -len(pair[0]))
        # an editor may name its folder by a link, but files that are opened in it have the real name
        named = [
            (PurePath(name), here, there) for there, here in mapped for name in (here, os.path.realpath(here))
        ]
        self._outward = sorted(named, key=lambda row: -len(row[0].parts))

    def here(self, there: str) -> str | None:
        """The path here for an absolute path there. None if it lies in none of the folders."""
        path = plain_path(there)
        if path is None:
            return None
        for folder, here in self._inward:
            if path == folder or path.startswith(folder + "/"):
                rest = path[len(folder) + 1 :]
                if _NOT_IN_A_NAME and not _NOT_IN_A_NAME.isdisjoint(rest):
                    return None
                return os.path.join(here, rest.replace("/", os.sep)) if rest else here
        return None

    def there(self, here: str) -> str | None:
        """The path there for an absolute path here. None if it lies in none of the folders, or if the path there stands for another path here."""
        path = PurePath(os.path.normpath(here))
        for name, folder, there in self._outward:
            if path.is_relative_to(name):
                rest = path.relative_to(name).parts
                found = "/".join((there, *rest)) or "/"
                if self.here(found) == os.path.join(folder, *rest):
                    return found
        return None


def folders_of(mapped: Mapping[str, str], open_folders: Sequence[str]) -> Folders:
    """The pairs from the settings. `mapped`: as in the settings; `open_folders`: those of the editor. Pairs for which no folder is open are left
    out."""
    pairs: list[tuple[str, str]] = []
    for there, here in mapped.items():
        if open_folders:
            there, here = (name.replace(WORKSPACE_FOLDER, open_folders[0], 1) for name in (there, here))
        if there.startswith("/") and os.path.isabs(here):
            pairs.append((there, os.path.normpath(here)))
    return Folders(pairs)


def unmapped(agent: str, path: str, folders: Folders) -> str:
    """A message for the agent, and for the people who read it there: what to do about a path there that lies in none of the folders."""
    known = ", ".join(there for there, _ in folders.pairs) or "none"
    words = f"{plain(path)} is in no mapped folder (mapped: {plain(known, 400)})."
    if (meant := folders.there(path) if os.path.isabs(path) and len(path) <= _LONGEST else None) is not None:
        return f"{words} The user's file of that name is {plain(meant)} there."
    return f"{words} The user can add its folder in the settings: agents, {plain(agent, 60)}, transport, folders."


def plain_path(path: str) -> str | None:
    """Normalise an absolute path there: without empty components, `.` and `..`, and without a slash at its end; "" is the root. None if the path
    is not absolute, contains a NUL, or is too long."""
    if not path.startswith("/") or "\0" in path or len(path) > _LONGEST:
        return None
    if "//" not in path and "/." not in path and not path.endswith("/"):
        return path
    given = path.split("/")
    if len(given) > _MOST_PARTS:
        return None
    parts: list[str] = []
    for part in given:
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append("/" + part)
    return "".join(parts)
