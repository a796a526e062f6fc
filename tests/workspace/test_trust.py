"""trust_canary: what was never approved is not started without a question that shows what would run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.workspace.ports.ports import AgentFailed
from tests.support.workspaces import EveryAgent, IdleAgents, QuietEditor, a_workspace

CANARY: Mapping[str, object] = {
    "agents": {
        "agent": {
            "command": "/bin/canary",
            "args": ["a b", "\u202egnp.exe"],
            "env": {"LD_PRELOAD": "/tmp/x.so"},
        }
    }
}
COMMAND = AgentCommand("/bin/canary", ("a b", "\u202egnp.exe"), {"LD_PRELOAD": "/tmp/x.so"})


@pytest.mark.parametrize(
    ("answer", "started", "remembered"),
    [
        ("reject", False, False),
        (None, False, False),
        ("allow", True, False),
        ("always", True, True),
        ("no-such", False, False),
    ],
)
async def test_a_never_approved_agent_asks_once(
    tmp_path: Path, answer: str | None, started: bool, remembered: bool
) -> None:
    editor, agents, approvals = QuietEditor(), IdleAgents(), Approvals(tmp_path / "state")
    editor.answer = answer
    opened = None
    try:
        async with a_workspace(tmp_path, editor, agents, CANARY, approvals=approvals):
            opened = True
    except* AgentFailed as failed:
        (one,) = failed.exceptions
        assert "did not allow" in str(one)
    assert bool(agents.opened) is started
    assert bool(opened) is started
    assert approvals.knows(COMMAND) is remembered
    (question,) = editor.questions
    assert question.action == "start"
    assert question.options[0].kind == "reject_once", "the first choice must never start anything"


async def test_the_question_shows_what_would_run(tmp_path: Path) -> None:
    editor, approvals = QuietEditor(), Approvals(tmp_path / "state")
    editor.answer = "allow"
    async with a_workspace(tmp_path, editor, settings=CANARY, approvals=approvals):
        pass
    (question,) = editor.questions
    assert "/bin/canary 'a b' '\\u202egnp.exe'" in question.text or "\\u202e" in question.text
    assert "\u202e" not in question.text, "no text may run backwards"
    assert "LD_PRELOAD" in question.text
    assert "/tmp/x.so" not in question.text, "names of variables, not their values"
    assert question.details["argv"] == ["/bin/canary", "a b", "\u202egnp.exe"]


async def test_an_approved_agent_is_not_asked_about_until_its_command_changes(tmp_path: Path) -> None:
    approvals = Approvals(tmp_path / "state")
    approvals.remember(COMMAND)
    editor = QuietEditor()
    async with a_workspace(tmp_path, editor, settings=CANARY, approvals=approvals):
        assert not editor.questions
    changed = {"agents": {"agent": {**CANARY["agents"]["agent"], "args": ["a b"]}}}
    editor.answer = "allow"
    async with a_workspace(tmp_path, editor, settings=changed, approvals=approvals):
        assert len(editor.questions) == 1


async def test_a_session_costs_the_same_however_many_agents_there_are(tmp_path: Path) -> None:
    class Many(IdleAgents):
        def status(self) -> list[Any]:
            raise AssertionError("this looks for every agent's program on the disk")

        list = status

    agents = Many()
    async with a_workspace(tmp_path, QuietEditor(), agents, CANARY, approvals=EveryAgent()):
        assert len(agents.opened) == 1
