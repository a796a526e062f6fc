"""Version 2 of ACP: what an agent tells of its tool calls, plans, sub-agents and commands."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from sidecar.workspace.ports.session_ports import CommandEnd
from tests.acp.side import Side
from tests.acp.v2.two import MODE, OPTIONS, opened

pytestmark = pytest.mark.timeout(60)


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
