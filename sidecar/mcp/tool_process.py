"""`acp-sidecar mcp`: one MCP server on stdio, for one session, from the first line to the last.

A token in the environment says for which session it speaks. Without one, or if the sidecar is gone, the tools answer with an error that
says so; the agent's own tools continue to work. `acp-sidecar mcp --guest AGENT` needs no token (guest_caller.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from sidecar.mcp.front import Front, serve
from sidecar.mcp.sidecars import Connect, Sidecar, Sidecars

TOKEN = "ACP_SIDECAR_TOKEN"
"""The environment variable with the session's token."""
RELAY = "ACP_SIDECAR_RELAY"
"""The environment variable with the socket of a relay, for an agent that runs elsewhere; see relayed/."""
JOINED = "ACP_SIDECAR_JOINED"
"""The environment variable with the secret of a session that joined from behind the proxy, or with one for all sessions of such an agent: a
call that names a session then adds the session's id to it."""
TO_A_PERSON = """\
acp-sidecar mcp is an MCP server. An agent starts it and talks to it on stdin and stdout; there is nothing to type here.
  acp-sidecar connect AGENT   adds it to the settings of an agent that you start yourself
Ctrl-C ends it.
"""


class Serves(Protocol):
    """Serves what the front leaves: the library, with whatever carries out the calls."""

    def __call__(self, front: Front, lines: BinaryIO, write: Callable[[bytes], None], /) -> None: ...


def run(
    streams: tuple[int, int],
    env: Mapping[str, str],
    connect: Connect,
    *,
    numbered: bool = False,
    whole: bool = False,
) -> int:
    """Serve one session. `streams`: descriptors of stdin and stdout that nothing else uses. `numbered`: number the lines of Read, as
    some agents' own Read does. `whole`: see Caller."""

    def rest(front: Front, lines: BinaryIO, write: Callable[[bytes], None]) -> None:
        import anyio

        from sidecar.mcp.caller import Caller
        from sidecar.mcp.library import run as run_server

        caller = Caller(env.get(TOKEN, ""), connect, numbered=numbered, whole=whole)
        anyio.run(run_server, caller, front.said, front.left, lines, write)

    return _serve(streams, Front(), rest)


@dataclass(frozen=True, slots=True)
class Guest:
    """A guest. `alone`: carries out the calls if no sidecar runs. `hosted`: a sidecar started the agent and has given it these tools
    already, so none are offered here."""

    agent: str
    folder: str
    sidecars: Callable[[], Sidecars]
    alone: Callable[[], AbstractAsyncContextManager[Sidecar]]
    hosted: bool = False
    secret: str = ""
    """See JOINED."""


def run_guest(streams: tuple[int, int], guest: Guest, *, numbered: bool = False) -> int:
    """Like `run`, for an agent that no sidecar has started."""
    front = Front(()) if guest.hosted else Front()

    def rest(front: Front, lines: BinaryIO, write: Callable[[bytes], None]) -> None:
        import anyio

        from sidecar.mcp.guest_caller import GuestCaller
        from sidecar.mcp.kept_open import KeptOpen
        from sidecar.mcp.library import run as run_server

        async def serve_guest() -> None:
            async with anyio.create_task_group() as tasks:
                on_disk = KeptOpen(tasks, guest.alone)
                caller = GuestCaller(
                    guest.agent,
                    guest.folder,
                    guest.sidecars(),
                    on_disk,
                    numbered=numbered,
                    secret=guest.secret,
                )
                await run_server(caller, front.said, front.left, lines, write, front.tools)
                on_disk.close()

        anyio.run(serve_guest)

    return _serve(streams, front, rest)


def _serve(streams: tuple[int, int], front: Front, rest: Serves) -> int:
    lines = os.fdopen(streams[0], "rb")
    out = os.fdopen(streams[1], "wb")

    def write(line: bytes) -> None:
        out.write(line)
        out.flush()

    if serve(front, lines, write):
        rest(front, lines, write)
    return 0
