"""`"writes": "deny"`: what an agent asks about is answered no, without asking the user, when it would change files or run a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.permission import question
from sidecar.workspace.ports.ports import Option
from tests.support.workspaces import QuietEditor
from tests.workspace.test_commands import in_a_turn, run

YES, ALWAYS = Option("yes", "allow_once", "Yes"), Option("always", "allow_always", "Always")
NO, NEVER = Option("no", "reject_once", "No"), Option("never", "reject_always", "Never")
LATER = Option("later", "reject_once", "Not now")
EVERY = (YES, ALWAYS, NEVER, NO, LATER)
DIFF = {"type": "diff", "path": "/a.txt", "oldText": "a", "newText": "b"}

# the call · the options · the answer; "asked": the user is asked
CASES: dict[str, tuple[dict[str, Any], tuple[Option, ...], str | None]] = {
    "an edit": ({"kind": "edit"}, EVERY, "no"),
    "a file is removed": ({"kind": "delete"}, EVERY, "no"),
    "a file is moved": ({"kind": "move"}, EVERY, "no"),
    "a diff, whatever it is called": ({"kind": "read", "content": [DIFF]}, EVERY, "no"),
    "a command": ({"kind": "execute"}, EVERY, "no"),
    "a command, whatever it is called": ({"kind": "other", "rawInput": {"command": "make"}}, EVERY, "no"),
    "it can only be refused for good": ({"kind": "edit"}, (YES, NEVER), "never"),
    "it cannot be refused": ({"kind": "edit"}, (YES, ALWAYS), None),
    "reading": ({"kind": "read"}, EVERY, "asked"),
    "a page": ({"kind": "fetch"}, EVERY, "asked"),
    "a tool of somebody else's": ({"kind": "other"}, EVERY, "asked"),
}


@pytest.mark.parametrize("case", CASES)
async def test_what_an_agent_asks_about(tmp_path: Path, case: str) -> None:
    call, options, expected = CASES[case]
    for writes in ("deny", "ask"):
        editor = QuietEditor()
        editor.answer = "yes"
        async with in_a_turn(tmp_path, editor, {"writes": writes}) as bench:
            asked = question("q", "agent", bench.session, {"toolCallId": "c1", **call}, options)
            answer = await bench.workspace.ask(asked)
        asks = writes == "ask" or expected == "asked"
        assert (answer, len(editor.questions)) == (("yes", 1) if asks else (expected, 0))


async def test_the_audit_log_has_the_answer(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = []

    class Audit:
        def record(self, event: str, **fields: object) -> None:
            rows.append({"event": event, **fields})

    async with in_a_turn(tmp_path, QuietEditor(), {"writes": "deny"}, audit=Audit()) as bench:
        await bench.workspace.ask(question("q", "agent", bench.session, {"kind": "edit"}, EVERY))
    (row,) = [row for row in rows if row["event"] == "question"]
    assert (row["action"], row["answer"]) == ("write", "no")


async def test_a_command_that_it_then_has_us_run_is_refused_too(tmp_path: Path) -> None:
    async with in_a_turn(tmp_path, QuietEditor(), {"writes": "deny"}) as bench:
        call = {"toolCallId": "c1", "kind": "execute", "rawInput": {"command": "make"}}
        assert await bench.workspace.ask(question("q", "agent", bench.session, call, EVERY)) == "no"
        assert await run(bench, "make") == "denied_by_policy"
