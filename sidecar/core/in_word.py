"""is_in_word: whether a position lies within a word."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w")


def is_in_word(text: str, at: int) -> bool:
    """Whether the characters before and after the position are of one word. `at`: in code points from 0."""
    return 0 < at < len(text) and all(map(_WORD.match, text[at - 1 : at + 1]))
