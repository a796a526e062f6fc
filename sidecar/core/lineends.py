"""lineends: handles the line ends `\\n`, `\\r\\n` and `\\r`, and no others. Folds them into one symbol to compare texts, and expands
them to write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Terminator = Literal["\n", "\r\n", "\r"]


def fold(text: str) -> str:
    """The text with every terminator as `\\n`: the form in which texts from different sources are compared."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def dominant(text: str | Iterable[str]) -> Terminator:
    """The terminator that most lines of the text have; `\\n` if there is none. Ties: `\\n` before `\\r\\n` before `\\r`. `text` may
    also be its pieces, none of which ends between `\\r` and `\\n`."""
    if isinstance(text, str) and "\r" not in text:
        return "\n"
    both = newlines = returns = 0
    for piece in (text,) if isinstance(text, str) else text:
        pairs = piece.count("\r\n") if "\r" in piece else 0
        both += pairs
        newlines += piece.count("\n") - pairs
        returns += piece.count("\r") - pairs
    if newlines >= both and newlines >= returns:
        return "\n"
    return "\r\n" if both >= returns else "\r"


def has_one_kind(text: str) -> bool:
    """Whether every line ends with "\\n", or every line with "\\r\\n". To most editors, a lone "\\r" ends no line."""
    if "\r" not in text:
        return True
    both = text.count("\r\n")
    return both == text.count("\n") == text.count("\r")


def expand(text: str, terminator: str) -> str:
    """The text with every terminator, of any kind, replaced by `terminator`."""
    folded = fold(text)
    return folded if terminator == "\n" else folded.replace("\n", terminator)
