"""FakeBuffer: a document of an editor with habits — what counts as a line, and what happens to the final line end.

It is as plain as `sidecar/demo/buffer.py`, and like that contains nothing of `core/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Self

from sidecar.demo.buffer import Atom, Buffer, BufferPosition, ContentChange, Splice, units


@dataclass(slots=True)
class FakeBuffer(Buffer):
    lf_lines: bool = False
    """Only "\\n" ends a line."""
    ended: bool | None = None
    """Whether the last line has an end, in editors where that is a setting. None in editors where it is part of the
    text.
    """
    clean_at: tuple[int, int] = (0, 0)
    """`step` of when it was last saved or loaded."""

    @property
    def step(self) -> tuple[int, int]:
        """Which of its undo steps was made last."""
        return (id(self.past[-1]), len(self.past[-1].atoms)) if self.past else (0, 0)

    @property
    def is_edited(self) -> bool:
        """It has unsaved work as editors see it: an edit that leads back to the saved text is that, too; only undo and redo lead back to what was saved."""
        return self.dirty or self.step != self.clean_at

    @classmethod
    def of(cls, buffer: Buffer, *, lf_lines: bool, ended: bool | None) -> Self:
        known = {field.name: getattr(buffer, field.name) for field in fields(buffer)}
        return cls(**known, lf_lines=lf_lines, ended=ended)

    def offset(self, place: BufferPosition) -> int:
        if not self.lf_lines and ("\r" in self.text or not self.text.isascii()):
            return Buffer.offset(self, place)
        lines = self.text.split("\n")
        if place.line >= len(lines):
            return len(self.text)
        start = sum(len(line) + 1 for line in lines[: place.line])
        left = place.character
        if lines[place.line].isascii():  # there may be megabytes of them
            return start + min(left, len(lines[place.line]))
        for offset, character in enumerate(lines[place.line]):
            left -= units(character, self.encoding)
            if left < 0:
                return start + offset
        return start + len(lines[place.line])

    def place(self, offset: int) -> BufferPosition:
        if not self.lf_lines:
            return Buffer.place(self, offset)
        before = self.text[:offset].split("\n")
        return BufferPosition(len(before) - 1, units(before[-1], self.encoding))

    def sets(self, new: str, start: int, end: int) -> ContentChange:
        """Changes the text outside of its history. The caret moves as with every other change."""
        (change,) = self._make([Atom(start, self.text[start:end], new)])
        return change

    def _told(self, start: int, end: int, new: str) -> ContentChange:
        if not self.lf_lines:
            return Buffer._told(self, start, end, new)
        return ContentChange(self.place(start), self.place(end), new)

    def _atoms(self, splices: Iterable[Splice]) -> list[Atom]:
        """Where the final line end is a setting that is on, no edit removes it."""
        atoms = Buffer._atoms(self, splices)
        if not atoms or not self.ended:
            return atoms
        start, old, new = atoms[0]
        after = self.text[:start] + new + self.text[start + len(old) :]
        if after.endswith("\n"):
            return atoms
        end = next((end for end in ("\r\n", "\n") if old.endswith(end)), "")
        last = Atom(start, old.removesuffix(end), new) if end else Atom(start, old, new + "\n")
        return [last, *atoms[1:]] if last.old != last.new else atoms[1:]
