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


KIMI = "Requesting approval to perform: Run command `{}`"
# what the agent says in the content of its question, and nowhere else · its kind · the line shown · the command
IN_CONTENT: dict[str, tuple[str, str | None, str, list[str] | None]] = {
    "kimi": (KIMI.format("ls -la"), None, "Command: ls -la", ["ls -la"]),
    "marks in it": (KIMI.format("echo `date`"), None, "Command: echo `date`", ["echo `date`"]),
    "lines": (KIMI.format("a\nb"), None, "Command: a\\nb", ["a\nb"]),
    "only words": ("npm test", "execute", "It says: “npm test”", None),
    "something after it": ("Run `ls` now", "execute", "It says: “Run `ls` now”", None),
    "too long": (KIMI.format("x" * 500), None, "Command: xxx", ["x" * 500]),
}


@pytest.mark.parametrize("case", IN_CONTENT)
def test_a_command_that_only_the_content_has_is_shown(case: str) -> None:
    said, kind, line, argv = IN_CONTENT[case]
    content = [{"type": "content", "content": {"type": "text", "text": said}}]
    asked = question("q", "agent", "s", {"toolCallId": "c1", "kind": kind, "content": content}, OPTIONS)
    assert asked.action == "execute"
    assert "wants to run a command" in asked.text
    assert f"\n{line}" in asked.text
    assert asked.details.get("argv") == argv
    assert bool(asked.whole) is (case == "too long")


def test_what_is_no_command_is_none() -> None:
    content = [{"type": "content", "content": {"type": "text", "text": "Read the file `make`"}}]
    asked = question("q", "agent", "s", {"toolCallId": "c1", "content": content}, OPTIONS)
    assert asked.action == "other"
    assert "argv" not in asked.details


async def test_a_command_in_the_content_is_asked_for_once(tmp_path: Path) -> None:
    editor = QuietEditor()
    editor.answer = "yes"
    async with in_a_turn(tmp_path, editor) as bench:
        content = [{"type": "content", "content": {"type": "text", "text": KIMI.format("echo a; ls")}}]
        call = {"toolCallId": "c1", "content": content}
        assert await bench.workspace.ask(question("q", "agent", bench.session, call, OPTIONS)) == "yes"
        editor.answer = "allow"
        await run(bench, "/bin/sh", "-c", "echo a; ls")
        assert len(editor.questions) == 1
