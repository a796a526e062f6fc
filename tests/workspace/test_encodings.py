"""Files that are not UTF-8, in an editor whose user has set their encoding: the editor's text is the truth, and the file is no stranger."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.refusal import Refusal
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import Bench, a_workspace

TEXT = "eins\nzwölf\n"


def play(folder: Path, encoding: str, case: object) -> None:
    async def main() -> None:
        editor = FakeEditor(replace(VSCODE, encoding=encoding), folder)
        async with a_workspace(folder, editor) as bench:
            editor.attach(bench.workspace.apply)
            assert callable(case)
            await case(bench, editor)

    run(main())


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859-15", "cp1250"])
def test_a_file_that_was_clean_is_saved(tmp_path: Path, encoding: str, is_open: bool) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(TEXT.encode(encoding))

    async def case(bench: Bench, editor: FakeEditor) -> None:
        if is_open:
            editor.opens("a.txt")
            await asyncio.sleep(1)
        assert await bench.read("a.txt") == TEXT
        answer = await bench.write("a.txt", TEXT + "dreizehn\n")
        assert not isinstance(answer, Refusal), answer
        assert answer.saved, answer.note
        assert file.read_bytes() == (TEXT + "dreizehn\n").encode(encoding)
        answer = await bench.write("a.txt", TEXT)  # the save was seen for what it is
        assert not isinstance(answer, Refusal)
        assert answer.saved, answer.note

    play(tmp_path, encoding, case)


def test_what_another_program_changed_in_it_is_brought_together_with_what_was_typed(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(TEXT.encode("latin-1"))

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        editor.types("a.txt", "mine\n", at=0)
        file.write_bytes((TEXT + "größer\n").encode("latin-1"))
        assert await bench.read("a.txt") == "mine\n" + TEXT + "größer\n"

    play(tmp_path, "latin-1", case)


@pytest.mark.parametrize("is_open", [True, False])
def test_a_file_that_the_editor_reads_with_another_encoding_is_not_saved_over(
    tmp_path: Path, is_open: bool
) -> None:
    file = tmp_path / "a.txt"
    data = TEXT.encode("latin-1")
    file.write_bytes(data)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.model.load = lambda found: found.decode("utf-8", "replace")
        if is_open:
            editor.opens("a.txt")
            await asyncio.sleep(1)
        else:
            assert isinstance(await bench.read("a.txt"), Refusal)
        await bench.write("a.txt", "eins\nzw\ufffdlf\nmehr\n")
        assert file.read_bytes() == data

    play(tmp_path, "latin-1", case)
