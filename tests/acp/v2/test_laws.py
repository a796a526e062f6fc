"""What holds of ACP version 2 for any agent: patches say what git says, messages grow to what they are, turns end where their work does, and
nothing that an agent sends breaks anything."""

from __future__ import annotations

import json
import re
import subprocess
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sidecar.acp.v2 import diffs
from sidecar.acp.v2.foreground import Foreground
from sidecar.acp.v2.messages import WHOLE, Messages
from sidecar.acp.v2.second import Second

LINE = st.text(st.sampled_from("ab\u2028\x0b\r \\+-@ä"), max_size=3)


def joined(lines: list[str], end: str) -> str:
    return "\n".join(lines) + end


TEXT = st.builds(joined, st.lists(LINE, max_size=8), st.sampled_from(["", "\n"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("diffs")


def patch(folder: Path, old: str, new: str, *options: str) -> str:
    """As git writes it, of two files."""
    for name, text in (("old", old), ("new", new)):
        (folder / name).write_bytes(text.encode())
    command = ["git", "diff", "--no-index", "--no-color", *options, str(folder / "old"), str(folder / "new")]
    return subprocess.run(command, capture_output=True, check=False).stdout.decode()


@given(TEXT, TEXT)
@settings(max_examples=150, deadline=None)
@example("a\n", "a")
@example("", "a\n\nb")
@example("- a\n+ b\n", "@@ c\n\\ d\n")
def test_the_places_of_a_patch_are_the_changes(folder: Path, old: str, new: str) -> None:
    """Each old text, replaced by its new one where git says that it is, makes the new file of the old one."""
    text = patch(folder, old, new)
    change = {"operation": "modify", "path": "/w/a"}
    told = diffs.ToldDiffs().of(
        {"type": "diff", "changes": [change], "patch": {"format": "git_patch", "text": text}}
    )
    lines = old.split("\n")
    starts = [
        (int(line), count != "0") for line, count in re.findall(r"^@@ -(\d+),?(\d*) ", text, re.MULTILINE)
    ]
    made, at = "", 0
    for one, (line, has_lines) in zip(told, starts, strict=True):
        assert one["path"] == "/w/a"
        before, after = str(one["oldText"] or ""), str(one["newText"])
        found = sum(len(text) + 1 for text in lines[: line - 1 if has_lines else line])
        assert old.startswith(before, found)
        made, at = made + old[at:found] + after, found + len(before)
    assert made + old[at:] == new


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([{"operation": "add", "path": "/w/a"}], [(None, "x\n")]),
        ([{"operation": "modify", "path": "/w/a"}], [("", "x\n")]),
        ([{"operation": "move", "oldPath": "/w/old", "path": "/w/a"}], [("", "x\n")]),
        ([{"operation": "delete", "path": "/w/b"}, {"operation": "add", "path": "/w/c"}], []),
    ],
)
@pytest.mark.parametrize("named", ["/w/a", "b/w/a"])
def test_which_file_a_patch_is_about(changes: list[Any], expected: list[Any], named: str) -> None:
    text = f"diff --git a/w/a b/w/a\n--- /dev/null\n+++ {named}\n@@ -0,0 +1 @@\n+x\n"
    told = diffs.ToldDiffs().of({"changes": changes, "patch": {"format": "git_patch", "text": text}})
    assert [(one["oldText"], one["newText"]) for one in told] == expected
    assert all(one["path"] == "/w/a" for one in told)


@pytest.mark.parametrize("lines", ["+x\n" * (diffs.MOST_LINES + 1), f"+{'x' * diffs.LONGEST_PATCH}\n"])
def test_a_patch_that_is_too_long_is_told_by_its_files_only(lines: str) -> None:
    text = "diff --git /w/a /w/a\n@@ -1 +1 @@\n" + lines
    diff = {
        "changes": [{"operation": "modify", "path": "/w/a"}],
        "patch": {"format": "git_patch", "text": text},
    }
    assert (diffs.ToldDiffs().of(diff), diffs.paths(diff)) == ([], ["/w/a"])


def test_a_patch_of_many_files_and_lines_is_read_in_linear_time() -> None:
    """Compared with one in which the names mean nothing, as it says nothing else."""
    changes = [{"operation": "modify", "path": f"/w/{n}"} for n in range(1000)]

    def took(line: str) -> float:
        text = "diff --git a b\n" + line * 3900
        diff = {"changes": changes, "patch": {"format": "git_patch", "text": text}}
        least = float("inf")
        for _ in range(3):
            began = time.thread_time()
            assert diffs.ToldDiffs().of(diff) == []
            least = min(least, time.thread_time() - began)
        return least

    assert took("+++ x\n") < 20 * took("... x\n")


PIECE = st.one_of(
    st.text("aä\ud800", max_size=4).map(lambda text: {"type": "text", "text": text}),
    st.integers(0, 3).map(lambda n: {"type": "resource_link", "uri": f"file:///{n}", "name": "n"}),
)


@given(st.lists(st.tuples(st.booleans(), PIECE), max_size=12))
def test_messages_are_told_once_however_they_come(pieces: list[tuple[bool, Any]]) -> None:
    """In pieces, as wholes that repeat what came before, or in both ways."""
    messages, heard, whole = Messages(), list[Any](), list[Any]()
    for as_whole, piece in pieces:
        whole.append(piece)
        if as_whole:
            told = messages.whole(
                {"sessionUpdate": "agent_message", "messageId": "m", "content": list(whole)}
            )
        else:
            told = messages.chunk(
                {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": piece}
            )
        assert {(one["sessionUpdate"], one["messageId"]) for one in told} <= {("agent_message_chunk", "m")}
        heard += [one["content"] for one in told]

    def said(blocks: list[Any]) -> tuple[str, list[Any]]:
        texts = "".join(block["text"] for block in blocks if block["type"] == "text")
        return texts, [block for block in blocks if block["type"] != "text"]

    assert said(heard) == said(whole)


def test_a_message_that_was_corrected_is_told_once_more() -> None:
    messages = Messages()
    messages.chunk(
        {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "no"}}
    )
    for text, expected in (
        ("yes", ("m#1", "yes")),
        ("yes!", ("m#1", "!")),
        ("yes!", None),
        ("no", ("m#2", "no")),
    ):
        whole = {
            "sessionUpdate": "agent_message",
            "messageId": "m",
            "content": [{"type": "text", "text": text}],
        }
        told: list[Any] = messages.whole(whole)
        assert [(one["messageId"], one["content"]["text"]) for one in told] == (
            [expected] if expected else []
        )
    nothings: list[Any] = [None, []]
    for nothing in nothings:
        assert messages.whole({"sessionUpdate": "agent_message", "messageId": "m", "content": nothing}) == []
    assert set(WHOLE) == {"user_message", "agent_message", "agent_thought"}


@given(st.integers(0, 2), st.integers(0, 3), st.booleans(), st.booleans(), st.data())
def test_a_turn_ends_with_its_own_work(
    earlier: int, works: int, says_why: bool, told_twice: bool, data: st.DataObject
) -> None:
    """The agent may be at work before; the prompt is accepted before its own work begins, or at any time if there was none."""
    foreground = Foreground()
    ends: list[Any] = []

    def tells(state: str, **more: Any) -> None:
        if (answer := foreground.state({"state": state, **more}, others=False)) is not None:
            ends.append(answer)

    for _ in range(earlier):
        tells("running")
    foreground.prompt(7)
    if earlier:
        tells("idle", stopReason="end_turn")  # of the work before
        assert ends == []
    events: list[tuple[str, dict[str, Any]]] = [("running", {})]
    events += [(data.draw(st.sampled_from(["requires_action", "running"])), {}) for _ in range(works)]
    if told_twice and not says_why:
        events.insert(0, ("idle", {}))  # what goes on behind it has changed: that is no end
    accepted_at = 0 if earlier else data.draw(st.integers(0, len(events)))
    for number, (state, more) in enumerate(events):
        if number == accepted_at:
            assert foreground.accepted({"id": 7, "result": {}}) is None
        tells(state, **more)
        assert ends == []
    tells("idle", **({"stopReason": "refusal"} if says_why else {}))
    if accepted_at == len(events):
        assert ends == []
        ends.append(foreground.accepted({"id": 7, "result": {}}))
    reason = "refusal" if says_why else "end_turn"
    assert ends == [{"jsonrpc": "2.0", "id": 7, "result": {"stopReason": reason}}]
    tells("running")
    tells("idle", stopReason="end_turn")
    assert len(ends) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("a/", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "path", "id", "data"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KINDS = [
    *WHOLE,
    *WHOLE.values(),
    *(
        "tool_call_update",
        "tool_call_content_chunk",
        "terminal_update",
        "terminal_output_chunk",
        "plan_update",
        "plan_removed",
    ),
    *(
        "available_commands_update",
        "config_option_update",
        "state_update",
        "subagent_update",
        "notice",
        "_other",
    ),
]
FIELDS = (
    *(
        "content",
        "messageId",
        "toolCallId",
        "terminalId",
        "status",
        "kind",
        "locations",
        "capabilities",
        "output",
        "exitStatus",
    ),
    *(
        "plan",
        "planId",
        "configOptions",
        "availableCommands",
        "state",
        "stopReason",
        "background",
        "sessionId",
        "title",
    ),
)


def update(kind: str, fields: dict[str, Any]) -> Any:
    return {**fields, "sessionUpdate": kind}


def told(session: object, told: object) -> Any:
    return {"method": "session/update", "params": {"sessionId": session, "update": told}}


def asks(params: object) -> Any:
    return {"id": 1, "method": "session/request_permission", "params": params}


def answers(number: int | None, key: str, value: object) -> Any:
    return {"id": number, key: value}


def fields(*names: str) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(names), JSON) | JSON


MESSAGE = st.one_of(
    st.builds(
        told,
        st.sampled_from(["a", "b", "a" * 5000, 3]),
        st.builds(update, st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5))
        | JSON,
    ),
    st.builds(asks, fields("sessionId", "title", "subject", "options", "description")),
    st.builds(
        answers,
        st.integers(0, 8) | st.none(),
        st.sampled_from(["result", "error"]),
        fields("sessionId", "configOptions", "availableCommands", "authMethods", "capabilities"),
    ),
)
OURS = (
    "initialize",
    "session/new",
    "session/load",
    "session/fork",
    "session/set_config_option",
    "session/prompt",
    "session/close",
    "session/list",
)


@given(st.lists(MESSAGE, max_size=20))
@settings(deadline=None)
def test_nothing_that_it_sends_breaks_anything(messages: list[Any]) -> None:
    second = Second()
    for number, method in enumerate(OURS):
        second.told(
            {"jsonrpc": "2.0", "id": number, "method": method, "params": {"sessionId": "a", "mcpServers": []}}
        )
    for message in messages:
        for heard in second.heard(json.loads(json.dumps(message))):
            json.dumps(heard)
    for method in OURS:
        second.told(
            {"jsonrpc": "2.0", "id": 9, "method": method, "params": {"sessionId": "a", "mcpServers": []}}
        )


def test_what_is_remembered_has_a_bound() -> None:
    """However many sessions, calls, messages, terminals and plans an agent tells of: 160 MB here."""
    second = Second()
    tracemalloc.start()
    try:
        for number in range(64 * 40):
            words = f"{number}" + "x" * 60_000
            content = {"type": "content", "content": {"type": "text", "text": words}}
            session = f"s{number // 40}"
            for fields in (
                {"sessionUpdate": "tool_call_content_chunk", "toolCallId": f"c{number}", "content": content},
                {
                    "sessionUpdate": "agent_message",
                    "messageId": words[:4000],
                    "content": [content["content"]],
                },
                {
                    "sessionUpdate": "plan_update",
                    "plan": {"type": "items", "planId": words[:4000], "entries": [content] * 3},
                },
                {
                    "sessionUpdate": "subagent_update",
                    "sessionId": words[:4000],
                    "state": {"state": "running"},
                },
            ):
                second.heard(json.loads(json.dumps(told(session, fields))))
        assert tracemalloc.get_traced_memory()[0] < 40e6
    finally:
        tracemalloc.stop()


def test_a_piece_that_is_too_large_to_be_kept_is_shown() -> None:
    large = {"type": "content", "content": {"type": "text", "text": "x" * 100_000}}
    chunk = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": large}
    heard = Second().heard(told("s", chunk))
    assert heard[-1]["params"]["update"]["content"] == [large]
