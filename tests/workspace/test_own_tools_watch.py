"""Whether an agent's own tools come to us: what the user is told, and when."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.workspace.ports.ports import OpenedSession, SessionRequest
from sidecar.workspace.sessions.own_tools_watch import OwnToolsWatch
from sidecar.workspace.state.sessions import Session


def a_session(name: str = "S1", *, live: bool = True) -> Session:
    roots: Any = None
    session = Session(name, "opencode", "/", roots, SessionRequest(name, "opencode", "/"))
    session.opened = OpenedSession(name, "opencode", own_tools_live=live)
    return session


def call(kind: str, *statuses: str, number: int = 1) -> list[dict[str, Any]]:
    first = {"sessionUpdate": "tool_call", "toolCallId": f"c{number}", "kind": kind, "status": "pending"}
    more = [
        {"sessionUpdate": "tool_call_update", "toolCallId": f"c{number}", "status": status}
        for status in statuses
    ]
    return [first, *more]


TURNS: list[tuple[str, list[Any], bool]] = [
    ("nothing", [], False),
    ("read through us", [*call("read", "completed"), "ours"], False),
    ("read past us", call("read", "in_progress", "completed"), True),
    ("edited past us", call("edit", "completed"), True),
    ("one of two past us", [*call("read", "completed"), "ours", *call("edit", "completed", number=2)], True),
    ("failed", call("edit", "failed"), False),
    ("another kind", call("execute", "completed"), False),
    (
        "never announced",
        [{"sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "completed"}],
        False,
    ),
    ("completed twice", [*call("read", "completed", "completed"), "ours"], False),
    ("ours heard before the announcement", ["ours", *call("read", "completed")], False),
]


@pytest.mark.parametrize(("steps", "told"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS])
def test_a_turn(steps: list[Any], told: bool) -> None:
    said: list[str] = []
    watch, session = OwnToolsWatch(said.append), a_session()
    for _ in range(2):
        for step in steps:
            watch.called("S1") if step == "ours" else watch.heard(session, step)
        watch.turn_ended(session, {})
    assert len(said) == told, "once, however often it happens"


def test_an_agent_whose_tools_are_its_own_is_not_spoken_of() -> None:
    told: list[str] = []
    watch, session = OwnToolsWatch(told.append), a_session(live=False)
    for update in call("edit", "completed"):
        watch.heard(session, update)
    watch.turn_ended(session, {})
    assert told == []


def test_calls_that_never_end_are_forgotten() -> None:
    watch, session = OwnToolsWatch(print), a_session()
    for number in range(5000):
        for update in call("read", number=number):
            watch.heard(session, update)
    assert len(watch._kinds) <= 4096
    watch.turn_ended(session, {})
    assert watch._kinds == {}
