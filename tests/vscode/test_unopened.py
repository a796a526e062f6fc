"""Files that are not open: edited and saved at once, without a tab; and new ones."""

from __future__ import annotations

import pytest

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.window import DOCUMENT, Window


def until_tabs(window: Window, *labels: str) -> None:
    eventually(
        lambda: [tab["label"] for tab in window.tabs()] == list(labels),
        f"the tabs are {labels}",
        otherwise=lambda: str(window.tabs()),
    )


def test_fifty_files_leave_no_tab_and_nothing_active_changes(window: Window) -> None:
    mine = window.file("mine.txt", "mine\n")
    files = [window.file(f"{n:02}.txt", f"{n}\n") for n in range(50)]
    window.open(mine)
    window.type("typed")
    writes = [scripted.write(file, f"{file.stem}\nmore\n") for file in files]
    turn = window.begin(
        scripted.steps(
            *(
                step
                for file, write in zip(files, writes, strict=True)
                for step in (scripted.read(file), write)
            )
        )
    )
    window.type(" meanwhile")
    ended = turn.result()
    assert len(ended["changes"]) == 50
    assert [file.read_text() for file in files] == [f"{file.stem}\nmore\n" for file in files]
    assert window.active() == mine
    window.type("!")
    assert window.text(mine) == "typed meanwhile!mine\n"
    until_tabs(window, "mine.txt")
    # opened later, one Ctrl+Z takes the agent's edit back
    window.open(files[7])
    window.undo()
    window.until_text(files[7], "7\n")


def test_many_files_are_taken_back_at_once(window: Window) -> None:
    files = [window.file(f"{n:02}.txt", f"{n}\n") for n in range(12)]
    turn = window.prompt(
        scripted.steps(
            *(step for file in files for step in (scripted.read(file), scripted.write(file, "agent\n")))
        )
    )
    assert {file.read_text() for file in files} == {"agent\n"}
    window.command("sidecar.revertTurn", {"sessionId": turn["sessionId"], "turn": turn["turn"]})
    assert [file.read_text() for file in files] == [f"{n}\n" for n in range(12)]
    until_tabs(window)


def test_a_tab_of_the_users_stays(window: Window) -> None:
    first, second = window.file("first.txt", "first\n"), window.file("second.txt", "second\n")
    window.open(first)
    window.open(second)
    window.prompt(scripted.steps(scripted.read(first), scripted.write(first, "first\nmore\n")))
    assert first.read_text() == "first\nmore\n"
    until_tabs(window, "first.txt", "second.txt")
    assert window.active() == second


def test_a_view_that_the_user_opens_beside_another_stays(window: Window) -> None:
    """It is the only tab of its group and has unsaved text, like one that VS Code opens by itself."""
    file = window.file("first.txt", "first\n")
    window.open(file)
    window.prompt(scripted.steps(scripted.read(file), scripted.write(file, "first\nmore\n")))
    window.type("typed ")
    window.command("workbench.action.splitEditor")
    until_tabs(window, "first.txt", "first.txt")
    window.save()
    eventually(lambda: file.read_text() == "typed first\nmore\n", "it is saved")
    window.settle()
    window.type("on ")
    window.until_text(file, "typed on first\nmore\n")
    until_tabs(window, "first.txt", "first.txt")


SLOW_SAVES = """
keep.slow = vscode.workspace.onWillSaveTextDocument((event) => event.waitUntil(new Promise((done) => setTimeout(done, 1500))));
"""


def busy(milliseconds: int) -> str:
    """Another extension keeps the extension host busy at each change: documents stay unsaved for longer."""
    return f"""
      keep.busy = vscode.workspace.onDidChangeTextDocument(({{ document }}) => {{
        for (const until = Date.now() + (document.isDirty ? {milliseconds} : 0); Date.now() < until; );
      }});
    """


def test_tabs_that_open_in_an_empty_editor_area_are_all_closed(window: Window) -> None:
    """The first is active without anybody looking at it, and is saved while others stand beside it."""
    files = [window.file(f"{n}.txt", f"{n}\n") for n in range(3)]
    sessions = [window.command("sidecar.newSession", {"agent": scripted.NAME})["sessionId"] for _ in files]
    window.js(TABS_OPENED + busy(1500))
    try:
        turns = [
            window.begin(scripted.steps(scripted.read(file), scripted.write(file, "agent\n")), session)
            for file, session in zip(files, sessions, strict=True)
        ]
        for turn in turns:
            turn.result()
        eventually(lambda: window.js("return keep.opened") == 3, "VS Code opened them by itself")
    finally:
        window.js("keep.busy.dispose(); keep.tabs.dispose();")
    until_tabs(window)


TABS_OPENED = """
keep.opened = 0;
keep.tabs = vscode.window.tabGroups.onDidChangeTabs(({ opened }) => { keep.opened += opened.length; });
"""
IN_BACKGROUND = "await vscode.commands.executeCommand('_workbench.open', {uri}, [0, {{ inactive: true, pinned: true, preserveFocus: true }}]);"


def test_a_tab_that_comes_when_its_file_is_saved_is_closed(window: Window) -> None:
    """As on a slow machine, where VS Code finds the file unsaved and has saved it before the tab is there."""
    mine, file = window.file("mine.txt", "mine\n"), window.file("first.txt", "first\n")
    window.open(mine)
    late = IN_BACKGROUND.format(uri="document.uri")
    window.js(
        busy(600)
        + TABS_OPENED
        + f"keep.late = vscode.workspace.onDidSaveTextDocument(async (document) => {{ {late} }});"
    )
    try:
        window.prompt(scripted.steps(scripted.read(file), scripted.write(file, "first\nmore\n")))
        eventually(lambda: window.js("return keep.opened") == 1, "it has a tab")
    finally:
        window.js("keep.busy.dispose(); keep.late.dispose(); keep.tabs.dispose();")
    until_tabs(window, "mine.txt")


def test_a_tab_that_somebody_comes_to_look_at_while_it_is_being_closed_stays(window: Window) -> None:
    mine, file = window.file("mine.txt", "mine\n"), window.file("first.txt", "first\n")
    window.open(mine)
    late = IN_BACKGROUND.format(uri="document.uri").replace("await", "void")
    window.js(
        busy(600)
        + "keep.late = vscode.workspace.onDidSaveTextDocument(async (document) => {"
        + f"{late} keep.shown = vscode.window.showTextDocument(document, {{ preview: false }}).then(() => true); }});"
    )
    try:
        window.prompt(scripted.steps(scripted.read(file), scripted.write(file, "first\nmore\n")))
        assert window.js("return await keep.shown")
    finally:
        window.js("keep.busy.dispose(); keep.late.dispose();")
    until_tabs(window, "mine.txt", "first.txt")
    window.js("await new Promise((done) => setTimeout(done, 1500));")  # it would be closed by now
    until_tabs(window, "mine.txt", "first.txt")
    assert window.active() == file


def test_a_tab_that_the_user_opens_in_the_background_stays(window: Window) -> None:
    mine, file = window.file("mine.txt", "mine\n"), window.file("first.txt", "first\n")
    window.open(mine)
    window.prompt(scripted.steps(scripted.read(file), scripted.write(file, "first\nmore\n")))
    window.js("await new Promise((done) => setTimeout(done, 1200));")  # now it is not VS Code's
    window.js(IN_BACKGROUND.format(uri="vscode.Uri.file(args[0])"), str(file))
    until_tabs(window, "mine.txt", "first.txt")
    window.prompt(scripted.steps(scripted.write(file, "first\nmore\nand more\n")))
    window.settle()
    until_tabs(window, "mine.txt", "first.txt")


def test_a_file_that_the_user_opens_while_it_is_written_stays(window: Window) -> None:
    """In an empty editor area, it looks like a tab that VS Code opens by itself: what is typed must not go nowhere."""
    file = window.file("first.txt", "first\n")
    window.js(SLOW_SAVES)
    try:
        turn = window.begin(scripted.steps(scripted.read(file), scripted.write(file, "first\nmore\n")))
        eventually(
            lambda: window.js(DOCUMENT + "return document?.isDirty ?? false", str(file)), "it is unsaved"
        )
        window.open(file)
        turn.result()
    finally:
        window.js("keep.slow.dispose();")
    assert file.read_text() == "first\nmore\n"
    window.settle()
    window.type("typed ")
    window.until_text(file, "typed first\nmore\n")
    window.save()
    eventually(lambda: file.read_text() == "typed first\nmore\n", "it is saved")
    until_tabs(window, "first.txt")


def test_a_new_file_is_on_disk_when_the_agent_has_its_answer(window: Window) -> None:
    mine = window.file("mine.txt", "mine\n")
    window.open(mine)
    file = window.folder / "sub" / "new.txt"
    window.prompt(scripted.steps(scripted.write(file, "new\n")))
    assert file.read_text() == "new\n"
    until_tabs(window, "mine.txt")
    assert window.active() == mine


def test_a_new_file_that_is_rejected_is_gone(window: Window) -> None:
    mine, file = window.file("mine.txt", "mine\n"), window.folder / "new.txt"
    window.open(mine)  # in an empty editor area a tab that VS Code opens by itself counts as looked at
    window.prompt(scripted.steps(scripted.write(file, "new\n")))
    assert file.read_text() == "new\n"
    window.command("sidecar.reject", {"all": True})
    assert not file.exists()
    until_tabs(window, "mine.txt")


@pytest.mark.parametrize("unsaved", [0, 600], ids=["", "where VS Code is busy"])
def test_a_new_file_that_is_looked_at_stays_and_its_text_can_be_had_back(
    window: Window, unsaved: int
) -> None:
    """Also where the user's tab looks like one that VS Code opens by itself for a document that stayed unsaved."""
    file = window.folder / "new.txt"
    window.js(busy(unsaved))
    try:
        window.prompt(scripted.steps(scripted.write(file, "new\n")))
    finally:
        window.js("keep.busy.dispose();")
    window.open(file)
    window.command("sidecar.reject", {"all": True})
    assert window.text(file) == ""
    window.undo()
    window.until_text(file, "new\n")


def test_a_new_file_that_is_looked_at_is_gone_once_it_is_closed(window: Window) -> None:
    file = window.folder / "sub" / "new.txt"
    window.prompt(scripted.steps(scripted.write(file, "new\n")))
    window.open(file)
    window.command("sidecar.reject", {"all": True})
    window.until_disk(file, "")
    window.js('void vscode.commands.executeCommand("workbench.action.closeActiveEditor");')
    eventually(lambda: not file.parent.exists(), "the file and its folder are gone")
