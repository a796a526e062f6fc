"""What a question shows only in part can be seen in full before it is allowed: paths and folders like commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.acp.permission import question as asked
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.consent.shown import SHOWN_WHOLE, Shown
from sidecar.workspace.ports.ports import Option, Question
from tests.support.workspaces import QuietEditor
from tests.workspace.test_commands import in_a_turn, run
from tests.workspace.test_guests import Person, a_guest

COMMAND = "x" * (SHOWN_WHOLE + 1)


def long_folder(within: Path) -> Path:
    """The part that tells it from others stands in the middle, where a shortened path leaves out."""
    folder = within.joinpath(*["a" * 200] * 4, "here", *["b" * 200] * 3)
    folder.mkdir(parents=True)
    return folder


def seen_in_full(question: Question, *parts: str) -> None:
    """The words leave something out of these parts, and of nothing else."""
    assert question.whole.splitlines() == list(parts)
    assert "more characters" in question.text or not parts
    assert not any(part in question.text for part in parts)


@pytest.mark.parametrize("access", ["read", "write"])
async def test_the_path_of_a_file(tmp_path: Path, access: str) -> None:
    editor = QuietEditor()
    async with in_a_turn(tmp_path, editor) as bench:
        path = long_folder(tmp_path) / ".env"
        path.write_text("KEY=1\n")
        name = str(path.relative_to(tmp_path))
        answer = await (bench.read(name) if access == "read" else bench.write(name, "KEY=2\n"))
        assert isinstance(answer, Refusal)
        assert answer.kind is Kind.DENIED_BY_USER
        (question,) = editor.questions
        seen_in_full(question, str(path))


async def test_a_short_path_is_in_the_words(tmp_path: Path) -> None:
    editor = QuietEditor()
    async with in_a_turn(tmp_path, editor) as bench:
        (tmp_path / ".env").write_text("KEY=1\n")
        await bench.read(".env")
        (question,) = editor.questions
        assert str(tmp_path / ".env") in question.text
        seen_in_full(question)


@pytest.mark.parametrize("command", ["make", COMMAND])
async def test_the_folder_of_a_command(tmp_path: Path, command: str) -> None:
    editor = QuietEditor()
    async with in_a_turn(tmp_path, editor) as bench:
        folder = long_folder(tmp_path)
        await run(bench, command, cwd=str(folder))
        (question,) = editor.questions
        seen_in_full(question, str(folder), *[command] * (command == COMMAND))


async def test_the_names_of_variables(tmp_path: Path) -> None:
    editor = QuietEditor()
    async with in_a_turn(tmp_path, editor) as bench:
        names = tuple(f"VARIABLE_{number}" for number in range(100))
        await run(bench, "make", env=names)
        (question,) = editor.questions
        seen_in_full(question, ", ".join(names))


async def test_the_folder_of_a_guest(tmp_path: Path) -> None:
    person = Person()
    folder = long_folder(tmp_path)
    person.answers.put_nowait(None)
    async with a_guest(folder, person) as guest:
        await guest.call("Read", file_path="a.txt")
        (question,) = person.questions
        seen_in_full(question, str(folder))
        assert [option.id for option in question.options] == ["reject", "allow"]


def test_each_part_is_a_line() -> None:
    shown = Shown()
    assert shown.part("a" * SHOWN_WHOLE) == "a" * SHOWN_WHOLE
    assert not shown.whole
    assert "b" * SHOWN_WHOLE not in shown.part("b" * (SHOWN_WHOLE + 1))
    assert "n\nn" not in shown.names(["n\nn"] * 400)
    assert shown.whole.splitlines() == ["b" * (SHOWN_WHOLE + 1), ", ".join(["'n\\nn'"] * 400)]


def asks_about(path: str, command: str | None = None) -> Question:
    """A question of the agent's own, about what it does by itself."""
    raw = {} if command is None else {"rawInput": {"command": command}}
    call = {"toolCallId": "1", "locations": [{"path": path}], **raw}
    options = (Option("yes", "allow_once", "Yes"), Option("no", "reject_once", "No"))
    return asked("1", "agent", "session", call, options)


def test_the_path_of_a_file_that_an_agent_asks_about_itself() -> None:
    path = "/a/" + "a" * 200 + "/here/" + "b" * 200
    seen_in_full(asks_about(path), path)
    seen_in_full(asks_about(path, COMMAND), COMMAND, path)
    seen_in_full(asks_about("/a/short"))


def test_what_is_too_long_to_be_seen_in_full_can_only_be_refused() -> None:
    question = asks_about("/" + "a" * 2_000_000)
    assert [option.kind for option in question.options] == ["reject_once"]
    assert not question.whole
