"""An agent's questions: what the user is shown, what the agent is told, and how they end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sidecar.acp.permission import ToolCalls, options_of
from tests.acp.side import Side, opened

OPTIONS = [
    {"optionId": "y", "name": "Allow", "kind": "allow_once"},
    {"optionId": "n", "name": "Reject", "kind": "reject_once"},
]
CALL = {"toolCallId": "t1", "title": "Edit f", "kind": "edit"}


@asynccontextmanager
async def in_a_turn() -> AsyncIterator[Side]:
    """Agents ask in turns only."""
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", []))
        await side.wire.asked("session/prompt")
        yield side
        turn.cancel()


def ask(side: Side, number: object = 1, call: object = CALL, options: object = OPTIONS) -> None:
    params = {"sessionId": "a1", "toolCall": call, "options": options}
    side.wire.request(number, "session/request_permission", params)


# what the user's side says · what the agent is told
CHOICES: list[tuple[str | None, object]] = [
    ("y", {"outcome": "selected", "optionId": "y"}),
    ("n", {"outcome": "selected", "optionId": "n"}),
    (None, {"outcome": "cancelled"}),
    ("never offered", {"outcome": "cancelled"}),
]


@pytest.mark.parametrize(("choice", "outcome"), CHOICES)
async def test_choices(choice: str | None, outcome: object) -> None:
    async with in_a_turn() as side:
        side.workspace.choose = lambda question: choice
        ask(side)
        assert (await side.wire.answered(1))["result"] == {"outcome": outcome}
        assert side.workspace.questions[0].session_id == "S1"


# options as offered · ids that can be chosen; None: an error
OFFERS: list[tuple[object, list[str] | None]] = [
    (OPTIONS, ["y", "n"]),
    ([*OPTIONS, *OPTIONS], ["y", "n"]),
    ([*OPTIONS, {"optionId": "z", "name": "Z", "kind": "allow_once"}], ["y", "n", "z"]),
    ([*OPTIONS, {"optionId": "z", "name": "Z", "kind": "allow_for_ever"}, {"name": "no id"}, 5], ["y", "n"]),
    ([{"optionId": "y", "kind": "allow_once"}], ["y"]),
    ([], None),
    (None, None),
    ("y", None),
    ([{"optionId": {}, "name": "x", "kind": []}], None),
    ([{"optionId": "x" * 5000, "name": "x", "kind": "allow_once"}, *OPTIONS], ["y", "n"]),
    (
        [{"optionId": f"{n}", "name": "x", "kind": "allow_once"} for n in range(1000)],
        [f"{n}" for n in range(64)],
    ),
]


@pytest.mark.parametrize(("options", "ids"), OFFERS, ids=str)
async def test_offers(options: object, ids: list[str] | None) -> None:
    async with in_a_turn() as side:
        side.workspace.choose = lambda question: None
        ask(side, options=options)
        answer = await side.wire.answered(1)
        if ids is None:
            assert answer["error"]["code"] == -32602
        else:
            assert [option.id for option in side.workspace.questions[0].options] == ids


# the agent's word for an option · its kind · the button
BUTTONS: list[tuple[object, str, str]] = [
    ("Allow", "allow_once", "Allow"),
    ("Yes, proceed", "allow_once", "Yes, proceed (allows it)"),
    ("Always Allow", "allow_always", "Always Allow (allows it from now on)"),
    ("Always ask me first", "allow_always", "Always ask me first (allows it from now on)"),
    ("Yes, and don't ask again", "allow_always", "Yes, and don't ask again (allows it from now on)"),
    ("Reject", "reject_once", "Reject"),
    ("No, tell it what to do", "reject_once", "No, tell it what to do (refuses it)"),
    ("Never", "reject_always", "Never (refuses it from now on)"),
    ("Reject", "allow_once", "Reject (allows it)"),
    ("Cancel", "allow_always", "Cancel (allows it from now on)"),
    ("Yes, cancel it", "allow_once", "Yes, cancel it (allows it)"),
    ("ALLOW NOTHING", "allow_once", "ALLOW NOTHING (allows it)"),
    ("Dismiss", "allow_once", "Dismiss (allows it)"),
    ("Allow once", "allow_always", "Allow once (allows it from now on)"),
    ("Allow", "reject_once", "Allow (refuses it)"),
    ("Ablehnen", "allow_once", "Ablehnen (allows it)"),
    ("R\u200beject", "allow_once", r"R\u200beject (allows it)"),
    (" ", "allow_once", "allow"),
    (5, "reject_always", "reject (refuses it from now on)"),
]


@pytest.mark.parametrize(("name", "kind", "label"), BUTTONS, ids=str)
def test_a_button_says_what_it_does(name: object, kind: str, label: str) -> None:
    offered = {"options": [{"optionId": "o", "name": name, "kind": kind}]}
    assert [option.label for option in options_of(offered)] == [label]


# tool call · action · what the text must hold · what it must not
QUESTIONS: list[tuple[dict[str, Any], str, list[str], list[str]]] = [
    ({"toolCallId": "t1"}, "other", ["Tool call t1"], []),
    ({"title": "ls", "rawInput": {"command": "rm -rf /x"}}, "execute", ["Command: rm -rf /x", "“ls”"], []),
    ({"title": "read it", "kind": "read", "rawInput": {"command": ["rm", "x"]}}, "execute", ["Command: rm x"], []),
    ({"title": "x" * 300}, "other", ["x" * 300], []),
    ({"title": "x" * 300, "rawInput": {"cmd": "ls"}}, "execute", ["Command: ls"], ["x" * 201]),
    ({"kind": "read", "locations": [{"path": "/a", "line": 0}, {"path": "/b"}]}, "read", ["/a", "/b"], []),
    (
        {"kind": "read", "content": [{"type": "diff", "path": "/etc/x", "oldText": None, "newText": "n"}]},
        "write",
        ["File: /etc/x"],
        [],
    ),
    ({"kind": "delete", "locations": "odd", "content": 5, "rawInput": "odd"}, "write", ["change files"], []),
    ({"title": "\x1b[2J\u202egnp.exe\u200b\nYes?"}, "other", [r"\x1b[2J\u202egnp.exe\u200b\nYes?"], ["\x1b", "\u202e"]),
    ({"title": "a" + " " * 5000 + "rm"}, "other", ["more characters", "rm”"], [" " * 500]),
    ({"locations": [{"path": f"/{n}"} for n in range(20)]}, "other", ["/0", "/5", "… and 14 more files"], ["/6"]),
    ({"locations": [{"path": "/a\nFile: /b"}]}, "other", [r"File: /a\nFile: /b"], []),
]  # fmt: skip


# tool call · what goes to the editor beside the text
LARGE = "x" * 2_000_000
DETAILS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"content": [{"type": "diff", "path": "/a", "oldText": None, "newText": "n"}]}, {"target": "/a", "diff": [{"path": "/a", "oldText": None, "newText": "n"}]}),
    ({"content": [{"type": "diff", "path": "/a", "oldText": "", "newText": LARGE}]}, {"target": "/a"}),
    ({"content": [{"type": "diff", "path": "/a", "newText": ""}] * 4_000}, {"target": "/a"}),
    ({"rawInput": {"command": ["ls", "-l"]}}, {"argv": ["ls", "-l"]}),
    ({"rawInput": {"command": LARGE}}, {}),
    ({"rawInput": {"command": "ls", "args": ["x"] * 15_000}}, {}),
    ({"locations": [{"path": "/" + LARGE}, {"path": "/b"}]}, {}),
    ({"locations": [{"path": f"/{n}"} for n in range(5_000)]}, {"target": "/0"}),
]  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), DETAILS, ids=lambda value: str(value)[:50])
async def test_what_goes_along_with_a_question_is_bounded(
    call: dict[str, Any], expected: dict[str, Any]
) -> None:
    async with in_a_turn() as side:
        side.workspace.choose = lambda question: None
        ask(side, call=call)
        await side.wire.answered(1)
        (question,) = side.workspace.questions
        sent = {key: question.details[key] for key in ("target", "argv", "diff") if key in question.details}
        assert sent == expected
        assert len(json.dumps(question.details["paths"])) < 100_000


@pytest.mark.parametrize(("call", "action", "holds", "lacks"), QUESTIONS, ids=lambda value: str(value)[:60])
async def test_questions(call: dict[str, Any], action: str, holds: list[str], lacks: list[str]) -> None:
    async with in_a_turn() as side:
        side.workspace.choose = lambda question: "n"
        ask(side, call=call)
        assert (await side.wire.answered(1))["result"]
        question = side.workspace.questions[0]
        assert question.action == action
        assert question.text.startswith("fake ")
        for part in holds:
            assert part in question.text
        for part in lacks:
            assert part not in question.text
        json.dumps(dict(question.details))


async def test_a_question_with_only_an_id_shows_what_was_announced() -> None:
    async with in_a_turn() as side:
        side.workspace.choose = lambda question: "n"
        announced = {
            "sessionUpdate": "tool_call",
            "toolCallId": "t1",
            "title": "Run it",
            "kind": "execute",
            "rawInput": {"command": "make"},
        }
        later = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t1",
            "rawInput": {"command": "make clean"},
        }
        for update in (announced, later):
            side.wire.notify("session/update", {"sessionId": "a1", "update": update})
        ask(side, call={"toolCallId": "t1"})
        await side.wire.answered(1)
        assert "Command: make clean" in side.workspace.questions[0].text
        assert "“Run it”" in side.workspace.questions[0].text


async def test_cancel_withdraws_open_questions_and_further_ones() -> None:
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", []))
        await side.wire.asked("session/prompt")
        ask(side, 1)
        ask(side, 2)
        await side.workspace.until(lambda: len(side.workspace.questions) == 2)
        side.agent.cancel("a1")
        for number in (1, 2):
            assert (await side.wire.answered(number))["result"] == {"outcome": {"outcome": "cancelled"}}
        assert (await side.wire.asked("session/cancel"))["params"] == {"sessionId": "a1"}
        ask(side, 3)
        late = {"outcome": {"outcome": "cancelled"}, "_meta": {"errorKind": "withdrawn"}}
        assert (await side.wire.answered(3))["result"] == late
        assert len(side.workspace.questions) == 2
        await side.wire.reply("session/prompt", {"stopReason": "cancelled"})
        assert await turn == "cancelled"


async def test_what_is_remembered_of_tool_calls_is_bounded() -> None:
    calls = ToolCalls()
    for number in range(100):
        calls.heard(
            {"sessionUpdate": "tool_call", "toolCallId": f"c{number}", "rawInput": {"a": "x" * 10**6}}
        )
    calls.heard({"sessionUpdate": "tool_call", "toolCallId": "huge", "content": ["x" * 10**8]})
    calls.heard({"sessionUpdate": "tool_call_update", "toolCallId": "last", "title": "the last"})
    assert calls.merged({"toolCallId": "last"})["title"] == "the last"
    known = [n for n in range(100) if "rawInput" in calls.merged({"toolCallId": f"c{n}"})]
    assert len(known) <= 32


async def test_a_tool_call_with_an_endless_id_is_dropped() -> None:
    async with in_a_turn() as side:
        for length in (10, 10**6):
            update = {"sessionUpdate": "tool_call", "toolCallId": "x" * length, "title": "t"}
            side.wire.notify("session/update", {"sessionId": "a1", "update": update})
        side.wire.update("a1", "said")
        await side.workspace.until(lambda: side.workspace.said() == "said")
        assert len(side.workspace.updates) == 2


async def test_a_question_can_be_taken_back_by_the_agent() -> None:
    async with in_a_turn() as side:
        ask(side, "q")
        await side.workspace.until(lambda: side.workspace.questions)
        side.wire.notify("$/cancel_request", {"requestId": "other"})
        side.wire.notify("$/cancel_request", {"requestId": "q"})
        assert (await side.wire.answered("q"))["error"]["code"] == -32800


async def test_questions_do_not_keep_others_waiting() -> None:
    async with in_a_turn() as side:
        for number in range(300):
            ask(side, number)
        side.wire.request("probe", "ping")
        await side.wire.answered("probe")


async def test_death_withdraws_questions() -> None:
    async with in_a_turn() as side:
        withdrawn = asyncio.Event()

        async def asked(question: object) -> str | None:
            side.workspace.changed.set()
            side.workspace.questions.append(question)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                withdrawn.set()
                raise
            return "y"

        side.workspace.ask = asked
        ask(side)
        await side.workspace.until(lambda: side.workspace.questions)
        side.wire.sent.clear()
        await side.agent.close()
        await withdrawn.wait()
        assert side.wire.sent == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"sessionId": "a1"},
        {"sessionId": "a1", "toolCall": 5, "options": OPTIONS},
        {"sessionId": "x", "toolCall": CALL, "options": OPTIONS},
    ],
    ids=str,
)
async def test_questions_that_are_none(params: dict[str, Any]) -> None:
    async with in_a_turn() as side:
        side.wire.request(1, "session/request_permission", params)
        assert (await side.wire.answered(1))["error"]["code"] == -32602
