"""What of an update is kept."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.records import entries

BIG = "x" * (entries.TEXT + 10)


def chunk(text: object, **more: Any) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, **more}


# an update · what is kept of it
KEPT: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "a plan": ({"sessionUpdate": "plan", "entries": []}, {"sessionUpdate": "plan", "entries": []}),
    "something unknown": ({"sessionUpdate": "new_kind", "x": 1}, {"sessionUpdate": "new_kind", "x": 1}),
    "no kind": ({"x": 1}, {"x": 1}),
    "_meta": ({"sessionUpdate": "plan", "_meta": {"a": 1}}, {"sessionUpdate": "plan"}),
    "commands": ({"sessionUpdate": "available_commands_update"}, None),
    "options": ({"sessionUpdate": "config_option_update"}, None),
    "usage": ({"sessionUpdate": "usage_update"}, None),
    "a compaction": (
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"},
        {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"},
    ),
    "a notice": (
        {"sessionUpdate": "notice", "severity": "info", "title": "T"},
        {"sessionUpdate": "notice", "severity": "info", "title": "T"},
    ),
    "a sub-agent's tool call": (
        {"toolCallId": "t", "name": "read", "_meta": {"parentToolCallId": "p", "other": 1}},
        {"toolCallId": "t", "name": "read", "_meta": {"parentToolCallId": "p"}},
    ),
    "a small picture": (
        {"content": {"type": "image", "data": "AAAA"}},
        {"content": {"type": "image", "data": "AAAA"}},
    ),
    "a large picture": (
        {"content": {"type": "image", "data": "A" * 40960}},
        {"content": {"type": "text", "text": "[image, 30 KiB, not kept]"}},
    ),
}


@pytest.mark.parametrize(("update", "kept"), KEPT.values(), ids=KEPT)
def test_kept(update: dict[str, Any], kept: dict[str, Any] | None) -> None:
    assert entries.kept(update) == kept


def test_a_fork_begins_with_what_was_said_and_not_with_what_became_of_it() -> None:
    said = [
        {"type": "omitted"},
        {"type": "prompt", "turn": 1, "prompt": []},
        {"type": "end", "turn": 1, "stopReason": "end_turn", "changes": [{"uri": "file:///a"}]},
        {"type": "reviewed", "turn": 1, "verdict": "kept", "changed": 1},
    ]
    end = {"type": "end", "turn": 1, "stopReason": "end_turn"}
    assert entries.forked(said) == [*said[:2], end]


def test_long_texts_keep_head_and_tail() -> None:
    text = "head " + BIG + " tail"
    kept = entries.shortened({"a": [{"b": text}]})
    short = kept["a"][0]["b"]
    assert short.startswith("head ")
    assert short.endswith(" tail")
    assert len(short) < entries.TEXT + 100
    assert f"{len(text) - entries.TEXT} characters not kept" in short


def test_deep_and_wide_values_are_cut() -> None:
    deep: object = "bottom"
    for _ in range(100):
        deep = [deep]
    assert "bottom" not in repr(entries.shortened(deep))
    assert len(entries.shortened(list(range(1000)))) == 256


SUMMARY = {
    "sessionUpdate": "compaction_summary_chunk",
    "compactionId": "c",
    "content": {"type": "text", "text": "kept"},
}
# updates that are pieces of a running text: what they are part of
CHUNKS: list[tuple[dict[str, Any], object]] = [
    (chunk("a"), (("agent_message_chunk", None, None), "a")),
    (chunk("a", messageId="m"), (("agent_message_chunk", "m", None), "a")),
    (chunk("a", _meta={"x": 1}), (("agent_message_chunk", None, None), "a")),
    (chunk("a", _meta={"parentToolCallId": "p"}), (("agent_message_chunk", None, "p"), "a")),
    (chunk("a", _meta={"parentToolCallId": 7}), (("agent_message_chunk", None, None), "a")),
    (SUMMARY, (("compaction_summary_chunk", "c", None), "kept")),
    (chunk("a", other=1), None),
    (chunk(7), None),
    (chunk(BIG), None),
    ({**chunk("a"), "content": {"type": "text", "text": "a", "annotations": {}}}, None),
    ({**chunk("a"), "content": {"type": "image", "data": ""}}, None),
    ({"sessionUpdate": "plan"}, None),
]


@pytest.mark.parametrize(("update", "found"), CHUNKS, ids=repr)
def test_chunks(update: dict[str, Any], found: object) -> None:
    assert entries.chunk(update) == found
    if found is not None:
        said = entries.of_chunks(*entries.chunk(update))
        meta = update.get("_meta", {})
        below = {"_meta": meta} if isinstance(meta.get("parentToolCallId"), str) else {}
        assert said == {**{key: value for key, value in update.items() if key != "_meta"}, **below}


def test_updates_of_one_tool_call_join() -> None:
    first = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "pending", "title": "T"}
    last = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}
    assert entries.joined(first, last) == {**first, "status": "completed"}
    assert entries.joined(first, {**last, "toolCallId": "u"}) is None
    assert entries.joined({**first, "sessionUpdate": "tool_call"}, last) is None


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ([{"type": "text", "text": "\n  fix   it \nand more"}], "fix it"),
        ([{"type": "resource_link", "uri": "x"}, {"type": "text", "text": "two"}], "two"),
        ([{"type": "text", "text": "y" * 100}], "y" * 79 + "…"),
        ([], ""),
        (None, ""),
        ([7, {"text": 7}], ""),
    ],
)
def test_titles(prompt: object, title: str) -> None:
    assert entries.title_of(prompt) == title
