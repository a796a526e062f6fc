"""What a question shows only in part can be seen in full before it is allowed: paths and folders like commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.consent.shown import SHOWN_WHOLE, Shown
from sidecar.workspace.ports.ports import Question
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
