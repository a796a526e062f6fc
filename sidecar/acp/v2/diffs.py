"""Diffs: changes of files (ACP v2, "Tool Calls", diff) in the form of version 1: a path with its old and its new text.

A patch contains only the lines around each change, so these are the texts: one diff for each place, as several agents send them in
version 1. Without a patch, only the paths are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from sidecar.acp.v2.fields import object_of, objects, text_of
from sidecar.core.json_types import Json

LONGEST_PATCH = 64 * 1024
"""The most code points of all patches of one message. More take too much of the loop's time and are too long to read."""
MOST_LINES = 4000
"""The most lines of them: each line costs as much as a few dozen characters."""
_MOST = 1000
"""The most places in a patch, and the most files that one diff names."""
_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_PLACE = re.compile(r"^@@ [^\n]*\n", re.MULTILINE)
_NEW, _OLD = re.compile(r"^\+\+\+ (.+)$", re.MULTILINE), re.compile(r"^--- (.+)$", re.MULTILINE)


def paths(diff: Json) -> list[str]:
    """All files that a diff names, including those that no longer exist after it."""
    found: dict[str, None] = {}
    for change in objects(diff.get("changes"))[:_MOST]:
        for name in ("oldPath", "path"):
            if path := text_of(change, name):
                found[path] = None
    return list(found)


def patch_of(diff: Json) -> str:
    """A diff's patch. "" if there is none that we can read."""
    patch = object_of(diff.get("patch"))
    return (text_of(patch, "text") or "") if patch.get("format") == "git_patch" else ""


class ToldDiffs:
    """The diffs of one message in the form of version 1, as long as its patches are within bounds."""

    def __init__(self) -> None:
        self._code_points, self._lines = LONGEST_PATCH, MOST_LINES

    def of(self, diff: Json) -> list[Json]:
        """The translated diffs. Empty if only paths are known."""
        if self._code_points < 0 or self._lines < 0:
            return []
        text = patch_of(diff)
        self._code_points -= len(text)
        self._lines -= text.count("\n")
        return _told(diff, text) if self._code_points >= 0 and self._lines >= 0 else []


def _told(diff: Json, text: str) -> list[Json]:
    known = paths(diff)
    said = _as_said(known)
    added = {
        path
        for change in objects(diff.get("changes"))[:_MOST]
        if change.get("operation") == "add" and (path := text_of(change, "path"))
    }
    found: list[Json] = []
    for section in _FILE.split(text):
        path = known[0] if len(known) == 1 else _path_of(section, said)
        for old, new in _places(section) if path is not None else ():
            if len(found) == _MOST:
                return found
            found.append(
                {
                    "type": "diff",
                    "path": path,
                    "oldText": None if path in added and not old else old,
                    "newText": new,
                }
            )
    return found


def _as_said(paths: list[str]) -> dict[str, str]:
    """The paths, by the names that patches use. Git writes a path without its first slash, after a/ or b/, or as it is."""
    found: dict[str, str] = {}
    for path in paths:
        for name in (path, "a/" + path.lstrip("/"), "b/" + path.lstrip("/")):
            found.setdefault(name, path)
    return found


def _path_of(section: str, known: dict[str, str]) -> str | None:
    """The named file to which a section belongs."""
    names = chain(_NEW.finditer(section, 0, _HEAD), _OLD.finditer(section, 0, _HEAD))
    return next((path for name in names if (path := known.get(name[1].strip().strip('"')))), None)


_HEAD = 64 * 1024
"""The code points in which a section names its file."""


def _places(section: str) -> Iterator[tuple[str, str]]:
    """(old, new) of each place in a section."""
    for body in _PLACE.split(section)[1:]:
        old: list[str] = []
        new: list[str] = []
        removed, put_in, both = (old,), (new,), (old, new)
        last: tuple[list[str], ...] = ()
        for line in _LINES.findall(body):
            kind = line[0]
            if kind == "\\":  # "No newline at end of file": belongs to the line before
                for side in last:
                    side[-1] = side[-1].removesuffix("\n")
                continue
            # an empty line is an empty line on both sides, whose blank was trimmed
            last = removed if kind == "-" else put_in if kind == "+" else both if kind in " \n" else ()
            said = line if kind == "\n" else line[1:]
            for side in last:
                side.append(said)
        yield "".join(old), "".join(new)


_LINES = re.compile(r"[^\n]*\n|[^\n]+")
