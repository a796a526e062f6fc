"""read_lines: reads whole lines from a file of any size, one block at a time. Line ends are those of LSP and ACP: \\n, \\r\\n and \\r."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import islice

from sidecar.core.refusal import Kind, Refusal
from sidecar.disk.codec import SNIFF_BYTES, sniff, undecodable
from sidecar.disk.refusals import from_os_error, refuse
from sidecar.disk.resolve import READ_TRIES, Resolved

_BLOCK = 1 << 18
LOOKED_THROUGH = 1 << 30
"""Bytes of a file that are searched for lines, which takes a second or two. A sparse file can claim any size for free, and the thread that searches
it serves nobody else meanwhile.
"""
_TERMINATOR = re.compile(r"\r\n|\n|\r")


class _TooFar(Exception):
    """The search limit was reached."""


def read_lines(
    target: Resolved, line: int | None, limit: int | None, *, at_most: int | None = None
) -> str | Refusal:
    """Return `limit` lines beginning at `line` (from 1; 0 and None mean 1), with their terminators. Without `limit`, reads to the end.

    The text before and in the slice must decode; the rest is not looked at. Refusals: BAD_RANGE if `line` is past the last line (`data["lines"]`: the
    number of lines) or a number is negative; TOO_LARGE if the slice has more than `at_most` code points or ends beyond the first LOOKED_THROUGH
    bytes; BINARY and UNDECODABLE as for `decode`. Memory: the slice and one block. Blocks; any thread.
    """
    if (line is not None and line < 0) or (limit is not None and limit < 0):
        return Refusal(Kind.BAD_RANGE, f"line and limit must not be negative: {target.requested}")
    try:
        found = sniff(target.read_at(0, SNIFF_BYTES), target.requested)
        if isinstance(found, Refusal):
            return found
        encoding, mark = found
        before = target.look()
        text: str | Refusal = ""
        for _ in range(READ_TRIES):
            blocks = _blocks(target, encoding, len(mark))
            text = _slice(blocks, max(line or 1, 1), limit, at_most, target.requested)
            now = target.look()
            if now == before or isinstance(text, Refusal):
                break
            before = now
        return text
    except UnicodeDecodeError as error:
        return undecodable(error.encoding, target.requested)
    except _TooFar:
        words = f"Lines cannot be read beyond the first {LOOKED_THROUGH} bytes of a file: {target.requested}"
        return Refusal(Kind.TOO_LARGE, words, {"limit": LOOKED_THROUGH})
    except OSError as error:
        return from_os_error(error, target.requested, "read")


def _slice(
    blocks: Iterator[str], line: int, limit: int | None, at_most: int | None, requested: str
) -> str | Refusal:
    to_skip = line - 1
    text = ""
    for text in blocks:
        ends = _count(text)
        if ends >= to_skip:
            text = text[_after(text, to_skip) :]
            to_skip = 0
            break
        to_skip -= ends
    if to_skip:
        return Refusal(
            Kind.BAD_RANGE,
            f"line {line} is past the last line: {requested}",
            {"lines": line - to_skip},
        )
    if limit == 0:
        return ""
    parts: list[str] = []
    size = 0
    while True:
        if limit is not None:
            ends = _count(text)
            if ends >= limit:
                text = text[: _after(text, limit)]
            limit -= ends
        parts.append(text)
        size += len(text)
        if at_most is not None and size > at_most:
            return refuse(Kind.TOO_LARGE, requested, limit=at_most)
        if limit is not None and limit <= 0:
            break
        following = next(blocks, None)
        if following is None:
            break
        text = following
    return "".join(parts)


def _blocks(target: Resolved, encoding: str, offset: int) -> Iterator[str]:
    """Yield the text in pieces. No piece ends between \\r and \\n."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    held = ""
    while data := target.read_at(offset, _BLOCK):
        offset += len(data)
        if offset > LOOKED_THROUGH:
            raise _TooFar
        text = held + decoder.decode(data)
        held = "\r" if text.endswith("\r") else ""
        yield text[:-1] if held else text
    yield held + decoder.decode(b"", True)


def _count(text: str) -> int:
    ends = text.count("\n")
    return ends + text.count("\r") - text.count("\r\n") if "\r" in text else ends


def _after(text: str, ends: int) -> int:
    """Return the offset just after the given number of line ends."""
    if ends == 0:
        return 0
    return next(islice(_TERMINATOR.finditer(text), ends - 1, None)).end()
