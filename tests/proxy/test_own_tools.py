"""Own tools of an agent behind the proxy: what the agent is told to start is started as it would be, and works on the text in the editor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sidecar.acp.own_tools.claude import CLAUDE
from sidecar.acp.v2.fields import object_of
from sidecar.mcp.tokens import Tokens
from sidecar.mcp.tool_process import JOINED
from sidecar.proxy.conversations import Conversations
from sidecar.proxy.guest_methods import GuestMethods
from sidecar.proxy.heads import head_of
from sidecar.proxy.own_tools import OwnTools
from tests.gates.product import Answer, Product, a_product
from tests.mcp.live import Calls, offered, parameters
from tests.proxy.talk import Talk, agent, behind_proxy, processes
from tests.proxy.test_live import until_it_can_be_found, yes
from tests.support.agents import received

BASE = "one\ntwo\nthree\n"
SCRIPT = {"turns": [[{"say": "begun"}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}]]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.txt").write_text(BASE)
    return folder


@asynccontextmanager
async def claude(
    folder: Path, traces: Path, *options: str, name: str = "claude"
) -> AsyncGenerator[tuple[Talk, str]]:
    """An agent of that name behind the proxy, in the middle of a turn."""
    argv = behind_proxy(agent(SCRIPT, traces / "trace", file=traces / "script"), "--name", name, *options)
    async with Talk(argv, folder) as talk:
        session = await talk.session()
        turn = asyncio.ensure_future(talk.prompt(session))
        await talk.until(lambda: talk.said() == ["begun"])
        yield talk, session
        talk.tell("session/cancel", {"sessionId": session})
        await turn


@asynccontextmanager
async def an_editor(folder: Path, answer: Answer = yes) -> AsyncGenerator[tuple[Product, Path]]:
    """With its sidecar, and a file open."""
    async with a_product(folder, {}, answer=answer) as product:
        await until_it_can_be_found(folder)
        product.open(folder / "a.txt")
        yield product, folder / "a.txt"


@asynccontextmanager
async def its_tools(folder: Path, traces: Path, **more: str) -> AsyncGenerator[Calls]:
    """What the agent was told to start, as it starts it."""
    (server,) = offered(traces / "trace")
    told = parameters(server, **more)
    started = StdioServerParameters(command=told.command, args=told.args, env=told.env, cwd=str(folder))
    async with Client(started) as client:
        yield Calls(client)


@processes
async def test_they_work_on_the_live_text_in_the_proxys_session(folder: Path, tmp_path: Path) -> None:
    """One question for all that the agent does; its edits are under review under its name, each is one undo step, and nothing is saved."""
    async with an_editor(folder) as (product, path):
        async with claude(folder, tmp_path), its_tools(folder, tmp_path) as tools:
            product.type(path, "typed\n", at=0)
            assert (await tools.call("Read", file_path=str(path))).startswith("1\ttyped\n2\tone\n")
            await tools.call("Edit", file_path=str(path), old_string="typed", new_string="TYPED")
            await tools.call("Edit", file_path=str(path), old_string="two", new_string="TWO")
            assert product.document(path).text == "TYPED\none\nTWO\nthree\n"
            changes: Any = await product.execute("sidecar.listChanges", {})
            assert {(row["agent"], row["newText"]) for row in changes} == {
                ("claude (proxy)", "TYPED"),
                ("claude (proxy)", "TWO"),
            }
            assert len(product.questions) == 1
            product.undo(path)
            assert product.document(path).text == "TYPED\none\ntwo\nthree\n"
        assert path.read_text() == BASE
    opened = next(one["params"] for one in received(tmp_path / "trace") if one["method"] == "session/new")
    assert opened["_meta"]["claudeCode"]["options"]["toolAliases"]["Read"] == "mcp__sidecar__Read"


@processes
async def test_after_stop_they_do_nothing(folder: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(text: str, titles: Sequence[str]) -> str | None:
        asked.append(text)
        return yes(text, titles) if len(asked) == 1 else None

    async with (
        an_editor(folder, answer) as (product, path),
        claude(folder, tmp_path),
        its_tools(folder, tmp_path) as tools,
    ):
        await tools.call("Read", file_path=str(path))
        (row,) = [row for row in await sessions(product) if row["agent"] == "claude (proxy)"]
        await product.execute("sidecar.cancel", {"sessionId": row["sessionId"]})
        await tools.refused("Edit", file_path=str(path), old_string="two", new_string="TWO")
        assert product.document(path).text == BASE


@processes
async def test_between_turns_they_read_and_change_nothing(folder: Path, tmp_path: Path) -> None:
    async with an_editor(folder) as (product, path):
        script = {
            "turns": [
                [{"say": "one"}],
                [{"say": "two"}, {"wait_for": "session/cancel"}, {"stop": "cancelled"}],
            ]
        }
        argv = behind_proxy(agent(script, tmp_path / "trace", file=tmp_path / "script"), "--name", "claude")
        async with Talk(argv, folder) as talk:
            session = await talk.session()
            await talk.prompt(session)
            await until_over(product)
            edit = {"file_path": str(path), "old_string": "two", "new_string": "TWO"}
            async with its_tools(folder, tmp_path) as tools:
                assert "one" in await tools.call("Read", file_path=str(path))
                await tools.refused("Edit", **edit)
                assert product.document(path).text == BASE
                turn = asyncio.ensure_future(talk.prompt(session))
                await talk.until(lambda: talk.said()[-1:] == ["two"])
                await tools.call("Edit", **edit)
                assert product.document(path).text == BASE.replace("two", "TWO")
            talk.tell("session/cancel", {"sessionId": session})
            await turn


async def until_over(product: Product) -> None:
    """The turn of the agent, as far as the sidecar has been told."""
    for _ in range(3000):
        if not any(row["running"] for row in await sessions(product) if row["agent"] == "claude (proxy)"):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the turn goes on")


async def sessions(product: Product) -> Any:
    status: Any = await product.execute("sidecar.status")
    return status["sessions"]


@processes
async def test_a_secret_of_nobodys_session_is_refused(folder: Path, tmp_path: Path) -> None:
    async with (
        an_editor(folder) as (_, path),
        claude(folder, tmp_path),
        its_tools(folder, tmp_path, **{JOINED: "0" * 64}) as tools,
    ):
        assert "belongs to no open session" in await tools.refused("Read", file_path=str(path))


@processes
async def test_without_an_editor_they_work_on_the_disk(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    path = folder / "a.txt"
    async with claude(folder, tmp_path), its_tools(folder, tmp_path) as tools:
        await tools.call("Edit", file_path=str(path), old_string="two", new_string="TWO")
    assert path.read_text() == BASE.replace("two", "TWO")


@processes
@pytest.mark.parametrize(("name", "options"), [("robot", ()), ("claude", ("--own-tools", "off"))])
async def test_others_and_where_it_is_not_wanted_nothing_is_added(
    folder: Path, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    async with claude(folder, tmp_path, *options, name=name):
        opened = next(one["params"] for one in received(tmp_path / "trace") if one["method"] == "session/new")
        assert opened == {"cwd": str(folder), "mcpServers": []}


@processes
async def test_a_plugin_is_named_in_the_agents_environment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its calls, which name the agent's session, are that session's."""
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    script = {
        "turns": [[{"cwd": True, "env": ["OPENCODE_CONFIG", "ACP_SIDECAR_TOOLS"]}, *SCRIPT["turns"][0]]]
    }
    async with an_editor(folder) as (product, path):
        argv = behind_proxy(agent(script, file=tmp_path / "script"), "--name", "opencode")
        async with Talk(argv, folder) as talk:
            session = await talk.session()
            turn = asyncio.ensure_future(talk.prompt(session))
            await talk.until(lambda: talk.said()[-1:] == ["begun"])
            env = json.loads(talk.said()[0])["env"]
            assert Path(env["OPENCODE_CONFIG"]).is_file()
            server = json.loads(env["ACP_SIDECAR_TOOLS"])
            product.type(path, "typed\n", at=0)
            told = StdioServerParameters(
                command=server["command"], args=server["args"], env=server["env"], cwd=str(folder)
            )
            async with Client(told) as client:
                for named, right in ((session, True), ("another", False)):
                    answer = await client.call_tool(
                        "Read", {"file_path": str(path)}, meta={"acp-sidecar/session": named}
                    )
                    text = "".join(getattr(block, "text", "") for block in answer.content)
                    assert text.startswith("typed\n") is right, text
            talk.tell("session/cancel", {"sessionId": session})
            await turn


# lines


def opening(**params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params}).encode()


def led(line: bytes, version: int = 1) -> tuple[Any, str]:
    head = head_of(line)
    assert head is not None
    made, secret = OwnTools(CLAUDE, {}).opening(line, head, version)
    return json.loads(made), secret


def test_what_the_client_says_stays_beside_it() -> None:
    meta = {"mine": 1, "claudeCode": {"options": {"model": "m", "toolAliases": {"Grep": "x"}}}}
    server = {"name": "m", "command": "c", "args": [], "env": []}
    message, secret = led(opening(cwd="/w", mcpServers=[server], _meta=meta, odd=[1.50]))
    params = message["params"]
    assert (params["cwd"], params["odd"], params["mcpServers"][0]) == ("/w", [1.50], server)
    assert len(secret) == 64
    assert {"name": JOINED, "value": secret} in params["mcpServers"][1]["env"]
    options = params["_meta"]["claudeCode"]["options"]
    assert (params["_meta"]["mine"], options["model"], options["toolAliases"]["Grep"]) == (1, "m", "x")
    assert "type" not in params["mcpServers"][1]
    assert led(opening(cwd="/w"), version=2)[0]["params"]["mcpServers"][0]["type"] == "stdio"


@pytest.mark.parametrize(
    "line",
    [
        opening(cwd="/w", mcpServers=[{"name": "sidecar", "command": "mine"}]),
        opening(cwd="/w", mcpServers="none"),
        b'{"id":1,"method":"session/new","params":[]}',
        b'{"id":1,"method":"session/load","params":{"mcpServers":[]}}',
    ],
)
def test_what_it_does_not_fit_into_stays_as_it_is(line: bytes) -> None:
    head = head_of(line)
    assert head is not None
    assert OwnTools(CLAUDE, {}).opening(line, head, 1) == (line, "")


def test_a_secret_that_could_be_guessed_is_not_taken() -> None:
    tokens = Tokens()
    methods = GuestMethods(None, tokens)  # not asked
    for secret, taken in (("0" * 63, False), (7, False), ("0" * 64, True)):
        methods._adopt("S", secret)
        assert (tokens.session(str(secret)) == "S") is taken


# turns in version 2


class Turns:
    def __init__(self) -> None:
        self.ended: list[str] = []

    async def turn_begins(self) -> None: ...
    def turn_ends(self, reason: str) -> None:
        self.ended.append(reason)

    def heard(self, update: object) -> None: ...
    def rest(self) -> None: ...


async def test_in_version_2_a_turn_ends_when_the_agent_is_idle() -> None:
    turns = Turns()
    conversations = Conversations(lambda *_: turns)  # as much of a guest as is told
    conversations.version = 2

    def line(**fields: object) -> bytes:
        return msgspec.json.encode({"jsonrpc": "2.0", **fields})

    def client(**fields: object) -> Any:
        head = head_of(line(**fields))
        assert head is not None
        return conversations.asked(head)

    def answers(number: int, **answer: object) -> None:
        head = head_of(line(id=number, **answer))
        assert head is not None
        conversations.answered(head)

    def state(state: str, **more: object) -> None:
        update = {"sessionUpdate": "state_update", "state": state, **more}
        conversations.told(line(method="session/update", params={"sessionId": "s", "update": update}))

    client(id=1, method="session/new", params={"cwd": "/w"})
    answers(1, result={"sessionId": "s"})
    for number in (2, 3):
        await client(id=number, method="session/prompt", params={"sessionId": "s"})
        answers(number, result={})
        state("running")
        assert len(turns.ended) == number - 2
        state("idle", stopReason="end_turn")
    await client(id=4, method="session/prompt", params={"sessionId": "s"})
    answers(4, error={"code": -32602, "message": "no"})
    assert turns.ended == ["end_turn", "end_turn", ""]
    assert object_of(conversations._foregrounds) == {}
