"""in_steps: iterates over many items and lets other tasks run in between."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import TypeVar

import anyio.lowlevel

T = TypeVar("T")

STEP = 32
"""How many items are handled between two pauses; each takes the loop a few dozen microseconds."""


async def in_steps(many: Iterable[T]) -> AsyncGenerator[T]:
    """Yields each item. Between two items, anything may have changed."""
    for number, one in enumerate(many):
        if number % STEP == STEP - 1:
            await anyio.lowlevel.checkpoint()
        yield one
