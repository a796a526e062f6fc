"""Globs: `*` and `?` within a name, `**` across folders, `[abc]`, `{a,b}`, as in agents' own tools.

Names are compared folder by folder, each place of the pattern once with each folder: a pattern of many stars costs no
more than its length times the name's.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence

from sidecar.mcp.arguments import Wrong

MOST = 64
"""The most alternatives to which braces may lead."""
_ANY_FOLDERS = "**"


def compiled(pattern: str) -> Callable[[str], bool]:
    """A function that says whether a relative path with `/` matches. A pattern without `/` is looked for in every
    folder. Raises Wrong."""
    if not pattern:
        raise Wrong("the glob is empty")
    pattern = pattern.removeprefix("./")
    anchored = "/" in pattern
    options = [_Option(option if anchored else f"**/{option}") for option in _options(pattern)]
    return lambda name: any(option.matches(name.split("/")) for option in options)


class _Option:
    """A pattern without braces."""

    def __init__(self, pattern: str) -> None:
        self._parts = [None if part == _ANY_FOLDERS else _name(part) for part in pattern.split("/")]
        """None stands for any number of folders."""
        if self._parts[-1] is None:
            self._parts.append(_name("*"))  # everything in these folders

    def matches(self, names: Sequence[str]) -> bool:
        last = self._parts[-1]
        if last is None or last.fullmatch(names[-1]) is None:
            return False
        places = {0}
        """How many parts of the pattern the folders so far may have used."""
        for name in names[:-1]:
            places = {after for place in self._skipped(places) for after in self._used(place, name)}
        return len(self._parts) - 1 in self._skipped(places)

    def _skipped(self, places: set[int]) -> set[int]:
        """These places, and those after each `**` that stands for no folder."""
        found = set[int]()
        for place in places:
            found.add(place)
            while place < len(self._parts) and self._parts[place] is None:
                place += 1
                found.add(place)
        return found

    def _used(self, place: int, name: str) -> tuple[int, ...]:
        if place >= len(self._parts) - 1:
            return ()
        part = self._parts[place]
        if part is None:
            return (place,)
        return (place + 1,) if part.fullmatch(name) is not None else ()


def _name(part: str) -> re.Pattern[str]:
    """The expression for one name. The standard library's translation never tries the same place twice, however many
    stars there are."""
    return re.compile(fnmatch.translate(part.replace("[^", "[!")))


def _options(pattern: str) -> list[str]:
    """The pattern with its braces expanded."""
    left, done = [pattern], list[str]()
    while left:
        one = left.pop()
        end = one.find("}")
        start = one.rfind("{", 0, end)
        if end < 0 or start < 0:
            done.append(one)
        else:
            left += [one[:start] + part + one[end + 1 :] for part in one[start + 1 : end].split(",")]
        if len(left) + len(done) > MOST:
            raise Wrong(f"the glob has more than {MOST} alternatives")
    return done
