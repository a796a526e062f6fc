"""pieces: joins bytes as they come, so that neither all of them nor each small piece is held separately."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def gathered(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of more than `size` bytes each, except the last one."""
    some, length = list[bytes](), 0
    for piece in pieces:
        some.append(piece)
        length += len(piece)
        if length > size:
            yield b"".join(some)
            some, length = [], 0
    yield b"".join(some)
