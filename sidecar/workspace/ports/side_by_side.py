"""side_by_side: one piece of work for each of many files, many at the same time.

Most of such work is waiting for the journal, which takes all that wait for it in one transaction, with one wait for the disk: where that takes long, it
matters how many they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio
import anyio.lowlevel

T = TypeVar("T")

ROOM = 512
"""How many small files are worked on at the same time."""
LARGE_BYTES = 256 * 1024
"""Files above that are held in memory, and open while threads read them (`Storage.read_bytes`)."""
_LARGE = ROOM // 64
"""The room that such a file takes."""
_BEGUN_AT_ONCE = 16
"""How many are begun before other tasks have their turn."""


async def side_by_side(
    items: Iterable[T], work: Callable[[T], Awaitable[object]], size: Callable[[T], int]
) -> None:
    """Does `work` for each item, in their order. `size`: an item's, in bytes. When it is cancelled, work that has begun is finished, and no more is begun."""
    room, left = ROOM, anyio.Event()

    async def one(item: T, takes: int) -> None:
        nonlocal room
        try:
            with anyio.CancelScope(shield=True):
                await work(item)
        finally:
            room += takes
            left.set()

    async with anyio.create_task_group() as group:
        for number, item in enumerate(items, 1):
            takes = 1 if size(item) <= LARGE_BYTES else _LARGE
            while room < takes:
                left = anyio.Event()
                await left.wait()
            room -= takes
            group.start_soon(one, item, takes)
            if number % _BEGUN_AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
