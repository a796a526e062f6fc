"""The Neovim snippet against a server that only asks: what the sidecar may rely on, with both Neovims."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.nvim import Neovim
from tests.e2e.probe import Probe, replace_line
from tests.e2e.stands import NeovimHands
from tests.support.waiting import eventually


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.py"
    path.write_text("one\ntwo\nthree\n")
    return path


def started(nvim: Neovim, probe: Probe, file: Path) -> Neovim:
    nvim.setup(probe.command, {"defaultAgent": "x"}, file.parent)
    nvim.open(file)
    nvim.wait_until_ready()
    probe.wait_for("textDocument/didOpen")
    return nvim


@pytest.fixture
def ready(nvim: Neovim, probe: Probe, file: Path) -> Neovim:
    return started(nvim, probe, file)


def test_announces_what_it_handles(ready: Neovim, probe: Probe) -> None:
    options = probe.seen("initialize")[0]["params"]["initializationOptions"]
    assert options == {"client": {"save": True, "open": True, "reload": True}, "defaultAgent": "x"}


def test_every_file_buffer_is_told_whatever_its_type(ready: Neovim, probe: Probe, workspace: Path) -> None:
    other = workspace / "no-extension"
    other.write_text("x\n")
    ready.open(other)
    ready.ex("enew | setlocal buftype=nofile | file scratch")
    uris = [m["params"]["textDocument"]["uri"] for m in probe.wait_for("textDocument/didOpen", 2)]
    assert other.as_uri() in uris
    assert not any("scratch" in uri for uri in uris)


def test_a_buffer_without_a_file_is_told_of_with_its_whole_text(
    ready: Neovim, probe: Probe, file: Path
) -> None:
    """Once something is in it. It is a document of its own, not the `file://` that Neovim's client calls each of them."""
    ready.ex("enew")
    ready.type("typed")
    other = probe.wait_for("textDocument/didOpen", 2)[-1]["params"]["textDocument"]
    number = ready.lua("return vim.api.nvim_get_current_buf()")
    assert (other["uri"], other["text"]) == (f"untitled:Untitled-{number}", "typed\n")
    ready.ex("set nomodified | bwipeout")
    (closed,) = probe.wait_for("textDocument/didClose")
    assert closed["params"]["textDocument"]["uri"] == other["uri"]


def test_typing_arrives_without_saving(ready: Neovim, probe: Probe, file: Path) -> None:
    ready.type("zero ")
    probe.wait_for("textDocument/didChange")
    assert file.read_text() == "one\ntwo\nthree\n"


REQUEST_AS_THE_TIMER_RUNS_OUT = """
vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, { 'typed ' })
vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, { 'twice ' })
vim.wait(400, function() return false end, 10, true)
Acp.command('sidecar.status', nil, function() end)
"""
"""The wait lets the timer run out, but not yet act."""


def test_what_is_told_twice_has_nothing_in_it_the_second_time(
    ready: Neovim, probe: Probe, file: Path
) -> None:
    """Neovim 0.7 forgets that a request had it tell its changes early (core/overlay.py)."""
    ready.type("told ")  # what comes within 0.15 s of this waits for the timer
    ready.lua(REQUEST_AS_THE_TIMER_RUNS_OUT)
    ready.type("last ")
    eventually(lambda: "last" in probe.text(file), "all is told", otherwise=lambda: probe.text(file))
    assert probe.text(file) == ready.text()
    told = [message["params"] for message in probe.seen("textDocument/didChange")]
    versions = [change["textDocument"]["version"] for change in told]
    again = [b["contentChanges"] for a, b in pairwise(told) if a["textDocument"] == b["textDocument"]]
    assert versions == sorted(versions)
    assert again == ([[]] if ready.version < (0, 11) else [])


def test_edit_then_one_undo(ready: Neovim, probe: Probe, file: Path) -> None:
    assert probe.apply(file, 0, replace_line(1, "TWO\nand a half\n"))["applied"]
    ready.wait_for_text("one\nTWO\nand a half\nthree\n")
    ready.undo()
    assert ready.text() == "one\ntwo\nthree\n"


def test_edit_keeps_typing_before_it_undoable_alone(ready: Neovim, probe: Probe, file: Path) -> None:
    ready.type("mine ")
    probe.wait_for("textDocument/didChange")
    assert probe.apply(file, probe.version(file.as_uri()), replace_line(2, "THREE\n"))["applied"]
    ready.undo()
    assert ready.text() == "mine one\ntwo\nthree\n"
    ready.undo()
    assert ready.text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("line", [0, 2], ids=["typing above", "typing below"])
def test_undo_of_an_edit_in_the_middle_of_typing_takes_back_nothing_else(
    ready: Neovim, probe: Probe, file: Path, line: int
) -> None:
    """Whoever types on after it, also with Enter, in the same insert: each undo takes back one thing, at its place."""
    ready.keys(f"{line + 1}Gimine ")
    eventually(lambda: "mine" in probe.text(file), "the server knows it")
    assert probe.apply(file, probe.version(file.as_uri()), replace_line(1, "TWO\nAGENT\n"))["applied"]
    ready.keys("more<CR>and more <Esc>")
    typed = ["one\n", "mine one\n", "mine more\nand more one\n"]
    typed = [text.replace("one", "three") for text in typed] if line else typed
    texts = [ready.text()]
    for _ in range(4):
        ready.undo()
        texts.append(ready.text())
    between = [
        (typed[2], "TWO\nAGENT\n"),
        (typed[1], "TWO\nAGENT\n"),
        (typed[1], "two\n"),
        (typed[0], "two\n"),
    ]
    wanted = [f"one\n{theirs}{mine}" if line else f"{mine}{theirs}three\n" for mine, theirs in between]
    assert texts == [*wanted, wanted[-1]]
    for text in wanted[-2::-1]:
        ready.ex("redo")
        assert ready.text() == text


def test_undo_after_a_reload_in_the_middle_of_typing_takes_back_nothing_else(
    ready: Neovim, probe: Probe, file: Path
) -> None:
    ready.keys("1Gimine ")
    eventually(lambda: "mine" in probe.text(file), "the server knows it")
    file.write_text("one\nTWO\nAGENT\nthree\n")
    mine = [{"range": range_of((0, 0), (0, 0)), "newText": "mine "}]
    changes = [{"range": range_of((1, 0), (2, 0)), "newText": "TWO\nAGENT\n"}]
    params = {
        "uri": file.as_uri(),
        "version": probe.version(file.as_uri()),
        "edits": mine,
        "changes": changes,
    }
    assert "version" in probe.request("sidecar/reload", params)
    ready.keys("more<CR>and more <Esc>")
    assert ready.text() == "mine more\nand more one\nTWO\nAGENT\nthree\n"
    ready.undo()
    assert ready.text() == "mine one\nTWO\nAGENT\nthree\n"
    for _ in range(3):
        ready.undo()
    assert ready.text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("version", [0, 1])
def test_edit_for_a_version_that_was_typed_over_is_refused_and_says_so(
    ready: Neovim, probe: Probe, file: Path, version: int
) -> None:
    ready.type("mine ")
    answer = probe.apply(file, version, replace_line(0, "theirs\n"))
    assert answer == {"applied": False, "failureReason": "version"}
    assert ready.text() == "mine one\ntwo\nthree\n"


def test_save_writes_and_is_told(ready: Neovim, probe: Probe, file: Path) -> None:
    ready.type("mine ")
    probe.wait_for("textDocument/didChange")
    version = probe.version(file.as_uri())
    assert probe.request("sidecar/save", {"uri": file.as_uri(), "version": version}) == {"saved": True}
    assert file.read_text() == "mine one\ntwo\nthree\n"
    assert probe.wait_for("textDocument/didSave")[0]["params"]["text"] == "mine one\ntwo\nthree\n"
    assert not ready.modified()


def test_save_of_a_version_that_was_typed_over_is_refused(ready: Neovim, probe: Probe, file: Path) -> None:
    ready.type("mine ")
    assert probe.request("sidecar/save", {"uri": file.as_uri(), "version": 0}) == {"saved": False}
    assert file.read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("noticed", ["", "checktime", "write"])
def test_save_over_a_file_that_changed_on_disk_is_refused_without_asking(
    ready: Neovim, probe: Probe, file: Path, noticed: str
) -> None:
    """Also where Neovim has told its user already that the file changed, and where they did not write over it when it asked."""
    ready.type("mine ")
    probe.wait_for("textDocument/didChange")
    file.write_text("somebody else's, of another length\n")
    if noticed == "checktime":
        ready.ex("silent! checktime")
    if noticed == "write":
        NeovimHands(ready).save()
    version = probe.version(file.as_uri())
    assert probe.request("sidecar/save", {"uri": file.as_uri(), "version": version}) == {"saved": False}
    assert file.read_text() == "somebody else's, of another length\n"
    assert ready.mode() == "n"


def test_a_file_that_neovim_took_from_the_disk_by_itself_is_saved(
    ready: Neovim, probe: Probe, file: Path
) -> None:
    ready.ex("set autoread")
    file.write_text("somebody else's, of another length\n")
    ready.ex("checktime")
    ready.wait_for_text("somebody else's, of another length\n")
    ready.type("mine ")
    text = "mine somebody else's, of another length\n"
    eventually(lambda: probe.text(file) == text, "the typing was told")
    version = probe.version(file.as_uri())
    assert probe.request("sidecar/save", {"uri": file.as_uri(), "version": version}) == {"saved": True}
    assert file.read_text() == text


def test_open_edit_save_close_of_a_file_nobody_looks_at(ready: Neovim, probe: Probe, workspace: Path) -> None:
    other = workspace / "other.txt"
    other.write_text("x\n")
    uri = other.as_uri()
    version = probe.request("sidecar/open", {"uri": uri})["version"]
    assert [m["params"]["textDocument"]["uri"] for m in probe.seen("textDocument/didOpen")][-1] == uri
    assert version == probe.version(uri)
    assert probe.apply(other, version, replace_line(0, "y\n"))["applied"]
    probe.wait_for("textDocument/didChange")
    assert probe.request("sidecar/close", {"uri": uri}) == {"closed": False}, "unsaved"
    assert probe.request("sidecar/save", {"uri": uri, "version": probe.version(uri)}) == {"saved": True}
    assert other.read_text() == "y\n"
    assert probe.request("sidecar/close", {"uri": uri}) == {"closed": True}
    assert probe.wait_for("textDocument/didClose")[0]["params"]["textDocument"]["uri"] == uri


def test_close_leaves_what_the_user_opened(ready: Neovim, probe: Probe, file: Path) -> None:
    assert probe.request("sidecar/close", {"uri": file.as_uri()}) == {"closed": False}


def test_reload_takes_the_disk_then_the_edits_and_both_are_undoable(
    ready: Neovim, probe: Probe, file: Path
) -> None:
    file.write_text("one\ntwo\nthree and more\n")
    answer = probe.request(
        "sidecar/reload", {"uri": file.as_uri(), "version": 0, "edits": [replace_line(0, "ONE\n")]}
    )
    assert "version" in answer, answer
    assert ready.text() == "ONE\ntwo\nthree and more\n"
    eventually(lambda: probe.text(file) == "ONE\ntwo\nthree and more\n", "the server's copy is the same")
    assert probe.version(file.as_uri()) == answer["version"]
    ready.undo()
    ready.undo()
    assert ready.text() == "one\ntwo\nthree\n"
    eventually(lambda: probe.text(file) == "one\ntwo\nthree\n", "the server's copy is the same")


def range_of(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


@pytest.mark.parametrize("how", ["reload", "edit"])
def test_who_is_typing_goes_on_in_the_same_place(ready: Neovim, probe: Probe, file: Path, how: str) -> None:
    """The text around it is replaced, in the middle of a word."""
    ready.keys("jA half")
    eventually(lambda: "half" in probe.text(file), "the server knows it")
    version = probe.version(file.as_uri())
    changes = [
        {"range": range_of((0, 0), (0, 0)), "newText": "ABOVE\n"},
        {"range": range_of((1, 0), (1, 0)), "newText": "BEFORE "},
    ]
    if how == "reload":
        file.write_text("ABOVE\none\nBEFORE two\nthree\n")
        mine = [{"range": range_of((2, 10), (2, 10)), "newText": " half"}]
        params = {"uri": file.as_uri(), "version": version, "edits": mine, "changes": changes}
        assert "version" in probe.request("sidecar/reload", params)
    else:
        document = {"uri": file.as_uri(), "version": version}
        edit = {"documentChanges": [{"textDocument": document, "edits": changes}]}
        assert probe.request("workspace/applyEdit", {"edit": edit})["applied"]
    ready.keys("-word<Esc>")
    assert ready.text() == "ABOVE\none\nBEFORE two half-word\nthree\n"


def test_who_is_typing_stays_in_their_line_when_another_comes_below_it(
    ready: Neovim, probe: Probe, file: Path
) -> None:
    """An edit that adds to the end of that very line: Neovim 0.7 takes the cursor along with what comes after it."""
    ready.keys("j0ihalf")
    eventually(lambda: "half" in probe.text(file), "the server knows it")
    document = {"uri": file.as_uri(), "version": probe.version(file.as_uri())}
    below = {"range": range_of((1, 7), (1, 7)), "newText": "\nBELOW"}
    edit = {"documentChanges": [{"textDocument": document, "edits": [below]}]}
    assert probe.request("workspace/applyEdit", {"edit": edit})["applied"]
    ready.keys("-word<Esc>")
    assert ready.text() == "one\nhalf-wordtwo\nBELOW\nthree\n"


def test_reload_of_a_version_that_was_typed_over_is_refused(ready: Neovim, probe: Probe, file: Path) -> None:
    ready.type("mine ")
    answer = probe.request("sidecar/reload", {"uri": file.as_uri(), "version": 0, "edits": []})
    assert answer == {"refused": "version"}
    assert ready.text() == "mine one\ntwo\nthree\n"


QUESTION = {
    "type": 3,
    "message": "agent wants to write b.py",
    "actions": [{"title": "Reject"}, {"title": "Allow once"}],
}


def ask(probe: Probe) -> Future[Any]:
    pool = ThreadPoolExecutor(max_workers=1)
    answer = pool.submit(probe.request, "window/showMessageRequest", QUESTION, within=30)
    pool.shutdown(wait=False)
    return answer


def test_a_question_takes_no_keys_and_waits(
    start_nvim: Callable[[str], Neovim], probe: Probe, file: Path
) -> None:
    nvim = started(start_nvim("nvim-0.11"), probe, file)
    nvim.keys("i")
    answer = ask(probe)
    eventually(lambda: "wants to write b.py" in nvim.messages(), "the question is shown")
    nvim.keys("12y<CR><Esc>")
    assert nvim.text() == "12y\none\ntwo\nthree\n"
    assert not answer.done()
    nvim.ex("lua vim.ui.select = function(items, _, done) done(items[2]) end")
    nvim.ex("AcpAnswer")
    assert answer.result(timeout=20) == {"title": "Allow once"}


@pytest.mark.parametrize(
    ("typed", "chosen", "text"),
    [
        ("2<CR>", {"title": "Allow once"}, "one\ntwo\nthree\n"),
        ("1<CR>", {"title": "Reject"}, "one\ntwo\nthree\n"),
        ("<CR>", None, "one\ntwo\nthree\n"),
        ("x = 12<CR>", None, "x = 12one\ntwo\nthree\n"),
        ("7<CR>", None, "7one\ntwo\nthree\n"),
    ],
)
def test_an_old_neovim_asks_in_the_command_line_and_loses_no_text(
    start_nvim: Callable[[str], Neovim], probe: Probe, file: Path, typed: str, chosen: object, text: str
) -> None:
    nvim = started(start_nvim("nvim-0.7"), probe, file)
    nvim.keys("i")
    answer = ask(probe)
    eventually(lambda: nvim.mode().startswith("c"), "the prompt is there")
    nvim.raw_keys(typed)
    assert answer.result(timeout=20) == chosen
    nvim.keys("<Esc>")
    assert nvim.text() == text


def test_shows_a_document_beside_and_leaves_the_focus(
    ready: Neovim, probe: Probe, file: Path, workspace: Path
) -> None:
    assert probe.seen("initialize")[0]["params"]["capabilities"]["window"]["showDocument"] == {
        "support": True
    }
    other = workspace / "chat.md"
    other.write_text("hello\n")
    shown = probe.request("window/showDocument", {"uri": other.as_uri(), "takeFocus": False})
    assert shown == {"success": True}
    assert ready.text(other) == "hello\n"
    assert ready.text() == "one\ntwo\nthree\n"


def test_a_new_file_in_a_new_folder_holds_exactly_the_text(
    ready: Neovim, probe: Probe, workspace: Path
) -> None:
    path = workspace / "deep" / "er" / "new.txt"
    create = {"kind": "create", "uri": path.as_uri()}
    at_start = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    document = {"uri": path.as_uri(), "version": None}
    fill = {"textDocument": document, "edits": [{"range": at_start, "newText": "one\ntwo\n"}]}
    assert probe.request("workspace/applyEdit", {"edit": {"documentChanges": [create, fill]}})["applied"]
    assert ready.text(path) == "one\ntwo\n"
    eventually(lambda: probe.text(path) == "one\ntwo\n", "the server's copy is the same")
    order = {"uri": path.as_uri(), "version": probe.version(path.as_uri())}
    assert probe.request("sidecar/save", order) == {"saved": True}
    assert path.read_text() == "one\ntwo\n"


def test_another_name_is_another_document(ready: Neovim, probe: Probe, workspace: Path) -> None:
    ready.ex("file renamed.py")
    ready.type("x")
    probe.wait_for("textDocument/didChange")
    told = [
        (m["method"], m["params"]["textDocument"]["uri"].rpartition("/")[2])
        for m in probe.seen()
        if "textDocument" in str(m.get("method"))
    ]
    assert told[:4] == [
        ("textDocument/didOpen", "a.py"),
        ("textDocument/didClose", "a.py"),
        ("textDocument/didOpen", "renamed.py"),
        ("textDocument/didChange", "renamed.py"),
    ]
