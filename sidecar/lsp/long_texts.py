"""LongText: a text in what is sent to the editor that is escaped in pieces, so that there is one more copy of it and no other.

The encoder puts a mark that nobody can guess in its place; `in_pieces` puts the text there.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

LONG = 64 * 1024
"""Characters of a piece; a text with more is one of these."""

_MARK = secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class LongText:
    text: str

    @staticmethod
    def of(text: str) -> LongText | str:
        """As it is where it is not long."""
        return LongText(text) if len(text) > LONG else text


class Marks:
    """Of one message: for the encoder, which calls it for each LongText that it meets."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._texts)

    def put(self, long: LongText) -> str:
        self._texts.append(long.text)
        return f"{_MARK}{len(self._texts) - 1}"

    def in_pieces(self, encoded: str) -> Sequence[bytes]:
        """What was encoded with these marks, as ASCII."""
        pieces: list[bytes] = []
        for number, text in enumerate(self._texts):
            before, _, encoded = encoded.partition(f"{_MARK}{number}")
            pieces.append(before.encode("ascii"))
            pieces += _escaped(text)
        return [*pieces, encoded.encode("ascii")]


def _escaped(text: str) -> Iterator[bytes]:
    for at in range(0, len(text), LONG):
        yield encode_basestring_ascii(text[at : at + LONG])[1:-1].encode("ascii")
