"""A file that an agent changes on the disk by itself while it is open: the editor takes it, and it is listed and rejected like any change.

Neovim and eglot tell such a reload as the document's closing and opening."""

from __future__ import annotations

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
