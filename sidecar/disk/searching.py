"""lines_with: finds the lines of a folder's files that match a pattern. Files are opened beneath the folder, and not through links."""

from __future__ import annotations

import os
import re
import stat as modes
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sidecar.disk import beneath
from sidecar.disk.beneath import READ
from sidecar.disk.codec import decode
from sidecar.disk.resolve import read_all
from sidecar.disk.roots import Roots

MAX_BYTES = 10 * 1024 * 1024
"""Larger files are not searched."""
HEAD = 8192
"""A NUL within this many bytes means that a file is not text, as for reads."""


class MatchingLine(NamedTuple):
    name: str
    number: int
    """From 1."""
    text: str
    """Without its line end."""


def lines_with(
    pattern: re.Pattern[str], folder: str, names: Sequence[str], texts: Mapping[str, str]
) -> Iterator[MatchingLine]:
    """Yield the matching lines. `names`: relative to `folder` (canonical). `texts`: texts by name that replace those on the disk."""
    with Roots([folder]) as roots:
        if not roots.roots or roots.roots[0].path != folder:
            return  # gone, or by now a link to another place
        root = roots.roots[0]
        for name in names:
            text = texts.get(name)
            if text is None:
                text = _text(root.descriptor, root.path, name)
            if text is not None:
                yield from _lines(pattern, name, text)


def _lines(pattern: re.Pattern[str], name: str, text: str) -> Iterator[MatchingLine]:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    number = counted = at = 0
    while at <= len(text) and (found := pattern.search(text, at)):
        start = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if start == len(text) and start > 0:
            return  # nothing follows the last line's end
        number += text.count("\n", counted, start)
        counted = start
        yield MatchingLine(name, number + 1, text[start:end])
        at = end + 1


def _text(descriptor: int, folder: str, name: str) -> str | None:
    """Return the file's text. None if it is not text, or cannot be opened."""
    try:
        if descriptor < 0:  # Windows, where nothing is opened relative to a folder
            file = os.open(os.path.join(folder, name), READ | getattr(os, "O_BINARY", 0))
        else:
            file = beneath.open_beneath(descriptor, name, READ)
    except OSError:
        return None
    try:
        stat = os.fstat(file)
        if not modes.S_ISREG(stat.st_mode) or stat.st_size > MAX_BYTES:
            return None
        data = read_all(file, MAX_BYTES)
    except OSError:
        return None
    finally:
        os.close(file)
    try:
        return data.decode() if b"\0" not in data[:HEAD] else _decoded(data, name)
    except UnicodeDecodeError:
        return _decoded(data, name)


def _decoded(data: bytes, name: str) -> str | None:
    found = decode(data, name)
    return getattr(found, "text", None)
