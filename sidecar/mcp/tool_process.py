"""`acp-sidecar mcp`: one MCP server on stdio, for one session, from the first line to the last.

A token in the environment says for which session it speaks. Without one, or when the sidecar is gone, the tools answer with an error
that says so; the agent's own tools go on working. `acp-sidecar mcp --guest AGENT` needs no token (guest_caller.py).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from sidecar.mcp.front import Front, serve

if TYPE_CHECKING:
    from sidecar.mcp.guest_caller import Sidecars

TOKEN = "ACP_SIDECAR_TOKEN"
"""Environment variable with the session's token."""
RELAY = "ACP_SIDECAR_RELAY"
"""Environment variable with the socket of a relay, where the agent runs elsewhere; see relayed/."""
JOINED = "ACP_SIDECAR_JOINED"
"""The same for the session of an agent that has joined from behind the proxy; without one in it, a session's is this with its id."""


class Sidecar(Protocol):
    """A connection to the running sidecar."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Raises ConnectionError in words when it is gone, ValueError with the sidecar's own words for a "no"."""
        ...


Connect = Callable[[], Awaitable[Sidecar]]
"""Raises ConnectionError."""


class Serves(Protocol):
    """Serves what the front leaves over: the library, with whatever carries out the calls."""

    def __call__(self, front: Front, lines: BinaryIO, write: Callable[[bytes], None], /) -> None: ...


def run(
    streams: tuple[int, int],
    env: Mapping[str, str],
    connect: Connect,
    *,
    numbered: bool = False,
    whole: bool = False,
) -> int:
    """`streams`: descriptors of stdin and stdout that nobody else uses. `numbered`: as some agents' own Read. `whole`: see Caller."""

    def rest(front: Front, lines: BinaryIO, write: Callable[[bytes], None]) -> None:
        import anyio

        from sidecar.mcp.caller import Caller
        from sidecar.mcp.library import run as run_server

        caller = Caller(env.get(TOKEN, ""), connect, numbered=numbered, whole=whole)
        anyio.run(run_server, caller, front.said, front.left, lines, write)

    return _serve(streams, Front(), rest)


@dataclass(frozen=True, slots=True)
class Guest:
    """`alone`: what does the work where no sidecar runs. `hosted`: a sidecar started the agent and has given it these tools already, so it
    is offered none."""

    agent: str
    folder: str
    sidecars: Callable[[], Sidecars]
    alone: Callable[[], AbstractAsyncContextManager[Sidecar]]
    hosted: bool = False
    secret: str = ""
    """See JOINED."""


def run_guest(streams: tuple[int, int], guest: Guest, *, numbered: bool = False) -> int:
    """As `run`, for an agent that nobody here has started."""
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
