"""`acp-sidecar mcp`: one MCP server on stdio, for one session, from the first line to the last.

A token in the environment says for which session it speaks. Without one, or when the sidecar is gone, the tools answer with an error
that says so; the agent's own tools go on working.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, BinaryIO, Protocol

from sidecar.mcp.front import Front, serve

TOKEN = "ACP_SIDECAR_TOKEN"
"""Environment variable with the session's token."""


class Sidecar(Protocol):
    """A connection to the running sidecar."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Raises ConnectionError in words when it is gone, ValueError with the sidecar's own words for a "no"."""
        ...


Connect = Callable[[], Awaitable[Sidecar]]
"""Raises ConnectionError."""


def run(streams: tuple[int, int], env: Mapping[str, str], connect: Connect, *, numbered: bool = False) -> int:
    """`streams`: descriptors of stdin and stdout that nobody else uses. `numbered`: as some agents' own Read."""
    lines = os.fdopen(streams[0], "rb")
    out = os.fdopen(streams[1], "wb")

    def write(line: bytes) -> None:
        out.write(line)
        out.flush()

    front = Front()
    if not serve(front, lines, write):
        return 0
    return _with_library(front, lines, write, env, connect, numbered)


def _with_library(
    front: Front,
    lines: BinaryIO,
    write: Callable[[bytes], None],
    env: Mapping[str, str],
    connect: Connect,
    numbered: bool,
) -> int:
    import anyio

    from sidecar.mcp.caller import Caller
    from sidecar.mcp.library import run as run_server

    caller = Caller(env.get(TOKEN, ""), connect, numbered=numbered)
    anyio.run(run_server, caller, front.said, front.left, lines, write)
    return 0
