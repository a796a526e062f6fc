"""An agent's edits at a file's end, and their rejection, over every editor's habits (in the real ones: `tests/e2e/test_file_end.py`)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.normal import normal
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, NEOVIM_KEEPING_END, Habits
from tests.support.file_ends import FILE_ENDS
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, listed
from tests.workspace.test_behind import play as play_turn
from tests.workspace.test_writes import done, play

PLAYED = {name: habits for name, habits in EDITORS.items() if not habits.refuses}
PLAYED["neovim, nofixendofline"] = NEOVIM_KEEPING_END


def compared(habits: Habits, text: str) -> str:
    """As the editor has it: one of lines ends the last line, whatever was written."""
    text = normal(text)
    return text if habits.final_end != "setting" or text.endswith("\n") else text + "\n"


@pytest.mark.parametrize("editor", PLAYED)
@pytest.mark.parametrize("row", FILE_ENDS)
def test_written_and_rejected(tmp_path: Path, editor: str, row: str) -> None:
    habits, (before, after) = PLAYED[editor], FILE_ENDS[row]
    path = tmp_path / "a.txt"
    path.write_bytes(before.encode())

    async def case(bench: Bench, fake: FakeEditor) -> None:
        fake.opens("a.txt")
        await bench.read("a.txt")
        done(await bench.write("a.txt", after))
        assert compared(habits, fake.text("a.txt")) == compared(habits, after)
        labels = [label for label, _ in fake.sent]
        assert not any("put right" in label or "taken back" in label for label in labels), labels

        rejected = await bench.workspace.review.reject(Selector(everything=True))
        assert not rejected.impossible
        assert compared(habits, fake.text("a.txt")) == compared(habits, before)

    play(tmp_path, habits, case, settings={"afterWrite": "never"})


@pytest.mark.parametrize("editor", PLAYED)
@pytest.mark.parametrize("written_before", [True, False])
def test_what_an_agents_tool_writes_is_listed_and_taken_back(
    tmp_path: Path, editor: str, written_before: bool
) -> None:
    """In a file that did not end its last line: a save adds the line end, and an editor of lines takes it over with the next reload."""
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree")

    async def before(bench: Bench, fake: FakeEditor) -> None:
        fake.opens("a.txt")

    async def script(turn: Turn, fake: FakeEditor) -> None:
        await turn.bench.read("a.txt")
        if written_before:
            done(await turn.bench.write("a.txt", "one A\ntwo\nthree", session=turn.session))
            await asyncio.sleep(1)
        turn.says("edit", "a.txt")
        turn.puts("a.txt", path.read_text().replace("two\n", "two\nPUT\n"))
        await asyncio.sleep(1)
        turn.says("edit", "a.txt", status="completed")

    async def after(bench: Bench, fake: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "", " A")] * written_before + [("a.txt", "", "PUT\n")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert fake.text("a.txt").removesuffix("\n") == "one\ntwo\nthree"

    play_turn(tmp_path, PLAYED[editor], script, before=before, after=after)


@pytest.mark.parametrize(("fixes_end", "saved"), [(True, "ONE\ntwo\n"), (False, "ONE\ntwo")])
def test_a_save_at_an_agents_write_ends_the_file_as_the_setting_says(
    tmp_path: Path, fixes_end: bool, saved: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo")

    async def case(bench: Bench, fake: FakeEditor) -> None:
        fake.opens("a.txt")
        await bench.read("a.txt")
        done(await bench.write("a.txt", "ONE\ntwo"))
        assert path.read_text() == saved
        await bench.workspace.review.reject(Selector(everything=True))
        assert normal(fake.text("a.txt")).removesuffix("\n") == "one\ntwo"

    play(tmp_path, replace(NEOVIM_KEEPING_END, fixes_end=fixes_end), case)
