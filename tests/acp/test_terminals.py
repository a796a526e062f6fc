"""Terminals, with real processes: the agent's half of the wire is played by the test, the workspace allows what `Host` says."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.client import AgentConnection
from sidecar.acp.command_line import MOST_OUTPUT, OUTPUT_LIMIT, SHELL, CommandLine, parse
from sidecar.acp.errors import Failure
from sidecar.acp.output import Output
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.ports.ports import SessionRequest
from sidecar.workspace.ports.session_ports import CommandEnd
from tests.support.acp_wire import HANGS, FakeWorkspace, Wire
from tests.support.agents import until_gone, until_written

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no terminals there")

ENV = {"PATH": os.environ["PATH"], "OURS": "ours"}
LEAVES = "for i in 1 2; do (trap '' TERM; echo $$ >> PIDS; sleep 600) & done; echo $$ >> PIDS; echo up; wait"
"""A shell with children that ignore SIGTERM; its pids are in the file PIDS."""


# what came in pieces · limit in bytes · text kept · the beginning is gone
OUTPUTS: list[tuple[list[bytes], int, str, bool]] = [
    ([b"abc"], 3, "abc", False),
    ([b"abcd"], 3, "bcd", True),
    ([b"ab", b"cd", b"ef"], 3, "def", True),
    ([b"abc"], 0, "", True),
    ([], 0, "", False),
    (["é".encode() * 3], 5, "éé", True),
    (["a😀".encode()], 4, "😀", True),
    (["a😀".encode()], 3, "", True),
    ([b"\xf0\x9f", b"\x98\x80!"], 9, "😀!", False),
    ([b"a\xff\xfeb"], 99, "a\ufffd\ufffdb", False),
    ([b"a\xf0\x9f"], 99, "a\ufffd", False),
    ([b"a\r\nb\x1b[0m\0"], 99, "a\r\nb\x1b[0m\0", False),
]


@pytest.mark.parametrize(("pieces", "limit", "kept", "truncated"), OUTPUTS, ids=str)
def test_output(pieces: list[bytes], limit: int, kept: str, truncated: bool) -> None:
    output = Output(limit)
    said = "".join([*map(output.add, pieces), output.add(b"", final=True)])
    assert (str(output), output.truncated) == (kept, truncated)
    assert said == b"".join(pieces).decode("utf-8", "replace")


# params beside sessionId · argv
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({"command": "ls"}, ["ls"]),
    ({"command": "ls", "args": ["-l", "a b"]}, ["ls", "-l", "a b"]),
    ({"command": "ls -l | wc"}, [SHELL, "-c", "ls -l | wc"]),
    ({"command": "ls -l", "args": []}, [SHELL, "-c", "ls -l"]),
    ({"command": "ls -l", "args": None}, [SHELL, "-c", "ls -l"]),
    ({"command": "echo $HOME; rm x"}, [SHELL, "-c", "echo $HOME; rm x"]),
    ({"command": "a b", "args": ["c"]}, ["a b", "c"]),
    ({"command": "/bin/sh", "args": ["-lc", "ls | wc"]}, ["/bin/sh", "-lc", "ls | wc"]),
    ({"command": "./run-tests"}, ["./run-tests"]),
]


@pytest.mark.parametrize(("params", "argv"), LINES, ids=str)
def test_command_lines(params: dict[str, Any], argv: list[str]) -> None:
    line = parse({"sessionId": "s", **params}, ENV["PATH"])
    assert isinstance(line, CommandLine)
    assert list(line.argv) == argv
    assert (line.cwd, dict(line.env), line.limit) == (None, {}, OUTPUT_LIMIT)


def test_a_program_with_a_blank_in_its_name(tmp_path: Path) -> None:
    program = tmp_path / "my program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    line = parse({"sessionId": "s", "command": str(program)}, None)
    assert isinstance(line, CommandLine)
    assert line.argv == (str(program),)


def test_the_rest_of_a_command_line() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "", "_meta": {}}]
    line = parse({"sessionId": "s", "command": "x", "cwd": "/w", "env": env, "outputByteLimit": 10**18}, None)
    assert line == CommandLine("s", ("x",), "/w", {"A": "1", "B": ""}, MOST_OUTPUT)


BAD: list[dict[str, Any]] = [
    {},
    {"command": ""},
    {"command": " "},
    {"command": 5},
    {"command": ["ls"]},
    {"command": "-c"},
    {"command": "ls", "args": "-l"},
    {"command": "ls", "args": [5]},
    {"command": "ls", "args": ["a\0b"]},
    {"command": "ls\0"},
    {"command": "ls", "args": ["\ud800"]},
    {"command": "ls", "cwd": 5},
    {"command": "ls", "env": {"A": "1"}},
    {"command": "ls", "env": [{"name": "A"}]},
    {"command": "ls", "env": [{"name": "", "value": ""}]},
    {"command": "ls", "env": [{"name": "A=B", "value": ""}]},
    {"command": "ls", "env": [{"name": "A", "value": "\0"}]},
    {"command": "ls", "outputByteLimit": -1},
    {"command": "ls", "outputByteLimit": True},
    {"command": "ls", "outputByteLimit": "1"},
]


@pytest.mark.parametrize("params", BAD, ids=ascii)
def test_command_lines_that_are_none(params: dict[str, Any]) -> None:
    found = parse({"sessionId": "s", **params}, None)
    assert isinstance(found, Failure)
    assert found.code == -32602


@dataclass
class Host(FakeWorkspace):
    """Allows every command in `folder`, or refuses it."""

    folder: str = ""
    no: Refusal | None = None
    asked: asyncio.Event | None = None
    """Set: commands wait for it, as for a person."""
    ran: list[tuple[list[str], str | None, list[str]]] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    ends: dict[str, CommandEnd] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)

    async def run(
        self, session_id: str, argv: Sequence[str], cwd: str | None, env: Sequence[str]
    ) -> str | Refusal:
        self.ran.append((list(argv), cwd, list(env)))
        self.log.append(("run", argv[0]))
        self.changed.set()
        if self.asked is not None:
            await self.asked.wait()
        return self.no or self.folder

    def command_started(self, session_id: str, terminal_id: str) -> None:
        self.running.append(terminal_id)

    def command_ended(self, session_id: str, terminal_id: str, end: CommandEnd) -> None:
        self.ended.append(terminal_id)
        self.ends[terminal_id] = end
        self.changed.set()

    def terminal_output(self, session_id: str, terminal_id: str, output: str) -> None:
        self.heard[terminal_id] = self.heard.get(terminal_id, "") + output
        self.changed.set()


class Side:
    """One session `a1` (ours: S1) in a turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wire = Wire()
        self.workspace = Host(folder=str(folder))
        self.agent = AgentConnection("fake", self.wire.reader, self.wire, self.workspace, env=ENV)
        self.turn: asyncio.Future[str] | None = None
        self._ids = itertools.count(1)

    def ask(self, method: str, **params: Any) -> int:
        number = next(self._ids)
        self.wire.request(number, f"terminal/{method}", {"sessionId": "a1", **params})
        return number

    async def call(self, method: str, **params: Any) -> Any:
        """The result, or the error's (code, kind)."""
        answer = await self.wire.answered(self.ask(method, **params))
        if "error" in answer:
            return answer["error"]["code"], answer["error"]["data"]["errorKind"]
        return answer["result"]

    async def create(self, command: str, args: Sequence[str] = (), **params: Any) -> str:
        answer = await self.call("create", command=command, args=list(args), **params)
        assert isinstance(answer, dict), answer
        return answer["terminalId"]

    async def whole(self, command: str, args: Sequence[str] = (), **params: Any) -> tuple[str, Any]:
        """Output and exit of a command."""
        terminal = await self.create(command, args, **params)
        ended = await self.call("wait_for_exit", terminalId=terminal)
        output = await self.call("output", terminalId=terminal)
        assert output["exitStatus"] == ended
        return output["output"], ended

    async def leaver(self) -> tuple[str, list[int]]:
        """A command with stubborn children, and the pids of all."""
        terminal = await self.create(LEAVES.replace("PIDS", str(self.folder / "pids")))
        return terminal, await until_written(self.folder / "pids", 3)

    def begin(self) -> None:
        self.turn = asyncio.ensure_future(self.agent.prompt("a1", []))

    async def end(self) -> None:
        """The agent ends its turn."""
        asked = [message for message in self.wire.sent if message.get("method") == "session/prompt"][-1]
        self.wire.feed({"jsonrpc": "2.0", "id": asked["id"], "result": {"stopReason": "end_turn"}})
        assert self.turn is not None
        await self.turn


@asynccontextmanager
async def opened(folder: Path, *, turn: bool = True) -> AsyncIterator[Side]:
    side = Side(folder)
    try:
        async with asyncio.timeout(3 * HANGS):
            ready = asyncio.ensure_future(side.agent.initialize())
            await side.wire.reply("initialize", {"protocolVersion": 1})
            await ready
            opening = asyncio.ensure_future(side.agent.new_session(SessionRequest("S1", "fake", str(folder))))
            await side.wire.reply("session/new", {"sessionId": "a1"})
            await opening
            if turn:
                side.begin()
                await side.wire.asked("session/prompt")
            yield side
    finally:
        await side.agent.close()
        if side.turn is not None:
            await asyncio.wait({side.turn})
            side.turn.exception()


# command · args · output · exit
RUNS: list[tuple[str, list[str], str, dict[str, Any]]] = [
    ("printf", ["%s|", "a b", "$HOME", "'", ""], "a b|$HOME|'||", {"exitCode": 0, "signal": None}),
    ("echo a; echo b >&2; echo c; exit 3", [], "a\nb\nc\n", {"exitCode": 3, "signal": None}),
    ("cat", [], "", {"exitCode": 0, "signal": None}),  # there is no input
    ("kill -9 $$", [], "", {"exitCode": None, "signal": "SIGKILL"}),
    ("printf '\\377é'", [], "\ufffdé", {"exitCode": 0, "signal": None}),
    ("sleep 600 & echo left", [], "left\n", {"exitCode": 0, "signal": None}),
    ("echo $OURS $HOME.", [], "ours .\n", {"exitCode": 0, "signal": None}),
]


async def test_runs(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        for (command, args, output, ended), found in zip(
            RUNS, await asyncio.gather(*(side.whole(run[0], run[1]) for run in RUNS)), strict=True
        ):
            assert found == (output, ended), command
            assert not args or ([command, *args], None, []) in side.workspace.ran
        output, ended = await side.whole("no-such-program", ["x"])
        assert "no-such-program" in output
        assert ended["exitCode"] == 127
        output, _ = await side.whole("pwd; echo $A", env=[{"name": "A", "value": "1"}], cwd="/elsewhere")
        assert output == f"{tmp_path.resolve()}\n1\n", "the folder is the one that the workspace allowed"
        assert side.workspace.ran[-1] == ([SHELL, "-c", "pwd; echo $A"], "/elsewhere", ["A"])
        assert sorted(side.workspace.running) == sorted(side.workspace.ended)
        assert set(side.workspace.heard.values()) >= {"a b|$HOME|'||", "a\nb\nc\n", "\ufffdé"}


async def test_the_limit_keeps_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        terminal = await side.create("printf 'ééé%s' ééé", outputByteLimit=5)
        await side.call("wait_for_exit", terminalId=terminal)
        output = await side.call("output", terminalId=terminal)
        assert (output["output"], output["truncated"]) == ("éé", True)


async def test_output_while_it_runs_then_killed_then_released(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        terminal, pids = await side.leaver()
        await side.workspace.until(lambda: side.workspace.heard.get(terminal) == "up\n")
        assert await side.call("output", terminalId=terminal) == {"output": "up\n", "truncated": False}
        waiting = side.ask("wait_for_exit", terminalId=terminal)
        assert await side.call("kill", terminalId=terminal) == {}
        ended = (await side.wire.answered(waiting))["result"]
        assert ended == {"exitCode": None, "signal": "SIGTERM"}
        assert not await until_gone(pids, HANGS)
        assert await side.call("kill", terminalId=terminal) == {}
        assert (await side.call("output", terminalId=terminal))["exitStatus"] == ended
        assert await side.call("release", terminalId=terminal) == {}
        for method in ("output", "wait_for_exit", "kill", "release"):
            assert await side.call(method, terminalId=terminal) == (-32602, "not_found")


async def test_the_user_stops_it_and_the_agent_learns_who_did(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        terminal, pids = await side.leaver()
        other, others = await side.create("sleep 600"), pids
        side.agent.stop_command("a1", "term-none")
        side.agent.stop_command("none", terminal)
        side.agent.stop_command("a1", terminal)
        ended = await side.call("wait_for_exit", terminalId=terminal)
        assert ended["signal"] in ("SIGTERM", "SIGKILL")
        output = await side.call("output", terminalId=terminal)
        assert output["output"].endswith("\n[The user stopped this command.]\n")
        assert side.workspace.heard[terminal] == output["output"]
        assert not await until_gone(others, HANGS)
        assert side.workspace.ends[terminal] == CommandEnd(None, ended["signal"], stopped=True)
        assert "exitStatus" not in await side.call("output", terminalId=other)  # and the turn goes on
        side.agent.stop_command("a1", terminal)  # it has ended: nothing more is said
        assert await side.call("output", terminalId=terminal) == output


async def test_how_each_ended_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        for command, end in (("exit 3", CommandEnd(3)), ("kill -9 $$", CommandEnd(None, "SIGKILL"))):
            terminal = await side.create(command)
            await side.call("wait_for_exit", terminalId=terminal)
            await side.workspace.until(lambda terminal=terminal: terminal in side.workspace.ends)
            assert side.workspace.ends[terminal] == end
        side.workspace.folder = str(tmp_path / "gone")
        assert await side.call("create", command="true") == (-32010, "io_error")
        assert list(side.workspace.ends.values())[2:] == [CommandEnd()]


async def test_release_ends_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        terminal, pids = await side.leaver()
        assert await side.call("release", terminalId=terminal) == {}
        assert not await until_gone(pids, HANGS)
        await side.workspace.until(lambda: side.workspace.ended == [terminal])


# what ends everything that runs
async def _turn_end(side: Side) -> None:
    await side.end()


async def _cancel(side: Side) -> None:
    side.agent.cancel("a1")


async def _close_session(side: Side) -> None:
    await side.agent.close_session("a1")


async def _forget(side: Side) -> None:
    side.agent.forget("a1")


async def _close(side: Side) -> None:
    await side.agent.close()


@pytest.mark.parametrize("how", [_turn_end, _cancel, _close_session, _forget, _close])
async def test_nothing_is_left(tmp_path: Path, how: Any) -> None:
    async with opened(tmp_path) as side:
        terminal, pids = await side.leaver()
        waiting = side.ask("wait_for_exit", terminalId=terminal)
        await side.call("output", terminalId=terminal)
        await how(side)
        assert not await until_gone(pids, HANGS)
        if how is not _close:
            assert "result" in await side.wire.answered(waiting)
        await side.workspace.until(lambda: side.workspace.ended == [terminal])


async def test_only_during_a_turn(tmp_path: Path) -> None:
    async with opened(tmp_path, turn=False) as side:
        assert await side.call("create", command="true") == (-32010, "withdrawn")
        side.begin()
        await side.wire.asked("session/prompt")
        terminal = await side.create("echo hello")
        await side.call("wait_for_exit", terminalId=terminal)
        await side.end()
        assert (await side.call("output", terminalId=terminal))["output"] == "hello\n"
        assert await side.call("create", command="true") == (-32010, "withdrawn")
        assert [argv for argv, _, _ in side.workspace.ran] == [[SHELL, "-c", "echo hello"]]


@pytest.mark.parametrize("how", [_turn_end, _cancel, _close_session])
async def test_a_yes_that_comes_too_late(tmp_path: Path, how: Any) -> None:
    async with opened(tmp_path) as side:
        side.workspace.asked = asyncio.Event()
        creating = side.ask("create", command="touch", args=[str(tmp_path / "late")])
        await side.workspace.until(lambda: side.workspace.ran)
        await how(side)
        side.workspace.asked.set()
        assert "error" in await side.wire.answered(creating)
        assert not side.workspace.running
        assert not (tmp_path / "late").exists()


async def test_the_agent_takes_a_command_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        side.workspace.asked = asyncio.Event()
        creating = side.ask("create", command="true")
        await side.workspace.until(lambda: side.workspace.ran)
        side.wire.notify("$/cancel_request", {"requestId": creating})
        assert (await side.wire.answered(creating))["error"]["code"] == -32800


async def test_a_command_waits_for_the_writes_before_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        gate = side.workspace.gates["/w/f"] = asyncio.Event()
        side.wire.request("w", "fs/write_text_file", {"sessionId": "a1", "path": "/w/f", "content": "x"})
        creating = side.ask("create", command="true")
        side.wire.request("p", "ping")
        await side.wire.answered("p")
        assert not side.workspace.ran
        gate.set()
        await side.wire.answered(creating)
        assert [entry[0] for entry in side.workspace.log] == ["ticket", "write", "run"]


# refusal of the workspace's · code · kind
REFUSALS: list[tuple[Refusal, int, str]] = [
    (Refusal(Kind.DENIED_BY_USER, "no"), -32010, "denied_by_user"),
    (Refusal(Kind.DENIED_BY_POLICY, "no"), -32010, "denied_by_policy"),
    (Refusal(Kind.OUTSIDE, "no"), -32002, "path_outside_workspace"),
]


@pytest.mark.parametrize(("refusal", "code", "kind"), REFUSALS, ids=str)
async def test_refused(tmp_path: Path, refusal: Refusal, code: int, kind: str) -> None:
    async with opened(tmp_path) as side:
        side.workspace.no = refusal
        assert await side.call("create", command="true") == (code, kind)
        assert not side.workspace.running


async def test_what_is_not_theirs(tmp_path: Path) -> None:
    async with opened(tmp_path) as side:
        for params in ({}, {"terminalId": None}, {"terminalId": 5}, {"terminalId": "term-0"}):
            assert await side.call("output", **params) == (-32602, "not_found")
        terminal = await side.create("true")
        assert await side.call("kill", terminalId=terminal, sessionId="other") == (
            -32602,
            "unknown_session",
        )
        assert await side.call("create", command="true", sessionId="other") == (-32602, "unknown_session")
        side.workspace.folder = str(tmp_path / "gone")
        assert await side.call("create", command="true") == (-32010, "io_error")
        await side.workspace.until(
            lambda: sorted(side.workspace.running) == sorted(side.workspace.ended) and side.workspace.running
        )
