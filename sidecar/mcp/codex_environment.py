"""`acp-sidecar codex-environment`: stands between Codex and that Codex' exec-server, which carries out what Codex does to files and runs
its commands. Codex starts it if its user has connected it (`acp-sidecar connect codex-live`).

What Codex reads and writes as text goes to the sidecar, if one of its sessions has a turn there. Everything else passes through
unchanged. Without a token in the environment (a Codex in a terminal) or without a sidecar, everything passes through.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, BinaryIO, Protocol, cast

import anyio
import anyio.from_thread

from sidecar.mcp.codex_files import REMOVE, FileRequest, answer, asked
from sidecar.mcp.tokens import WORKING
from sidecar.processes import program_of

log = logging.getLogger(__name__)

SERVER = "ACP_SIDECAR_TOOLS"
"""The variable that programs loaded by agents get, too; see acp/own_tools/plugins.py."""
_ARGUMENTS = ("exec-server", "--listen", "stdio")


class ToolSidecar(Protocol):
    """The part of `caller.Caller` that is needed here."""

    def ask(
        self, name: str, arguments: Mapping[str, Any], session: str = ..., /
    ) -> Awaitable[dict[str, Any]]: ...
    def removes(self, path: str, session: str, /) -> Awaitable[None]: ...


def told(env: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """(environment of our calls, environment of what Codex runs): the token is in the first and not in the second."""
    rest = {name: value for name, value in env.items() if name != SERVER}
    given = cast("dict[str, dict[str, str]]", json.loads(env.get(SERVER, "{}")))
    return {**rest, **given.get("env", {})}, rest


def run(streams: tuple[int, int], sidecar: ToolSidecar, env: Mapping[str, str]) -> int:
    """Serve from Codex' first line to its last. `env`: the environment of its exec-server. Returns the exec-server's exit code."""
    program = program_of(os.getppid())
    if program is None:
        sys.stderr.write("acp-sidecar codex-environment: it is to be started by Codex\n")
        return 2
    own = subprocess.Popen([program, *_ARGUMENTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    try:
        return anyio.run(_between, streams, own, sidecar)
    finally:
        own.kill()


async def _between(streams: tuple[int, int], own: subprocess.Popen[bytes], sidecar: ToolSidecar) -> int:
    codex, to_codex = os.fdopen(streams[0], "rb"), os.fdopen(streams[1], "wb")
    own_in, own_out = cast("BinaryIO", own.stdin), cast("BinaryIO", own.stdout)
    said, handed = _writer(to_codex), _writer(own_in)
    async with anyio.create_task_group() as calls, anyio.from_thread.BlockingPortal() as portal:

        async def ours(request: FileRequest, line: bytes) -> None:
            done = None
            try:
                if request.method == REMOVE:
                    await sidecar.removes(request.path, WORKING)
                else:
                    done = answer(request, await sidecar.ask(*request.call, WORKING))
            except Exception:
                log.exception(
                    "%s was left to Codex' own exec-server", request.method
                )  # without us, Codex can do nothing
            await anyio.to_thread.run_sync(*((handed, line) if done is None else (said, done)))

        def heard() -> None:
            for line in codex:
                request = asked(line)
                if request is None:
                    handed(line)
                else:
                    portal.call(calls.start_soon, ours, request, line)
            own_in.close()

        def answered() -> None:
            for line in own_out:
                said(line)

        threading.Thread(target=heard, daemon=True).start()
        await anyio.to_thread.run_sync(answered)
        calls.cancel_scope.cancel()
    return own.wait()


def _writer(stream: BinaryIO) -> Callable[[bytes], None]:
    """A function that writes whole lines, from any thread. Lines that the other end no longer accepts are lost."""
    lock = threading.Lock()

    def write(line: bytes) -> None:
        with lock:
            try:
                stream.write(line)
                stream.flush()
            except (OSError, ValueError):
                pass

    return write
