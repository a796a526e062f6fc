"""A command is asked about once: by the agent, or by us; never less than it would be by either alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.acp.permission import question
from sidecar.workspace.ports.ports import Option
from tests.support.workspaces import QuietEditor
from tests.workspace.test_commands import in_a_turn, run

OPTIONS = (Option("no", "reject_once", "No"), Option("yes", "allow_once", "Yes"))
LONG = "echo " + "x" * 400

# the raw input of the agent's question · its answer · what it has us run · asked again
CASES: dict[str, tuple[object, str, tuple[str, ...], bool]] = {
    "a line, in a shell": ("echo a; ls", "yes", ("/bin/sh", "-c", "echo a; ls"), False),
    "a line, in a login shell": ("echo a; ls", "yes", ("/bin/sh", "-lc", "echo a; ls"), False),
    "words": (["make", "test"], "yes", ("make", "test"), False),
    "one word": ("make", "yes", ("make",), False),
    "refused": ("echo a; ls", "no", ("/bin/sh", "-c", "echo a; ls"), True),
    "another line": ("echo a; ls", "yes", ("/bin/sh", "-c", "echo a; rm x"), True),
    "more words": (["make"], "yes", ("make", "install"), True),
    "more after the line": ("echo a", "yes", ("/bin/sh", "-c", "echo a", "rm"), True),
    "a shell of the folder's": ("echo a", "yes", ("./sh", "-c", "echo a"), True),
    "another option of the shell": ("echo a", "yes", ("/bin/sh", "-ic", "echo a"), True),
    "not shown whole": (LONG, "yes", ("/bin/sh", "-c", LONG), True),
}


@pytest.mark.parametrize("case", CASES)
async def test_after_the_agents_own_question(tmp_path: Path, case: str) -> None:
    raw, answer, argv, asked = CASES[case]
    editor = QuietEditor()
    editor.answer = answer
    async with in_a_turn(tmp_path, editor) as bench:
        call = {"toolCallId": "c1", "kind": "execute", "rawInput": {"command": raw}}
        assert await bench.workspace.ask(question("q", "agent", bench.session, call, OPTIONS)) == answer
        editor.answer = "allow"
        await run(bench, *argv)
        assert len(editor.questions) == 1 + asked
        await run(bench, *argv)
        assert len(editor.questions) == 2 + asked, "once"


@pytest.mark.parametrize(
    ("cwd", "env"),
    [("sub", ()), (None, ("PATH",))],
    ids=["in another folder", "with a variable"],
)
async def test_not_for_more_than_was_shown(tmp_path: Path, cwd: str | None, env: tuple[str, ...]) -> None:
    (tmp_path / "sub").mkdir()
    editor = QuietEditor()
    editor.answer = "yes"
    async with in_a_turn(tmp_path, editor) as bench:
        call = {"toolCallId": "c1", "kind": "execute", "rawInput": {"command": "make"}}
        await bench.workspace.ask(question("q", "agent", bench.session, call, OPTIONS))
        found = await run(bench, "make", cwd=str(tmp_path / cwd) if cwd else None, env=env)
        assert found == "denied_by_user", "that it was allowed is not enough"


async def test_arguments_beside_the_program_are_shown_too(tmp_path: Path) -> None:
    call = {"toolCallId": "c1", "kind": "execute", "rawInput": {"command": "rm", "args": ["-rf", "src"]}}
    asked = question("q", "agent", "s", call, OPTIONS)
    assert "Command: rm -rf src" in asked.text
    assert asked.details["argv"] == ["rm", "-rf", "src"]
