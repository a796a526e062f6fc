"""Piece: a text that is put into another at one place."""

from __future__ import annotations

from typing import NamedTuple


class Piece(NamedTuple):
    at: int
    """Code points, from 0."""
    text: str

    def put_into(self, text: str) -> str:
        return text[: self.at] + self.text + text[self.at :]


def without(text: str, piece: str) -> str | None:
    """The text from before `piece` was put into it; None when it is not there just once."""
    return text.replace(piece, "", 1) if piece and text.count(piece) == 1 else None
