"""Texts to measure on: made, not shipped; the same for the same seed."""

from __future__ import annotations

import random

MB = 1_000_000

_WORDS = [
    "self",
    "value",
    "return",
    "if",
    "(a, b)",
    "=",
    "+",
    "index",
    "# note",
    "for",
    "name",
    "items[%d]",
    "call_%d(x)",
]


def _line(pick: random.Random) -> str:
    words = [
        word % pick.randint(0, 9999) if "%" in word else word
        for word in pick.choices(_WORDS, k=pick.randint(1, 9))
    ]
    return "    " * pick.randint(0, 3) + " ".join(words) + "\n"


def code(size: int, seed: int = 1) -> str:
    """Something like source code, `size` ASCII characters of it in lines of 35 on average."""
    pick = random.Random(seed)
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(_line(pick))
        length += len(lines[-1])
    return "".join(lines)[: size - 1] + "\n"


def edited(text: str, count: int, seed: int = 2, *, part: tuple[int, int] = (0, 1)) -> str:
    """`count` places changed the way people and agents do: half of them a line modified, else lines added, deleted or
    replaced. `part` = (k, n) keeps to every n-th of n strips, so that two sides never meet."""
    pick = random.Random(seed)
    lines = text.splitlines(keepends=True)
    k, n = part
    strip = len(lines) // (count * n)
    for place in reversed(range(count)):
        at = (place * n + k) * strip + pick.randrange(max(1, strip - 8))
        kind = pick.random()
        if kind < 0.5:
            lines[at] = lines[at].rstrip("\n").replace("value", "worth") + "  # changed\n"
        elif kind < 0.7:
            lines[at:at] = [_line(pick) for _ in range(pick.randint(1, 6))]
        elif kind < 0.9:
            del lines[at : at + pick.randint(1, 6)]
        else:
            lines[at : at + 3] = [_line(pick) for _ in range(4)]
    return "".join(lines)


def indented(text: str) -> str:
    """Every line four blanks to the right."""
    return "".join("    " + line for line in text.splitlines(keepends=True))


def repeated(size: int, different: int, seed: int = 3) -> str:
    """Few different lines, over and over, in no order."""
    pick = random.Random(seed)
    lines = [f"    row({number:04d}),\n" for number in range(different)]
    return "".join(pick.choices(lines, k=size // len(lines[0])))
