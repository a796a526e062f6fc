"""Past: the texts that a document had since its last known save, to tell a save from a change behind the editor.

An editor reports that it saved, but not what. VS Code reports a save for a version newer than the bytes on the disk if the user types
while the save runs, and the bytes may be seen before the save is reported. So the rule is: *a text on the disk that equals any text the
document had since its last known save is that save, never a change from outside.*

The texts are not stored one by one, but as one text and the edits that lead to the others, in blocks. If the past grows long, the oldest
blocks are forgotten. A save of a forgotten text then looks like a change from outside and is merged, starting from the last known text on
the disk: what was typed since then stays, or is a conflict, which changes nothing and is reported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from sidecar.core.change import Edit
from sidecar.core.normal import BOM, has_mark, says
from sidecar.core.rope import Rope
from sidecar.core.text import Text

BLOCK = 256
"""The number of edits in one block."""
MAX_BLOCKS = 32
"""Enough for more than eight thousand keystrokes of about 150 bytes each. Each block also holds one text, which shares its equal parts
with its neighbours."""
MAX_CHARACTERS = 4_000_000
"""The most code points that all edits together may insert; pastes and formatters make large edits."""


@dataclass(slots=True)
class _Block:
    text: Text
    """The text before the first edit."""
    edits: list[Edit] = field(default_factory=list[Edit])
    characters: int = 0


class Past:
    """Numbered raw texts: 0 is the text that the document was opened with, `newest` the current one."""

    __slots__ = ("_blocks", "_first")

    def __init__(self, text: Text) -> None:
        self._blocks = deque([_Block(text)])
        self._first = 0
        """The number of the oldest text."""

    @property
    def newest(self) -> int:
        return self._first + sum(len(block.edits) for block in self._blocks)

    def edited(self, document: Rope, edit: Edit) -> None:
        """Record an edit that led to the current text of `document`."""
        block = self._blocks[-1]
        block.edits.append(edit)
        block.characters += len(edit.new)
        if len(block.edits) >= BLOCK or block.characters > MAX_CHARACTERS // MAX_BLOCKS:
            self._blocks.append(_Block(document.snapshot()))
            too_many = sum(block.characters for block in self._blocks) > MAX_CHARACTERS
            if len(self._blocks) > MAX_BLOCKS or too_many:
                self._first += len(self._blocks.popleft().edits)

    def find(self, compared: str, *, unended: bool = False, since: int = 0) -> int | None:
        """The number of the oldest text, from number `since` on, whose compared form is `compared`; None if there is none. `unended`:
        also accept `compared` without its final line end, which some editors add to the file but not to the text."""
        wanted = {len(compared): compared}
        if unended and compared.endswith("\n"):
            wanted[len(compared) - 1] = compared[:-1]
        for number, (length, rope) in enumerate(self._texts(), self._first):
            if number >= since and length in wanted and says(rope.snapshot(), wanted[length]):
                return number
        return None

    def texts(self, first: int, last: int) -> list[Text]:
        """The texts numbered `first` to `last`, except forgotten ones."""
        return [
            rope.snapshot()
            for number, (_, rope) in enumerate(self._texts(), self._first)
            if first <= number <= last
        ]

    def before_newest(self) -> Text | None:
        """The text that the newest edit changed. None if it is forgotten, because the edit was large."""
        block = next((block for block in reversed(self._blocks) if block.edits), None)
        if block is None:
            return None
        rope = Rope.of(block.text)
        for edit in block.edits[:-1]:
            rope.splice(edit.start, edit.end, edit.new)
        return rope.snapshot()

    def saved(self, number: int) -> None:
        """Record that the text with this number is saved. The texts before it are forgotten."""
        while len(self._blocks) > 1 and self._first + len(self._blocks[0].edits) <= number:
            self._first += len(self._blocks.popleft().edits)
        block, done = self._blocks[0], number - self._first
        if done > 0:
            rope = Rope.of(block.text)
            for edit in block.edits[:done]:
                rope.splice(edit.start, edit.end, edit.new)
            rest = block.edits[done:]
            self._blocks[0] = _Block(rope.snapshot(), rest, sum(len(edit.new) for edit in rest))
            self._first = number

    def _texts(self) -> Iterator[tuple[int, Rope]]:
        """Each text with the length of its compared form in code points, oldest first. All items are the same rope, which keeps
        changing."""
        first = self._blocks[0].text
        rope, mark, length = Rope.of(first), has_mark(first), len(first.compared())
        yield length, rope
        for block in self._blocks:
            for edit in block.edits:
                before = _pairs(rope, edit.start, edit.end)
                rope.splice(edit.start, edit.end, edit.new)
                after = _pairs(rope, edit.start, edit.start + len(edit.new))
                length += edit.growth - after + before
                if edit.start == 0:
                    length += mark
                    mark = rope.slice(0, min(1, len(rope))) == BOM
                    length -= mark
                yield length, rope


def _pairs(rope: Rope, start: int, end: int) -> int:
    """The number of "\\r\\n" between `start` and `end`, including those that cross these offsets."""
    near = rope.slice(max(start - 1, 0), min(end + 1, len(rope)))
    return near.count("\r\n")
