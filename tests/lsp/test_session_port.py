"""The Editor port's part of sessions: history, agents' states, forms, activity."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sidecar.lsp.editor import LspEditor
from sidecar.workspace.ports.ports import EditorCapabilities, EditorRefused
from sidecar.workspace.ports.session_ports import Activity, AgentState, Elicitation, Elicited
from tests.lsp.fakes import SILENCE, FakeWire, Tasks, until

ALL = EditorCapabilities(session_updates=True, agent_state=True, activity=True, elicitation=True)
FORM = Elicitation("fake:1", "fake", "form", "Which?", "s1", "t1", {"properties": {"a": {}}})
PAGE = Elicitation("fake:2", "fake", "url", "Sign in", None, None, url="https://x/", elicitation_id="e")


def text(words: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}


@pytest.fixture
def wire() -> FakeWire:
    return FakeWire()


def an_editor(wire: FakeWire, capabilities: EditorCapabilities = ALL) -> LspEditor:
    editor = LspEditor(wire, Tasks())
    editor.announce(capabilities)
    return editor


def told(wire: FakeWire) -> list[tuple[str, bool, str]]:
    return [
        (params["sessionId"], params.get("replay", False), params["update"]["content"]["text"])
        for method, params in wire.sent
        if method == "sidecar/sessionUpdate"
    ]


async def test_history_is_marked_and_in_order(wire: FakeWire) -> None:
    editor = an_editor(wire)
    editor.session_update("s2", text("other "))
    editor.session_history("s1", text("long "))
    editor.session_history("s1", text("ago"))
    editor.session_update("s1", text("now "))
    editor.session_update("s1", text("live"))
    editor.session_history("s1", text("late history"))
    editor.history_shown()
    assert [one for one in told(wire) if one[0] == "s1"] == [
        ("s1", True, "long ago"),
        ("s1", False, "now live"),
        ("s1", True, "late history"),
    ]
    assert ("s2", False, "other ") in told(wire)


async def test_history_is_not_for_the_log(wire: FakeWire) -> None:
    editor = an_editor(wire, EditorCapabilities())
    editor.session_history("s1", text("long ago"))
    editor.history_shown()
    assert wire.sent == []


async def test_states_and_ends(wire: FakeWire) -> None:
    editor = an_editor(wire)
    editor.agent_state(AgentState("fake", "starting"))
    editor.agent_state(AgentState("fake", "failed", "Fake", "1", "it died", ("s1",)))
    editor.elicitation_complete("fake", "e")
    assert wire.sent == [
        ("sidecar/agentState", {"agent": "fake", "state": "starting", "sessions": []}),
        (
            "sidecar/agentState",
            {
                "agent": "fake",
                "state": "failed",
                "sessions": ["s1"],
                "name": "Fake",
                "version": "1",
                "message": "it died",
            },
        ),
        ("sidecar/elicitationComplete", {"agent": "fake", "elicitationId": "e"}),
    ]


# what is asked · params
ASKED: list[tuple[Elicitation, dict[str, Any]]] = [
    (
        FORM,
        {
            "requestId": "fake:1",
            "agent": "fake",
            "mode": "form",
            "message": "Which?",
            "sessionId": "s1",
            "toolCallId": "t1",
            "requestedSchema": {"properties": {"a": {}}},
        },
    ),
    (
        PAGE,
        {
            "requestId": "fake:2",
            "agent": "fake",
            "mode": "url",
            "message": "Sign in",
            "url": "https://x/",
            "elicitationId": "e",
        },
    ),
]


@pytest.mark.parametrize(("asked", "params"), ASKED, ids=["form", "url"])
async def test_what_is_asked(wire: FakeWire, asked: Elicitation, params: dict[str, Any]) -> None:
    wire.answers["sidecar/elicitation"] = {"action": "decline"}
    assert await an_editor(wire).elicit(asked) == Elicited("decline")
    assert wire.sent == [("sidecar/elicitation", params)]


# what the client answers · what it means
ANSWERS: list[tuple[object, Elicited]] = [
    ({"action": "accept", "content": {"a": 1}}, Elicited("accept", {"a": 1})),
    ({"action": "accept"}, Elicited("accept", None)),
    ({"action": "decline", "content": {"a": 1}}, Elicited("decline")),
    ({"action": "cancel"}, Elicited("cancel")),
    ({}, Elicited("cancel")),
    ({"action": "yes"}, Elicited("cancel")),
    ({"action": "accept", "content": [1]}, Elicited("cancel")),
    (None, Elicited("cancel")),
    ("accept", Elicited("cancel")),
    (EditorRefused("no such method"), Elicited("cancel")),
]


@pytest.mark.parametrize(("answer", "meaning"), ANSWERS, ids=repr)
async def test_answers(wire: FakeWire, answer: object, meaning: Elicited) -> None:
    wire.answers["sidecar/elicitation"] = answer
    assert await an_editor(wire).elicit(FORM) == meaning


async def test_a_form_can_be_withdrawn(wire: FakeWire) -> None:
    wire.answers["sidecar/elicitation"] = SILENCE
    asking = asyncio.ensure_future(an_editor(wire).elicit(FORM))
    await until(lambda: wire.sent)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert wire.withdrawn == ["sidecar/elicitation"]


async def test_activity_names_what_is_known(wire: FakeWire) -> None:
    editor = an_editor(wire)
    editor.activity(Activity("s1", 2, "read", "file:///a", "ok"))
    editor.activity(Activity("s1", 2, "write", "file:///a", "conflict", 0, "t1"))
    first = {"sessionId": "s1", "turn": 2, "kind": "read", "uri": "file:///a", "outcome": "ok"}
    assert [params for _, params in wire.sent] == [
        first,
        {**first, "kind": "write", "outcome": "conflict", "line": 0, "toolCallId": "t1"},
    ]
