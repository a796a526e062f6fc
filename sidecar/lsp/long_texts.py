"""LongText: a long text in a message to the editor. The thread that writes the message escapes it in pieces: 10 MB would block the event loop for too
long.

The encoder puts an unguessable mark in its place; `in_pieces` replaces the mark with the text. `LongValue` does the same for a whole JSON value with
any number of texts, such as an agent's update that is passed on unchanged.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from math import isfinite
from typing import cast

from sidecar.core.held import as_held
from sidecar.core.pieces import gathered

LONG = 64 * 1024
"""Characters of a piece. A text with more characters is long."""

_MARK = secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class LongText:
    text: str

    @staticmethod
    def of(text: str) -> LongText | str:
        """Return the text unchanged if it is not long."""
        return LongText(text) if len(text) > LONG else text

    def __len__(self) -> int:
        """The number of bytes that it takes until it is written."""
        return as_held(self.text)

    def escaped(self) -> Iterator[bytes]:
        """Yield the text as ASCII, without quotes."""
        for at in range(0, len(self.text), LONG):
            yield encode_basestring_ascii(self.text[at : at + LONG])[1:-1].encode("ascii")


@dataclass(frozen=True, slots=True)
class LongValue:
    """A JSON value that is encoded in pieces. It must not be changed any more."""

    value: object
    size: int

    @staticmethod
    def of(value: object) -> LongValue | None:
        """Return None if the value is not long, or contains anything other than JSON values, so that encoding it may fail."""
        size = 0
        for length in _lengths(value):
            if length is None:
                return None
            size += length
        return LongValue(value, size) if size > LONG else None

    def __len__(self) -> int:
        """The number of characters of its texts, plus a few for each value."""
        return self.size

    def escaped(self) -> Iterator[bytes]:
        """Yield the value as ASCII."""
        return gathered(_pieces(self.value), LONG)


def _pieces(value: object) -> Iterator[bytes]:
    if not _is_long(value):
        yield _encode(value).encode("ascii")
    elif isinstance(value, str):
        yield b'"'
        yield from LongText(value).escaped()
        yield b'"'
    elif isinstance(value, dict):
        for number, (key, inner) in enumerate(cast("dict[str, object]", value).items()):
            yield b"," if number else b"{"
            yield from _pieces(key)
            yield b":"
            yield from _pieces(inner)
        yield b"}"
    else:
        for number, inner in enumerate(cast("Sequence[object]", value)):
            yield b"," if number else b"["
            yield from _pieces(inner)
        yield b"]"


_encode = json.JSONEncoder(separators=(",", ":")).encode
_VALUE = 8
"""The number of characters that a value or a name counts in addition to its text."""


def _is_long(value: object) -> bool:
    size = 0
    for length in _lengths(value):
        size += length or 0
        if size > LONG:
            return True
    return False


def _lengths(value: object) -> Iterator[int | None]:
    """Yield the length of each value inside. None: a value that JSON does not have."""
    waiting: list[object] = [value]
    while waiting:
        inside = waiting.pop()
        if isinstance(inside, str):
            yield len(inside) + _VALUE
        elif isinstance(inside, dict):
            rows = cast("dict[object, object]", inside)
            yield _VALUE
            waiting += rows.values()
            for key in rows:
                yield len(key) + _VALUE if isinstance(key, str) else None
        elif isinstance(inside, (list, tuple)):
            yield _VALUE
            waiting += cast("Sequence[object]", inside)
        elif inside is None or isinstance(inside, int) or (isinstance(inside, float) and isfinite(inside)):
            yield _VALUE
        else:
            yield None


class Marks:
    """The marks of one message. The encoder calls `put` for each LongText that it meets."""

    def __init__(self) -> None:
        self._texts: list[LongText] = []

    def __bool__(self) -> bool:
        """Whether there are any marks."""
        return bool(self._texts)

    def put(self, long: LongText) -> str:
        self._texts.append(long)
        return f"{_MARK}{len(self._texts) - 1}"

    def in_pieces(self, encoded: str) -> Sequence[bytes | LongText]:
        """Split a text that was encoded with these marks into ASCII and the texts still to be encoded."""
        pieces: list[bytes | LongText] = []
        for number, text in enumerate(self._texts):
            before, _, encoded = encoded.partition(f"{_MARK}{number}")
            pieces += [before.encode("ascii"), text]
        return [*pieces, encoded.encode("ascii")]
