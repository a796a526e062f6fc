"""Saving: what the user has done at every save is done to agents' writes too, and belongs to neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.test_panel import SIGNAL, signal
from tests.vscode.window import Window

PARTICIPANTS = {"files.trimTrailingWhitespace": True, "files.insertFinalNewline": True}
BEFORE = "one  \ntwo\n"
WRITTEN = "one  \ntwo\nthree  \nfour"
SAVED = "one\ntwo\nthree\nfour\n"


@pytest.fixture
def participants(window: Window) -> Window:
    window.configure(PARTICIPANTS)
    return window


def written(window: Window, file: Path, text: str) -> dict[str, object]:
    return window.prompt(scripted.steps(scripted.read(file), scripted.write(file, text)))


def test_a_clean_file_is_saved(window: Window) -> None:
    file = window.file("a.txt", "one\n")
    window.open(file)
    written(window, file, "one\ntwo\n")
    assert file.read_text() == "one\ntwo\n"
    window.until_dirty(file, False)
    assert window.text(file) == "one\ntwo\n"


def test_what_the_user_has_not_saved_stays_unsaved(window: Window) -> None:
    file = window.file("a.txt", "one\n")
    window.open(file)
    window.type("zero")
    written(window, file, "zeroone\ntwo\n")
    assert window.text(file) == "zeroone\ntwo\n"
    assert file.read_text() == "one\n"
    window.save()
    window.until_disk(file, "zeroone\ntwo\n")


def test_two_undos_take_back_participants_then_agent(participants: Window) -> None:
    window = participants
    file = window.file("a.txt", BEFORE)
    window.open(file)
    written(window, file, WRITTEN)
    assert window.text(file) == SAVED
    assert file.read_text() == SAVED
    window.undo()
    window.until_text(file, WRITTEN)
    window.undo()
    window.until_text(file, BEFORE)
    window.redo()
    window.until_text(file, WRITTEN)
    window.redo()
    window.until_text(file, SAVED)


@pytest.mark.parametrize("where", ["active", "in the background", "in a diff", "not open"])
@pytest.mark.parametrize("order", ["reject", "revertTurn"])
def test_one_rejection_takes_back_both(participants: Window, order: str, where: str) -> None:
    window = participants
    file = window.file("a.txt", BEFORE)
    # In an empty editor area nobody can tell the tab below from one that VS Code opens by itself on a slow machine
    window.open(file if where != "not open" else window.file("b.txt", "mine\n"))
    turn = written(window, file, WRITTEN)
    window.until_disk(file, SAVED)
    if where == "in the background":
        window.open(window.file("b.txt", "mine\n"))
    elif where == "in a diff":
        window.command("acpSidecar.review.openDiff", {"uri": file.as_uri()})
        eventually(lambda: window.active_tab()["kind"] == "textdiff", "the diff is shown")
    which = (
        {"uri": file.as_uri()}
        if order == "reject"
        else {"sessionId": turn["sessionId"], "turn": turn["turn"]}
    )
    answer = window.command(f"sidecar.{order}", which)
    assert answer["impossible"] == []
    assert file.read_text() == BEFORE
    window.until_text(file, BEFORE)  # a document in the background is reloaded by the workbench itself
    assert window.changes() == []
    window.until_dirty(file, False)
    window.open(file)
    assert window.text(file) == BEFORE
    # VS Code may have had it in a tab of its own in which its reload moved the cursor
    window.type("mine", at=(0, 0))
    window.save()
    window.until_disk(file, "mine" + SAVED.replace("three\nfour\n", ""))
    # The workbench shows the progress of a slow save; that a save failed stays
    eventually(
        lambda: not window.notifications(),
        "a save is one like any other",
        otherwise=lambda: repr(window.notifications()),
    )


@pytest.mark.parametrize(
    "before",
    [
        "\ufeffone  \r\ntwo\r\n".encode(),
        "\ufeffeins  \nzwölf\n".encode("utf-16-le"),
        b"one  \ntwo",
    ],
    ids=["bom and crlf", "utf-16", "no final newline"],
)
def test_a_file_that_is_not_open_has_the_bytes_it_had(participants: Window, before: bytes) -> None:
    window = participants
    file = window.file("a.txt", before)
    text = before.decode("utf-16" if before[:2] == b"\xff\xfe" else "utf-8-sig")
    written(window, file, text + "more  \n")
    assert file.read_bytes() != before
    window.command("sidecar.reject", {"all": True})
    assert file.read_bytes() == before


def test_the_agent_is_not_told_that_it_changed_what_the_participants_changed(participants: Window) -> None:
    window = participants
    file = window.file("a.txt", BEFORE)
    window.open(file)
    again = scripted.write(file, WRITTEN.replace("two", "TWO")) | {"as": "again"}
    steps = [scripted.read(file), scripted.write(file, WRITTEN), again]
    window.prompt(scripted.steps(*steps))
    assert window.text(file) == SAVED.replace("two", "TWO")
    assert file.read_text() == SAVED.replace("two", "TWO")


@pytest.mark.parametrize("opened", [True, False])
def test_a_formatter_works_on_what_the_agent_wrote(window: Window, opened: bool) -> None:
    window.configure({"editor.formatOnSave": True, "files.insertFinalNewline": True})
    file = window.file("a.json", '{"a":1}\n')
    if opened:
        window.open(file)
    written(window, file, '{"a":1,"b":2}\n')
    formatted = '{\n    "a": 1,\n    "b": 2\n}\n'
    window.until_disk(file, formatted)
    window.command("sidecar.reject", {"all": True})
    assert window.text(file) == file.read_text() == '{"a":1}\n'


def test_what_is_typed_while_a_formatter_works_is_the_users(window: Window) -> None:
    window.configure({"editor.formatOnSave": True})
    window.js(SLOW_FORMATTER)
    file = window.file("a.txt", "one\n")
    window.open(file)
    turn = window.begin(scripted.steps(scripted.read(file), scripted.write(file, "one\ntwo\n")))
    window.until_js("return keep.begun === 1", "the formatter works")
    window.type("mine")
    window.js("keep.format()")
    turn.result()
    window.command("sidecar.reject", {"all": True})
    text = window.text(file)
    assert text is not None
    assert "mine" in text
    assert "two" not in text


def test_what_is_undone_while_a_formatter_works_stays_undone(window: Window) -> None:
    """It is no formatting, which the agent would count as known to it and take back with its next write."""
    window.configure({"editor.formatOnSave": True})
    window.js(SLOW_FORMATTER)
    file = window.file("a.txt", "one\ntwo\nthree\n")
    window.open(file)
    first, second = scripted.write(file, "ONE\ntwo\nthree\n"), scripted.write(file, "ONE\ntwo\nTHREE\n")
    turn = window.begin(scripted.steps(scripted.read(file), first, second))
    window.until_js("return keep.begun === 1", "the formatter works")
    window.undo()
    # On a slow machine the agent's save has been given up by now, and the second write is there, too
    eventually(lambda: window.text(file).startswith("one\n"), "it is undone", within=30)
    window.js("keep.format()")
    window.until_js("return keep.begun > 1", "it works on the second write")
    window.js("keep.format()")
    turn.result()
    assert window.text(file) == "one\ntwo\nTHREE\n"


SLOW_FORMATTER = """
keep.begun = 0;
const ends = [];
keep.format = () => ends.splice(0).forEach((end) => end());
keep.disposables = [vscode.languages.registerDocumentFormattingEditProvider({ pattern: '**/*.txt' }, {
  provideDocumentFormattingEdits: () => new Promise((resolve) => {
    keep.begun += 1;
    ends.push(() => resolve([]));
  }),
})];
"""


def test_what_the_user_is_typing_is_saved_as_it_is(participants: Window) -> None:
    """For an agent that reads files from the disk, and says so. The user did not save it: nothing is trimmed from under their fingers."""
    window = participants
    file = window.file("a.txt", "one\n")
    window.open(file)
    call = {"sessionUpdate": "tool_call", "title": "Read", "kind": "read", "status": "pending"}
    told = {**call, "locations": [{"path": str(file)}]}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "r1", "status": "completed"}
    window.prompt(scripted.steps({"update": {**told, "toolCallId": "r1"}}, {"update": done}))
    sent = window.folder / "sent"
    turn = window.begin(
        scripted.steps(
            {"put": str(sent), "text": ""},
            SIGNAL,
            {"update": {**told, "toolCallId": "r2"}},
            {"wait_for": "session/cancel"},
        )
    )
    eventually(sent.exists, "the prompt was sent", within=30)
    window.type("zero  ")
    window.keys("Enter")
    window.until_text(file, "zero  \none\n")  # the agent is not to be quicker than the keys
    signal(window)
    window.until_disk(file, "zero  \none\n")
    window.type("more ")
    assert window.text(file) == "zero  \nmore one\n"
    window.command("sidecar.cancel", {})
    turn.result()
    window.save()
    window.until_disk(file, "zero\nmore one\n")
