"""ReachedTools: our tools for the sessions of an agent that runs elsewhere: how the agent starts them there, and how their calls get here.

The calls come through `acp-sidecar reach` (relayed/reach.py), one process for each agent, started when a session first needs it. It starts `acp-sidecar
relay` where the agent runs, by the agent's transport. The agent of a session gets a ticket in place of the token of its tools.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import cast

from sidecar import __version__
from sidecar.acp import starting
from sidecar.acp.command import by_transport, find
from sidecar.acp.elsewhere.folders import Folders
from sidecar.acp.limits import Ladder
from sidecar.acp.process import AgentProcess
from sidecar.config import Transport
from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.own_program import own_program

RELAY, TOKEN = "ACP_SIDECAR_RELAY", "ACP_SIDECAR_TOKEN"
"""Environment variables of `acp-sidecar mcp`; see mcp/tool_process.py."""
SECONDS = 30.0
"""How long to wait until reach says whether a relay is there. reach gives up earlier."""
LONGEST = 64 * 1024
"""The most bytes of reach's output that are read at once."""


class NotThere(Exception):
    """Our tools are not available there. The message is for the user."""


class ReachedTools:
    """The tools for one process of an agent. `env`, `folder`: those with which the transport's program is started for the agent."""

    def __init__(
        self,
        agent: str,
        transport: Transport,
        folders: Folders,
        env: Mapping[str, str],
        folder: str,
        ladder: Ladder,
    ) -> None:
        self._agent = agent
        self._folders = folders
        self._env = env
        self._folder = folder
        self._ladder = ladder
        relay_id = secrets.token_hex(8)
        self._argv = by_transport(transport, [transport.sidecar, "relay", "--id", relay_id])
        self._by = plain(shlex.join([*transport.command, transport.sidecar, "relay"]), 300)
        self._starting = asyncio.Lock()
        self._running: _Running | None = None
        self._tickets: dict[str, str] = {}
        """By token, so that a session that is opened again gets the same ticket."""

    @property
    def live(self) -> bool:
        """Whether the tools are available there now."""
        return self._running is not None and not self._running.ended

    async def server(self, own: Json, cwd: str) -> Json:
        """Our MCP server for a session, in the form in which the agent can start it. `own`: the same server as it is started here, in ACP's shape.
        `cwd`: the session's folder, here. Raises NotThere."""
        there = self._folders.there(cwd)
        if there is None:
            raise NotThere(self._words("no folder there stands for the session's"))
        async with self._starting:
            if self._running is None or self._running.ended:
                self._running = await self._started()
            running = self._running
        variables = cast("list[dict[str, str]]", own["env"])
        token = next(pair["value"] for pair in variables if pair["name"] == TOKEN)
        ticket = self._tickets.setdefault(token, secrets.token_hex(32))
        running.tell({"ticket": ticket, "token": token, "cwd": there})
        command = running.command
        env = {RELAY: running.socket, TOKEN: ticket}
        return {
            **own,
            "command": command[0],
            "args": [*command[1:], "mcp"],
            "env": [{"name": name, "value": value} for name, value in env.items()],
        }

    async def aclose(self) -> None:
        """End reach, and with it the relay there."""
        async with self._starting:
            running, self._running = self._running, None
        if running is not None:
            await running.process.stop(self._ladder)

    async def _started(self) -> _Running:
        program = find(self._argv[0], self._env.get("PATH"))
        if program is None:
            raise NotThere(self._words("could not be started"))
        argv = [*own_program(sys.orig_argv), "reach"]
        try:
            reach = await starting.start(argv, self._env, self._folder, f"the relay of {self._agent}")
        except (OSError, TimeoutError) as error:
            raise NotThere(self._words(f"could not be started ({error})")) from error
        running = _Running(reach)
        try:
            running.tell(
                {
                    "agent": self._agent,
                    "argv": [program, *self._argv[1:]],
                    "folders": [list(pair) for pair in self._folders.pairs],
                }
            )
            async with asyncio.timeout(SECONDS):
                why = await running.first()
        except BaseException as error:
            await asyncio.shield(reach.stop(self._ladder))
            if isinstance(error, TimeoutError):
                raise NotThere(self._words("did not answer")) from None
            raise
        if why:
            lines = await reach.last_lines()
            await reach.stop(self._ladder)
            raise NotThere(self._words(why, lines))
        return running

    def _words(self, why: str, lines: Sequence[str] = ()) -> str:
        said = f' It said: "{lines[-1]}".' if lines else ""
        return (
            f"{self._agent} runs elsewhere, and its own tools are not live there: `{self._by}` {why}.{said} Install acp-sidecar {__version__} there, or name "
            f"its path in the settings (agents, {self._agent}, transport, sidecar). Until then, it uses its own tools on the disk there."
        )


class _Running:
    """One process of reach."""

    def __init__(self, reach: AgentProcess) -> None:
        self.process = reach
        self.socket = ""
        self.command: Sequence[str] = ()
        self.ended = False
        self._left = b""

    def tell(self, line: Mapping[str, object]) -> None:
        self.process.stdin.write(json.dumps(line).encode() + b"\n")

    async def first(self) -> str:
        """Wait until a relay is there. Returns "", or why there is none."""
        line = await self._next()
        if not self._is_there(line):
            self.ended = True
            return plain(str(line.get("failed", "ended at once")), 300)
        self.process.keep(asyncio.ensure_future(self._follow()))
        return ""

    async def _follow(self) -> None:
        while line := await self._next():
            self._is_there(line)
        self.ended = True

    def _is_there(self, line: Json) -> bool:
        if "socket" not in line:
            return False
        self.socket, self.command = (
            str(line["socket"]),
            [str(word) for word in cast("list[object]", line["command"])],
        )
        return True

    async def _next(self) -> Json:
        """A line from reach. Empty at the end of its output."""
        while b"\n" not in self._left:
            try:
                data = await self.process.stdout.read(LONGEST)
            except ConnectionError:
                data = b""
            if not data:
                return {}
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return cast("Json", json.loads(line))
