"""Joining of session updates and their narration: tables."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.lsp.narration import Narrator, visible
from sidecar.lsp.updates import LineLog, join


def text(words: str, kind: str = "agent_message_chunk", **more: object) -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": words}, **more}


def call(identity: str, **more: object) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": identity, **more}


IMAGE = {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": ""}}
PLAN = {"sessionUpdate": "plan", "entries": []}

JOINED: dict[str, tuple[list[Any], list[Any]]] = {
    "chunks": ([text("a"), text("b"), text("c")], [text("abc")]),
    "kinds stay apart": (
        [text("a"), text("b", "agent_thought_chunk"), text("c")],
        [text("a"), text("b", "agent_thought_chunk"), text("c")],
    ),
    "messages stay apart": ([text("a", messageId=1), text("b", messageId=2)],) * 2,
    "extra members stay": ([text("a"), text("b", _meta={"x": 1})],) * 2,
    "images stay": ([text("a"), IMAGE, IMAGE],) * 2,
    "a tool call's later update overrides": (
        [call("1", status="pending", title="t"), text("x"), call("1", status="completed")],
        [call("1", status="completed", title="t"), text("x")],
    ),
    "tool calls stay apart": ([call("1"), call("2")],) * 2,
    "plans are replaced": (
        [PLAN, text("a"), {**PLAN, "entries": [1]}],
        [{**PLAN, "entries": [1]}, text("a")],
    ),
    "unknown kinds stay": ([{"sessionUpdate": "new"}, {"sessionUpdate": "new"}, {}],) * 2,
    "kinds that are none stay": (
        [{"sessionUpdate": ["plan"]}, {"sessionUpdate": {}}, {"sessionUpdate": None}],
    )
    * 2,
    "wrong types stay": (
        [
            {"sessionUpdate": "agent_message_chunk", "content": 1},
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": None}},
            text("a"),
        ],
    )
    * 2,
}


@pytest.mark.parametrize(("updates", "expected"), JOINED.values(), ids=JOINED)
def test_join(updates: list[Any], expected: list[Any]) -> None:
    waiting: list[dict[str, object]] = []
    for update in updates:
        join(waiting, update)
    assert waiting == expected


TOLD: dict[str, tuple[list[Any], str]] = {
    "text": ([text("hello")], "agent: hello"),
    "thought": ([text("hm", "agent_thought_chunk")], "thought: hm"),
    "resource link": (
        [{"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link", "uri": "file:///a"}}],
        "agent: [file:///a]",
    ),
    "image": ([IMAGE], "agent: [image]"),
    "tool call": (
        [{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "read a"}, call("1", status="completed")],
        "event: read a\nevent: read a — done",
    ),
    "repeated status": (
        [call("1", title="x"), call("1", status="failed"), call("1", status="failed")],
        "event: x\nevent: x — failed",
    ),
    "status without a start": ([call("9", status="completed")], "event: 9 — done"),
    "a title of many lines": ([call("1", title="a\n\nb\x1b[2J")], "event: a b\\x1b[2J"),
    "plan": (
        [{**PLAN, "entries": [{"content": "one", "status": "completed"}, {"content": "two"}, "odd"]}],
        "event: plan: [x] one · [ ] two",
    ),
    "mode": ([{"sessionUpdate": "current_mode_update", "currentModeId": "ask"}], "event: mode: ask"),
    "the user's own words": ([text("me", "user_message_chunk")], ""),
    "nonsense": (
        [{}, {"sessionUpdate": 3}, {"sessionUpdate": "tool_call"}, call("1", title=5)],
        "event: tool call\nevent: 1",
    ),
}


@pytest.mark.parametrize(("updates", "expected"), TOLD.values(), ids=TOLD)
def test_narration(updates: list[Any], expected: str) -> None:
    narrator = Narrator()
    pieces = [piece for update in updates for piece in narrator.tell(update)]
    assert "\n".join(f"{piece.kind}: {piece.text}" for piece in pieces) == expected


def test_visible_text_cannot_dress_up() -> None:
    assert (
        visible("a\r\nb\rc\td\u202ee\x1b\ud800 👩\u200d💻\xa0")
        == "a\nb\nc\td\\u202ee\\u001b\\ud800 👩\u200d💻\xa0"
    )


def test_an_endless_line_is_cut() -> None:
    log = LineLog()
    lines = [line for _ in range(30) for line in log.add(text("x" * 1000))]
    lines += log.rest()
    assert sum(line.count("x") for _, line in lines) == 30_000
    assert max(len(line) for _, line in lines) < 5000
