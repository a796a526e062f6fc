"""Questions: how each client is asked, and whose answer counts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from sidecar.lsp import questions as questions_module
from sidecar.lsp.questions import Questions, action_titles
from sidecar.workspace.ports.ports import EditorCapabilities, EditorGone, EditorRefused, Option, Question
from tests.lsp.fakes import SILENCE, FakeWire, turns_of_the_loop

REJECT = Option("no", "reject_once", "Reject")
NEVER = Option("never", "reject_always", "Never")
ALLOW = Option("yes", "allow_once", "Allow once")
ALWAYS = Option("always", "allow_always", "Always")

TITLES: dict[str, tuple[list[Option], list[tuple[str, str | None]]]] = {
    "rejections first": (
        [ALLOW, ALWAYS, NEVER, REJECT],
        [("Reject", "no"), ("Never", "never"), ("Allow once", "yes"), ("Always", "always")],
    ),
    "none to reject": ([ALLOW], [("Not now", None), ("Allow once", "yes")]),
    "no options": ([], [("Not now", None)]),
    "equal labels": (
        [ALLOW, Option("2", "allow_once", "Allow once"), Option("3", "allow_once", "Allow once "), REJECT],
        [("Reject", "no"), ("Allow once", "yes"), ("Allow once (2)", "2"), ("Allow once (3)", "3")],
    ),
    "no label": ([REJECT, Option("x", "new_kind", "")], [("Reject", "no"), ("x", "x")]),
    "a label like ours": (
        [Option("x", "allow_once", "Not now")],
        [("Not now", None), ("Not now (2)", "x")],
    ),
}


@pytest.mark.parametrize(("options", "expected"), TITLES.values(), ids=TITLES)
def test_titles(options: list[Option], expected: list[tuple[str, str | None]]) -> None:
    assert list(action_titles(tuple(options)).items()) == expected


class FakePlace:
    """A transcript: it knows session s1, and answers when told."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.asked: dict[str, asyncio.Future[str | None]] = {}
        self.taken_back: list[str] = []

    def has(self, session_id: str) -> bool:
        return session_id == "s1"

    async def ask(self, question: Question) -> str | None:
        if self.refuses:
            raise EditorRefused("no transcript")
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.asked[question.id] = answer
        try:
            return await answer
        except asyncio.CancelledError:
            self.taken_back.append(question.id)
            raise


BOX = EditorCapabilities(show_message_request=True)
CUSTOM = EditorCapabilities(permissions=True, show_message_request=True)
NEITHER = EditorCapabilities()
REQUEST, MESSAGE = "sidecar/requestPermission", "window/showMessageRequest"


def question(session_id: str = "s2", **changed: Any) -> Question:
    fields: dict[str, Any] = {
        "id": "q1",
        "session_id": session_id,
        "action": "write",
        "text": "fake-agent wants to change /w/.env",
        "options": (ALLOW, REJECT),
        "reason": "it looks like a file with secrets",
        "details": {"target": "/w/.env", "internal": object()},
    }
    return Question(**{**fields, **changed})


ANSWERS: dict[str, tuple[EditorCapabilities, object, str | None]] = {
    "custom": (CUSTOM, {"optionId": "yes"}, "yes"),
    "custom, cancelled": (CUSTOM, {"cancelled": True}, None),
    "custom, both": (CUSTOM, {"cancelled": True, "optionId": "yes"}, None),
    "custom, never offered": (CUSTOM, {"optionId": "always"}, None),
    "custom, nonsense": (CUSTOM, ["yes"], None),
    "custom, null": (CUSTOM, None, None),
    "box": (BOX, {"title": "Allow once"}, "yes"),
    "box, rejected": (BOX, {"title": "Reject"}, "no"),
    "box, dismissed": (BOX, None, None),
    "box, never offered": (BOX, {"title": "Always"}, None),
    "box, nonsense": (BOX, {"title": ["Allow once"]}, None),
}


@pytest.mark.parametrize(("capabilities", "answer", "expected"), ANSWERS.values(), ids=ANSWERS)
async def test_answers(capabilities: EditorCapabilities, answer: object, expected: str | None) -> None:
    wire = FakeWire({REQUEST: answer, MESSAGE: answer})
    place = FakePlace()
    questions = Questions(wire, lambda: capabilities)
    questions.place = place
    assert await questions.ask(question()) == expected
    assert wire.methods() == [REQUEST if capabilities.permissions else MESSAGE]
    assert place.asked == {}


async def test_what_is_sent() -> None:
    wire = FakeWire()
    await Questions(wire, lambda: CUSTOM).ask(question())
    await Questions(wire, lambda: BOX).ask(question())
    assert wire.sent == [
        (
            REQUEST,
            {
                "sessionId": "s2",
                "requestId": "q1",
                "action": "write",
                "text": "fake-agent wants to change /w/.env",
                "reason": "it looks like a file with secrets",
                "options": [
                    {"optionId": "no", "kind": "reject_once", "label": "Reject"},
                    {"optionId": "yes", "kind": "allow_once", "label": "Allow once"},
                ],
                "target": "/w/.env",
            },
        ),
        (
            MESSAGE,
            {
                "type": 2,
                "message": "fake-agent wants to change /w/.env\nWhy you are asked: it looks like a file with secrets.",
                "actions": [{"title": "Reject"}, {"title": "Allow once"}],
            },
        ),
    ]


async def test_a_reason_that_the_question_ends_with_is_not_said_twice() -> None:
    wire = FakeWire()
    text = "fake-agent wants to change /w/.env: it looks like a file with secrets."
    await Questions(wire, lambda: BOX).ask(question(text=text))
    assert wire.sent[0][1]["message"] == text


async def test_a_long_text_keeps_head_and_tail() -> None:
    wire = FakeWire()
    await Questions(wire, lambda: BOX).ask(question(text="run " + "x" * 50_000 + " && rm -rf", reason=""))
    message = wire.params(MESSAGE)[0]["message"]
    assert message.startswith("run ")
    assert message.endswith("rm -rf")
    assert len(message) < 2100


async def test_a_guests_question_is_a_box() -> None:
    """A client with a panel has no conversation to show it in."""
    wire = FakeWire({REQUEST: {"optionId": "yes"}, MESSAGE: {"title": "Reject"}})
    assert await Questions(wire, lambda: CUSTOM).ask(replace(question(), guest=True)) == "no"
    assert wire.methods() == [MESSAGE]
    only = replace(CUSTOM, show_message_request=False)
    assert await Questions(wire, lambda: only).ask(replace(question(), guest=True)) == "yes"


FALLBACKS: dict[str, tuple[EditorCapabilities, dict[str, Any]]] = {
    "neither": (NEITHER, {}),
    "the client lacks message requests after all": (BOX, {MESSAGE: EditorRefused("method not found")}),
    "the client lacks both": (CUSTOM, {REQUEST: EditorRefused("no"), MESSAGE: EditorRefused("no")}),
}


@pytest.mark.parametrize(("capabilities", "answers"), FALLBACKS.values(), ids=FALLBACKS)
async def test_the_transcript_takes_over(capabilities: EditorCapabilities, answers: dict[str, Any]) -> None:
    questions = Questions(FakeWire(answers), lambda: capabilities)
    questions.place = place = FakePlace()
    asking = asyncio.ensure_future(questions.ask(question()))
    await turns_of_the_loop()
    place.asked["q1"].set_result("yes")
    assert await asking == "yes"


@pytest.mark.parametrize("place", [None, FakePlace(refuses=True)])
async def test_no_way_to_ask_is_no_answer(place: FakePlace | None) -> None:
    questions = Questions(FakeWire({MESSAGE: EditorRefused("no")}), lambda: BOX)
    questions.place = place
    assert await questions.ask(question()) is None
    questions = Questions(FakeWire(), lambda: NEITHER)
    questions.place = place
    assert await questions.ask(question()) is None


async def test_box_and_transcript_the_first_answer_counts() -> None:
    wire, place = FakeWire({MESSAGE: SILENCE}), FakePlace()
    questions = Questions(wire, lambda: BOX)
    questions.place = place
    asking = asyncio.ensure_future(questions.ask(question("s1")))
    await turns_of_the_loop()
    place.asked["q1"].set_result("no")
    assert await asking == "no"
    assert wire.withdrawn == [MESSAGE]

    asking = asyncio.ensure_future(questions.ask(question("s1", id="q2")))
    await turns_of_the_loop()
    wire.open[-1][1].resolve({"title": "Allow once"})
    assert await asking == "yes"
    assert place.taken_back == ["q2"]


@pytest.mark.parametrize("capabilities", [CUSTOM, BOX, NEITHER], ids=["custom", "box", "transcript"])
async def test_cancelling_withdraws(capabilities: EditorCapabilities) -> None:
    wire, place = FakeWire({REQUEST: SILENCE, MESSAGE: SILENCE}), FakePlace()
    questions = Questions(wire, lambda: capabilities)
    questions.place = place
    asking = asyncio.ensure_future(questions.ask(question("s1")))
    await turns_of_the_loop()
    assert len(wire.open) + len(place.asked) > 0
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(wire.withdrawn) == len(wire.open)
    assert len(place.taken_back) == len(place.asked)


async def test_a_vanished_editor_is_told() -> None:
    with pytest.raises(EditorGone):
        await Questions(FakeWire({MESSAGE: EditorGone("gone")}), lambda: BOX).ask(question())


async def test_a_flood_of_questions_is_dismissed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions_module, "OPEN_AT_MOST", 2)
    wire = FakeWire({MESSAGE: SILENCE})
    questions = Questions(wire, lambda: BOX)
    asking = [asyncio.ensure_future(questions.ask(question())) for _ in range(3)]
    await turns_of_the_loop()
    assert [task.done() for task in asking] == [False, False, True]
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    wire.answers[MESSAGE] = {"title": "Reject"}
    assert await questions.ask(question()) == "no"
