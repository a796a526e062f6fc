"""HostedAgents with a scripted agent as a real process: starts, failures in words, deaths, cancels, several at once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.agents import HostedAgents
from sidecar.acp.limits import Ladder, Limits
from sidecar.config import AgentCommand
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from tests.support.acp_wire import FakeWorkspace
from tests.support.agents import alive, command, received, until_gone

HANGS = 30.0
LIMITS = Limits(initialize=HANGS, silence=HANGS, cancel=HANGS, close=0.3, last_words=0.5)
"""The first three must not be reached where agents are in order, however busy the machine is."""
LADDER = Ladder(0.2, 0.2, 2.0)
TEXT = [{"type": "text", "text": "go"}]


class Side:
    def __init__(self, commands: Mapping[str, AgentCommand], limits: Limits, cwd: Path) -> None:
        self.workspace = FakeWorkspace()
        self.agents = HostedAgents(commands, limits=limits, ladder=LADDER)
        self.agents.serve(self.workspace)
        self.cwd = cwd

    async def open(self, session_id: str = "S1", agent: str = "fake", cwd: str | None = None) -> Any:
        return await self.agents.open_session(SessionRequest(session_id, agent, cwd or str(self.cwd)))

    async def starting(self) -> None:
        for _ in range(100):
            await asyncio.sleep(0)
            if self.agents.status()[0]["state"] == "starting":
                return
        raise AssertionError("never starts")

    def pids(self) -> list[int]:
        return [row["pid"] for row in self.agents.status() if row["pid"]]


@asynccontextmanager
async def agents(
    cwd: Path, script: dict[str, Any] | None = None, /, limits: Limits = LIMITS, **commands: AgentCommand
) -> AsyncIterator[Side]:
    side = Side(commands or {"fake": command(script or {})}, limits, cwd)
    try:
        async with asyncio.timeout(HANGS):
            yield side
    finally:
        pids = side.pids()
        async with asyncio.timeout(HANGS):
            await side.agents.aclose()
        assert await until_gone(pids, HANGS) == set()


# starts that fail: script or command · kind · words

AUTH = {"code": -32000, "message": "Authentication required"}
FAILURES: dict[str, tuple[dict[str, Any] | AgentCommand, str, str]] = {
    "no such command": (
        AgentCommand("no-such-agent"),
        "not_installed",
        'no command "no-such-agent" on PATH. Install it',
    ),
    "no such file": (AgentCommand("/no/such/agent"), "not_installed", "Check the path in the settings"),
    "a relative path": (AgentCommand("./agent"), "not_installed", "Give an absolute path"),
    "no program": (AgentCommand("$tmp/text"), "start_failed", "not a program for this machine"),
    "no interpreter": (AgentCommand("$tmp/script"), "start_failed", "interpreter that does not exist"),
    "exits": ({"start": [{"stderr": "bad flag --acp\n"}, {"exit": 2}]}, "exited", "exited with code 2 before it was ready.\nIts error output ends:\n  bad flag --acp"),
    "is killed": ({"start": [{"signal": 9}]}, "exited", "was ended by SIGKILL before it was ready"),
    "closes its output": ({"start": [{"close": "stdout"}, {"never": True}]}, "exited", "closed its output before it was ready"),
    "says nothing": ({"initialize": []}, "timeout", "has not answered `initialize` within"),
    "says too much": ({"start": [{"fill": 3_000_000}]}, "exited", "sent a line of more than"),
    "other version": ({"initialize": [{"reply": {"protocolVersion": 3}}]}, "protocol_version", "speaks version 3 of ACP"),
    "not ACP": ({"initialize": [{"reply": {"capabilities": {}}}]}, "protocol_version", "not ACP"),
    "refuses": ({"initialize": [{"fail": {"code": -32603, "message": "Internal error", "data": {"details": "no model"}}}]}, "refused", "Internal error (no model)"),
    "wants a login": ({"session/new": [{"fail": AUTH}]}, "auth_required", "wants you to log in first"),
    "dies at session/new": ({"session/new": [{"exit": 1}]}, "exited", "exited with code 1 before it had opened a session"),
    "never opens": ({"session/new": []}, "timeout", "has not answered `session/new`"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAILURES)
async def test_start_failures(what: str, tmp_path: Path) -> None:
    how, kind, words = FAILURES[what]
    (tmp_path / "text").write_text("just words\n")
    (tmp_path / "script").write_text("#!/no/such/interpreter\n")
    for name in ("text", "script"):
        (tmp_path / name).chmod(0o755)
    if isinstance(how, AgentCommand):
        how = AgentCommand(how.command.replace("$tmp", str(tmp_path)))
    else:
        how = command(how)
    limits = replace(
        LIMITS,
        initialize=0.5 if what == "says nothing" else HANGS,
        silence=0.5 if what == "never opens" else HANGS,
    )
    limits = limits if what != "says too much" else Limits(wire=type(limits.wire)(line=1_000_000))
    async with agents(tmp_path, limits=limits, fake=how) as side:
        with pytest.raises(AgentFailed) as raised:
            await side.open()
        assert words in raised.value.message
        assert raised.value.kind == kind
        assert "fake" in raised.value.message
        assert side.workspace.deaths == []  # told once, to whoever opened


async def test_unknown_agent_and_folder(tmp_path: Path) -> None:
    async with agents(tmp_path) as side:
        with pytest.raises(AgentFailed, match=r"no agent \"other\" \(fake\)"):
            await side.open(agent="other")
        with pytest.raises(AgentFailed, match="not a folder it could be started in"):
            await side.open(cwd=str(tmp_path / "gone"))


async def test_login_methods_are_named(tmp_path: Path) -> None:
    methods = [{"id": "key", "name": "API key", "description": None}]
    script = {
        "initialize": [{"reply": {"protocolVersion": 1, "authMethods": methods}}],
        "session/new": [{"fail": AUTH}],
    }
    async with agents(tmp_path, script) as side:
        with pytest.raises(AgentFailed, match="It offers: API key") as raised:
            await side.open()
        shown = [{"id": "key", "name": "API key", "type": "agent"}]
        assert raised.value.data == {"agent": "fake", "methods": shown}


# turns


async def test_a_turn_with_everything(tmp_path: Path) -> None:
    turn = [
        {"say": "first "},
        {"read": "/f", "line": 2, "limit": 1, "as": "got"},
        {"say": {"answer": "got"}},
        {"write": "/f", "content": "new"},
        {"ask": {"toolCall": {"toolCallId": "t"}, "options": [{"optionId": "y", "name": "Y", "kind": "allow_once"}]}, "as": "may"},
        {"say": {"answer": "may"}},
        {"cwd": True, "env": ["MINE", "SECRET_API_KEY"]},
    ]  # fmt: skip
    script = {"turns": [turn]}
    async with agents(tmp_path, fake=command(script, env={"MINE": "yes"})) as side:
        side.workspace.files["/f"] = "text"
        side.workspace.choose = lambda question: "y"
        opened = await side.open()
        assert (opened.session_id, opened.agent, opened.embedded_context) == ("S1", "fake", False)
        assert await side.agents.prompt("S1", TEXT) == "end_turn"
        said = side.workspace.said("S1")
        assert said.startswith("first ")
        assert '"result": {"content": "text"}' in said
        assert '"optionId": "y"' in said
        assert f'"cwd": {json.dumps(str(tmp_path))}' in said
        assert '"env": {"MINE": "yes", "SECRET_API_KEY": null}' in said
        assert side.workspace.files["/f"] == "new"
        row = side.agents.list()[0]
        assert (row.id, row.name, row.version, row.installed, row.needs) == ("fake", "fake", "1", True, "")


async def test_updates_before_session_new_is_answered(tmp_path: Path) -> None:
    early = {"sessionUpdate": "available_commands_update", "availableCommands": []}
    script = {
        "session/new": [
            {"notify": "session/update", "params": {"sessionId": "x1", "update": early}},
            {"reply": {"sessionId": "x1", "modes": {"currentModeId": "m"}, "models": {"odd": 1}}},
        ]
    }
    async with agents(tmp_path, script) as side:
        opened = await side.open()
        assert side.workspace.updates == [("S1", early)]
        assert opened.modes == {"currentModeId": "m"}


async def test_two_sessions_of_one_process(tmp_path: Path) -> None:
    script = {"turns": [[{"say": "$session "}, {"wait_for": "session/prompt", "count": 2}, {"say": "on "}]]}
    async with agents(tmp_path, script) as side:
        await asyncio.gather(side.open("S1"), side.open("S2"))
        assert len(side.pids()) == 1
        both = await asyncio.gather(side.agents.prompt("S1", TEXT), side.agents.prompt("S2", TEXT))
        assert both == ["end_turn", "end_turn"]
        assert {side.workspace.said("S1"), side.workspace.said("S2")} == {"s1 on ", "s2 on "}
        pids = side.pids()
        await side.agents.close_session("S1")
        assert side.pids() == pids
        assert await side.agents.prompt("S2", TEXT) == "end_turn"
        await side.agents.close_session("S2")
        assert await until_gone(pids, HANGS) == set()


async def test_two_agents_whose_ids_collide(tmp_path: Path) -> None:
    one, two = ({"turns": [[{"say": name}]]} for name in ("one", "two"))
    async with agents(tmp_path, one=command(one), two=command(two)) as side:
        await asyncio.gather(side.open("S1", "one"), side.open("S2", "two"))
        assert len(set(side.pids())) == 2
        await asyncio.gather(side.agents.prompt("S1", TEXT), side.agents.prompt("S2", TEXT))
        assert (side.workspace.said("S1"), side.workspace.said("S2")) == ("one", "two")


async def test_a_session_has_one_turn_at_a_time(tmp_path: Path) -> None:
    script = {"turns": [[{"say": "on"}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}]]}
    async with agents(tmp_path, script) as side:
        await side.open()
        turn = asyncio.ensure_future(side.agents.prompt("S1", TEXT))
        await side.workspace.until(side.workspace.said)
        with pytest.raises(AgentFailed, match="still working"):
            await side.agents.prompt("S1", TEXT)
        side.agents.cancel("S1")
        assert await turn == "cancelled"
        with pytest.raises(AgentFailed, match="no session"):
            await side.agents.prompt("S9", TEXT)
        side.agents.cancel("S9")
        await side.agents.close_session("S9")


# what the agent does when it is cancelled · what prompt gives: a stop reason, or words
CANCELS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "as it should": ([{"stop": "cancelled"}], "cancelled"),
    "ends as if nothing were": ([{"stop": "end_turn"}], "end_turn"),
    "answers with an error": ([{"fail": {"code": -32603, "message": "AbortError"}}], "cancelled"),
    "dies of it": ([{"exit": 1}], "cancelled"),
    "says nothing more": ([{"never": True}], "asked to stop"),
    "talks on": ([{"repeat": 1000, "steps": [{"say": "."}, {"sleep": 0.01}]}], "asked to stop"),
}


@pytest.mark.parametrize("what", CANCELS)
async def test_cancels(what: str, tmp_path: Path) -> None:
    steps, expected = CANCELS[what]
    script = {"turns": [[{"say": "on"}, {"wait_for": "session/cancel"}, *steps], [{"say": "again"}]]}
    limits = replace(LIMITS, cancel=0.15 if expected == "asked to stop" else HANGS)
    async with agents(tmp_path, script, limits) as side:
        await side.open()
        turn = asyncio.ensure_future(side.agents.prompt("S1", TEXT))
        await side.workspace.until(side.workspace.said)
        side.agents.cancel("S1")
        side.agents.cancel("S1")
        if expected == "asked to stop":
            with pytest.raises(AgentFailed, match=expected) as raised:
                await turn
            assert raised.value.kind == "timeout"
        else:
            assert await turn == expected
        if what == "dies of it":
            await side.workspace.until(lambda: side.workspace.deaths)
        # the first turn's script again, in the same process, or a new one that has forgotten
        turn = asyncio.ensure_future(side.agents.prompt("S1", TEXT))
        await side.workspace.until(
            lambda: side.workspace.said().count("on") == 2 or "again" in side.workspace.said()
        )
        side.agents.cancel("S1")
        await asyncio.wait({turn})
        turn.exception()


async def test_death_during_a_turn(tmp_path: Path) -> None:
    dies = [{"say": "on"}, {"stderr": "out of memory\n"}, {"exit": 3}]
    script = {"turns": [dies]}
    async with agents(tmp_path, script) as side:
        await side.open()
        first = side.pids()
        with pytest.raises(AgentFailed) as raised:
            await side.agents.prompt("S1", TEXT)
        assert raised.value.kind == "exited"
        assert raised.value.message == (
            "fake exited with code 3 during the turn.\nIts error output ends:\n  out of memory\n"
            "The next prompt starts it again; it will not remember this conversation."
        )
        assert side.workspace.said() == "on"  # what it said before is not lost
        await side.workspace.until(lambda: side.workspace.deaths)
        ids, words = side.workspace.deaths[0]
        assert ids == ["S1"]
        assert words.startswith("fake exited with code 3.")
        with pytest.raises(AgentFailed, match="exited with code 3"):  # started again, and it dies again
            await side.agents.prompt("S1", TEXT)
        await side.workspace.until(lambda: len(side.workspace.deaths) == 2)
        assert not any(alive(pid) for pid in first)


async def test_death_between_turns_and_a_new_start(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    script = {
        "turns": [[{"say": "once "}, {"pid": str(flag)}]],
        "session/new": [{"reply": {"sessionId": "same"}}],
    }
    async with agents(tmp_path, script) as side:
        await side.open("S1")
        await side.agents.prompt("S1", TEXT)
        (first,) = side.pids()
        os.kill(first, signal.SIGKILL)
        await side.workspace.until(lambda: side.workspace.deaths)
        assert side.agents.status()[0]["state"] == "stopped"
        assert await side.agents.prompt("S1", TEXT) == "end_turn"
        assert side.workspace.said("S1") == "once once "
        assert side.pids() != [first]


async def test_death_of_a_process_with_several_sessions(tmp_path: Path) -> None:
    script = {"turns": [[{"say": "on"}, {"wait_for": "session/prompt", "count": 2}, {"exit": 1}]]}
    async with agents(tmp_path, script) as side:
        for name in ("S1", "S2", "S3"):
            await side.open(name)
        turns = [side.agents.prompt("S1", TEXT), side.agents.prompt("S2", TEXT)]
        for result in await asyncio.gather(*turns, return_exceptions=True):
            assert isinstance(result, AgentFailed)
            assert result.kind == "exited"
        await side.workspace.until(lambda: side.workspace.deaths)
        assert [sorted(ids) for ids, _ in side.workspace.deaths] == [["S1", "S2", "S3"]]


async def test_cancel_while_the_agent_starts(tmp_path: Path) -> None:
    script = {"turns": [[{"say": "on"}]], "start": [{"sleep": 0.3}]}
    async with agents(tmp_path, script) as side:
        await side.open()
        (pid,) = side.pids()
        os.kill(pid, signal.SIGKILL)
        await side.workspace.until(lambda: side.workspace.deaths)
        turn = asyncio.ensure_future(side.agents.prompt("S1", TEXT))
        await side.starting()
        side.agents.cancel("S1")
        assert await turn == "cancelled"
        assert side.workspace.said() == ""


async def test_closing_during_a_turn(tmp_path: Path) -> None:
    script = {"turns": [[{"say": "on"}, {"never": True}]]}
    async with agents(tmp_path, script) as side:
        await side.open()
        turn = asyncio.ensure_future(side.agents.prompt("S1", TEXT))
        await side.workspace.until(side.workspace.said)
        pids = side.pids()
        await side.agents.close_session("S1")
        assert await turn == "cancelled"
        assert await until_gone(pids, HANGS) == set()


async def test_closing_everything_while_something_starts(tmp_path: Path) -> None:
    async with agents(tmp_path, slow=command({"initialize": []}), fake=command({})) as side:
        await side.open()
        opening = asyncio.ensure_future(side.open("S2", "slow"))
        await side.starting()
        await side.agents.aclose()
        with pytest.raises((asyncio.CancelledError, AgentFailed)):
            await opening
        assert side.pids() == []


async def test_the_wire_of_a_whole_life(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    started = command({}, trace)
    fs_off = AgentCommand(started.command, started.args, started.env, fs=False)
    async with agents(tmp_path, fake=fs_off) as side:
        await side.open()
        await side.agents.prompt("S1", TEXT)
    messages = received(trace)
    assert [message["method"] for message in messages] == ["initialize", "session/new", "session/prompt"]
    assert messages[0]["params"]["clientCapabilities"]["fs"] == {
        "readTextFile": False,
        "writeTextFile": False,
    }
    assert messages[1]["params"] == {"cwd": str(tmp_path), "mcpServers": []}


def test_importing_it_does_not_import_the_sdk() -> None:
    look = "import sys, sidecar.acp.agents; sys.exit('acp' in sys.modules or 'pydantic' in sys.modules)"
    subprocess.run([sys.executable, "-c", look], check=True, cwd=Path(__file__).parents[2])


SDK_AGENT = """
import asyncio, acp

class Agent:
    def on_connect(self, conn): self.conn = conn
    async def initialize(self, protocol_version, **_):
        return acp.InitializeResponse(protocol_version=protocol_version)
    async def new_session(self, cwd, **_): return acp.NewSessionResponse(session_id="sdk")
    async def prompt(self, session_id, prompt, **_):
        got = await self.conn.read_text_file(path="/f", session_id=session_id, line=1)
        await self.conn.write_text_file(path="/f", content=got.content.upper(), session_id=session_id)
        await self.conn.session_update(session_id, acp.update_agent_message_text(prompt[0].text))
        return acp.PromptResponse(stop_reason="end_turn")

asyncio.run(acp.run_agent(Agent()))
"""


async def test_an_agent_made_with_the_sdk(tmp_path: Path) -> None:
    async with agents(tmp_path, fake=AgentCommand(sys.executable, ("-c", SDK_AGENT))) as side:
        side.workspace.files["/f"] = "grün\u2028"
        await side.open()
        assert await side.agents.prompt("S1", TEXT) == "end_turn"
        assert side.workspace.files["/f"] == "GRÜN\u2028"
        assert side.workspace.said() == "go"


async def test_a_flood_of_updates_arrives_whole_and_in_order(tmp_path: Path) -> None:
    script = {"turns": [[{"repeat": 3000, "steps": [{"say": "$n "}]}]]}
    async with agents(tmp_path, script) as side:
        await side.open()
        assert await side.agents.prompt("S1", TEXT) == "end_turn"
        assert side.workspace.said() == "".join(f"{n} " for n in range(3000))
