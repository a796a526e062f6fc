"""Several: connections to whichever running sidecars a process turns out to need, by file or by folder.

A file is served by the sidecar that has it open, otherwise by the one with the deepest root that contains it; the newest among equals.
The running sidecars are looked up for each question, because they come and go. Connections stay open.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio.to_thread

from sidecar.bridge import registry
from sidecar.bridge.calling import Calling
from sidecar.bridge.client import Client, Unreachable
from sidecar.bridge.entry import SidecarEntry
from sidecar.bridge.finding import containing, within
from sidecar.bridge.pipelined import Pipelined


class Several:
    """Must not be used by two tasks at a time. Its connections end with the process."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._connections: dict[str, tuple[Pipelined, Calling]] = {}

    async def for_file(self, path: str) -> Calling | None:
        """The sidecar that serves a file. `path`: absolute. Raises ConnectionError."""
        real = await anyio.to_thread.run_sync(os.path.realpath, path)
        found = await self._connected(await anyio.to_thread.run_sync(containing, real, self._env))
        if len(found) > 1:
            for sidecar in found:
                if await _has_open(sidecar, real):
                    return sidecar
        return found[0] if found else None

    async def for_folder(self, path: str, *, within: bool) -> Calling | None:
        """The sidecar that serves a folder. `path`: absolute. `within`: if there is none, one that serves a folder in it. Raises
        ConnectionError."""
        real = await anyio.to_thread.run_sync(os.path.realpath, path)
        entries = await anyio.to_thread.run_sync(_of_folder, real, self._env, within)
        found = await self._connected(entries)
        return found[0] if found else None

    async def _connected(self, entries: Sequence[SidecarEntry]) -> list[Calling]:
        found: list[Calling] = []
        for entry in entries:
            known = self._connections.get(entry.id)
            if known is not None and known[0].lost:
                del self._connections[entry.id]
                known = None
            if known is None:
                client = await anyio.to_thread.run_sync(_connection, entry)
                if client is None:
                    continue
                pipelined = Pipelined.of(client)
                known = self._connections[entry.id] = pipelined, Calling(pipelined)
            found.append(known[1])
        return found


def _of_folder(real: str, env: Mapping[str, str], also_within: bool) -> list[SidecarEntry]:
    return containing(real, env) or (within(real, env) if also_within else [])


def _connection(entry: SidecarEntry) -> Client | None:
    """A connection. None if the sidecar has ended. Raises ConnectionError if it lives and does not answer: files that it has open must
    not be changed on the disk."""
    try:
        return Client.connect(entry)
    except Unreachable as error:
        if registry.sweep_one(Path(entry.socket).parent, entry.id):
            return None
        raise ConnectionError(
            f"the acp-sidecar of the editor that has this folder open is busy ({error}); try again"
        ) from None


async def _has_open(sidecar: Calling, path: str) -> bool:
    try:
        return await sidecar.call("isOpen", {"path": path}) == {"open": True}
    except (ConnectionError, ValueError):
        return False
