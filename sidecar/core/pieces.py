"""Pieces: bytes that are put together as they come, so that nobody has all of them at once, nor each small one by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def gathered(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes, in pieces of more than `size` each, but for the last one."""
    some, length = list[bytes](), 0
    for piece in pieces:
        some.append(piece)
        length += len(piece)
        if length > size:
            yield b"".join(some)
            some, length = [], 0
    yield b"".join(some)
