"""Line ends: `\\n`, `\\r\\n` and `\\r`, and nothing else. Folds them into one symbol to compare texts, and expands them to write."""

from __future__ import annotations

from typing import Literal

Terminator = Literal["\n", "\r\n", "\r"]


def fold(text: str) -> str:
    """The text with every terminator as `\\n`: the form in which texts of different origin are compared."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def dominant(text: str) -> Terminator:
    """The terminator that most lines of the text have; `\\n` when there is none. Ties: `\\n` before `\\r\\n` before `\\r`."""
    if "\r" not in text:
        return "\n"
    both = text.count("\r\n")
    newlines = text.count("\n") - both
    returns = text.count("\r") - both
    if newlines >= both and newlines >= returns:
        return "\n"
    return "\r\n" if both >= returns else "\r"


def has_one_kind(text: str) -> bool:
    """Whether every line ends with "\\n", or every line with "\\r\\n". A lone "\\r" is no line's end to most editors."""
    if "\r" not in text:
        return True
    both = text.count("\r\n")
    return both == text.count("\n") == text.count("\r")


def expand(text: str, terminator: str) -> str:
    """The text with every terminator, of any kind, replaced by `terminator`."""
    folded = fold(text)
    return folded if terminator == "\n" else folded.replace("\n", terminator)
