"""What agents tell in their own ways is told in one."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.acp.habits import told
from tests.acp.side import opened

CALL = {"sessionUpdate": "tool_call", "toolCallId": "c"}
CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}


def claude(**fields: object) -> dict[str, Any]:
    return {"_meta": {"claudeCode": fields}}


# what the agent tells · its parent and name as told · None: it is passed on as it is
TOLD: dict[str, tuple[dict[str, Any], tuple[object, object] | None]] = {
    "claude-agent-acp's parent": ({**CALL, **claude(parentToolUseId="p")}, ("p", None)),
    "claude-agent-acp's name": ({**CALL, **claude(toolName="Read")}, (None, "Read")),
    "both": ({**CALL, **claude(parentToolUseId="p", toolName="Read")}, ("p", "Read")),
    "ACP's own name stands": ({**CALL, "name": "read", **claude(toolName="Read")}, None),
    "an update": (
        {**CALL, "sessionUpdate": "tool_call_update", **claude(parentToolUseId="p")},
        ("p", None),
    ),
    "words of a sub-agent": ({**CHUNK, **claude(parentToolUseId="p")}, ("p", None)),
    "words have no tool's name": ({**CHUNK, **claude(toolName="Read")}, None),
    "fast-agent's and qwen-code's parent": ({**CALL, "_meta": {"parentToolCallId": "p"}}, None),
    "the common way stands": (
        {**CALL, "_meta": {"parentToolCallId": "p", "claudeCode": {"parentToolUseId": "q"}}},
        None,
    ),
    "its own parent": ({**CALL, "_meta": {"parentToolCallId": "c", "x": 1}}, (None, None)),
    "no parent": ({**CALL, **claude(parentToolUseId=None)}, None),
    "an empty one": ({**CALL, **claude(parentToolUseId="")}, None),
    "one that is no text": ({**CALL, **claude(parentToolUseId=7, toolName=["x"])}, None),
    "one that is too long": ({**CALL, **claude(parentToolUseId="p" * 5000)}, None),
    "common, but no text": ({**CALL, "_meta": {"parentToolCallId": {"p": 1}}}, (None, None)),
    "something else": ({"sessionUpdate": "plan", **claude(parentToolUseId="p")}, None),
    "no kind": ({"sessionUpdate": ["tool_call"], **claude(parentToolUseId="p")}, None),
    "no meta": (CALL, None),
    "meta that is none": ({**CALL, "_meta": ["parentToolCallId"]}, None),
}


@pytest.mark.parametrize(("update", "expected"), TOLD.values(), ids=TOLD)
def test_told(update: dict[str, Any], expected: tuple[object, object] | None) -> None:
    before = repr(update)
    said: Any = told(update)
    assert repr(update) == before, "the agent's own is left alone"
    if expected is None:
        assert said == update
        return
    assert (said["_meta"].get("parentToolCallId"), said.get("name")) == expected
    others = {"_meta", "name"}
    assert {k: v for k, v in said.items() if k not in others} == {
        k: v for k, v in update.items() if k not in others
    }
    rest = {k: v for k, v in update["_meta"].items() if k != "parentToolCallId"}
    assert {k: v for k, v in said["_meta"].items() if k != "parentToolCallId"} == rest


async def test_what_the_sdk_does_not_know_is_passed_on() -> None:
    """Compaction and notices are newer than the SDK, and so are fields of kinds that it knows."""
    updates: list[dict[str, Any]] = [
        {"sessionUpdate": "compaction_update", "compactionId": "1", "status": "in_progress"},
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "1", "content": CHUNK["content"]},
        {"sessionUpdate": "notice", "severity": "warning", "title": "T", "description": "D"},
        {**CALL, "name": "read_file"},
        {"sessionUpdate": "of_tomorrow", "x": [1, {"y": None}]},
    ]
    async with opened() as side:
        for update in updates:
            side.wire.notify("session/update", {"sessionId": "a1", "update": update})
        side.wire.notify(
            "session/update", {"sessionId": "a1", "update": {**CALL, **claude(parentToolUseId="p")}}
        )
        await side.workspace.until(lambda: len(side.workspace.updates) > len(updates))
        assert [update for _, update in side.workspace.updates[:-1]] == updates
        assert side.workspace.updates[-1][1]["_meta"]["parentToolCallId"] == "p"
