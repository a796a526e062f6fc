"""Storage: disk access for the workspace. Small operations run at once; slow ones (fsync, large files) run in a thread."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import anyio.to_thread

from sidecar import disk
from sidecar.core.any_text import AnyText
from sidecar.core.file_state import FileState
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Decoded, Encoded, FolderSyncs, Missing, Resolved, Roots, Stat
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.state.queues import Access

SMALL_BYTES = 256 * 1024
"""Files up to this size are read without a thread, whose round trip would cost more."""
_AT_ONCE = 4
"""The most large files read at the same time: each is in memory several times until it is a text."""


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A file's state and text, in the compared form. `text` is None if it cannot be decoded."""

    stat: Stat
    text: str | None
    data: bytes | None = None
    """The file's bytes if they have no byte order mark and are not UTF-8: only an editor may know their encoding."""


@dataclass(frozen=True, slots=True)
class Put:
    """A file and the bytes to put into it."""

    file: Resolved
    """The file as it was found; may be closed."""
    data: bytes | None
    """None: the file is removed."""
    is_wanted: Callable[[], bool]
    """Called in a thread, immediately before the bytes are put there."""


Saved = Stat | Refusal | Literal["removed", "unwanted"]
"""The outcome of a `Put`."""


class Storage:
    """Stateless except for its limits."""

    def __init__(self, max_file_bytes: int) -> None:
        self._max_file_bytes = max_file_bytes
        self._few = anyio.CapacityLimiter(_AT_ONCE)
        self._few_slices = anyio.CapacityLimiter(_AT_ONCE)

    def roots(self, paths: Sequence[str]) -> Roots | Refusal:
        """The folders of a session, held open. The first one must be usable; unusable others are left out."""
        roots = Roots(paths)
        if paths[0] in roots.unusable:
            roots.close()
            return Refusal(Kind.NOT_FOUND, f"the folder {paths[0]} does not exist or cannot be opened")
        return roots

    def resolve(self, roots: Roots, path: str, access: Access) -> Resolved | Missing | Refusal:
        return disk.resolve(roots, path, access=access)

    def folder(self, roots: Roots, path: str) -> str | Refusal:
        """The canonical path of a folder beneath the session's folders."""
        return disk.folder(roots, path)

    def identity(self, path: str) -> tuple[int, int] | None:
        return disk.identity(path)

    def order_key(self, path: str) -> str:
        return disk.order_key(path)

    def name_key(self, path: str) -> str:
        return disk.name_key(path)

    def stat(self, path: str) -> Stat | None:
        return disk.fresh_stat(path)

    async def read(self, file: Resolved) -> Decoded | Refusal:
        """The whole text of a file that was resolved and allowed."""
        if file.size <= SMALL_BYTES:
            return self._read(file)
        return await anyio.to_thread.run_sync(self._read, file, limiter=self._few)

    async def read_named(self, path: str) -> Decoded | Refusal:
        """The whole text of the file with this name, for comparing only."""
        roots = self.roots([os.path.dirname(path)])
        if isinstance(roots, Refusal):
            return roots
        with roots:
            file = self.resolve(roots, path, "read")
            if not isinstance(file, Resolved):
                return file if isinstance(file, Refusal) else Refusal(Kind.NOT_FOUND, f"{path} is gone")
            with file:
                return await self.read(file)

    async def read_bytes(self, file: Resolved) -> bytes | Refusal:
        """The exact bytes of a file that was resolved."""
        if file.size <= SMALL_BYTES:
            return file.read_bytes(self._max_file_bytes)
        return await anyio.to_thread.run_sync(file.read_bytes, self._max_file_bytes, limiter=self._few)

    async def decode(self, data: bytes, file: Resolved) -> Decoded | Refusal:
        """The text of `data`, which was read from the file."""
        return await aside(len(data), lambda: disk.decode(data, file.requested))

    def read_now(self, file: Resolved) -> Decoded | Refusal:
        """Like `read`, without waiting: for texts that may be gone in a moment."""
        return self._read(file)

    async def read_lines(self, file: Resolved, line: int | None, limit: int | None) -> str | Refusal:
        """Lines of a file that is too large to be read whole. The slice itself has the same limit."""
        return await anyio.to_thread.run_sync(
            functools.partial(disk.read_lines, file, line, limit, at_most=self._max_file_bytes),
            limiter=self._few_slices,  # slices of huge files must leave threads for saves
        )

    async def peek(self, path: str) -> OnDisk | None:
        """The text of a file that the editor has open, for comparing only. None if there is no such file."""
        return await anyio.to_thread.run_sync(self._peek, path)

    def peek_now(self, path: str) -> OnDisk | None:
        """Like `peek`, without waiting: for a text that may be gone in a moment."""
        return self._peek(path)

    async def create(self, file: Missing, data: Encoded) -> Stat | Refusal:
        """Create the file with these bytes, and the folders above it."""
        return await anyio.to_thread.run_sync(disk.create, file, data)

    async def save(self, file: Resolved, data: Encoded) -> Stat | Refusal:
        """Replace the file's bytes, unless they changed since it was read."""
        return await anyio.to_thread.run_sync(disk.save, file, data, file.stat)

    async def remove(self, file: Resolved) -> Refusal | None:
        """Remove the file, unless it changed since it was read. None when it is gone."""
        return await anyio.to_thread.run_sync(disk.remove, file, file.stat)

    async def put(self, path: str, expected: Stat, data: bytes | None) -> Stat | Refusal | None:
        """Replace the bytes of the file at this path, or remove it (None), unless it changed since it had the state `expected`. Runs in a thread."""
        return await anyio.to_thread.run_sync(_put, path, expected, data)

    async def put_some(self, puts: Sequence[Put], syncs: FolderSyncs) -> list[Saved]:
        """Like `put`, for resolved files: one after the other, in one thread. Their names survive a crash only after `sync`."""
        return await anyio.to_thread.run_sync(lambda: [_put_one(put, syncs) for put in puts])

    async def restore(
        self, folder: str, path: str, expected: FileState | None, wanted: FileState | None, syncs: FolderSyncs
    ) -> Stat | Refusal | None:
        """Restore the canonical `path` beneath `folder` to `wanted`, unless something other than `expected` is there. If `wanted` is None, the
        folders left empty are removed too. Returns the stat of a restored file, taken before anybody changes it again. Its name survives a crash
        only after `sync`."""

        def put() -> Stat | Refusal | None:
            refused = disk.restore(folder, path, expected, wanted, prune=wanted is None, sync=syncs.later)
            is_file = wanted is not None and not wanted.is_link
            return disk.fresh_stat(path) if refused is None and is_file else refused

        return await anyio.to_thread.run_sync(put)

    async def sync(self, syncs: FolderSyncs) -> None:
        await anyio.to_thread.run_sync(syncs.sync)

    def check_writable(self, file: Resolved | Missing, size: int) -> Refusal | None:
        """Why a save of `size` bytes would fail, as far as known. Called before a buffer is changed that will be saved."""
        return disk.check_writable(file, size)

    async def encoded(self, text: AnyText, like: Decoded | None, requested: str) -> Encoded | Refusal:
        """Like `encode`, in pieces: for large texts that are written."""
        if like is None:
            return await aside(len(text), lambda: Encoded.of(text, requested=requested))
        encoding, bom = like.encoding, like.bom
        return await aside(len(text), lambda: Encoded.of(text, encoding, bom, requested))

    def encode(self, text: str, like: Decoded | None, requested: str) -> bytes | Refusal:
        """The bytes of `text`, in the file's encoding and with its byte order mark."""
        if like is None:
            return disk.encode(text, requested=requested)
        return disk.encode(text, like.encoding, like.bom, requested)

    def _read(self, file: Resolved) -> Decoded | Refusal:
        data = file.read_bytes(self._max_file_bytes)
        return data if isinstance(data, Refusal) else disk.decode(data, file.requested)

    def _peek(self, path: str) -> OnDisk | None:
        real = os.path.realpath(path)
        with Roots([os.path.dirname(real)]) as roots:
            found = disk.resolve(roots, real, access="read")
            if not isinstance(found, Resolved):
                return None
            with found:
                data = found.read_bytes(self._max_file_bytes)
                if isinstance(data, Refusal):
                    return OnDisk(found.stat, None)
                decoded = disk.decode(data, found.requested)
                if isinstance(decoded, Refusal):
                    unknown = decoded.kind is Kind.UNDECODABLE and decoded.data.get("encoding") == "utf-8"
                    return OnDisk(found.stat, None, data if unknown else None)
                return OnDisk(found.stat, normal(decoded.text))


def _put_one(put: Put, syncs: FolderSyncs) -> Saved:
    if not put.is_wanted():
        return "unwanted"
    if put.data is None:
        return disk.remove(put.file, put.file.stat, sync=syncs.later) or "removed"
    return disk.save(put.file, put.data, put.file.stat, sync=syncs.later)


def _put(path: str, expected: Stat, data: bytes | None) -> Stat | Refusal | None:
    with Roots([os.path.dirname(path)]) as roots:
        file = disk.resolve(roots, path, access="write")
        if not isinstance(file, Resolved):
            return file if isinstance(file, Refusal) else Refusal(Kind.NOT_FOUND, f"{path} is gone")
        with file:
            return disk.remove(file, expected) if data is None else disk.save(file, data, expected)
