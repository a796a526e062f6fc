"""Tokens: marks in the text, each used once.

`l3x` was in the file at first, `u17x` was typed by the user, `a5x` was written by the agent, `d9x` was put on the
disk by some program. Everything else in the texts is upper case or punctuation, so the remains of a torn token can
be recognised.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

Kind = Literal["l", "u", "a", "d"]
_TOKEN = re.compile(r"[luad]\d+x")
_PIECE = re.compile(r"[luadx0-9]+")


class Tokens:
    """Creates tokens."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, kind: Kind) -> str:
        self._last += 1
        return f"{kind}{self._last}x"


def tokens(text: str | None) -> set[str]:
    return set(_TOKEN.findall(text or ""))


def counted(text: str | None) -> Counter[str]:
    return Counter(_TOKEN.findall(text or ""))


def is_persons(token: str) -> bool:
    """Whether the text is the user's: typed, or in the file before the agent came."""
    return token[0] in "lu"


def agents_alone(text: str | None) -> set[str]:
    """The agent's tokens on lines that the user has not typed in: a line of the agent's that the user edits is the
    user's (docs/review.md). `S` is what they type before they save.
    """
    lines = [line for line in (text or "").splitlines() if not re.search(r"u\d|S", line)]
    return {token for line in lines for token in tokens(line) if token[0] == "a"}


def characters_lost(token: str, text: str | None, *, in_order: bool = True) -> int:
    """How many characters of `token` are missing from `text`, if it is not there as a whole. Text that others
    insert into its middle loses nothing. `in_order`: its characters have to follow one another.
    """
    if token in (text or ""):
        return 0
    left = "".join(_PIECE.findall(_TOKEN.sub(" ", text or "")))
    return len(token) - _common(token, left) if in_order else (Counter(token) - Counter(left)).total()


def _common(token: str, text: str) -> int:
    """The length of their longest common subsequence."""
    row = [0] * (len(token) + 1)
    for character in text:
        above = 0
        for i, wanted in enumerate(token, 1):
            above, row[i] = row[i], above + 1 if wanted == character else max(row[i], row[i - 1])
    return row[-1]
