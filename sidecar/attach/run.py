"""run: `acp-sidecar acp`, from start to end. It ends with its client, and when the sidecar ends or drops it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

import anyio.to_thread

from sidecar.acp.flow import Params
from sidecar.acp.pipes import PipeWriter
from sidecar.acp.transport import LineTransport
from sidecar.attach.front import ClientFront
from sidecar.bridge import UNSUPPORTED
from sidecar.bridge.calling import Calling
from sidecar.bridge.finding import serving as sidecar_of
from sidecar.bridge.pipelined import Pipelined
from sidecar.lsp.stdio import claim
from sidecar.proxy.streams import Input
from sidecar.proxy.waiting import any_of, cancelled, first, signals

LAST_WORDS = 2.0
"""The seconds in which a client may still read what was sent."""
TO_A_PERSON = """\
acp-sidecar acp is an ACP agent. An ACP client starts it and talks to it on stdin and stdout; there is nothing to type here.
Put `acp-sidecar acp` as the agent's command into the client's settings. Ctrl-C ends it.
"""


def run(env: Mapping[str, str], agent: str | None) -> int:
    """Returns the exit code. `agent`: the agent for new sessions, by its name in the user's settings. None: the
    user's default."""
    if UNSUPPORTED:
        return fail("it is not available on Windows yet")
    streams = claim(TO_A_PERSON)
    kept = os.dup(streams[1])
    try:
        return asyncio.run(_run(streams, env, agent))
    finally:
        os.set_blocking(kept, True)  # others may write to it, too: a shell, a terminal
        os.close(kept)


def fail(words: str) -> int:
    sys.stderr.write(f"acp-sidecar acp: {words}\n")
    return 1


async def _run(streams: tuple[int, int], env: Mapping[str, str], agent: str | None) -> int:
    folder = os.getcwd()
    source, sink = Input(streams[0]), PipeWriter(streams[1])
    connections: list[Pipelined] = []

    async def find() -> Calling | None:
        client = await anyio.to_thread.run_sync(sidecar_of, folder, env)
        if client is None:
            return None
        connections.append(Pipelined.of(client))
        return Calling(connections[-1])

    def admit(method: str, params: Params, request: bool) -> bool:
        return False

    transport = LineTransport(source, sink, admit, name="the client")
    front = ClientFront(transport, find, folder, agent)
    serving, stopped = asyncio.ensure_future(front.serve()), signals()
    try:
        await any_of(serving, transport.ended, front.lost, stopped)
        if stopped.done():
            return 128 + stopped.result()
        if front.lost.done():
            await first(sink.flush(), stopped, seconds=LAST_WORDS)
            return fail(front.lost.result())
        await any_of(serving, stopped, seconds=0)
        why = transport.ended.result() if transport.ended.done() else ""
        if why and why != "closed its output":
            return fail(f"the client {why}")
        await first(sink.flush(), stopped, seconds=LAST_WORDS)
        return 0
    finally:
        await cancelled(serving)
        for connection in connections:
            await connection.aclose()
        source.close()
        sink.close()
