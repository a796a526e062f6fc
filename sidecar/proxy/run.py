"""run: `acp-sidecar proxy`, from start to end. It ends with its client, and with the agent. Nothing that the agent started remains.

The agent gets our stderr, and writes to it directly.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence

from sidecar.acp import starting
from sidecar.acp.limits import Ladder
from sidecar.acp.own_tools.table import NONE as WITHOUT
from sidecar.acp.own_tools.table import own_tools_of
from sidecar.acp.pipes import PipeWriter
from sidecar.acp.process import AgentProcess
from sidecar.acp.quirks import NONE, quirks_of
from sidecar.config import AgentCommand
from sidecar.lsp.stdio import claim
from sidecar.proxy.chain import Chain
from sidecar.proxy.naming import name_of
from sidecar.proxy.own_tools import OwnTools
from sidecar.proxy.relay import LONGEST, LineTooLong, relay
from sidecar.proxy.serving import Serving
from sidecar.proxy.streams import Input
from sidecar.proxy.waiting import any_of, cancelled, first, signals

LAST_WORDS = 2.0
"""The seconds in which an agent whose client has gone may still send something and end by itself."""
IN_CHAIN = "agent"
"""The name of an agent in a conductor's chain, if the user gives none: its program is not known."""


TO_A_PERSON = """\
acp-sidecar proxy is an ACP agent. An ACP client starts it and talks to it on stdin and stdout; there is nothing to type here.
Put `acp-sidecar proxy --` before the agent's command in the client's settings. Ctrl-C ends it.
"""


def run(argv: Sequence[str], env: Mapping[str, str], name: str = "", *, own_tools: bool = True) -> int:
    """Returns the exit code: the agent's, if it ended by itself. `argv`: the agent's command; without one, a conductor's chain is
    expected. `name`: the agent's name, in place of its program's. `own_tools`: redirect the agent's own tools to ours if possible."""
    if sys.platform == "win32":
        return fail("the proxy is not available on Windows yet; start the agent without it")
    program = shutil.which(argv[0], path=env.get("PATH")) if argv else ""
    if program is None:
        return fail(
            f"{argv[0]} cannot be started: there is no such program. Put it on PATH, or give its path"
        )
    streams = claim(TO_A_PERSON)
    kept = os.dup(streams[1])
    try:
        if not argv:
            return asyncio.run(_chain(streams, env, name or IN_CHAIN))
        return asyncio.run(_agent(os.path.abspath(program), argv, streams, env, name, own_tools))
    finally:
        os.set_blocking(kept, True)  # others may write to it, too: a shell, a terminal
        os.close(kept)


def fail(words: str, code: int = 1) -> int:
    sys.stderr.write(f"acp-sidecar proxy: {words}\n")
    return code


async def _chain(streams: tuple[int, int], env: Mapping[str, str], name: str) -> int:
    source, sink = Input(streams[0]), PipeWriter(streams[1])
    serving = Serving(name, env, sink, NONE, OwnTools(WITHOUT, env))
    stopped = signals()
    relaying = asyncio.ensure_future(relay(source, sink, Chain(serving.passing).passes))
    try:
        await any_of(relaying, stopped)
        if stopped.done():
            return 128 + stopped.result()
        await serving.answered()
        await first(sink.flush(), stopped, seconds=LAST_WORDS)
        return _too_long((relaying, "the conductor")) or 0
    finally:
        await cancelled(relaying)
        await serving.aclose()
        source.close()
        sink.close()


async def _agent(
    program: str,
    argv: Sequence[str],
    streams: tuple[int, int],
    env: Mapping[str, str],
    name: str,
    wanted: bool,
) -> int:
    command = AgentCommand(argv[0], tuple(argv[1:]))
    own_tools = OwnTools(own_tools_of(name, command), env, wanted=wanted)
    try:
        agent = await starting.start(
            [program, *argv[1:]], {**env, **own_tools.env}, os.getcwd(), name or argv[0], stderr=2
        )
    except (OSError, TimeoutError) as error:
        return fail(f"{argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}")
    assert isinstance(agent.stdin, PipeWriter), "not on Windows"
    source, sink = Input(streams[0]), PipeWriter(streams[1])
    quirks = quirks_of(name, command)
    serving = Serving(name or name_of(argv), env, agent.stdin, quirks, own_tools)
    stopped, ladder = signals(), Ladder()
    to_agent = asyncio.ensure_future(relay(source, agent.stdin, serving.passing.from_client))
    to_client = asyncio.ensure_future(relay(agent.stdout, sink, serving.passing.from_agent))
    try:
        await any_of(to_agent, to_client, stopped)
        if not stopped.done() and not to_client.done():  # the client has gone
            await first(agent.stdin.flush(), stopped, seconds=LAST_WORDS)
            agent.stdin.close()
            ladder = Ladder(close_input=0.0)  # it has had its time
            await any_of(to_client, stopped, seconds=LAST_WORDS)
        if to_client.done() and not stopped.done():
            await any_of(agent.exited, stopped, seconds=LAST_WORDS)
            await first(sink.flush(), stopped, to_agent)
        if stopped.done():
            return 128 + stopped.result()
        too_long = _too_long((to_agent, "the client"), (to_client, name or argv[0]))
        return too_long if too_long is not None else _code(agent)
    finally:
        await cancelled(to_agent, to_client)
        await agent.stop(ladder)
        await serving.aclose()
        source.close()
        sink.close()


def _code(agent: AgentProcess) -> int:
    if not agent.exited.done():
        return 0
    how = agent.exited.result()
    return 128 + how.signal if how.signal is not None else how.code or 0


def _too_long(*relays: tuple[asyncio.Future[None], str]) -> int | None:
    for relaying, who in relays:
        if relaying.done() and isinstance(relaying.exception(), LineTooLong):
            return fail(f"{who} sent a line of more than {LONGEST} bytes")
    return None
