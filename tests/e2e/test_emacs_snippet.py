"""The Emacs snippet against a server that only asks: what the sidecar may rely on, with eglot 1.9 and 1.17."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.emacs import Emacs
from tests.e2e.probe import Probe, replace_line
from tests.support.waiting import eventually


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


@pytest.fixture
def ready(emacs: Emacs, probe: Probe, file: Path) -> Emacs:
    emacs.setup(probe.command, {"defaultAgent": "x"})
    emacs.open(file)
    emacs.start()
    probe.wait_for("textDocument/didOpen")
    return emacs


def test_announces_what_it_handles(ready: Emacs, probe: Probe) -> None:
    options = probe.seen("initialize")[0]["params"]["initializationOptions"]
    client = {"name": "eglot", "save": True, "open": True, "reload": True}
    assert options == {"client": client, "defaultAgent": "x"}
    eventually(
        lambda: "Connected!" in ready.messages(), "eglot has finished connecting", otherwise=ready.messages
    )
    assert "error in process filter" not in ready.messages()


def test_one_server_for_every_mode(ready: Emacs, probe: Probe, workspace: Path) -> None:
    other = workspace / "b.py"
    other.write_text("x\n")
    ready.open(other)
    opened = [m["params"]["textDocument"]["uri"] for m in probe.wait_for("textDocument/didOpen", 2)]
    assert other.as_uri() in opened


def test_a_buffer_without_a_file_is_told_of_with_the_next_command(ready: Emacs, probe: Probe) -> None:
    """With its whole text. A chat, which has a mode of its own, is not, nor is a buffer of Emacs' own."""
    ready.eval('(define-derived-mode acp-test-chat-mode nil "Chat")')
    ready.eval('(with-current-buffer (get-buffer-create "#chat") (acp-test-chat-mode) (insert "secret"))')
    ready.terminal.keys("C-x", "b")
    ready.terminal.wait_for("Switch to buffer")
    ready.type("nötes\n")
    ready.wait_for('(equal (buffer-name) "nötes")', "it is shown")
    ready.type("typed")
    ready.wait_for_text("typed")
    ready.command("acp-sidecar-status")
    other = probe.wait_for("textDocument/didOpen", 2)[-1]["params"]["textDocument"]
    assert (other["uri"], other["text"]) == ("untitled:n%C3%B6tes", "typed")
    ready.type(" on")
    changed = probe.wait_for("textDocument/didChange")[-1]["params"]
    assert changed["textDocument"]["uri"] == other["uri"]
    ready.eval('(kill-buffer "nötes")')
    (closed,) = probe.wait_for("textDocument/didClose")
    assert closed["params"]["textDocument"]["uri"] == other["uri"]
    assert len(probe.seen("textDocument/didOpen")) == 2


def test_edit_then_one_undo_and_typing_stays(ready: Emacs, probe: Probe, file: Path) -> None:
    ready.type("mine ")
    probe.wait_for("textDocument/didChange")
    version = probe.version(file.as_uri())
    assert probe.apply(file, version, replace_line(1, "TWO\nand a half\n"))["applied"] is True
    ready.wait_for_text("mine one\nTWO\nand a half\nthree\n")
    eventually(
        lambda: probe.text(file) == "mine one\nTWO\nand a half\nthree\n", "the server's copy is the same"
    )
    ready.undo()
    ready.wait_for_text("mine one\ntwo\nthree\n")


def test_edit_for_a_version_that_was_typed_over_is_refused_and_says_so(
    ready: Emacs, probe: Probe, file: Path
) -> None:
    ready.type("mine ")
    ready.wait_for_text("mine one\ntwo\nthree\n")
    answer = probe.apply(file, 0, replace_line(0, "theirs\n"))
    assert answer == {"applied": False, "failureReason": "version"}
    assert ready.text() == "mine one\ntwo\nthree\n"


def test_save_writes_and_is_told(ready: Emacs, probe: Probe, file: Path) -> None:
    ready.type("mine ")
    probe.wait_for("textDocument/didChange")
    eventually(lambda: probe.text(file) == "mine one\ntwo\nthree\n", "all of it was told")
    answer = probe.request("sidecar/save", {"uri": file.as_uri(), "version": probe.version(file.as_uri())})
    assert answer == {"saved": True}
    assert file.read_text() == "mine one\ntwo\nthree\n"
    assert probe.wait_for("textDocument/didSave")[0]["params"]["text"] == "mine one\ntwo\nthree\n"
    assert not ready.modified()


def test_save_over_a_file_that_changed_on_disk_is_refused_without_asking(
    ready: Emacs, probe: Probe, file: Path
) -> None:
    ready.type("mine ")
    eventually(lambda: probe.text(file) == "mine one\ntwo\nthree\n", "all of it was told")
    file.write_text("somebody else's, of another length\n")
    answer = probe.request("sidecar/save", {"uri": file.as_uri(), "version": probe.version(file.as_uri())})
    assert answer == {"saved": False}
    assert file.read_text() == "somebody else's, of another length\n"


def test_open_edit_save_close_of_a_file_nobody_looks_at(ready: Emacs, probe: Probe, workspace: Path) -> None:
    other = workspace / "öther.txt"
    other.write_text("x\n")
    uri = other.as_uri()
    version = probe.request("sidecar/open", {"uri": uri})["version"]
    assert probe.wait_for("textDocument/didOpen", 2)[-1]["params"]["textDocument"]["uri"] == uri
    assert probe.apply(other, version, replace_line(0, "y\n"))["applied"] is True
    assert probe.request("sidecar/close", {"uri": uri}) == {"closed": False}, "unsaved"
    assert probe.request("sidecar/save", {"uri": uri, "version": probe.version(uri)}) == {"saved": True}
    assert other.read_text() == "y\n"
    assert probe.request("sidecar/close", {"uri": uri}) == {"closed": True}
    assert probe.wait_for("textDocument/didClose")[0]["params"]["textDocument"]["uri"] == uri


def test_reload_takes_the_disk_then_the_edits(ready: Emacs, probe: Probe, file: Path) -> None:
    file.write_text("one\ntwo\nthree and more\n")
    order = {
        "uri": file.as_uri(),
        "version": probe.version(file.as_uri()),
        "edits": [replace_line(0, "ONE\n")],
    }
    answer = probe.request("sidecar/reload", order)
    assert "version" in answer, answer
    assert ready.text() == "ONE\ntwo\nthree and more\n"
    eventually(lambda: probe.text(file) == "ONE\ntwo\nthree and more\n", "the server's copy is the same")
    assert probe.version(file.as_uri()) == answer["version"]
    ready.undo()
    ready.wait_for_text("one\ntwo\nthree and more\n")


def test_who_is_typing_goes_on_in_the_same_place(ready: Emacs, probe: Probe, file: Path) -> None:
    """The text is taken from the disk anew around a word that is being typed."""
    ready.eval(
        "(with-current-buffer (window-buffer (selected-window)) (goto-char (point-min)) (forward-line 1) (end-of-line))"
    )
    ready.type(" half")
    eventually(lambda: "half" in probe.text(file), "the server knows it")
    file.write_text("ABOVE\none\nBEFORE two\nthree\n")
    order = {
        "uri": file.as_uri(),
        "version": probe.version(file.as_uri()),
        "edits": [insertion(2, 10, " half")],
        "changes": [insertion(0, 0, "ABOVE\n"), insertion(1, 0, "BEFORE ")],
    }
    assert "version" in probe.request("sidecar/reload", order)
    ready.type("-word")
    ready.wait_for_text("ABOVE\none\nBEFORE two half-word\nthree\n")


def insertion(line: int, character: int, new: str) -> dict[str, Any]:
    at = {"line": line, "character": character}
    return {"range": {"start": at, "end": at}, "newText": new}
