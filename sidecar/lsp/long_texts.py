"""LongText: a text in what is sent to the editor that is escaped in pieces, by the thread that writes them: 10 MB take more than the event loop has.

The encoder puts a mark that nobody can guess in its place; `in_pieces` puts the text there.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

from sidecar.core.held import as_held

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

    def __len__(self) -> int:
        """Bytes that it takes until it is written."""
        return as_held(self.text)

    def escaped(self) -> Iterator[bytes]:
        """As ASCII, without quotes."""
        for at in range(0, len(self.text), LONG):
            yield encode_basestring_ascii(self.text[at : at + LONG])[1:-1].encode("ascii")


class Marks:
    """Of one message: for the encoder, which calls it for each LongText that it meets."""

    def __init__(self) -> None:
        self._texts: list[LongText] = []

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._texts)

    def put(self, long: LongText) -> str:
        self._texts.append(long)
        return f"{_MARK}{len(self._texts) - 1}"

    def in_pieces(self, encoded: str) -> Sequence[bytes | LongText]:
        """What was encoded with these marks: ASCII, and the texts that are yet to be."""
        pieces: list[bytes | LongText] = []
        for number, text in enumerate(self._texts):
            before, _, encoded = encoded.partition(f"{_MARK}{number}")
            pieces += [before.encode("ascii"), text]
        return [*pieces, encoded.encode("ascii")]
