"""Buffers without a file in both Emacses: agents get their text with a prompt, and read and change them in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e import scripted, sidecar
from tests.e2e.emacs import Emacs
from tests.support import agents
from tests.support.waiting import eventually

TEXT = "one\n🙂 two\nthree\n"
CHANGED = TEXT.replace("two", "TWO")
NAME = "untitled:notes"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace"


@pytest.fixture
def sitting(emacs: Emacs, workspace: Path, trace: Path) -> Emacs:
    """Somebody who has started the sidecar in a file, and writes notes that have none."""
    file = workspace / "a.txt"
    file.write_text("a\n")
    emacs.setup(sidecar.COMMAND, scripted.settings(trace=trace))
    emacs.open(file)
    emacs.start()
    emacs.terminal.keys("C-x", "b")
    emacs.terminal.wait_for("Switch to buffer")
    emacs.type("notes\n")
    emacs.wait_for('(equal (buffer-name) "notes")', "it is shown")
    emacs.type(TEXT)
    emacs.wait_for_text(TEXT)
    return emacs


def prompt(emacs: Emacs, *steps: dict[str, Any]) -> None:
    emacs.request("sidecar.prompt", {"prompt": scripted.steps(*steps), "wait": True})


def untitled(emacs: Emacs) -> list[str]:
    uris = [row["uri"] for row in emacs.request("sidecar.status", {})["documents"]]
    return [uri for uri in uris if uri.startswith("untitled:")]


def listed(emacs: Emacs) -> list[tuple[str, str, str]]:
    return [
        (row["uri"], row["oldText"], row["newText"]) for row in emacs.request("sidecar.listChanges", {}) or []
    ]


def received(trace: Path) -> list[Any]:
    return agents.received(trace)


def test_it_goes_along_and_is_read_and_changed(sitting: Emacs, trace: Path) -> None:
    emacs = sitting
    assert untitled(emacs) == [NAME]
    prompt(emacs, scripted.read(NAME), scripted.write(NAME, CHANGED))
    (sent,) = [one for one in received(trace) if one.get("method") == "session/prompt"]
    assert TEXT in "\n".join(block.get("text", "") for block in sent["params"]["prompt"])
    read, write = [one["result"] for one in received(trace) if "result" in one][-2:]
    assert read["content"] == TEXT
    assert write["_meta"] == {"saved": False, "note": "it has no file yet; the user saves it"}
    assert emacs.text() == CHANGED
    assert listed(emacs) == [(NAME, "two", "TWO")]
    emacs.undo()
    emacs.wait_for_text(TEXT)
    eventually(lambda: listed(emacs) == [], "nothing is left to review")
    prompt(emacs, scripted.read(NAME), scripted.write(NAME, CHANGED))
    emacs.wait_for_text(CHANGED)
    emacs.command("acp-sidecar-reject")
    emacs.wait_for_text(TEXT)
    assert listed(emacs) == []


def test_what_is_typed_while_the_agent_works_is_read_and_kept(
    sitting: Emacs, trace: Path, tmp_path: Path
) -> None:
    emacs = sitting
    typed = scripted.Pause(tmp_path / "typed")
    text = TEXT + "four"
    steps = [typed.step, scripted.read(NAME), scripted.write(NAME, text.replace("one", "ONE"))]
    emacs.request("sidecar.prompt", {"prompt": scripted.steps(*steps)})
    with typed:
        emacs.type("four")
        emacs.wait_for_text(text)
        emacs.wait_for(
            "(eql (plist-get acp-sidecar--untitled :tick) (buffer-chars-modified-tick))", "it was told"
        )
    emacs.wait_for_text(text.replace("one", "ONE"))
    assert {"content": text} in [one.get("result") for one in received(trace)]


@pytest.mark.parametrize("name", ["new.txt", "new"])
def test_its_review_goes_on_when_it_gets_a_file(sitting: Emacs, workspace: Path, name: str) -> None:
    """eglot does not manage a file without a mode ("new"): what is taken back there is taken back on the disk."""
    emacs = sitting
    prompt(emacs, scripted.read(NAME), scripted.write(NAME, CHANGED))
    emacs.wait_for_text(CHANGED)
    file = workspace / name
    emacs.terminal.keys("C-x", "C-w")
    emacs.terminal.wait_for("Write file:")
    emacs.terminal.keys("C-a", "C-k")
    emacs.type(f"{file}\n")
    eventually(
        lambda: file.exists() and file.read_text() == CHANGED, "it is written", otherwise=emacs.messages
    )
    eventually(
        lambda: listed(emacs) == [(file.as_uri(), "two", "TWO")],
        "its review goes on there",
        otherwise=lambda: str(listed(emacs)),
    )
    assert untitled(emacs) == []
    emacs.command("acp-sidecar-reject")
    eventually(lambda: file.read_text() == TEXT, "it is taken back on the disk")
    if name != "new":
        emacs.wait_for_text(TEXT)


def test_two_buffers_of_one_name_are_two_documents(sitting: Emacs) -> None:
    """One was renamed, and one is a clone of the other."""
    emacs = sitting
    assert untitled(emacs) == [NAME]
    emacs.eval('(with-current-buffer "notes" (clone-buffer) (rename-buffer "older"))')
    uri = '(condition-case nil (acp-sidecar--uri) (user-error "not known"))'
    assert emacs.eval(f'(with-current-buffer "notes<2>" {uri})') == '"not known"'
    emacs.eval('(with-current-buffer (get-buffer-create "notes") (insert "new"))')
    assert sorted(untitled(emacs)) == [NAME, f"{NAME}%3C2%3E", f"{NAME}-2"]
    emacs.eval('(kill-buffer "notes<2>")')
    assert sorted(untitled(emacs)) == [NAME, f"{NAME}-2"]
    prompt(emacs, scripted.read(NAME), scripted.write(NAME, CHANGED))
    assert emacs.eval('(with-current-buffer "notes" (buffer-string))') == '"new"'
    emacs.eval('(kill-buffer "older")')
    assert untitled(emacs) == [f"{NAME}-2"]
