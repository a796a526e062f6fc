"""Diffs: changes of files (ACP v2, "Tool Calls", diff) as version 1 has them: a path with its old and its new text.

A patch says only the lines about each change, so the texts are these, one diff for each place, as several agents send them in version 1.
Of what has no patch only the paths are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.acp.v2.fields import object_of, objects, text_of
from sidecar.core.json_types import Json

LONGEST_PATCH = 64 * 1024
"""Code points, of all patches of one message. More take too much of the loop's time and are too long to look at."""
_MOST = 1000
"""Of the places in a patch, and of the files that one diff names."""
_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_PLACE = re.compile(r"^@@ [^\n]*\n", re.MULTILINE)
_NEW, _OLD = re.compile(r"^\+\+\+ (.+)$", re.MULTILINE), re.compile(r"^--- (.+)$", re.MULTILINE)


def paths(diff: Json) -> list[str]:
    """All files that it names, also those that are not there after it."""
    found: dict[str, None] = {}
    for change in objects(diff.get("changes"))[:_MOST]:
        for name in ("oldPath", "path"):
            if path := text_of(change, name):
                found[path] = None
    return list(found)


def patch_of(diff: Json) -> str:
    """Its patch; "" without one that we can read."""
    patch = object_of(diff.get("patch"))
    return (text_of(patch, "text") or "") if patch.get("format") == "git_patch" else ""


def told(diff: Json) -> list[Json]:
    """The diffs of version 1; none where nothing is known but paths."""
    text = patch_of(diff)
    if len(text) > LONGEST_PATCH:
        return []
    known = paths(diff)
    added = {
        path
        for change in objects(diff.get("changes"))[:_MOST]
        if change.get("operation") == "add" and (path := text_of(change, "path"))
    }
    found: list[Json] = []
    for section in _FILE.split(text):
        path = _path_of(section, known)
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


def _path_of(section: str, known: list[str]) -> str | None:
    """Of which named file a section speaks. Git writes paths without their first slash, behind a/ and b/, or as they are."""
    if len(known) == 1:
        return known[0]
    for line in (*_NEW.findall(section[:_HEAD]), *_OLD.findall(section[:_HEAD])):
        said = line.strip().strip('"')
        for path in known:
            if said == path or (said[:2] in ("a/", "b/") and said[2:] == path.lstrip("/")):
                return path
    return None


_HEAD = 64 * 1024
"""Code points in which a section names its file."""


def _places(section: str) -> Iterator[tuple[str, str]]:
    """(old, new) of each place in a section."""
    for body in _PLACE.split(section)[1:]:
        old: list[str] = []
        new: list[str] = []
        last: tuple[list[str], ...] = ()
        for line in _LINES.findall(body):
            if line.startswith("\\"):  # "No newline at end of file": of the line before
                for side in last:
                    side[-1] = side[-1].removesuffix("\n")
                continue
            # an empty line is an empty line of both, whose blank somebody has trimmed
            last = {"-": (old,), "+": (new,), " ": (old, new), "\n": (old, new)}.get(line[0], ())
            for side in last:
                side.append(line if line == "\n" else line[1:])
        yield "".join(old), "".join(new)


_LINES = re.compile(r"[^\n]*\n|[^\n]+")
