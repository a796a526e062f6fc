"""The whole product as its users have it: the .vsix in a clean profile, and a real third-party agent that knows nothing of us."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e import fast_agent, scripted
from tests.support import tools
from tests.support.waiting import eventually
from tests.vscode.conftest import ASKING
from tests.vscode.panel import Panel
from tests.vscode.reviewing import until_backed_up
from tests.vscode.support import JavaScriptError
from tests.vscode.window import Window

DISK = "one\ntwo\nthree\nfour\n"
TYPED = "mine one\ntwo\nthree\nfour\n"
WRITTEN = "mine one\ntwo\nTHREE\nfour\n"


@pytest.fixture
def file(window: Window) -> Path:
    """Open, with text that is not saved."""
    tools.require("fast-agent")
    path = window.file("a.txt", DISK)
    window.open(path)
    window.type("mine ")
    assert window.text(path) == TYPED
    return path


def session(window: Window, agent: str = fast_agent.NAME) -> str:
    opened = window.command("sidecar.newSession", {"agent": agent}, seconds=90)
    return opened["sessionId"]


def test_reads_what_is_not_saved_writes_and_is_undone_exactly(window: Window, file: Path) -> None:
    fast = session(window)
    window.prompt(fast_agent.read(file), fast)
    assert "mine one" in json.dumps(window.command("sidecar.transcript", {"sessionId": fast}))
    ended = window.prompt(fast_agent.write(file, WRITTEN), fast)
    assert [(change["added"], change["removed"]) for change in ended["changes"]] == [(1, 1)]
    assert window.text(file) == WRITTEN
    assert file.read_text() == DISK, "what the user has not saved stays unsaved"
    window.undo()
    window.until_text(file, TYPED)
    assert window.changes() == []
    window.redo()
    window.until_text(file, WRITTEN)
    assert [row["newText"] for row in window.changes()] == ["THREE"]


def test_typing_during_the_turn_survives(window: Window, file: Path) -> None:
    """What is typed before the prompt is sent goes along with it, and an agent that writes without it takes it away."""
    fast = session(window)
    window.prompt(fast_agent.read(file), fast)
    sent = "Your unsaved text of a.txt was sent with the prompt"
    before = window.server.logged(sent)
    turn = window.begin(fast_agent.write(file, WRITTEN), fast)
    eventually(lambda: window.server.logged(sent) > before, "the prompt is sent")
    window.type("typed meanwhile", at=(3, 0))
    turn.result()
    window.until_text(file, "mine one\ntwo\nTHREE\ntyped meanwhilefour\n")
    window.command("sidecar.reject", {"all": True})
    window.until_text(file, "mine one\ntwo\nthree\ntyped meanwhilefour\n")


@pytest.mark.parametrize("answer", ["Allow Once", "Reject Once"])
def test_permission(window: Window, file: Path, answer: str) -> None:
    fast = session(window, ASKING)
    turn = window.begin(fast_agent.write(file, WRITTEN), fast)
    window.answer("asks for your permission", "Show")
    panel = Panel(window)
    expect(panel.page.locator(".question button[aria-disabled=false]").first).to_be_attached()
    assert window.text(file) == TYPED
    panel.button(answer, exact=True).click()
    turn.result()
    assert window.text(file) == (WRITTEN if answer == "Allow Once" else TYPED)


def test_an_agent_that_crashes_in_its_turn_leaves_the_text_and_its_changes(
    window: Window, file: Path
) -> None:
    with pytest.raises(
        JavaScriptError, match=r"exited with code 3 during the turn\.\nThe next prompt starts it again"
    ):
        window.prompt(scripted.steps(scripted.read(file), scripted.write(file, WRITTEN), {"exit": 3}))
    assert window.text(file) == WRITTEN
    assert [row["newText"] for row in window.changes()] == ["THREE"]
    window.undo()
    window.until_text(file, TYPED)


def test_a_window_that_is_reloaded_with_unsaved_text(window: Window, file: Path) -> None:
    window.prompt(scripted.steps(scripted.read(file), scripted.write(file, WRITTEN)))
    until_backed_up(window, WRITTEN)
    window.reload()
    window.until_server_runs()
    eventually(lambda: window.text(file) == WRITTEN, "the unsaved text is back")
    eventually(lambda: len(window.changes(file)) == 1, "the change is under review")
    window.command("sidecar.reject", {"all": True})
    window.until_text(file, TYPED)
    assert file.read_text() == DISK
