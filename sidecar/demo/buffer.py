"""Buffer: one document of the headless editor — text, version, undo. Pure; the editor around it is `model.py`.

It deliberately shares no code with `core/`. The demo and the tests compare the sidecar's mirror with this text, and an
oracle that used the same position arithmetic could not disagree with it. So: plain `str`, slow, obvious.

Main names: `Buffer.edit` (the only way to change the text), `Splice` (what to change), `ContentChange` (what to tell
the server), `Step` (what one undo takes back). Offsets are code points from 0. A `BufferPosition` is LSP's line and character
from 0, in the units of the buffer's encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_LINE_END = re.compile(r"\r\n|\n|\r")
_CODEC: dict[Encoding, tuple[str, int]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}


class BufferPosition(NamedTuple):
    line: int
    character: int


class Splice(NamedTuple):
    """Replaces the code points start..end with `new`."""

    start: int
    end: int
    new: str


class ContentChange(NamedTuple):
    """One element of `didChange`. Without places it is the whole text."""

    start: BufferPosition | None
    end: BufferPosition | None
    text: str


class Atom(NamedTuple):
    """One replacement that was made. Its offsets refer to the text at that moment."""

    start: int
    old: str
    new: str

    def inverted(self) -> Atom:
        return Atom(self.start, self.new, self.old)


@dataclass(slots=True)
class Step:
    """The changes that one undo takes back. `before` and `after` are whole texts, for checks."""

    label: str
    before: str
    after: str
    atoms: list[Atom] = field(default_factory=list[Atom])


def lines_of(text: str) -> list[str]:
    """Return whole lines with their terminators, without an empty line after the last terminator. (`str.splitlines` knows more line ends than editors do.)"""
    return _LINE.findall(text)


def units(text: str, encoding: Encoding) -> int:
    """Return the length of `text` in units of `encoding`. A lone surrogate counts as one UTF-16 unit."""
    codec, width = _CODEC[encoding]
    return len(text) if width == 4 else len(text.encode(codec, "surrogatepass")) // width


def place_at(text: str, offset: int, encoding: Encoding) -> BufferPosition:
    line, start = 0, 0
    for end in _LINE_END.finditer(text):
        if end.end() > offset:
            break
        line, start = line + 1, end.end()
    return BufferPosition(line, units(text[start:offset], encoding))


def offset_at(text: str, place: BufferPosition, encoding: Encoding) -> int:
    """Return the offset of a place. Past the line's end, it is before the terminator; past the last line, it is the end of the text (LSP, Position)."""
    start = 0
    for _ in range(place.line):
        end = _LINE_END.search(text, start)
        if end is None:
            return len(text)
        start = end.end()
    end = _LINE_END.search(text, start)
    stop = len(text) if end is None else end.start()
    left = place.character
    for offset in range(start, stop):
        left -= units(text[offset], encoding)
        if left < 0:  # a place inside a character means its start
            return offset
    return stop


@dataclass(slots=True)
class Buffer:
    uri: str
    text: str
    language: str = ""
    encoding: Encoding = "utf-16"
    version: int = 1
    bom: bool = False
    saved: str | None = None
    """The text that was last seen on the disk. None: there is no file."""
    hidden: bool = False
    """Opened by an edit, not by the user."""
    caret: int = 0
    past: list[Step] = field(default_factory=list[Step])
    future: list[Step] = field(default_factory=list[Step])
    joinable: bool = False
    """The next typing joins the last step."""

    @property
    def dirty(self) -> bool:
        return self.text != self.saved

    def edit(self, splices: Iterable[Splice], label: str, *, join: bool = False) -> list[ContentChange]:
        """Apply all `splices` to the current text as one undo step; `join` adds them to the last step.

        Returns the changes in the order in which they were made. That is last first, so each range is also valid in the text before. Leaves out
        splices that change nothing. Raises ValueError if they overlap or are out of range.
        """
        atoms = self._atoms(splices)
        if not atoms:
            return []
        before = self.text
        changes = self._make(atoms)
        self.future.clear()
        if join and self.past:
            self.past[-1].atoms += atoms
            self.past[-1].after = self.text
        else:
            self.past.append(Step(label, before, self.text, atoms))
        self.joinable = False
        return changes

    def type(self, text: str) -> list[ContentChange]:
        """Insert text at the caret and move the caret along. Continues the same undo step as long as nothing else happens."""
        start = self.caret
        changes = self.edit([Splice(start, start, text)], "typing", join=self.joinable)
        self.caret = start + len(text)
        self.joinable = True
        return changes

    def undo(self) -> list[ContentChange]:
        if not self.past:
            return []
        step = self.past.pop()
        self.future.append(step)
        self.joinable = False
        return self._make([atom.inverted() for atom in reversed(step.atoms)])

    def redo(self) -> list[ContentChange]:
        if not self.future:
            return []
        step = self.future.pop()
        self.past.append(step)
        self.joinable = False
        return self._make(step.atoms)

    def offset(self, place: BufferPosition) -> int:
        return offset_at(self.text, place, self.encoding)

    def place(self, offset: int) -> BufferPosition:
        return place_at(self.text, offset, self.encoding)

    def _atoms(self, splices: Iterable[Splice]) -> list[Atom]:
        ordered = sorted(
            splices, key=lambda splice: (splice.start, splice.end)
        )  # stable: LSP keeps the array's order
        free = 0
        for start, end, _ in ordered:
            if not free <= start <= end <= len(self.text):
                raise ValueError(f"edit {start}..{end} overlaps another or lies outside 0..{len(self.text)}")
            free = end
        return [
            Atom(start, self.text[start:end], new)
            for start, end, new in reversed(ordered)
            if self.text[start:end] != new
        ]

    def _make(self, atoms: Sequence[Atom]) -> list[ContentChange]:
        changes: list[ContentChange] = []
        for start, old, new in atoms:
            end = start + len(old)
            changes.append(self._told(start, end, new))
            self.text = self.text[:start] + new + self.text[end:]
            if self.caret >= end and self.caret > start:
                self.caret += len(new) - len(old)
            elif self.caret > start:
                self.caret = start + len(new)
        return changes

    def _told(self, start: int, end: int, new: str) -> ContentChange:
        """Widen a change that starts or ends between \\r and \\n to the whole terminator, because LSP has no position there."""
        if self.text[start - 1 : start + 1] == "\r\n" and start > 0:
            start, new = start - 1, "\r" + new
        if self.text[end - 1 : end + 1] == "\r\n" and end > 0:
            end, new = end + 1, new + "\n"
        return ContentChange(self.place(start), self.place(end), new)
