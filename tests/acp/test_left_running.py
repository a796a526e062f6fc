"""Commands that an agent's own tools leave running are ended after a stop, and nothing else is."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar import processes
from sidecar.acp.left_running import commands_below, is_of
from sidecar.processes import Process
from tests.acp.test_agents import LIMITS, TEXT, Side, agents
from tests.support.agents import alive, until_gone, until_written

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its commands are lines for a Unix shell")
MOMENT = replace(LIMITS, left_running=0.2)


def runs(line: str, pids: Path, call: str = "c", **told: Any) -> list[dict[str, Any]]:
    """The steps of a tool that runs a line."""
    update = {"sessionUpdate": "tool_call", "toolCallId": call, "title": "Run", "kind": "execute"}
    return [
        {"update": update | (told or {"rawInput": {"command": line}})},
        {"shell": line, "pids": str(pids)},
    ]


STOPPED = [{"wait_for": "session/cancel"}, {"stop": "cancelled"}]


async def stopped(side: Side, pids: Path, count: int = 1) -> None:
    """A turn that the user stops when so many processes run."""
    turn = asyncio.ensure_future(side.agents.prompt("S1", TEXT))
    await until_written(pids, count)
    side.agents.cancel("S1")
    assert await turn == "cancelled"


def pids_in(*files: Path) -> list[int]:
    return [int(line) for file in files for line in file.read_text().split()]


LINE = "sleep 301; echo ended"
TOLD: dict[str, dict[str, Any]] = {
    "a line": {"rawInput": {"command": LINE}},
    "words": {"rawInput": {"command": ["/bin/bash", "-lc", LINE]}},
    "another name": {"rawInput": {"cmd": LINE}},
    "the title": {"title": f"`{LINE}`"},
}


@pytest.mark.parametrize("what", TOLD)
async def test_a_command_that_goes_on_is_ended_and_that_is_said(what: str, tmp_path: Path) -> None:
    """Not the agent, nor what else it has started in that turn."""
    pids, helper = tmp_path / "pids", tmp_path / "helper"
    script = {"turns": [[{"spawn": "child", "pids": str(helper)}, *runs(LINE, pids, **TOLD[what]), *STOPPED]]}
    async with agents(tmp_path, script, limits=MOMENT) as side:
        await side.open("S1")
        await stopped(side, pids)
        await side.workspace.until(lambda: side.workspace.noticed)
        ((session, words),) = side.workspace.noticed
        assert session == "S1"
        assert words.startswith("fake left a command running when you stopped it. It was ended: ")
        assert LINE in words
        assert await until_gone(pids_in(pids), LIMITS.silence) == set()
        assert all(alive(pid) for pid in (*pids_in(helper), *side.pids()))


async def test_what_its_shell_has_left_behind_is_ended(tmp_path: Path) -> None:
    """The agent has ended its shell."""
    pids = tmp_path / "pids"
    line = f"sleep 303 & echo $! >> {pids}; exit"
    told = {"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute", "rawInput": {"command": line}}
    script = {"turns": [[{"update": told}, {"shell": line, "pids": "/dev/null"}, *STOPPED]]}
    async with agents(tmp_path, script, limits=MOMENT) as side:
        await side.open("S1")
        await stopped(side, pids)
        assert await until_gone(pids_in(pids), LIMITS.silence) == set()


async def test_a_stubborn_one_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = {"turns": [[*runs("trap '' TERM; while :; do sleep 1; done", pids), *STOPPED]]}
    async with agents(tmp_path, script, limits=MOMENT) as side:
        await side.open("S1")
        await stopped(side, pids)
        assert await until_gone(pids_in(pids), LIMITS.silence) == set()


async def test_only_what_was_started_in_the_stopped_turn(tmp_path: Path) -> None:
    """A server of an earlier turn stays, though it is the same line, and one whose turn was not stopped."""
    first, second = tmp_path / "first", tmp_path / "second"
    line = "sleep 302; echo ended"
    script = {"turns": [runs(line, first), [*runs(line, second, "d"), *STOPPED]]}
    async with agents(tmp_path, script, limits=MOMENT) as side:
        await side.open("S1")
        assert await side.agents.prompt("S1", TEXT) == "end_turn"
        later = 3 * processes.EXACT  # else it might have been started by the next prompt
        asyncio.get_running_loop().call_later(2 * later, side.workspace.changed.set)
        ended = processes.now()
        await side.workspace.until(lambda: processes.now() > ended + later)
        await stopped(side, second)
        assert await until_gone(pids_in(second), LIMITS.silence) == set()
        assert all(alive(pid) for pid in pids_in(first))


async def test_one_that_the_agent_ends_in_time_is_not_talked_about(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    ends = [{"wait_for": "session/cancel"}, {"kill": str(pids)}, {"stop": "cancelled"}]
    script = {"turns": [[*runs("sleep 304; echo ended", pids), *ends]]}
    async with agents(tmp_path, script, limits=MOMENT) as side:
        await side.open("S1")
        await stopped(side, pids)
        await side.agents.aclose()  # waits for what looks after it
        assert side.workspace.noticed == []


SAME: Sequence[tuple[str, str]] = (
    ("sleep 300", "sleep 300"),
    ("/bin/sh -c sleep 300", "sleep 300"),
    ("/bin/bash -lc cd /x && npm test", "npm test"),
    ("/bin/zsh -c source /tmp/s.sh && eval 'echo \"a b\" | wc' \\< /dev/null", 'echo "a b" | wc'),
    ("sleep 300", "cd /x && sleep 300 && echo done"),
    ("bash -c -o pipefail npm test", "npm test"),
    (r'C:\Windows\system32\cmd.exe /d /s /c "npm test"', "npm test"),
    (r'"C:\Program Files\Git\bin\bash.exe" -lc "cd /c/x && npm test"', "npm test"),
    ("powershell.exe -NoProfile -ExecutionPolicy Bypass -Command npm test", "npm test"),
    ("PING.EXE -n 300 127.0.0.1", "PING.EXE -n 300 127.0.0.1 > nul"),
)
OTHER: Sequence[tuple[str, str]] = (
    ("bash", "bash -c 'sleep 3'"),
    ("sleep 300", "sleep 3001"),
    ("node /x/mcp-server.js", "npm test"),
    ("/bin/sh -c tools-ls --serve", "ls"),
    ("node ls", "ls"),
    ("git push -c ls", "ls"),
    (r"C:\x\cmd.exe /k", "ls"),
    (r"C:\x\node.exe server.js --command ls", "ls"),
    ("", "ls"),
    ("sleep 300", ""),
)


@pytest.mark.parametrize(("process", "line"), SAME)
def test_a_process_of_a_line(process: str, line: str) -> None:
    assert is_of(process, line)


@pytest.mark.parametrize(("process", "line"), OTHER)
def test_a_process_of_something_else(process: str, line: str) -> None:
    assert not is_of(process, line)


def test_commands_where_the_system_keeps_what_an_agent_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows nothing takes the place of a parent that has ended: the agent's job has what it left behind. A stand-in for its table."""
    agent, shell, orphan, others = 10, 11, 12, 20
    line = "npm test"
    table = processes.of_windows(
        [
            (1, 0, at(0), "python sidecar"),
            (agent, 1, at(50), "node agent.js"),
            (shell, agent, at(200), f"cmd.exe /d /s /c {line}"),
            (13, shell, at(201), "node test.js"),
            (orphan, 9, at(202), line),
            (14, agent, at(203), "node mcp-server.js"),
            (15, agent, at(60), f"cmd.exe /c {line}"),
            (others, 1, at(204), f"cmd.exe /c {line}"),
        ]
    )
    monkeypatch.setattr(processes, "running", lambda: table)
    family = [agent, shell, 13, orphan, 14, 15, 99]
    found = commands_below(agent, table[shell].began - 10, [line], lambda: family)
    assert sorted(found) == [shell, orphan, 13]
    assert commands_below(99, 0.0, [line], lambda: family) == {}, "the agent has ended"


@pytest.mark.parametrize("moments", [1, 3])
def test_a_command_that_is_being_started_when_its_turn_is_stopped(
    monkeypatch: pytest.MonkeyPatch, moments: int
) -> None:
    """Linux: a process has no command line for a moment, between its call of exec and the first step of its new program."""
    line = "npm test"
    agent, shell = Process(10, 9, 50.0, "node agent.js"), Process(11, 10, 200.0, f"sh -c {line}")
    tables = [{10: agent, 11: replace(shell, line="")}] * moments + [{10: agent, 11: shell}]
    monkeypatch.setattr(processes, "running", lambda: tables.pop(0))
    assert commands_below(10, 100.0, [line]) == {11: shell}


def at(seconds: int) -> int:
    """As Windows tells it."""
    return 133_000_000_000_000_000 + seconds * 10_000_000


@pytest.mark.parametrize(("time", "seconds"), [("00:07", 7), ("01:02:03", 3723), ("2-00:00:01", 172801)])
def test_what_ps_says_of_a_process_s_age(time: str, seconds: int) -> None:
    assert processes.elapsed(time) == seconds
