"""Tokens: marks in the text by which every line can be told from every other, so that a loss or a doubling is seen.

`L12_` stood in the file at first, `U12_` was typed by the user, `A12_` written by an agent, `D12_` put on the disk behind the editor. No
token is ever used twice.
"""

from __future__ import annotations

import re
from collections import Counter

from sidecar.demo.buffer import Step

_TOKEN = re.compile(r"[LUAD]\d+_")


class Tokens:
    """Makes them."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, kind: str) -> str:
        self._last += 1
        return f"{kind}{self._last}_"


def tokens(text: str | None) -> set[str]:
    return set(_TOKEN.findall(text or ""))


def counted(text: str | None) -> Counter[str]:
    return Counter(_TOKEN.findall(text or ""))


def tokens_within(step: Step) -> set[str]:
    """Those that came and went inside one undo step: what an editor joined to an edit of somebody else's."""
    text, seen = step.before, set[str]()
    for start, old, new in step.atoms:
        text = text[:start] + new + text[start + len(old) :]
        seen |= tokens(text)
    return seen - tokens(step.before) - tokens(step.after)
