"""What a command of an agent's does to a file that is open is taken back, and nothing of the user's is saved with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.window import Window

BASE = "one\ntwo\nthree\nfour\n"
CHANGED = "one\ntwo\nthree\nFOUR\n"


def runs(window: Window, *steps: dict[str, Any]) -> dict[str, Any]:
    """A command that does this on the disk."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "make", "kind": "execute"}
    return window.prompt(
        scripted.steps(
            {"update": {**call, "status": "in_progress"}},
            *steps,
            {"update": {**call, "sessionUpdate": "tool_call_update", "status": "completed"}},
        )
    )


def put(file: Path, text: str, encoding: str = "utf-8") -> dict[str, Any]:
    return {"put": str(file), "text": text, "encoding": encoding}


def test_a_rejection_saves_nothing_of_the_users(window: Window) -> None:
    window.configure({"acpSidecar.notify": False})
    file = window.file("a.txt", BASE)
    window.open(file)
    window.type("mine ")
    runs(window, put(file, CHANGED))
    window.until_text(file, "mine " + CHANGED)
    window.command("sidecar.reject", {"all": True})
    window.until_text(file, "mine " + BASE)
    window.until_dirty(file, True)
    assert "mine" not in file.read_text()
    window.save()
    window.until_disk(file, "mine " + BASE)
    assert window.notifications() == []


@pytest.mark.parametrize("data", [b"\0\1\2", b"\0\xff\1\xe4b"], ids=["UTF-8", "no UTF-8"])
def test_a_text_that_is_no_text_any_more(window: Window, data: bytes) -> None:
    file = window.file("a.txt", BASE)
    window.open(file)
    turn = runs(window, put(file, data.decode("latin-1"), "latin-1"))
    eventually(lambda: window.changes(), "it is under review")
    window.until_text(file, data.decode(errors="replace"))
    window.command("sidecar.revertTurn", {"sessionId": turn["sessionId"], "turn": turn["turn"]})
    window.until_disk(file, BASE)
    window.until_text(file, BASE)
    window.until_dirty(file, False)
    assert not window.changes()


def test_a_file_that_is_removed_under_unsaved_text(window: Window) -> None:
    window.configure({"acpSidecar.notify": False})
    file = window.file("a.txt", BASE)
    window.open(file)
    window.type("mine ")
    turn = runs(window, {"remove": str(file)})
    eventually(lambda: window.changes(), "it is under review")
    window.command("sidecar.revertTurn", {"sessionId": turn["sessionId"], "turn": turn["turn"]})
    window.until_disk(file, BASE)
    assert window.text(file) == "mine " + BASE
    window.save()
    window.until_disk(file, "mine " + BASE)
    assert window.notifications() == []
