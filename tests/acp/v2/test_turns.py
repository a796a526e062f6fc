"""Version 2 of ACP: turns, which end when the agent is idle, and the questions within them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sidecar.workspace.ports.ports import AgentFailed
from tests.acp.v2.two import OPTIONS, PATCH, Two, opened

pytestmark = pytest.mark.timeout(60)


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
