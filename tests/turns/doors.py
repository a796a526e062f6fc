"""The command line as a door through which agents' work is taken back: its own functions, with or without a sidecar that has files open."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, cast

import anyio.from_thread
import anyio.to_thread

from sidecar.bridge.client import Client
from sidecar.bridge.live import LiveSidecars
from sidecar.bridge.methods import methods
from sidecar.journal import Store
from sidecar.recovery import options, revert_command
from sidecar.recovery.live import Live
from sidecar.workspace.service import Workspace
from tests.support.editor_time import VirtualTimeLoop

Say = Callable[[str], None]


_DONE = re.compile(r"^✓ (\S+)  (.*)$", re.MULTILINE)

_CLOSE = re.compile(r"^✗ (\S+)  .*close it there and try again$", re.MULTILINE)


class Said(NamedTuple):
    refused: bool
    """Something of it."""
    on_disk: list[str]
    """The files that it changed there."""
    to_be_closed: list[str]
    """The files that it can take back once the user has closed them."""


class CommandLine:
    """`acp-sidecar revert` of a user whose journal is in `journal`."""

    def __init__(self, journal: Path, say: Say) -> None:
        self.journal = journal
        self._say = say

    async def revert_beside(self, workspace: Workspace, *words: str) -> Said:
        """While this sidecar runs."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)

        def run() -> Said:
            store = Store(self.journal)
            live = LiveSidecars("", {})
            live._clients = [cast("Client", _Client(loop, workspace))]
            return self.revert(*words, store=store, live=live)

        return await anyio.to_thread.run_sync(run)

    def revert(self, *words: str, store: Store | None = None, live: Live | None = None) -> Said:
        parser = argparse.ArgumentParser()
        options.revert(parser)
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            revert_command.run(parser.parse_args(words), store or Store(self.journal), live)
        words_said = said.getvalue()
        on_disk = [path for path, what in _DONE.findall(words_said) if "in the editor" not in what]
        self._say(f"acp-sidecar revert {' '.join(words)}\n{words_said.rstrip()}")
        return Said("not changed" in words_said, on_disk, _CLOSE.findall(words_said))


class _Client:
    """The bridge to one sidecar, from a thread of its loop's."""

    def __init__(self, loop: VirtualTimeLoop, workspace: Workspace) -> None:
        self._loop = loop
        self._methods = methods(workspace)

    def call(self, method: str, params: Mapping[str, Any], timeout: float = 0.0) -> object:
        async def answer() -> object:
            self._loop.lent += 1
            try:
                return await self._methods[method](params)
            finally:
                self._loop.lent -= 1

        return anyio.from_thread.run(answer)

    def close(self) -> None: ...


def quick_folder() -> str | None:
    """Where a journal costs no waiting for a disk: what a machine loses that stops is not played here."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
