"""in_steps: goes through many things, so that everybody else goes on meanwhile."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import TypeVar

import anyio.lowlevel

T = TypeVar("T")

STEP = 32
"""Things of which each takes the loop a few dozen microseconds."""


async def in_steps(many: Iterable[T]) -> AsyncGenerator[T]:
    """Each of them. Between two, anything may have changed."""
    for number, one in enumerate(many):
        if number % STEP == STEP - 1:
            await anyio.lowlevel.checkpoint()
        yield one
