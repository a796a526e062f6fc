"""Piece: a text that is inserted into another one at one place."""

from __future__ import annotations

from typing import NamedTuple


class SettingsPiece(NamedTuple):
    at: int
    """In code points, from 0."""
    text: str

    def put_into(self, text: str) -> str:
        return text[: self.at] + self.text + text[self.at :]


def without(text: str, piece: str) -> str | None:
    """The text from before `piece` was inserted. None unless the text contains it exactly once."""
    return text.replace(piece, "", 1) if piece and text.count(piece) == 1 else None
