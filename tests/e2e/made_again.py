"""What was taken back is made again, in a real editor: every row in a file of its own, all of them in one turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle, product
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tests.e2e import scripted
from tests.support.made_again import AGAIN
from tests.support.waiting import eventually

TAKEN_BACK = ("undo", "reject", "retype")
BEFORE = "one two three four five"
LINE = "typed"
TYPED = {"above": f"{LINE} {{}}", "below": f"{{}} {LINE}"}
"""Where the user types a line after what they took back, and what the file says then."""


class Hands(Protocol):
    """Of a person at a real editor. All but `open` are about the file that is shown."""

    def open(self, path: Path) -> None: ...

    def text(self) -> str: ...

    def is_listed(self) -> bool:
        """Whether a change of the agent's is under review."""
        ...

    def undo(self) -> None: ...

    def reject(self) -> None: ...

    def retype(self, line: int, text: str) -> None:
        """The line, from 0, says this text instead."""
        ...

    def type_line(self, where: str) -> None:
        """LINE, above or below all others."""
        ...


class Row(NamedTuple):
    path: Path
    taken_back: str
    again: str
    typed: str
    made: scripted.Pause
    shown: scripted.Pause
    written: scripted.Pause

    @property
    def steps(self) -> list[dict[str, Any]]:
        return [
            scripted.read(self.path),
            scripted.write(self.path, lines(AGAIN["the same"])),
            self.made.step,
            scripted.read(self.path),
            self.shown.step,
            scripted.write(self.path, lines(AGAIN[self.again])),
            self.written.step,
        ]


def lines(words: str) -> str:
    return "".join(f"{word}\n" for word in words.split())


def rows(folder: Path, taken_back: Iterable[str]) -> list[Row]:
    found: list[Row] = []
    for (how, again), typed in zip(product(taken_back, AGAIN), cycle(TYPED), strict=False):
        name = f"{how}-{again}-{typed}".replace(" ", "-")
        path = folder / f"{name}.txt"
        path.write_text(lines(BEFORE))
        pauses = [scripted.Pause(folder / f"{name}.{when}") for when in ("made", "shown", "written")]
        found.append(Row(path, how, again, typed, *pauses))
    return found


def play(
    hands: Hands, folder: Path, prompt: Callable[[str], Any], taken_back: Iterable[str] = TAKEN_BACK
) -> None:
    """`prompt` begins a turn."""
    every = rows(folder, taken_back)
    for row in every:
        hands.open(row.path)
    prompt(scripted.steps(*(step for row in every for step in row.steps)))
    for row in every:
        hands.open(row.path)
        with row.made:
            eventually(lambda: hands.text() == lines(AGAIN["the same"]), f"{row.path.name}: made")
            eventually(hands.is_listed, f"{row.path.name}: listed")
            _take_back(hands, row.taken_back)
            eventually(lambda: hands.text() == lines(BEFORE), f"{row.path.name}: taken back")
            eventually(lambda: not hands.is_listed(), f"{row.path.name}: no longer listed")
        with row.shown:
            hands.type_line(row.typed)
        with row.written:
            wanted = lines(TYPED[row.typed].format(AGAIN[row.again]))
            eventually(
                lambda wanted=wanted: hands.text() == wanted,
                f"{row.path.name}: made again",
                within=20,
                otherwise=hands.text,
            )


def _take_back(hands: Hands, how: str) -> None:
    match how:
        case "undo":
            hands.undo()
        case "reject":
            hands.reject()
        case _:
            hands.retype(1, "two")
