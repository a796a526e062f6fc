"""Codec: exact bytes to text and back. A byte order mark (BOM) decides the encoding; without one it is strict UTF-8.
Nothing is lost and no line end is translated.

`encode(*decode(data))` gives `data` back, byte for byte.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Literal, NamedTuple

from sidecar.core.any_text import AnyText
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.text import Text
from sidecar.disk.refusals import refuse

TextEncoding = Literal["utf-8", "utf-16-le", "utf-16-be"]

SNIFF_BYTES = 8192
"""A NUL this near the start makes a file binary: git's own rule (buffer_is_binary looks at the first 8000)."""

_PIECE = 256 * 1024
"""The number of characters that are encoded at a time."""

_MARKS: tuple[tuple[bytes, TextEncoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Decoded(NamedTuple):
    """A decoded file. `text` excludes the BOM; `bom` holds the BOM's bytes and is empty if there was none."""

    text: str
    encoding: TextEncoding
    bom: bytes


def sniff(head: bytes, requested: str = "") -> tuple[TextEncoding, bytes] | Refusal:
    """Return the encoding and the BOM, from the first 8 KiB (or all bytes if there are fewer)."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        # UTF-32-LE begins with UTF-16-LE's mark and would decode to NULs between the characters.
        return undecodable("utf-32", requested)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            if encoding == "utf-8" and b"\0" in head[:SNIFF_BYTES]:
                break
            return encoding, mark
    if b"\0" in head[:SNIFF_BYTES]:
        return refuse(Kind.BINARY, requested)
    return "utf-8", b""


def decode(data: bytes, requested: str = "") -> Decoded | Refusal:
    """Decode a whole file. Returns BINARY or UNDECODABLE (`data["encoding"]`: the encoding that was tried) if it is not text. `requested`: the path
    to name in the refusal.
    """
    found = sniff(data[:SNIFF_BYTES], requested)
    if isinstance(found, Refusal):
        return found
    encoding, mark = found
    try:
        # str(buffer, …) decodes the bytes after the BOM without copying them.
        return Decoded(str(memoryview(data)[len(mark) :], encoding, "strict"), encoding, mark)
    except UnicodeDecodeError:
        return undecodable(encoding, requested)


def encode(text: str, encoding: str = "utf-8", bom: bytes = b"", requested: str = "") -> bytes | Refusal:
    """Encode a whole file, BOM included. Returns UNENCODABLE for lone surrogates, and for NUL, because later readers would treat the file as binary."""
    if "\0" in text:
        return Refusal(
            Kind.UNENCODABLE, f"The text contains a NUL character, which is not written to files: {requested}"
        )
    try:
        return bom + text.encode(encoding, "strict")
    except (UnicodeEncodeError, LookupError):
        return Refusal(
            Kind.UNENCODABLE, f"The text cannot be written as {encoding}: {requested}", {"encoding": encoding}
        )


class Encoded:
    """The bytes that `encode` would return, produced piece by piece while they are written, so that a large text is in memory only once."""

    def __init__(self, text: AnyText, encoding: str, bom: bytes, size: int) -> None:
        self._text = text
        self._encoding = encoding
        self._bom = bom
        self._size = size

    @staticmethod
    def of(
        text: AnyText, encoding: str = "utf-8", bom: bytes = b"", requested: str = ""
    ) -> Encoded | Refusal:
        """Return the encoded text, or the same refusals as `encode`."""
        size = len(bom)
        for piece in _pieces(text):
            data = encode(piece, encoding, requested=requested)
            if isinstance(data, Refusal):
                return data
            size += len(data)
        return Encoded(text, encoding, bom, size)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        yield self._bom
        for piece in _pieces(self._text):
            yield piece.encode(self._encoding, "strict")


def _pieces(text: AnyText) -> Iterator[str]:
    if isinstance(text, Text):
        return iter(text.runs)
    return (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))


def undecodable(encoding: str, requested: str) -> Refusal:
    """Return the refusal of a file whose bytes do not match the encoding that its BOM, or the missing BOM, implies."""
    return Refusal(Kind.UNDECODABLE, f"The file is not valid {encoding}: {requested}", {"encoding": encoding})
