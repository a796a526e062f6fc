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


def compaction(identity: str, status: str, **more: object) -> dict[str, Any]:
    return {"sessionUpdate": "compaction_update", "compactionId": identity, "status": status, **more}


def notice(severity: str, title: str, **more: object) -> dict[str, Any]:
    return {"sessionUpdate": "notice", "severity": severity, "title": title, **more}


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
    "of sub-agents stay apart": (
        [text("a"), text("b", _meta={"parentToolCallId": "p"}), text("c", _meta={"parentToolCallId": "p"})],
        [text("a"), text("bc", _meta={"parentToolCallId": "p"})],
    ),
    "summaries": (
        [text("a", "compaction_summary_chunk", compactionId="1")] * 2
        + [text("b", "compaction_summary_chunk", compactionId="2")],
        [
            text("aa", "compaction_summary_chunk", compactionId="1"),
            text("b", "compaction_summary_chunk", compactionId="2"),
        ],
    ),
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
    "a tool's name": (
        [
            call("1", title="Reading the settings", name="read_file"),
            call("2", title="read_file a", name="read_file"),
            call("3", name="grep"),
            call("1", name="read_file", status="completed"),
        ],
        (
            "event: Reading the settings (read_file)\nevent: read_file a\nevent: grep"
            "\nevent: Reading the settings (read_file) — done"
        ),
    ),
    "a sub-agent's": (
        [
            call("1", title="Task"),
            call("2", title="Read a", _meta={"parentToolCallId": "1"}),
            text("Looking", _meta={"parentToolCallId": "1"}),
            call("2", status="completed"),
        ],
        "event: Task\nevent: ↳ Read a\nthought: Looking\nevent: ↳ Read a — done",
    ),
    "a compaction": (
        [
            compaction("1", "in_progress"),
            compaction("1", "in_progress"),
            compaction("1", "completed", summary=[{"type": "text", "text": "Kept"}, "odd"]),
        ],
        "event: compacting the conversation\nevent: the conversation was compacted\nthought: Kept",
    ),
    "a summary that comes in pieces is told once": (
        [
            compaction("1", "in_progress"),
            text("Ke", "compaction_summary_chunk", compactionId="1"),
            text("pt", "compaction_summary_chunk", compactionId="1"),
            compaction("1", "completed", summary=[{"type": "text", "text": "Kept"}]),
        ],
        "event: compacting the conversation\nthought: Ke\nthought: pt\nevent: the conversation was compacted",
    ),
    "compactions that end otherwise": (
        [
            compaction("1", "failed", error="no\nroom"),
            compaction("2", "cancelled"),
            compaction("3", "of_tomorrow"),
        ],
        (
            "event: the conversation could not be compacted: no room\nevent: compacting the conversation was stopped"
            "\nevent: compacting the conversation: of_tomorrow"
        ),
    ),
    "notices": (
        [
            notice("warning", "No server", description="Going on without it."),
            notice("error", "Bad"),
            notice("info", "Good"),
            notice("of_tomorrow", "New"),
            notice("info", ""),
        ],
        "event: warning: No server — Going on without it.\nevent: error: Bad\nevent: notice: Good\nevent: notice: New",
    ),
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
