"""SlowDisk: the product's disk, on which what takes a thread takes a moment before it is done, and another until that is known."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import TypeVar, TypeVarTuple, Unpack

from sidecar.core.file_state import FileState
from sidecar.core.refusal import Refusal
from sidecar.disk import Encoded, FolderSyncs, Missing, Resolved, Stat
from sidecar.workspace.state.storage import OnDisk, Put, Saved, Storage

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SlowDisk(Storage):
    """For the loop of `editor_time`, whose clock stands still while a thread works."""

    def __init__(self, max_file_bytes: int, seconds: float, random: Random) -> None:
        """`seconds`: the longest that a moment is."""
        super().__init__(max_file_bytes)
        self._moments = [0, 0, seconds / 20, seconds / 4, seconds]
        self._random = random

    async def _moment(self) -> None:
        await asyncio.sleep(self._random.choice(self._moments))

    async def _slowly(self, work: Callable[[Unpack[Ts]], Awaitable[T]], *arguments: *Ts) -> T:
        await self._moment()
        done = await work(*arguments)
        await self._moment()
        return done

    async def peek(self, path: str) -> OnDisk | None:
        return await self._slowly(super().peek, path)

    async def create(self, file: Missing, data: Encoded) -> Stat | Refusal:
        return await self._slowly(super().create, file, data)

    async def save(self, file: Resolved, data: Encoded) -> Stat | Refusal:
        return await self._slowly(super().save, file, data)

    async def remove(self, file: Resolved) -> Refusal | None:
        return await self._slowly(super().remove, file)

    async def put(self, path: str, expected: Stat, data: bytes | None) -> Stat | Refusal | None:
        return await self._slowly(super().put, path, expected, data)

    async def put_some(self, puts: Sequence[Put], syncs: FolderSyncs) -> list[Saved]:
        return await self._slowly(super().put_some, puts, syncs)

    async def restore(
        self, folder: str, path: str, expected: FileState | None, wanted: FileState | None, syncs: FolderSyncs
    ) -> Stat | Refusal | None:
        return await self._slowly(super().restore, folder, path, expected, wanted, syncs)

    async def sync(self, syncs: FolderSyncs) -> None:
        await self._slowly(super().sync, syncs)
