"""A file that an agent changes on the disk by itself while it is open: the editor takes it, and it is listed and rejected like any change.

Neovim and eglot tell such a reload as the document's closing and opening."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e import scripted, sidecar
from tests.e2e.emacs import Emacs
from tests.e2e.nvim import Neovim
from tests.support.waiting import eventually

BASE = "one\ntwo\nthree\n"
CHANGED = BASE.replace("two", "TWO")


def changes_and_rejects(
    file: Path, typed: str, request: Callable[[str, dict[str, Any]], Any], text: Callable[[], str]
) -> None:
    """`typed` is unsaved in the document."""
    call = {"toolCallId": "c1", "title": "edit", "kind": "edit", "locations": [{"path": str(file)}]}
    begun = {"sessionUpdate": "tool_call", "status": "in_progress", **call}
    ended = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}
    request(
        "sidecar.prompt",
        {
            "prompt": scripted.steps(
                {"update": begun}, {"put": str(file), "text": CHANGED}, {"update": ended}
            ),
            "wait": True,
        },
    )
    eventually(lambda: text() == typed + CHANGED, "the editor has it", otherwise=text)
    (row,) = request("sidecar.listChanges", {"uri": file.as_uri()})
    assert (row["oldText"], row["newText"]) == ("two", "TWO")
    request("sidecar.reject", {"all": True})
    assert text() == typed + BASE


def test_neovim(nvim: Neovim, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text(BASE)
    nvim.setup(sidecar.COMMAND, scripted.settings(), workspace)
    nvim.open(file)
    nvim.wait_until_ready()
    nvim.type("mine ")
    changes_and_rejects(file, "mine ", nvim.command, nvim.text)


def test_emacs(emacs: Emacs, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text(BASE)
    emacs.setup(sidecar.COMMAND, scripted.settings())
    emacs.open(file)
    emacs.start()
    emacs.type("mine ")
    eventually(lambda: emacs.text() == "mine " + BASE, "typed")
    changes_and_rejects(file, "mine ", emacs.request, emacs.text)


FIVE = "one\ntwo\nthree\nfour\nfive\n"
APART = 0.3
"""Seconds between a save and the agent's next call. The sidecar knows to a tenth of a second which came first: it notes twenty times a second that it is
listening."""


def what_was_saved_since_it_had_read_stays(
    folder: Path,
    request: Callable[[str, dict[str, Any]], Any],
    types_and_saves: Callable[[], object],
    takes_from_disk: Callable[[], object],
    text: Callable[[], str],
) -> None:
    """A command reads the file; the user types and saves; another command writes what was made of the first one's text, and the editor takes it."""
    file = folder / "a.txt"
    saves, looks = scripted.Pause(folder / "saves"), scripted.Pause(folder / "looks")

    def call(name: str, status: str) -> dict[str, Any]:
        return {
            "update": {
                "sessionUpdate": "tool_call",
                "toolCallId": name,
                "title": name,
                "kind": "execute",
                "status": status,
            }
        }

    prompt = scripted.steps(
        call("reads", "in_progress"),
        call("reads", "completed"),
        saves.step,
        call("writes", "in_progress"),
        {"put": str(file), "text": FIVE.replace("five", "FIVE")},
        looks.step,
        call("writes", "completed"),
    )
    request("sidecar.prompt", {"prompt": prompt})
    with saves:
        types_and_saves()
        eventually(lambda: file.read_text() == "mine " + FIVE, "saved")
        request("sidecar.listChanges", {})  # answered after what was reported before: the save
        time.sleep(APART)
    with looks:
        takes_from_disk()
    eventually(lambda: text() == "mine " + FIVE.replace("five", "FIVE"), "both are there", otherwise=text)
    (row,) = eventually(lambda: request("sidecar.listChanges", {"uri": file.as_uri()}), "it is listed")
    assert (row["oldText"], row["newText"]) == ("five", "FIVE")
    request("sidecar.reject", {"all": True})
    assert text() == "mine " + FIVE


def test_neovim_keeps_what_was_saved_since_the_agent_had_read(nvim: Neovim, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text(FIVE)
    nvim.setup(sidecar.COMMAND, scripted.settings(), workspace)
    nvim.open(file)
    nvim.wait_until_ready()

    def saves() -> None:
        nvim.type("mine ")
        nvim.ex("write")

    def takes() -> None:
        nvim.ex("set autoread")
        nvim.ex("checktime")

    what_was_saved_since_it_had_read_stays(workspace, nvim.command, saves, takes, nvim.text)


def test_emacs_keeps_what_was_saved_since_the_agent_had_read(emacs: Emacs, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text(FIVE)
    emacs.setup(sidecar.COMMAND, scripted.settings())
    emacs.open(file)
    emacs.start()

    def saves() -> None:
        emacs.type("mine ")
        eventually(lambda: emacs.text() == "mine " + FIVE, "typed")
        emacs.command("save-buffer")

    def takes() -> None:
        emacs.look("(revert-buffer t t t)", file)

    what_was_saved_since_it_had_read_stays(workspace, emacs.request, saves, takes, emacs.text)
