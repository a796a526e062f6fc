"""ACP version 2 on the wire, with the agent's half played in raw messages: what is behind it hears and says version 1."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sidecar.acp.dialect import Dialect
from sidecar.acp.limits import Limits
from sidecar.acp.negotiation import spoken, started
from sidecar.acp.v2.second import Second
from sidecar.workspace.ports.ports import AgentFailed, SessionRequest
from sidecar.workspace.ports.session_ports import CommandEnd
from tests.acp.side import LIMITS, Side
from tests.support.acp_wire import HANGS

pytestmark = pytest.mark.timeout(60)

INFO = {"name": "a", "title": "An agent", "version": "3"}
SESSION: dict[str, Any] = {
    "prompt": {"image": {}, "embeddedContext": {}},
    "mcp": {"stdio": {}, "http": {}},
    "delete": {},
    "fork": None,
}
MODE = {
    "configId": "mode",
    "name": "Mode",
    "category": "mode",
    "type": "select",
    "currentValue": "ask",
    "options": [
        {
            "groupId": "g",
            "name": "G",
            "options": [{"value": "ask", "name": "Ask"}, {"value": "do", "name": "Do"}],
        }
    ],
}


class Two(Side):
    """Our side, which speaks version 2."""

    def __init__(self, limits: Limits = LIMITS, **how: Any) -> None:
        super().__init__(dialect=Second(), limits=limits, **how)
        self.asked: Any = None
        """The params of `initialize`."""
        self.new: Any = None
        """Those of `session/new`."""
        self.opened: Any = None

    async def initialized(self, **more: Any) -> Two:
        task = asyncio.ensure_future(self.agent.initialize())
        answer: dict[str, Any] = {
            "protocolVersion": 2,
            "info": INFO,
            "capabilities": {"session": SESSION},
            **more,
        }
        self.asked = (await self.wire.reply("initialize", answer))["params"]
        await task
        return self

    def tells(self, session: str = "a1", **update: Any) -> None:
        self.wire.notify("session/update", {"sessionId": session, "update": update})

    def state(self, state: str, **more: Any) -> None:
        self.tells(sessionUpdate="state_update", state=state, **more)

    def prompted(self) -> asyncio.Future[str]:
        self.wire.sent.clear()
        return asyncio.ensure_future(self.agent.prompt("a1", [{"type": "text", "text": "hi"}]))

    async def turn(self, *updates: dict[str, Any]) -> list[Any]:
        """A turn in which the agent tells this; → what is heard of it."""
        before = len(self.workspace.updates)
        turn = self.prompted()
        await self.wire.reply("session/prompt", {})
        self.state("running")
        for update in updates:
            self.tells(**update)
        self.state("idle", stopReason="end_turn")
        assert await turn == "end_turn"
        return [update for _, update in self.workspace.updates[before:]]


@asynccontextmanager
async def opened(answer: dict[str, Any] | None = None, **how: Any) -> AsyncGenerator[Two]:
    """Connected, with the agent's session a1 being S1."""
    two = Two(**how)
    try:
        async with asyncio.timeout(HANGS):
            await two.initialized()
            task = asyncio.ensure_future(
                two.agent.new_session(
                    SessionRequest(
                        "S1",
                        "fake",
                        "/w",
                        mcp_servers=({"name": "m", "command": "c", "args": [], "env": []},),
                    )
                )
            )
            two.new = (await two.wire.reply("session/new", {"sessionId": "a1", **(answer or {})}))["params"]
            two.opened = await task
            yield two
    finally:
        await two.agent.close()


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


# turns


async def test_a_turn_ends_when_the_agent_is_idle_and_not_with_its_answer() -> None:
    async with opened() as two:
        turn = two.prompted()
        await two.wire.reply("session/prompt", {"messageId": "u"})
        two.tells(sessionUpdate="user_message", messageId="u", content=[{"type": "text", "text": "hi"}])
        two.state("running")
        two.tells(sessionUpdate="agent_message_chunk", messageId="m", content={"type": "text", "text": "lo"})
        await two.workspace.until(lambda: two.workspace.said() == "lo")
        assert not turn.done()
        assert [one["sessionUpdate"] for _, one in two.workspace.updates] == ["agent_message_chunk"]
        two.wire.request(
            7, "session/request_permission", {"sessionId": "a1", "title": "May I?", "options": OPTIONS}
        )
        await two.workspace.until(lambda: two.workspace.questions)  # it may ask until the turn's end
        two.state("requires_action")
        two.state("running")
        two.state("idle", stopReason="max_tokens", usage={"totalTokens": 1})
        assert await turn == "max_tokens"
        assert two.workspace.log.count(("prompt answered", "S1")) == 1


async def test_a_turn_that_fails_says_why_in_the_agents_words() -> None:
    async with opened() as two:
        turn = two.prompted()
        await two.wire.reply("session/prompt", {})
        two.state("running")
        two.state("idle", stopReason="error", error={"code": -32603, "message": "429: too many requests"})
        with pytest.raises(AgentFailed, match="429: too many requests"):
            await turn


async def test_a_prompt_that_is_not_accepted_fails_at_once() -> None:
    async with opened() as two:
        turn = two.prompted()
        asked = await two.wire.asked("session/prompt")
        two.wire.feed(
            {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32602, "message": "no such block"}}
        )
        with pytest.raises(AgentFailed, match="no such block"):
            await turn
        assert await two.turn() == []  # and the next one goes well


async def test_the_end_of_other_work_is_not_the_turns() -> None:
    """It works by itself when the prompt comes, which waits for that."""
    async with opened() as two:
        two.state("running")
        two.tells(
            sessionUpdate="agent_message_chunk", messageId="b", content={"type": "text", "text": "by itself"}
        )
        await two.workspace.until(lambda: two.workspace.said() == "by itself")
        turn = two.prompted()
        await two.wire.asked("session/prompt")
        two.state("idle", stopReason="end_turn")
        await two.wire.reply("session/prompt", {})
        two.state("idle")  # what goes on behind it has changed
        two.state("running")
        two.tells(sessionUpdate="agent_message_chunk", messageId="m", content={"type": "text", "text": "!"})
        await two.workspace.until(lambda: two.workspace.said() == "by itself!")
        assert not turn.done()
        two.state("idle", stopReason="refusal")
        assert await turn == "refusal"


async def test_a_turn_that_ended_before_its_answer_came() -> None:
    async with opened() as two:
        turn = two.prompted()
        await two.wire.asked("session/prompt")
        two.state("running")
        two.state("idle")
        await two.wire.reply("session/prompt", {})
        assert await turn == "end_turn"


async def test_stop() -> None:
    async with opened() as two:
        turn = two.prompted()
        await two.wire.reply("session/prompt", {})
        two.state("running")
        two.wire.request(
            7, "session/request_permission", {"sessionId": "a1", "title": "May I?", "options": OPTIONS}
        )
        await two.workspace.until(lambda: two.workspace.questions)
        two.agent.cancel("a1")
        await two.wire.asked("session/cancel")
        assert (await two.wire.answered(7))["result"] == {"outcome": {"outcome": "cancelled"}}
        two.wire.request(
            8, "session/request_permission", {"sessionId": "a1", "title": "May I?", "options": OPTIONS}
        )
        assert (await two.wire.answered(8))["result"]["outcome"] == {"outcome": "cancelled"}
        assert len(two.workspace.questions) == 1
        two.state("idle", stopReason="cancelled")
        assert await turn == "cancelled"


async def test_outside_of_turns_it_may_not_ask() -> None:
    async with opened() as two:
        for number in (7, 8):
            params = {"sessionId": "a1", "title": "May I?", "options": OPTIONS}
            two.wire.request(number, "session/request_permission", params)
            assert (await two.wire.answered(number))["result"]["outcome"] == {"outcome": "cancelled"}
            await two.turn()
        assert two.workspace.questions == []


async def test_a_session_that_is_closed_in_a_turn() -> None:
    async with opened() as two:
        turn = two.prompted()
        await two.wire.reply("session/prompt", {})
        closing = asyncio.ensure_future(two.agent.close_session("a1"))
        await two.wire.reply("session/close", {})
        await closing
        assert await turn == "cancelled"


# questions

OPTIONS = [
    {"optionId": "y", "name": "Allow", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]


async def asked(two: Two, **params: Any) -> Any:
    """The question that a person sees, who says yes."""
    two.workspace.choose = lambda question: "y"
    turn = two.prompted()
    await two.wire.reply("session/prompt", {})
    two.state("running")
    two.wire.request(7, "session/request_permission", {"sessionId": "a1", "options": OPTIONS, **params})
    assert (await two.wire.answered(7))["result"] == {"outcome": {"outcome": "selected", "optionId": "y"}}
    two.state("idle", stopReason="end_turn")
    await turn
    return two.workspace.questions[-1]


async def test_a_question_about_a_tool_call() -> None:
    async with opened() as two:
        diff = {"type": "diff", "changes": [{"operation": "modify", "path": "/w/a"}], "patch": PATCH}
        call = {"toolCallId": "t", "kind": "edit", "content": [diff]}
        question = await asked(
            two, title="Edit a?", description="Because.", subject={"type": "tool_call", "toolCall": call}
        )
        assert question.action == "write"
        assert "File: /w/a" in question.text
        assert "Edit a?: Because." in question.text
        assert question.details["diff"] == [
            {"path": "/w/a", "oldText": "one\ntwo\n", "newText": "one\nTWO\n"}
        ]


async def test_a_question_about_a_command() -> None:
    async with opened() as two:
        question = await asked(
            two, title="Run it?", subject={"type": "command", "command": "rm -rf x", "cwd": "/w"}
        )
        assert question.action == "execute"
        assert "Command: rm -rf x" in question.text


@pytest.mark.parametrize("subject", [None, {"type": "_new", "what": 1}, "nonsense"])
async def test_a_question_about_something_else(subject: object) -> None:
    async with opened() as two:
        question = await asked(two, title="May I?", subject=subject)
        assert question.action == "other"
        assert "May I?" in question.text


# tool calls


async def test_a_tool_call_begins_with_its_first_update() -> None:
    async with opened() as two:
        heard = await two.turn(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c",
                "title": "Look",
                "kind": "_odd",
                "status": "pending",
            },
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c",
                "title": None,
                "content": [text("a")],
                "locations": None,
            },
            {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": text("b")},
            {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": None, "status": "cancelled"},
            {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "new", "content": text("c")},
        )
        assert heard == [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "c",
                "title": "Look",
                "kind": "other",
                "status": "pending",
            },
            {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [text("a")], "locations": []},
            {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [text("ab")]},
            {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [], "status": "failed"},
            {"sessionUpdate": "tool_call", "toolCallId": "new", "title": "tool"},
            {"sessionUpdate": "tool_call_update", "toolCallId": "new", "content": [text("c")]},
        ]


async def test_what_a_diff_changes_is_where_the_call_works() -> None:
    """Also where there is no patch, so that what it did there is known to be the agent's."""
    async with opened() as two:
        moved = {"operation": "move", "oldPath": "/w/a", "path": "/w/b"}
        diff = {"type": "diff", "changes": [moved, {"operation": "delete", "path": "/w/c"}]}
        heard = await two.turn({"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [diff]})
        assert heard[0]["locations"] == [{"path": "/w/a"}, {"path": "/w/b"}, {"path": "/w/c"}]
        assert heard[0]["content"] == []


async def test_plans() -> None:
    async with opened() as two:
        entry, other = {"content": "x", "status": "pending"}, {"content": "y", "status": "cancelled"}
        items = {"type": "items", "planId": "p", "entries": [entry, other]}
        heard = await two.turn(
            {"sessionUpdate": "plan_update", "plan": items},
            {"sessionUpdate": "plan_update", "plan": {**items, "planId": "q"}},
            {"sessionUpdate": "plan_removed", "planId": "p"},
            {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "m", "content": "# Do"}},
            {
                "sessionUpdate": "plan_update",
                "plan": {"type": "file", "planId": "f", "uri": "file:///w/plan.md"},
            },
        )
        assert [len(one["entries"]) for one in heard[:3]] == [1, 2, 1]
        assert heard[3]["content"] == {"type": "text", "text": "# Do"}
        assert heard[4]["content"]["name"] == "plan.md"


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


# sub-agents


async def test_a_sub_agent_works_and_asks_within_its_parents_session() -> None:
    async with opened() as two:
        two.workspace.choose = lambda question: "y"
        turn = two.prompted()
        await two.wire.reply("session/prompt", {})
        two.state("running")
        two.tells(
            sessionUpdate="subagent_update", sessionId="child", title="Look", state={"state": "running"}
        )
        two.tells("child", sessionUpdate="state_update", state="running")
        two.tells(
            "child",
            sessionUpdate="agent_message_chunk",
            messageId="c",
            content={"type": "text", "text": "in"},
        )
        two.tells("child", sessionUpdate="tool_call_update", toolCallId="ct", title="Read", kind="read")
        two.tells("child", sessionUpdate="subagent_update", sessionId="grandchild", description="Deep")
        two.wire.request(
            7, "session/request_permission", {"sessionId": "child", "title": "May I?", "options": OPTIONS}
        )
        await two.wire.answered(7)
        two.tells("child", sessionUpdate="state_update", state="idle", stopReason="end_turn")
        two.tells(
            sessionUpdate="subagent_update",
            sessionId="child",
            state={"state": "idle", "stopReason": "end_turn"},
        )
        await two.workspace.until(lambda: two.workspace.updates[-1][1].get("status") == "completed")
        assert not turn.done()  # a child's end is not the turn's
        two.state("idle", stopReason="end_turn")
        await turn
        assert two.workspace.questions[0].session_id == "S1"
        assert {session for session, _ in two.workspace.updates} == {"S1"}
        updates: list[Any] = [one for _, one in two.workspace.updates]
        told = [(one.get("toolCallId"), one.get("_meta", {}).get("parentToolCallId")) for one in updates]
        assert told == [
            ("subagent:child", None),
            (None, "subagent:child"),
            ("ct", "subagent:child"),
            ("subagent:grandchild", "subagent:child"),
            ("subagent:child", None),
        ]


async def test_a_session_cannot_take_over_another_ones_sub_agent() -> None:
    async with opened() as two:
        two.tells(sessionUpdate="subagent_update", sessionId="child", title="Look")
        two.tells("other", sessionUpdate="subagent_update", sessionId="child", title="Mine")
        two.tells(
            "child",
            sessionUpdate="agent_message_chunk",
            messageId="c",
            content={"type": "text", "text": "in"},
        )
        await two.workspace.until(lambda: two.workspace.said("S1") == "in")
        assert [one.get("title") for _, one in two.workspace.updates] == ["Look", None]


async def test_a_turn_ends_with_the_last_of_its_sub_agents() -> None:
    """Told by the list of what goes on, or by the sub-agents' states alone."""
    for listed in (True, False):
        async with opened() as two:
            turn = two.prompted()
            await two.wire.reply("session/prompt", {})
            two.state("running")
            two.tells(
                sessionUpdate="subagent_update", sessionId="child", title="Look", state={"state": "running"}
            )
            goes_on = (
                {"background": [{"type": "subagent", "sessionId": "child"}, {"type": "terminal"}]}
                if listed
                else {}
            )
            two.state("idle", stopReason="end_turn", **goes_on)
            two.tells("child", sessionUpdate="tool_call_update", toolCallId="ct", title="Edit", kind="edit")
            await two.workspace.until(lambda: len(two.workspace.updates) == 2)
            assert not turn.done()
            two.tells(sessionUpdate="subagent_update", sessionId="child", state={"state": "idle"})
            if listed:
                two.state("idle", background=[{"type": "terminal", "terminalId": "server"}])
            assert await turn == "end_turn"


async def test_stop_reaches_the_sub_agents() -> None:
    async with opened() as two:
        turn = two.prompted()
        await two.wire.reply("session/prompt", {})
        two.state("running")
        for name in ("ended", "child"):
            two.tells(
                sessionUpdate="subagent_update", sessionId=name, title="Look", state={"state": "running"}
            )
        two.tells(sessionUpdate="subagent_update", sessionId="ended", state={"state": "idle"})
        two.state("idle", stopReason="end_turn")
        await two.workspace.until(lambda: len(two.workspace.updates) == 3)
        two.agent.cancel("a1")
        await two.wire.until(lambda message: message.get("params") == {"sessionId": "child"})
        cancels = [
            one["params"]["sessionId"] for one in two.wire.sent if one.get("method") == "session/cancel"
        ]
        assert cancels == ["a1", "child"]
        two.tells(
            sessionUpdate="subagent_update",
            sessionId="child",
            state={"state": "idle", "stopReason": "cancelled"},
        )
        assert await turn == "end_turn"


async def test_a_sub_agents_options_are_not_the_sessions() -> None:
    async with opened({"configOptions": [MODE]}) as two:
        other: Any = {"configId": "agent", "name": "A", "type": "select", "currentValue": "x", "options": []}
        heard = await two.turn(
            {"sessionUpdate": "subagent_update", "sessionId": "child", "state": {"state": "idle"}},
            {"sessionUpdate": "session_message", "messageId": "s", "content": []},
        )
        two.tells("child", sessionUpdate="config_option_update", configOptions=[other])
        two.tells("child", sessionUpdate="plan_update", plan={"type": "items", "planId": "p", "entries": []})
        two.tells(
            "child",
            sessionUpdate="agent_message_chunk",
            messageId="c",
            content={"type": "text", "text": "in"},
        )
        await two.workspace.until(lambda: two.workspace.said() == "in")
        assert len(two.workspace.updates) == len(heard) + 1
        assert [option["id"] for option in two.opened.options.config] == ["mode"]


# commands that it runs itself

PATCH = {
    "format": "git_patch",
    "text": "diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n",
}


def data(output: bytes) -> str:
    return base64.b64encode(output).decode()


async def test_the_output_of_a_command() -> None:
    async with opened() as two:
        terminal = {"type": "terminal", "terminalId": "t1"}
        await two.turn(
            {"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "ls", "content": [terminal]},
            {"sessionUpdate": "terminal_update", "terminalId": "t1", "command": "ls"},
            {"sessionUpdate": "terminal_output_chunk", "terminalId": "t1", "data": data("ä".encode()[:1])},
            {
                "sessionUpdate": "terminal_output_chunk",
                "terminalId": "t1",
                "data": data("ä".encode()[1:] + b"b\n"),
            },
            {
                "sessionUpdate": "terminal_update",
                "terminalId": "t1",
                "output": {"data": data("äb\nmore\n".encode())},
            },
            {"sessionUpdate": "terminal_update", "terminalId": "t1", "exitStatus": {"exitCode": 3}},
            {"sessionUpdate": "terminal_update", "terminalId": "t1", "exitStatus": {"exitCode": 3}},
        )
        shown = [entry for entry in two.workspace.log if entry[0] in ("output", "display ended")]
        assert "".join(entry[3] for entry in shown[:-1]) == "äb\nmore\n"
        assert shown[-1] == ("display ended", "S1", "agent:t1", CommandEnd(3))
        assert len([entry for entry in shown if entry[0] == "display ended"]) == 1
        assert two.workspace.updates[0][1]["content"] == [{"type": "terminal", "terminalId": "agent:t1"}]


@pytest.mark.parametrize("by", ["terminal", "tool_call"])
async def test_such_a_command_is_stopped_where_the_agent_can(by: str) -> None:
    async with opened() as two:
        can: Any = {"capabilities": {"cancel": {}}}
        terminal = {"type": "terminal", "terminalId": "t1"}
        await two.turn(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c",
                "content": [terminal],
                **(can if by == "tool_call" else {}),
            },
            {"sessionUpdate": "terminal_update", "terminalId": "t1", **(can if by == "terminal" else {})},
        )
        two.agent.stop_command("a1", "agent:t1")
        asked = await two.wire.reply(f"{by}/cancel", {})
        named = {"terminalId": "t1"} if by == "terminal" else {"toolCallId": "c"}
        assert asked["params"] == {"sessionId": "a1", **named}


async def test_where_it_cannot_the_user_is_told_what_to_do() -> None:
    async with opened() as two:
        await two.turn({"sessionUpdate": "terminal_update", "terminalId": "t1", "command": "ls"})
        two.agent.stop_command("a1", "agent:t1")
        assert two.workspace.noticed == [
            ("S1", "fake runs this command itself and cannot stop it alone. To end it, stop the turn.")
        ]


async def test_an_agent_cannot_speak_for_a_terminal_of_ours() -> None:
    """Neither in version 2, nor in version 1 with updates that are ours."""
    async with opened() as two:
        mine = {"sessionUpdate": "terminal_output", "terminalId": "S1:1", "output": "all is well"}
        assert await two.turn(mine, {"sessionUpdate": "terminal_ended", "terminalId": "S1:1"}) == []
    side = await (Side()).ready()
    await side.open()
    side.wire.notify("session/update", {"sessionId": "a1", "update": mine})
    side.wire.update("a1", "end")
    await side.workspace.until(lambda: side.workspace.said() == "end")
    assert len(side.workspace.updates) == 1
    assert not [entry for entry in side.workspace.log if entry[0] == "output"]
    await side.agent.close()


async def test_a_batch_is_the_messages_in_it() -> None:
    async with opened() as two:
        update = {
            "sessionUpdate": "agent_message_chunk",
            "messageId": "m",
            "content": {"type": "text", "text": "a"},
        }
        message = {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": "a1", "update": update},
        }
        two.wire.feed(repr_of([message, 7, message]))
        await two.workspace.until(lambda: two.workspace.said() == "aa")


def repr_of(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
