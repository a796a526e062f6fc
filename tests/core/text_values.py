"""Texts and places for tests of texts: every kind of line end, character and surrogate half."""

from __future__ import annotations

from hypothesis import strategies as st

from sidecar.core.text import Encoding, Position
from tests.support import oracle

UTF_8, UTF_16, UTF_32 = Encoding.UTF_8, Encoding.UTF_16, Encoding.UTF_32
FAR = 2**31 - 1

PIECES = [
    "a",
    "b",
    "\n",
    "\r",
    "\r\n",
    "\f",
    "\v",
    "\x85",
    "\u2028",
    "é",
    "e\u0301",
    "漢",
    "😀",
    "𝒳",
    "\ud83d",
    "\ude00",
]
CHARACTERS = st.sampled_from(PIECES)
TEXTS = st.lists(CHARACTERS, max_size=30).map("".join)
PLACES = st.tuples(st.integers(0, 12), st.one_of(st.integers(0, 12), st.just(FAR)))


def as_sent(text: str) -> str:
    """A text as it comes out of JSON, where surrogate halves side by side are one character."""
    return oracle.from_units(oracle.to_units(text))


def at(line: int, character: int) -> Position:
    return Position(line, character)
