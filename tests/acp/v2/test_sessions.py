"""Version 2 of ACP: what is announced, which version is spoken, and what sessions are opened with."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sidecar.acp.dialect import Dialect
from sidecar.acp.negotiation import spoken, started
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from tests.acp.side import Side
from tests.acp.v2.two import MODE, Two, opened

pytestmark = pytest.mark.timeout(60)


# what is announced


async def test_the_handshake() -> None:
    two = Two()
    method = {"methodId": "key", "name": "Key", "type": "terminal", "env": [{"name": "A", "value": "b"}]}
    await two.initialized(authMethods=[method])
    assert two.asked["protocolVersion"] == 2
    assert two.asked["info"]["name"] == "acp-sidecar"
    assert two.asked["capabilities"] == {}
    assert "clientCapabilities" not in two.asked
    facts = two.agent.facts
    assert (facts.name, facts.version) == ("An agent", "3")
    assert (facts.load, facts.resume, facts.list, facts.close, facts.delete, facts.fork) == (True,) * 5 + (
        False,
    )
    assert (facts.images, facts.embedded_context, facts.mcp_http, facts.logout) == (True,) * 4
    assert facts.auth_methods == ({"id": "key", "name": "Key", "type": "terminal", "env": {"A": "b"}},)
    login = asyncio.ensure_future(two.agent.authenticate("key"))
    assert (await two.wire.reply("auth/login", {}))["params"] == {"methodId": "key"}
    await login
    logout = asyncio.ensure_future(two.agent.logout())
    await two.wire.reply("auth/logout", {})
    await logout
    await two.agent.close()


async def test_an_agent_that_answers_with_version_1_is_not_taken_for_one_of_version_2() -> None:
    two = Two()
    task = asyncio.ensure_future(two.agent.initialize())
    await two.wire.reply("initialize", {"protocolVersion": 1, "agentCapabilities": {}})
    with pytest.raises(AgentFailed) as failed:
        await task
    assert (failed.value.kind, failed.value.data["theirs"]) == ("protocol_version", 1)
    await two.agent.close()


@pytest.mark.parametrize(
    ("data", "version"),
    [
        ({"requested": 1, "supported": [2]}, 2),
        ({"expectedProtocolVersion": 2, "receivedProtocolVersion": 1}, 2),
        ({"supported": "2"}, None),
        ({"supported": [True]}, None),
        (None, None),
    ],
)
def test_what_an_agent_says_that_refuses_a_version(data: object, version: int | None) -> None:
    assert spoken(data) == version


async def test_an_agent_that_speaks_only_the_other_version_is_started_again() -> None:
    tried: list[int] = []

    async def start(dialect: Dialect) -> str:
        tried.append(dialect.number)
        if dialect.number != 2:
            raise AgentFailed("protocol_version", "no", {"theirs": 2})
        return "runs"

    assert await started(1, start) == ("runs", 2)
    assert tried == [1, 2]


@pytest.mark.parametrize("speaks", [1, 2, None])
@pytest.mark.parametrize("code", [-32602, -32600])
async def test_an_agent_that_refuses_the_form_of_a_greeting_may_speak_the_other_version(
    speaks: int | None, code: int
) -> None:
    """The SDK's agent for version 2 looks at the form before it looks at the version. If it was not that, the first refusal is told."""

    async def start(dialect: Dialect) -> str:
        if dialect.number == speaks:
            return "runs"
        raise AgentFailed("refused", f"refused in {dialect.number}", {"code": code})

    for first in (1, 2):
        if speaks is None:
            with pytest.raises(AgentFailed, match=f"refused in {first}"):
                await started(first, start)
        else:
            assert await started(first, start) == ("runs", speaks)


async def test_another_refusal_is_told_at_once() -> None:
    tried: list[int] = []

    async def start(dialect: Dialect) -> str:
        tried.append(dialect.number)
        raise AgentFailed("refused", "no model", {"code": -32603})

    with pytest.raises(AgentFailed, match="no model"):
        await started(1, start)
    assert tried == [1]


@pytest.mark.parametrize("theirs", [1, 3, "2", None])
async def test_it_is_not_started_again_for_a_version_that_we_do_not_speak(theirs: object) -> None:
    tried: list[int] = []

    async def start(dialect: Dialect) -> str:
        tried.append(dialect.number)
        raise AgentFailed("protocol_version", "no", {"theirs": theirs})

    with pytest.raises(AgentFailed):
        await started(1, start)
    assert tried == [1]


# sessions


async def test_a_session_is_opened_with_options_of_which_one_is_the_mode() -> None:
    command = {"type": "command", "name": "c", "description": "d", "input": {"type": "text", "hint": "h"}}
    async with opened({"configOptions": [MODE], "availableCommands": [command]}) as two:
        assert two.new["mcpServers"] == [
            {"type": "stdio", "name": "m", "command": "c", "args": [], "env": []}
        ]
        option = two.opened.options.config[0]
        assert (option["id"], option["options"][0]["group"]) == ("mode", "g")
        assert two.opened.options.modes == {
            "currentModeId": "ask",
            "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}],
        }
        assert two.workspace.updates == [
            (
                "S1",
                {
                    "sessionUpdate": "available_commands_update",
                    "availableCommands": [{"name": "c", "description": "d", "input": {"hint": "h"}}],
                },
            )
        ]
        setting = asyncio.ensure_future(two.agent.set_mode("a1", "do"))
        asked = await two.wire.reply(
            "session/set_config_option", {"configOptions": [{**MODE, "currentValue": "do"}]}
        )
        assert asked["params"] == {"sessionId": "a1", "configId": "mode", "type": "id", "value": "do"}
        assert (await setting)["currentModeId"] == "do"
        heard = await two.turn({"sessionUpdate": "config_option_update", "configOptions": [MODE]})
        assert [one["sessionUpdate"] for one in heard] == ["config_option_update", "current_mode_update"]
        assert heard[1]["currentModeId"] == "ask"
        assert two.opened.options.modes["currentModeId"] == "ask"


async def test_programs_are_kept_from_an_agent_that_starts_none() -> None:
    two = Two()
    await two.initialized(capabilities={"session": {"mcp": {"http": {}}}})
    servers: Any = ({"name": "p", "command": "c"}, {"name": "h", "type": "http", "url": "u", "headers": []})
    task = asyncio.ensure_future(
        two.agent.new_session(SessionRequest("S1", "fake", "/w", mcp_servers=servers))
    )
    asked = await two.wire.reply("session/new", {"sessionId": "a1"})
    assert [one["name"] for one in asked["params"]["mcpServers"]] == ["h"]
    await task
    await two.agent.close()


async def test_a_conversation_is_loaded_by_a_resume_that_replays() -> None:
    two = await Two().initialized()
    task = asyncio.ensure_future(two.agent.load_session(SessionRequest("S1", "fake", "/w"), "a1"))
    asked = await two.wire.asked("session/resume")
    assert asked["params"]["replayFrom"] == {"type": "start"}
    two.tells(sessionUpdate="user_message", messageId="u", content=[{"type": "text", "text": "before"}])
    two.tells(sessionUpdate="agent_message", messageId="m", content=[{"type": "text", "text": "answer"}])
    two.state("idle")
    await two.wire.reply("session/resume", {})
    await task
    updates: list[Any] = [one for _, one in two.workspace.updates]
    heard = [(one["sessionUpdate"], one["content"]["text"]) for one in updates]
    assert heard == [("user_message_chunk", "before"), ("agent_message_chunk", "answer")]
    resumed = asyncio.ensure_future(
        two.agent.load_session(SessionRequest("S2", "fake", "/w"), "a2", replay=False)
    )
    two.wire.sent.clear()
    assert "replayFrom" not in (await two.wire.reply("session/resume", {}))["params"]
    await resumed
    await two.agent.close()


async def test_files_and_terminals_are_not_served() -> None:
    async with opened() as two:
        turn = two.prompted()
        await two.wire.reply("session/prompt", {})
        two.wire.request(7, "fs/read_text_file", {"sessionId": "a1", "path": "/w/a"})
        two.wire.request(8, "terminal/create", {"sessionId": "a1", "command": "ls"})
        assert (await two.wire.answered(7))["error"]["code"] == -32601
        assert (await two.wire.answered(8))["error"]["code"] == -32601
        two.state("idle", stopReason="end_turn")
        await turn


async def test_our_tools_go_to_an_agent_that_cannot_ask_for_files() -> None:
    own: dict[str, Any] = {"own_server": "sidecar", "mcp_servers": ({"name": "sidecar", "command": "c"},)}
    for side, count in ((Two(), 1), (Side(), 0)):
        await (side.initialized() if isinstance(side, Two) else side.ready())
        task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S1", "fake", "/w", **own)))
        asked = await side.wire.reply("session/new", {"sessionId": "a1"})
        assert len(asked["params"]["mcpServers"]) == count
        await task
        await side.agent.close()
