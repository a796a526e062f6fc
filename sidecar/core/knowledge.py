"""Knowledge: of two texts, how much that only one of them has appears in a third text at the same place.

An agent that sends a line has seen the text with that line, provided that the line is nowhere else. A line can also
match by chance, or because the agent itself writes such lines. So it counts as evidence only if something next to it
comes from the same text. White space does not count, because agents change indentation: lines are compared without the
blanks around them, so that an indented line stands beside the one it was and not beside another that looks like it. Nor
does it count whether the last line has an end. Offsets are code points from 0, in texts of such lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.in_word import is_in_word

_PIECE = re.compile(r"[^\s](?:[^\n]*[^\s])?")
_WORD = re.compile(r"\w")
_BLOCK = 1 << 16
"""Code points whose lines are cut at once: the lines of a whole text take several times its memory."""


class SentText:
    """A text that an agent sent, to be compared with texts that the agent may have started from."""

    def __init__(self, text: AnyText) -> None:
        self._sent = text
        self._compared: dict[AnyText, str] = {}
        self._changes: dict[str, ChangeSet] = {}

    def shows(self, text: AnyText, other: AnyText) -> bool:
        """Whether the sent text has, at the same place, at least half of what `text` has and `other` lacks.

        This means half of the pieces and half of the characters: one line of many may match by chance, and so may a
        short one.
        """
        text, other, sent = map(self._as_lines, (text, other, self._sent))
        pieces = list(_only(text, other))
        if not pieces:
            return False
        changes = self._changes.get(text)
        if changes is None:
            changes = self._changes[text] = diff(text, sent)
        edits = [
            (e.start, e.end)
            for e in changes.edits
            if "".join(text[e.start : e.end].split()) != "".join(e.new.split())
        ]
        found = [piece for piece in pieces if _stays(text, *piece, edits)]
        return 2 * len(found) >= len(pieces) and 2 * _extent(found) >= _extent(pieces)

    def hints_at(self, text: AnyText, other: AnyText) -> bool:
        """Whether the sent text has, anywhere, one whole-word piece that `text` has and `other` lacks."""
        text, other, sent = map(self._as_lines, (text, other, self._sent))
        return any(_words(text, start, end) in sent for start, end in _only(text, other))

    def _as_lines(self, text: AnyText) -> str:
        found = self._compared.get(text)
        if found is None:
            found = self._compared[text] = _lines(str(text))
        return found


def _lines(text: str) -> str:
    """The lines of the text without the blanks around them, each with an end."""
    found: list[str] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK) + 1 or len(text)
        found.append("\n".join(map(str.strip, text[start:end].split("\n"))))
        start = end
    if found and not found[-1].endswith("\n"):
        found.append("\n")
    return "".join(found)


def _words(text: str, start: int, end: int) -> str:
    while is_in_word(text, start):
        start -= 1
    while is_in_word(text, end):
        end += 1
    return text[start:end]


def _extent(pieces: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in pieces)


def _only(text: str, other: str) -> Iterator[tuple[int, int]]:
    """Yields (start, end) in `text` of the pieces of lines that `other` lacks and that contain a word."""
    shift = 0
    for edit in diff(other, text).edits:
        start = edit.start + shift
        shift += edit.growth
        for piece in _PIECE.finditer(text, start, start + len(edit.new)):
            if _WORD.search(piece.group()):
                yield piece.span()


def _stays(text: str, start: int, end: int, edits: list[tuple[int, int]]) -> bool:
    """Whether the edits leave text[start:end] unchanged, together with what precedes it or what follows it."""
    before, after = start, end
    while before and text[before - 1].isspace():
        before -= 1
    while after < len(text) and text[after].isspace():
        after += 1
    near = [(s, e) for s, e in edits if s <= after and e >= before]
    return not any(s < end and e > start for s, e in near) and (
        not any(s <= start for s, _ in near) or not any(e >= end for _, e in near)
    )
