"""MemoryDisk: files in a dictionary with a clock of their own, for the fake editor and the workspace alike.

Virtual time makes a run so short that real files could not tell two of its writes apart, and threads would bring chance into it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from sidecar import disk
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.demo.model import path_of
from sidecar.disk import Decoded, Encoded, Missing, Resolved, Root, Roots, Stat
from sidecar.workspace.state.queues import Access
from sidecar.workspace.state.storage import OnDisk, Storage


@dataclass(slots=True)
class File:
    data: bytes
    inode: int
    changed: int


def clock() -> int:
    """The time of its files: nanoseconds of virtual time."""
    try:
        return int(asyncio.get_running_loop().time() * 1e9)
    except RuntimeError:
        return 0


class MemoryDisk:
    """What an editor and other programs see (`demo.model.Files`)."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self._clock = 0
        self.on_write: Callable[[str], None] = lambda path: None

    def read(self, uri: str) -> bytes | None:
        file = self.files.get(path_of(uri))
        return None if file is None else file.data

    def write(self, uri: str, data: bytes) -> None:
        self.put(path_of(uri), data)

    def put(self, path: str, data: bytes, *, by_rename: bool = False) -> None:
        self._clock = max(self._clock + 1, clock())
        file = self.files.get(path)
        if file is None or by_rename:
            self.files[path] = File(data, self._clock, self._clock)
        else:
            file.data, file.changed = data, self._clock
        self.on_write(path)

    def text(self, path: str) -> str | None:
        file = self.files.get(path)
        return None if file is None else file.data.decode()

    def stat(self, path: str) -> Stat | None:
        file = self.files.get(path)
        return None if file is None else Stat(1, file.inode, len(file.data), file.changed, file.changed)


class _Open(Resolved):
    """A handle: what it was opened on stays readable after a rename over it."""

    __slots__ = ("_disk", "_file", "_seen")

    def __init__(self, disk_: MemoryDisk, path: str, root: Root) -> None:
        self.path = self.requested = path
        self.root = root
        self.relative = os.path.basename(path)
        self._disk = disk_
        self._file = disk_.files[path]
        self._seen = self.look()

    @property
    def stat(self) -> Stat:
        return self._seen

    @property
    def identity(self) -> tuple[int, int]:
        return self._seen.identity

    @property
    def size(self) -> int:
        return self._seen.size

    @property
    def links(self) -> int:
        return 1

    @property
    def mode(self) -> int:
        return 0o644

    @property
    def writable(self) -> bool:
        return True

    def look(self) -> Stat:
        file = self._file
        self._seen = Stat(1, file.inode, len(file.data), file.changed, file.changed)
        return self._seen

    def read_bytes(self, at_most: int | None = None) -> bytes | Refusal:
        self.look()
        return self._file.data

    def close(self) -> None:
        pass


class MemoryStorage(Storage):
    """The workspace's side. Whatever takes a thread really takes a moment of the seed's choice here."""

    def __init__(self, memory: MemoryDisk, random: Random) -> None:
        super().__init__(1 << 20)
        self._disk = memory
        self._random = random

    async def _moment(self) -> None:
        await asyncio.sleep(self._random.choice([0, 0, 0, 0.001, 0.01, 0.2]))

    def resolve(self, roots: Roots, path: str, access: Access) -> Resolved | Missing | Refusal:
        found = roots.match(path)
        assert found is not None
        if path in self._disk.files:
            return _Open(self._disk, path, found[0])
        return Missing(path, path, found[0], os.path.basename(path), True)

    def identity(self, path: str) -> tuple[int, int] | None:
        stat = self._disk.stat(path)
        return None if stat is None else stat.identity

    def order_key(self, path: str) -> str:
        return path

    def name_key(self, path: str) -> str:
        return path

    def stat(self, path: str) -> Stat | None:
        return self._disk.stat(path)

    async def read(self, file: Resolved) -> Decoded | Refusal:
        if self._random.random() < 0.3:
            await self._moment()
        data = file.read_bytes()
        return data if isinstance(data, Refusal) else disk.decode(data, file.requested)

    async def read_bytes(self, file: Resolved) -> bytes | Refusal:
        await self._moment()
        return file.read_bytes()

    async def peek(self, path: str) -> OnDisk | None:
        await self._moment()
        stat, text = self._disk.stat(path), self._disk.text(path)
        await self._moment()
        return None if stat is None or text is None else OnDisk(stat, normal(text))

    async def create(self, file: Missing, data: Encoded) -> Stat | Refusal:
        await self._moment()
        if file.path in self._disk.files:
            return Refusal(Kind.CHANGED_ON_DISK, f"changed: {file.requested}")
        self._disk.put(file.path, b"".join(data))
        await self._moment()
        return self._disk.stat(file.path) or Refusal(Kind.IO_ERROR, "gone")

    async def save(self, file: Resolved, data: Encoded) -> Stat | Refusal:
        expected = file.stat
        await self._moment()
        if self._disk.stat(file.path) != expected:
            return Refusal(Kind.CHANGED_ON_DISK, f"changed: {file.requested}")
        self._disk.put(file.path, b"".join(data), by_rename=True)
        await self._moment()
        return self._disk.stat(file.path) or Refusal(Kind.IO_ERROR, "gone")

    def check_writable(self, file: Resolved | Missing, size: int) -> Refusal | None:
        return None
