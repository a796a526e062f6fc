"""Routes: one session of the agent, whose folders may contain those of several editors, or lie in them. Each file is served by the editor with
the innermost folder that contains it. A file in no editor's folder is served where the session's own folder is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import PurePath
from typing import Any

from sidecar.core.json_types import Json
from sidecar.core.refusal import Refusal
from sidecar.core.uri import is_untitled
from sidecar.proxy.conversations import SessionFolders
from sidecar.proxy.guest import Guest

MOST = 8
"""The most editors of one session in addition to that of its own folder."""


class Routes:
    def __init__(
        self,
        guest: Callable[[SessionFolders], Guest],
        folders: SessionFolders,
        editors_folder: Callable[[str], str | None],
    ) -> None:
        """`editors_folder`: the innermost folder of a running sidecar that contains this real path."""
        self._make = guest
        self._editors_folder = editors_folder
        self._home = guest(folders)
        self._cwd = os.path.realpath(folders.cwd)
        self._folders = [self._cwd, *map(os.path.realpath, folders.additional)]
        self._others: dict[str, Guest] = {}
        """By the editor's folder."""
        self._turns = 0

    # files; in the order in which they are requested, so nothing here waits

    def read(self, path: str, line: int | None, limit: int | None) -> Awaitable[Json | Refusal]:
        guest, path = self._of(path)
        return guest.read(path, line, limit)

    def write(self, path: str, content: str) -> Awaitable[Json | Refusal]:
        guest, path = self._of(path)
        return guest.write(path, content)

    def _of(self, path: str) -> tuple[Guest, str]:
        """The guest for a file, and the path to pass to it: an editor knows nothing of links from outside its folder."""
        real = path if is_untitled(path) else os.path.realpath(path)
        if not any(_is_within(real, folder) for folder in self._folders):
            return self._home, path  # it refuses the path
        folder = self._editors_folder(real)
        if folder is None or _is_within(self._cwd, folder):
            return self._home, path
        guest = self._others.get(folder)
        if guest is None:
            if len(self._others) >= MOST:
                return self._home, path
            guest = self._others[folder] = self._make(SessionFolders(folder))
            for _ in range(self._turns):
                guest.turn_began()
        return guest, path if _is_within(path, folder) else real

    # for all guests

    async def turn_begins(self) -> None:
        self._turns += 1
        await asyncio.gather(*(guest.turn_begins() for guest in self._all))

    def turn_ends(self, reason: str) -> None:
        self._turns = max(0, self._turns - 1)
        for guest in self._all:
            guest.turn_ends(reason)

    def stopped(self) -> None:
        for guest in self._all:
            guest.stopped()

    def heard(self, update: Mapping[str, Any]) -> None:
        for guest in self._all:
            guest.heard(update)

    def rest(self) -> None:
        for guest in self._all:
            guest.rest()

    def leave(self) -> None:
        for guest in self._all:
            guest.leave()

    async def aclose(self) -> None:
        for guest in self._all:
            await guest.aclose()

    @property
    def _all(self) -> list[Guest]:
        return [self._home, *self._others.values()]


def _is_within(path: str, folder: str) -> bool:
    return PurePath(path).is_relative_to(folder)
