"""That the harness tells the truth: keys, texts, undo, disk, the server, a turn of an agent."""

from __future__ import annotations

from tests.e2e import scripted
from tests.vscode.window import Window


def test_keys_reach_the_document_and_undo_takes_them_back(window: Window) -> None:
    file = window.file("a.txt", "one\ntwo\n")
    window.open(file)
    window.type("zero")
    assert window.text(file) == "zeroone\ntwo\n"
    window.until_dirty(file, True)
    assert file.read_text() == "one\ntwo\n"
    window.save()
    window.until_disk(file, "zeroone\ntwo\n")
    window.undo()
    window.until_text(file, "one\ntwo\n")
    window.redo()
    window.until_text(file, "zeroone\ntwo\n")


def test_the_shared_window_is_as_good_as_new(window: Window) -> None:
    assert window.tabs() == []
    assert list(window.folder.iterdir()) == []
    assert window.changes() == []


def test_an_agent_reads_what_is_not_saved(window: Window) -> None:
    file = window.file("a.txt", "one\ntwo\n")
    window.open(file)
    window.type("zero")
    ended = window.prompt(scripted.steps(scripted.read(file), scripted.write(file, "zeroone\ntwo\nthree\n")))
    assert ended["stopReason"] == "end_turn"
    window.until_text(file, "zeroone\ntwo\nthree\n")
    window.undo()
    window.until_text(file, "zeroone\ntwo\n")
