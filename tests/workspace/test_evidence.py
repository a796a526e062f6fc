"""What is remembered of tool calls while a turn runs: enough to know which of them act, and no more than that, whatever an agent sends."""

from __future__ import annotations

from typing import Any, cast

import pytest

from sidecar.workspace.behind.evidence import MAX_CALL, MAX_CALLS, Evidence
from sidecar.workspace.state.storage import Storage


class Session:
    id = "s1"


class State:
    def __init__(self) -> None:
        self.sessions = {Session.id: Session()}
        self.storage = Storage(0)


@pytest.fixture
def evidence() -> Evidence:
    made = Evidence(cast("Any", State()))
    made.turn_began(cast("Any", Session()))
    return made


def says(evidence: Evidence, call: str, kind: str | None = None) -> None:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": call} | ({"kind": kind} if kind else {})
    evidence.observe(cast("Any", Session()), update)


def acted(evidence: Evidence) -> bool:
    return evidence.has_acted(cast("Any", Session()))


def remembered(evidence: Evidence) -> int:
    reading = evidence._reading  # how much is kept shows nowhere else
    return sum(map(len, reading.values()))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["read"], False),
        (["read", None], False),
        (["search", None, None], False),
        ([None], True),
        (["edit"], True),
        (["read", "execute"], True),
        (["read", "edit", None], True),
        (["\N{LATIN SMALL LETTER A WITH DIAERESIS}"], True),
    ],
    ids=str,
)
def test_which_calls_act(evidence: Evidence, kinds: list[str | None], expected: bool) -> None:
    for kind in kinds:
        says(evidence, "c1", kind)
    assert acted(evidence) is expected


def test_a_turn_of_very_many_calls_is_remembered_in_part(evidence: Evidence) -> None:
    for number in range(3 * MAX_CALLS):
        says(evidence, f"c{number}", "read")
    assert remembered(evidence) == MAX_CALLS
    says(evidence, f"c{3 * MAX_CALLS - 1}")
    assert not acted(evidence)
    says(evidence, "c0")  # forgotten: taken for one that may have changed something
    assert acted(evidence)


def test_ids_of_any_length_are_not_kept(evidence: Evidence) -> None:
    says(evidence, "x" * (MAX_CALL + 1), "read")
    assert remembered(evidence) == 0
    assert not acted(evidence)


def test_the_end_of_a_session_leaves_nothing(evidence: Evidence) -> None:
    says(evidence, "c1", "read")
    evidence.forget_session(Session.id)
    assert remembered(evidence) == 0
