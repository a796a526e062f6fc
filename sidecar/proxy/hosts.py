"""Hosts: who serves the files of a folder: the running sidecar that has the folder open, otherwise the disk."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import anyio.to_thread

from sidecar.bridge.calling import Calling
from sidecar.bridge.entry import SidecarEntry
from sidecar.bridge.finding import containing, serving
from sidecar.bridge.pipelined import Pipelined
from sidecar.bridge.server import Method, Refused
from sidecar.proxy.conversations import SessionFolders
from sidecar.proxy.guest import GuestHost
from sidecar.proxy.guest_methods import GuestMethods

log = logging.getLogger(__name__)


class Hosts:
    """Close it with `aclose`."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._disks: dict[SessionFolders, _Folders] = {}

    async def find(self, folders: SessionFolders) -> GuestHost:
        client = await anyio.to_thread.run_sync(serving, folders.cwd, self._env)
        if client is not None:
            return _Live(Pipelined.of(client))
        disk = self._disks.get(folders)
        if disk is None:
            log.warning(
                "no editor with acp-sidecar has %s open: its files are read and written on the disk",
                folders.cwd,
            )
            disk = self._disks[folders] = _Folders(folders)
        return _Disk(await disk.methods())

    async def is_open(self, folders: SessionFolders) -> bool:
        return bool(await anyio.to_thread.run_sync(_of_folder, folders.cwd, self._env))

    def editors_folder(self, path: str) -> str | None:
        """The innermost folder of a running sidecar that contains this real path. None if there is none. Reads a few
        small files."""
        entries = containing(path, self._env)
        roots = [root for entry in entries[:1] for root in entry.roots if PurePath(path).is_relative_to(root)]
        return max(roots, key=len, default=None)

    async def aclose(self) -> None:
        for disk in self._disks.values():
            await disk.aclose()


def _of_folder(cwd: str, env: Mapping[str, str]) -> list[SidecarEntry]:
    return containing(os.path.realpath(cwd), env)


class _Live:
    live = True

    def __init__(self, connection: Pipelined) -> None:
        self._connection = connection
        self._sidecar = Calling(connection)

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        return await self._sidecar.call(method, params)

    async def aclose(self) -> None:
        await self._connection.aclose()


class _Folders:
    """A workspace on the disk, in a task of its own: a context must be left in the task that entered it."""

    def __init__(self, folders: SessionFolders) -> None:
        self._session_folders = folders
        self._made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._serving = asyncio.ensure_future(self._serve())

    async def methods(self) -> GuestMethods:
        """The methods for another guest. Raises ConnectionError."""
        return GuestMethods(await asyncio.shield(self._made), allowed=True)

    async def _serve(self) -> None:
        from sidecar.workspace.on_disk import on_disk  # the import takes a while, and most have an editor

        try:
            async with on_disk([self._session_folders.cwd, *self._session_folders.additional]) as workspace:
                self._made.set_result(workspace)
                await self._closing.wait()
        except Exception as error:
            if self._made.done():
                raise
            self._made.set_exception(
                ConnectionError(f"{self._session_folders.cwd} cannot be served: {error}")
            )

    async def aclose(self) -> None:
        self._closing.set()
        await self._serving


class _Disk:
    live = False

    def __init__(self, guest: GuestMethods) -> None:
        self._guest = guest
        self._methods: Mapping[str, Method] = guest.methods()

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        try:
            return await self._methods[method](params)
        except Refused as refused:
            raise ValueError(str(refused)) from refused

    async def aclose(self) -> None:
        self._guest.gone()
