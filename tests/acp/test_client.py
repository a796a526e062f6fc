"""One connection to an agent, the agent's half played by the test in raw messages."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from sidecar.acp.client import AgentGone
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from tests.acp.side import INITIALIZED, LIMITS, QUICK, READ, Side, opened
from tests.support.acp_wire import HANGS, chunk

# initialize


async def test_initialize_says_both_or_neither() -> None:
    for fs in (True, False):
        async with opened(fs=fs) as side:
            side.wire.sent.clear()
            asyncio.ensure_future(side.agent.initialize()).add_done_callback(lambda task: task.exception())
            params = (await side.wire.asked("initialize"))["params"]
            assert params["protocolVersion"] == 1
            assert params["clientCapabilities"] == {
                "fs": {"readTextFile": fs, "writeTextFile": fs},
                "terminal": fs,
                "session": {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}},
            }
            assert params["clientInfo"]["name"] == "acp-sidecar"


# what the agent answers · kind of failure · words in it
HANDSHAKES: list[tuple[object, str, str]] = [
    ({"protocolVersion": 2}, "protocol_version", "version 2"),
    ({"protocolVersion": 0}, "protocol_version", "version 0"),
    ({"protocolVersion": "x"}, "protocol_version", "not ACP"),
    ({"protocolVersion": True}, "protocol_version", "not ACP"),
    ({}, "protocol_version", "not ACP"),
    (None, "protocol_version", "not ACP"),
    ([1], "protocol_version", "not ACP"),
    ("hello", "protocol_version", "not ACP"),
]


@pytest.mark.parametrize(("answer", "kind", "words"), HANDSHAKES)
async def test_handshake_fails(answer: object, kind: str, words: str) -> None:
    side = Side()
    task = asyncio.ensure_future(side.agent.initialize())
    await side.wire.reply("initialize", answer)
    with pytest.raises(AgentFailed, match=words) as raised:
        await task
    assert raised.value.kind == kind
    await side.agent.close()


async def test_handshake_never_answered() -> None:
    side = Side(limits=replace(LIMITS, initialize=QUICK))
    with pytest.raises(AgentFailed, match="has not answered `initialize`") as raised:
        await side.agent.initialize()
    assert raised.value.kind == "timeout"
    await side.agent.close()


# oddities of capabilities that must not matter
CAPABILITIES: list[object] = [
    {},
    {"promptCapabilities": None, "sessionCapabilities": None},
    {"promptCapabilities": "yes", "sessionCapabilities": [], "mcpCapabilities": 3},
    {"loadSession": "true", "models": {"current": "x"}, "auth": 5},
]


@pytest.mark.parametrize("capabilities", CAPABILITIES, ids=str)
async def test_odd_capabilities(capabilities: object) -> None:
    side = await Side().ready(capabilities)
    assert not side.agent.facts.embedded_context
    assert not side.agent.facts.images
    await side.agent.close()


async def test_capabilities() -> None:
    side = await Side().ready(
        {
            "promptCapabilities": {"embeddedContext": True, "image": True},
            "sessionCapabilities": {"close": {}, "additionalDirectories": {}},
        }
    )
    assert side.agent.facts.embedded_context
    assert side.agent.facts.images
    assert side.agent.facts.close
    servers = (
        {"name": "a", "command": "/a", "args": [], "env": []},
        {"type": "http", "name": "b", "url": "http://x"},
    )
    await side.open(additional_directories=("/more",), mcp_servers=servers)
    params = (await side.wire.asked("session/new"))["params"]
    assert params == {"cwd": "/w", "additionalDirectories": ["/more"], "mcpServers": [servers[0]]}
    await side.agent.close()


# sessions


async def test_answers_to_session_new_that_are_none() -> None:
    side = await Side().ready()
    for answer in (None, {}, {"sessionId": 5}, {"sessionId": None}, "a1"):
        side.wire.sent.clear()
        task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
        await side.wire.reply("session/new", answer)
        with pytest.raises(AgentFailed, match="no session id"):
            await task
    await side.open("a1")
    with pytest.raises(AgentFailed, match="session that is open"):
        await side.open("a1", "S2")
    await side.agent.close()


async def test_session_new_may_take_as_long_as_the_agent_lives() -> None:
    side = await Side(limits=replace(LIMITS, silence=QUICK)).ready()
    side.agent.transport.heard_at += HANGS  # as one that never stops talking
    task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
    await asyncio.sleep(2 * QUICK)
    assert not task.done()
    await side.wire.reply("session/new", {"sessionId": "a1"})
    assert (await task).agent_session_id == "a1"
    with pytest.raises(AgentFailed, match="has not answered `session/new`"):
        await side.agent.new_session(SessionRequest("S2", "fake", "/w"))
    await side.agent.close()


async def test_updates_before_the_session_is_known_are_kept_in_order() -> None:
    side = await Side().ready()
    task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
    request = await side.wire.asked("session/new")
    for n in range(3):
        side.wire.update("a1", f"{n} ")
        side.wire.update("other", "not ours ")
    side.wire.feed({"jsonrpc": "2.0", "id": request["id"], "result": {"sessionId": "a1"}})
    side.wire.update("a1", "3 ")
    await task
    side.wire.request(1, "ping")
    await side.wire.answered(1)
    assert side.workspace.said() == "0 1 2 3 "
    await side.agent.close()


async def test_large_updates_before_the_session_is_known_are_few() -> None:
    side = await Side().ready()
    task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S1", "fake", "/w")))
    await side.wire.asked("session/new")
    for number in range(100):
        side.wire.update("a1", f"{number} " + "x" * 10**6)
    await side.wire.reply("session/new", {"sessionId": "a1"})
    await task
    assert 0 < len(side.workspace.updates) < 40
    await side.agent.close()


async def test_login_wanted() -> None:
    side = Side()
    task = asyncio.ensure_future(side.agent.initialize())
    methods = [
        {"id": "key", "name": "API key\u202e"},
        {"id": "browser", "name": "Browser"},
        "odd",
        {"name": "no id"},
    ]
    await side.wire.reply("initialize", {**INITIALIZED, "authMethods": methods})
    await task
    opening = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
    request = await side.wire.asked("session/new")
    side.wire.feed(
        {
            "jsonrpc": "2.0",
            "id": request["id"],
            "error": {"code": -32000, "message": "Authentication required"},
        }
    )
    with pytest.raises(AgentFailed, match=r"API key\\u202e, Browser") as raised:
        await opening
    assert raised.value.kind == "auth_required"
    assert [method["id"] for method in raised.value.data["methods"]] == ["key", "browser"]
    await side.agent.close()


@pytest.mark.parametrize(
    ("message", "data", "kind"),
    [
        ("Authentication required", None, "auth_required"),
        ("Server error", {"details": "Please run /login"}, "auth_required"),
        ("You are not logged in.", None, "auth_required"),
        ("Invalid API key", None, "auth_required"),
        ("", None, "auth_required"),
        ("The model `large` is overloaded", None, "refused"),
        ("Server error", {"details": "The author of this plug-in has withdrawn it"}, "refused"),
    ],
)
async def test_an_error_that_is_no_login_is_told_in_the_agents_words(
    message: str, data: object, kind: str
) -> None:
    side = Side()
    task = asyncio.ensure_future(side.agent.initialize())
    await side.wire.reply("initialize", {**INITIALIZED, "authMethods": [{"id": "key", "name": "API key"}]})
    await task
    opening = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
    request = await side.wire.asked("session/new")
    error = {"code": -32000, "message": message, **({} if data is None else {"data": data})}
    side.wire.feed({"jsonrpc": "2.0", "id": request["id"], "error": error})
    with pytest.raises(AgentFailed) as raised:
        await opening
    assert raised.value.kind == kind
    if kind == "refused":
        said = message if data is None else "The author of this plug-in has withdrawn it"
        assert said in str(raised.value)
    await side.agent.close()


async def test_the_end_in_the_middle() -> None:
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", []))
        await side.wire.asked("session/prompt")
        side.wire.reader.feed_eof()
        with pytest.raises(AgentGone):
            await turn


# turns


async def test_a_turn_ends_after_its_updates() -> None:
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", [{"type": "text", "text": "hi", "extra": 1}]))
        request = await side.wire.asked("session/prompt")
        assert request["params"] == {
            "sessionId": "a1",
            "prompt": [{"type": "text", "text": "hi", "extra": 1}],
        }
        for n in range(100):
            side.wire.update("a1", f"{n} ")
        side.wire.feed(
            {"jsonrpc": "2.0", "id": request["id"], "result": {"stopReason": "end_turn", "usage": 5}}
        )
        assert await turn == "end_turn"
        assert side.workspace.said("S1") == "".join(f"{n} " for n in range(100))


UPDATES: list[object] = [
    None,
    {},
    {"sessionId": "a1"},
    {"sessionId": "a1", "update": None},
    {"sessionId": "a1", "update": []},
    {"sessionId": 5, "update": {"sessionUpdate": "x"}},
    {"sessionId": "unknown", "update": {"sessionUpdate": "x"}},
]


@pytest.mark.parametrize("params", UPDATES, ids=str)
async def test_updates_that_are_none(params: object) -> None:
    async with opened() as side:
        side.wire.notify("session/update", params)
        side.wire.update("a1", "fine")
        side.wire.request(1, "ping")
        await side.wire.answered(1)
        assert side.workspace.updates == [("S1", chunk("fine"))]


async def test_updates_are_handed_on_as_they_are() -> None:
    async with opened() as side:
        update = {"sessionUpdate": "no_such_thing", "x": [1, None, {"jsonrpc": "2.0"}], "_meta": {"y": 1}}
        side.wire.notify("session/update", {"sessionId": "a1", "update": update})
        side.wire.request(1, "ping")
        await side.wire.answered(1)
        assert side.workspace.updates == [("S1", update)]


async def test_unknown_requests_and_notifications() -> None:
    async with opened() as side:
        side.wire.notify("no/such/thing", {"x": 1})
        for number, method in enumerate(("terminal/resize", "no/such/thing", "_ext/x", "session/update")):
            side.wire.request(number, method, {"sessionId": "a1"})
            assert (await side.wire.answered(number))["error"]["code"] == -32601


async def test_a_cancel_sent_as_a_request_is_answered() -> None:
    async with opened() as side:
        side.wire.request(1, "$/cancel_request", {"requestId": 5})
        assert (await side.wire.answered(1))["error"]["code"] == -32601


@pytest.mark.parametrize("later", range(4))
async def test_a_cancel_does_not_overtake_its_prompt(later: int) -> None:
    """An agent that is asked to stop before it has the prompt works on."""
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", []))
        for _ in range(1 + later):  # the first lets `prompt` begin
            await asyncio.sleep(0)
        side.agent.cancel("a1")
        await side.wire.asked("session/cancel")
        methods = [message["method"] for message in side.wire.sent]
        assert methods == ["session/new", "session/prompt", "session/cancel"]
        await side.wire.reply("session/prompt", {"stopReason": "cancelled"})
        assert await turn == "cancelled"


async def test_closing_a_session() -> None:
    side = await Side(limits=replace(LIMITS, close=QUICK)).ready({"sessionCapabilities": {"close": {}}})
    await side.open()
    closing = asyncio.ensure_future(side.agent.close_session("a1"))
    await side.wire.reply("session/close", None)
    await closing
    side.wire.request(1, READ, {"sessionId": "a1", "path": "/f"})
    assert (await side.wire.answered(1))["error"]["data"]["errorKind"] == "unknown_session"
    await side.open("a2", "S2")
    side.wire.sent.clear()
    await side.agent.close_session("a2")  # never answered: the limit ends it
    assert [message["method"] for message in side.wire.sent] == ["session/close"]
    await side.agent.close()
