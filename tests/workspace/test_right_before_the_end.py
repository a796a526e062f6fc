"""What an agent's own tool does to the file of an open document right before its turn ends is that turn's, whatever is on its way to the editor
in that moment, and however soon the next prompt comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from sidecar.workspace.ports.ports import DocumentEdit, EditAnswer, Reloaded
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EGLOT_OURS, NEOVIM, VSCODE, WELL_BEHAVED, Habits
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import MemoryJournal, a_workspace
from tests.workspace.test_behind import BASE, CHANGED, Agent, Turn
from tests.workspace.test_whose import rows

LATE = CHANGED.replace("five", "FIVE")


@pytest.mark.parametrize("seconds", [0.0, 0.3, None])
@pytest.mark.parametrize("meanwhile", ["the user rejects", "the user saves", "nothing"])
@pytest.mark.parametrize("habits", [NEOVIM, EGLOT_OURS, VSCODE], ids=["neovim", "eglot", "vscode"])
def test_it_is_the_turns(tmp_path: Path, habits: Habits, meanwhile: str, seconds: float | None) -> None:
    """`seconds`: until the next prompt; None: there is none."""
    folder = tmp_path.resolve()
    path, editor, agents, begun = folder / "a.txt", FakeEditor(habits, folder), Agent(), asyncio.Event()

    async def works(turn: Turn) -> None:
        if begun.is_set():
            return
        turn.says("execute")
        tick()
        turn.puts("a.txt", CHANGED)
        await asyncio.sleep(3)
        begun.set()
        await asyncio.sleep(0.05)
        tick()
        turn.puts("a.txt", LATE)
        tick()
        turn.says("execute", status="completed")

    async def main() -> None:
        async with a_workspace(folder, editor, agents) as bench:
            agents.bench, agents.script = bench, works
            editor.attach(bench.workspace.apply)
            path.write_text(BASE)
            editor.opens("a.txt")
            await asyncio.sleep(1)
            editor.replaces("a.txt", "one", "mine")
            turn = asyncio.ensure_future(bench.workspace.start_prompt(bench.session, [])[2])
            await begun.wait()
            editor.replaces("a.txt", "mine", "mine, too")
            if meanwhile == "the user rejects":
                review = bench.workspace.review
                rejection = asyncio.ensure_future(review.reject(Selector(everything=True)))
            elif meanwhile == "the user saves":
                editor.saves("a.txt")
            await turn
            if seconds is not None:
                await asyncio.sleep(seconds)
                await bench.workspace.start_prompt(bench.session, [])[2]
            await asyncio.sleep(12)
            if meanwhile == "the user rejects":
                assert not (await rejection).impossible
            found = [(row["oldText"].strip(), row["newText"].strip(), row["turn"]) for row in rows(bench)]
            assert ("five", "FIVE", 1) in found
            assert editor.text("a.txt").startswith("mine, too\n")

    run(main())


class ClosesInstead(FakeEditor):
    """The user closes the document about when the editor is asked to change it, which it does not; that is told `after` seconds."""

    after = 0.0

    def apply_edit(self, label: str, edit: DocumentEdit) -> Awaitable[EditAnswer]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[EditAnswer] = loop.create_future()
        answer.set_result(EditAnswer(False, "it is not open"))
        loop.call_later(self.after, self.closes, "a.txt")
        return answer

    async def reload(self, *told: Any) -> Reloaded | str:
        asyncio.get_running_loop().call_later(self.after, self.closes, "a.txt")
        return "it is not open"


class SlowToFinish(MemoryJournal):
    async def finish(self, entry_id: str, state: str) -> None:
        await asyncio.sleep(0.02)
        await super().finish(entry_id, state)


@pytest.mark.parametrize("after", [0.003, 0.9, 1.003, 1.1])
def test_it_is_listed_where_the_user_closes_the_document_in_that_moment(tmp_path: Path, after: float) -> None:
    """A refused edit counts as such when nothing has come for a second; then what became of the change is journalled."""
    folder = tmp_path.resolve()
    path, editor, agents = folder / "a.txt", ClosesInstead(WELL_BEHAVED, folder), Agent()
    editor.after = after

    async def works(turn: Turn) -> None:
        turn.says("execute")
        tick()
        turn.puts("a.txt", CHANGED)
        await asyncio.sleep(4)
        turn.says("execute", status="completed")

    async def main() -> None:
        async with a_workspace(folder, editor, agents, journal=SlowToFinish()) as bench:
            agents.bench, agents.script = bench, works
            editor.attach(bench.workspace.apply)
            path.write_text(BASE)
            editor.opens("a.txt")
            await asyncio.sleep(1)
            editor.replaces("a.txt", "one", "mine")
            await bench.workspace.start_prompt(bench.session, [])[2]
            await asyncio.sleep(3)
            assert bench.uri("a.txt") not in editor.model.documents
            assert path.read_text() == CHANGED
            assert [(row["oldText"].strip(), row["newText"].strip()) for row in rows(bench)] == [
                ("four", "FOUR")
            ]

    run(main())


def test_what_the_user_rejects_is_no_edit_for_an_agent(tmp_path: Path) -> None:
    """Such an edit would stand in the way of entering what an agent's own tool did before it."""
    path, editor = tmp_path / "a.txt", FakeEditor(VSCODE, tmp_path)

    async def main() -> None:
        async with a_workspace(tmp_path, editor) as bench:
            editor.attach(bench.workspace.apply)
            path.write_text(BASE)
            editor.opens("a.txt")
            await bench.read("a.txt")
            await bench.write("a.txt", CHANGED)
            tracked = bench.workspace.state.documents.get(bench.uri("a.txt"))
            assert tracked is not None
            assert tracked.agents_edits == 1
            assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
            assert (editor.text("a.txt"), tracked.agents_edits) == (BASE, 1)

    run(main())


@pytest.mark.parametrize(
    "habits", [NEOVIM, EGLOT_OURS, VSCODE, WELL_BEHAVED], ids=["neovim", "eglot", "vscode", "plain"]
)
@pytest.mark.parametrize("seconds", [0.6, 0.8, 1.0])
def test_it_is_listed_where_others_write_the_file_while_the_user_types_against_it(
    tmp_path: Path, habits: Habits, seconds: float
) -> None:
    """The document's own text stands in the way of all of them."""
    folder = tmp_path.resolve()
    path, editor, agents, begun = folder / "a.txt", FakeEditor(habits, folder), Agent(), asyncio.Event()
    base = "one"

    async def works(turn: Turn) -> None:
        turn.says("edit", "a.txt")
        tick()
        turn.puts("a.txt", path.read_text() + "\nagents")
        tick()
        turn.says("edit", "a.txt", status="completed")
        begun.set()
        await asyncio.sleep(4)

    async def main() -> None:
        async with a_workspace(folder, editor, agents) as bench:
            agents.bench, agents.script = bench, works
            editor.attach(bench.workspace.apply)
            path.write_text(base)
            editor.opens("a.txt")
            await asyncio.sleep(1)
            editor.replaces("a.txt", "one", "mine\nand more")
            tick()
            path.write_text("outside\n" + base)
            await asyncio.sleep(1)
            turn = asyncio.ensure_future(bench.workspace.start_prompt(bench.session, [])[2])
            await begun.wait()
            for _ in range(round(seconds / 0.05)):
                editor.replaces("a.txt", "mine", "mine,")
                await asyncio.sleep(0.05)
            tick()
            path.write_text("others\n" + path.read_text())
            tick()
            await asyncio.sleep(0.2)
            editor.replaces("a.txt", "mine", "mine,")
            await asyncio.sleep(0.7)
            editor.closes("a.txt")
            await turn
            await asyncio.sleep(4)
            found = [(row["newText"], row.get("unknown")) for row in rows(bench)]
            assert any("agents" in words and not unknown for words, unknown in found), found

    run(main())
