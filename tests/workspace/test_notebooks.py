"""Notebooks: with unsaved cells they are documents in the form in which they are saved; clean ones are edited on disk, and that is said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.notebook import LANGUAGE
from sidecar.core.overlay import Modification, Notified
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.edits.write_task import Replacing, WriteDone
from sidecar.workspace.ports.ports import EditorRefused
from tests.core.test_notebook import SAVED
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import Bench, a_workspace

NAME = "a.ipynb"
TYPED = SAVED.replace('"é = 1\\n"', '"é = 2\\n"')
"""As the user has it, unsaved."""

Case = Callable[[Bench, FakeEditor], Awaitable[None]]


def play(folder: Path, case: Case, editor: FakeEditor | None = None, *, shown: bool = True) -> FakeEditor:
    """With the notebook on the disk; `shown`: as VS Code tells one with unsaved cells."""

    async def main() -> FakeEditor:
        fake = editor or FakeEditor(VSCODE, folder)
        (folder / NAME).write_text(SAVED)
        async with a_workspace(folder, fake) as bench:

            def told(modification: Modification) -> None:
                is_open = modification.action is Notified.OPEN
                bench.workspace.apply(
                    modification._replace(language_id=LANGUAGE) if is_open else modification
                )

            fake.attach(told)
            if shown:
                fake.opens(NAME)
                await asyncio.sleep(1)
                fake.replaces(NAME, '"é = 1\\n"', '"é = 2\\n"')
            await case(bench, fake)
        return fake

    return run(main())


def changed(text: str, **of_second_cell: Any) -> Any:
    notebook = json.loads(text)
    notebook["cells"][1].update(of_second_cell)
    return notebook


def test_it_is_written_in_the_form_in_which_it_is_saved(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        assert await bench.read(NAME) == TYPED
        done = await bench.write(NAME, json.dumps(changed(TYPED, source="words\nmore")))
        assert isinstance(done, WriteDone)
        assert done.saved is False, "the user has unsaved cells in it"
        expected = TYPED.replace('"source": []', '"source": [\n    "words\\n",\n    "more"\n   ]')
        assert editor.text(NAME) == expected
        assert await bench.read(NAME) == expected
        # what it sent itself is what it knows, in that form: the next write takes nothing of the user's away
        editor.replaces(NAME, '"é = 2\\n"', '"é = 3\\n"')
        await bench.write(NAME, json.dumps(changed(TYPED, source="other")))
        assert editor.text(NAME) == TYPED.replace("é = 2", "é = 3").replace(
            '"source": []', '"source": [\n    "other"\n   ]'
        )
        editor.undoes(NAME)
        assert '"more"' in editor.text(NAME)

    editor = play(tmp_path, case)
    assert len(editor.sent) == 2
    assert (tmp_path / NAME).read_text() == SAVED


def test_an_edit_of_its_text_leads_to_the_form_too(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        ticket = bench.workspace.ticket(bench.session, bench.path(NAME), "write")
        change = Replacing(lambda text: text.replace('"source": []', '"source": "wo\\u0072ds"'))
        assert isinstance(await bench.workspace.edit(ticket, change), WriteDone)
        assert editor.text(NAME) == TYPED.replace('"source": []', '"source": [\n    "words"\n   ]')

    play(tmp_path, case)


@pytest.mark.parametrize("content", ["{}\n", TYPED.replace("[", "", 1)])
def test_what_is_no_notebook_is_refused(tmp_path: Path, content: str) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        for _ in range(2):  # also to an agent that knows the text
            refusal = await bench.write(NAME, content)
            assert isinstance(refusal, Refusal)
            assert refusal.kind is Kind.BAD_PARAMS
            await bench.read(NAME)
        ticket = bench.workspace.ticket(bench.session, bench.path(NAME), "write")
        refusal = await bench.workspace.edit(ticket, Replacing(lambda text: content))
        assert isinstance(refusal, Refusal)
        assert "is open as a notebook" in refusal.message

    editor = play(tmp_path, case)
    assert (editor.text(NAME), editor.sent) == (TYPED, [])


class Elsewhere(FakeEditor):
    """Has the notebook open where no text is told, without unsaved changes."""

    async def open(self, client_uri: str) -> int:
        raise EditorRefused("it is open in a notebook", -32803)


def test_a_clean_one_is_edited_on_disk_and_that_is_said(tmp_path: Path) -> None:
    async def case(bench: Bench, editor: FakeEditor) -> None:
        assert await bench.read(NAME) == SAVED
        for source in ("one", "two"):
            done = await bench.write(NAME, json.dumps(changed(SAVED, source=source)))
            assert done == WriteDone(saved=True, note="edited on disk: it is open in a notebook")
        done = await bench.write(NAME, json.dumps(changed(SAVED, source="two")))
        assert done == WriteDone(saved=True), "nothing was edited"
        words = f"{NAME} was edited on disk: it is open in a notebook."
        assert editor.notices == [(bench.session, words)], "once a turn"

    editor = play(tmp_path, case, Elsewhere(VSCODE, tmp_path), shown=False)
    assert editor.sent == []
    assert '"two"' in (tmp_path / NAME).read_text()


def test_a_file_that_the_editor_does_not_open_without_a_word_is_no_news(tmp_path: Path) -> None:
    class Silent(FakeEditor):
        async def open(self, client_uri: str) -> int:
            raise EditorRefused("")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        assert await bench.write(NAME, "{}\n") == WriteDone(saved=True)
        assert editor.notices == []

    play(tmp_path, case, Silent(VSCODE, tmp_path), shown=False)
