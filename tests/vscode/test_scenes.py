"""Pictures of what is seldom on the screen, in light, dark and high contrast, in the real workbench.

`PICTURES=folder .venv/bin/pytest tests/vscode/test_scenes.py` keeps them, for somebody to look at; else they go nowhere, and the tests see only
that everything is there in each theme. That of a folder which is not trusted is in `test_install.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e import scripted
from tests.support.repositories import commit, with_git
from tests.support.waiting import eventually
from tests.vscode.code_server import CodeServer
from tests.vscode.conftest import Configure, OpenWindow
from tests.vscode.panel import Panel
from tests.vscode.pictures import Picture
from tests.vscode.reviewing import agent_writes, lenses, until_lenses, view
from tests.vscode.test_comments import box
from tests.vscode.test_gutter import bars, click_bar, peek, press
from tests.vscode.test_notebooks import in_first_cell, reads, shown, typed, writes
from tests.vscode.test_panel import begin
from tests.vscode.test_review_pictures import BASE, SHORTER, WANTED
from tests.vscode.test_untitled import untitled
from tests.vscode.test_walkthrough import WALKTHROUGH
from tests.vscode.window import Window

pytestmark = pytest.mark.timeout(600)


def reviewed(window: Window) -> Path:
    file = window.file("prices.py", BASE)
    window.open(file)
    agent_writes(window, (file, WANTED))
    eventually(lambda: len(lenses(window, file)) >= 3, "the lenses are there")
    until_lenses(window, file, lenses(window, file))
    return file


@with_git
def test_removed_lines_in_a_repository(open_window: OpenWindow, tmp_path: Path, picture: Picture) -> None:
    """With VS Code's git on, which has bars, too: Keep and Reject are in the peek, whosever it is."""
    file = tmp_path / "ws" / "prices.py"
    commit(file.parent, {"prices.py": BASE.encode()})
    window = open_window()
    window.configure({"git.enabled": True})
    window.until_server_runs()
    window.open(file)
    expect(
        window.page.locator(".statusbar")
        .get_by_text("master")
        .or_(window.page.locator(".statusbar").get_by_text("main"))
    ).to_be_visible()
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, lenses(window, file))

    def opened(by: str) -> None:
        window.focus_editor()
        window.keys("Escape")
        expect(peek(window)).to_have_count(0)
        click_bar(window, "modified")
        expect(peek(window)).to_contain_text(by)
        expect(peek(window).locator('.action-label[aria-label^="Keep Agent Change"]')).to_be_visible()
        expect(peek(window).locator(".view-lines", has_text="total = 0").first).to_be_visible()

    def list_says(words: str) -> bool:
        chosen = "(it) => it.options[it.selectedIndex]?.text ?? ''"
        return window.page.locator(".zone-widget.dirty-diff select").first.evaluate(chosen) == words

    picture(window, "peek", ".zone-widget.dirty-diff", first=lambda: opened("Agent Changes"))
    eventually(lambda: list_says("Agent Changes"), "it is the agent's change")
    window.keys("Escape")
    window.type("# mine\n", at=(0, 0))
    window.save()
    expect(bars(window)).to_have_count(5)
    until_lenses(window, file, lenses(window, file))
    picture(window, "peek-of-git", ".zone-widget.dirty-diff", first=lambda: opened("Git Local Changes"))
    press(window, "Reject Agent Change")
    window.until_text(file, f"# mine\n{WANTED}".replace(*SHORTER[::-1]))


def test_a_comment(window: Window, picture: Picture) -> None:
    reviewed(window)
    window.place(6, 0)
    window.command("acpSidecar.review.comment")
    expect(box(window)).to_contain_text("about this change")
    box(window).locator(".monaco-editor").first.click()
    window.page.keyboard.insert_text("Keep the loop: items may be a generator that is read twice.")
    picture(window, "comment", ".review-widget")


def test_a_document_without_a_file(window: Window, picture: Picture) -> None:
    name = untitled(window)
    window.prompt(scripted.steps(scripted.read(name), scripted.write(name, "typed one\nTWO\nthree\nfour\n")))
    expect(window.page.locator(".codelens-decoration").filter(has_text="Keep").first).to_be_visible()
    view(window)
    picture(window, "untitled", ".codelens-decoration", ".sidebar .monaco-list-row")


def test_a_notebook(window: Window, picture: Picture) -> None:
    file = shown(window)
    typed(window, file, 2, " + 1")
    read = reads(window, file)
    read["cells"][0]["source"] = "print(2)"
    assert "result" in writes(window, file, read)
    in_first_cell(window)
    rows = view(window)
    expect(rows.first).to_be_visible()
    picture(window, "notebook", ".notebookOverlay .code-cell-row", ".sidebar .monaco-list-row")


def test_an_agent_that_waits_for_the_users_decision(
    window: Window, configure: Configure, picture: Picture
) -> None:
    configure({"acpSidecar.writes": "confirm"})
    file = window.file("prices.py", BASE)
    window.open(file)
    panel = begin(window)
    panel.prompt(f"Make it shorter\n{scripted.steps(scripted.read(file), scripted.write(file, WANTED))}")
    eventually(lambda: len(lenses(window, file)) >= 3, "the lenses are there", within=60)
    expect(window.notification("waits until you keep or reject")).to_be_visible()
    picture(window, "confirm", ".codelens-decoration", first=lambda: window.command("notifications.showList"))
    window.command("sidecar.keep", {"uri": file.as_uri()})
    panel.ready()


def test_the_walkthrough(window: Window, picture: Picture) -> None:
    window.command("workbench.action.closeSidebar")
    window.command("workbench.action.openWalkthrough", WALKTHROUGH)
    expect(window.page.locator(".getting-started-step").first).to_be_visible()
    picture(window, "walkthrough", ".getting-started-step")


def test_while_the_sidecar_starts(
    start_code_server: Callable[..., CodeServer], open_window: OpenWindow, picture: Picture, tmp_path: Path
) -> None:
    """With a Python that takes its time. The panel does not say that there are no agents."""
    slow, go = tmp_path / "python", tmp_path / "go"
    # Asked what it is, it names itself: the one of the tests would name the Python beneath its environment, which takes no time
    answer = {"version": "3.13.0", "executable": str(slow), "problem": None, "detail": ""}
    probed = f"*--probe) echo '{json.dumps(answer)}'; exit;;"
    waits = f'*" lsp") while test ! -e {go}; do sleep 0.2; done;;'
    slow.write_text(f'#!/bin/sh\ncase "$*" in {probed} {waits} esac\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    window = open_window(server=start_code_server(machine={"acpSidecar.python": str(slow)}))
    panel = Panel(window)
    try:
        expect(panel.page.get_by_text("acp-sidecar is starting…")).to_be_visible()
        picture(window, "starting", ".part.auxiliarybar")
    finally:
        go.touch()
    window.until_server_runs()
    expect(panel.page.get_by_text("acp-sidecar is starting…")).to_have_count(0)


def test_an_error_in_the_agents_words(window: Window, picture: Picture) -> None:
    panel = begin(window)
    panel.prompt(
        scripted.steps({"fail": {"code": -32000, "message": "You have no credits left (0 of 500)."}})
    )
    expect(panel.page.locator(".end .notice.error")).to_contain_text("no credits left")
    line = {"sessionId": "$session", "command": "sh", "args": ["-c", """echo "it's" 'a "b"'"""]}
    panel.prompt(scripted.steps({"request": "terminal/create", "params": line, "as": "made"}))
    expect(panel.page.get_by_label("Command", exact=True)).to_contain_text("echo", timeout=60_000)
    picture(window, "error", ".part.auxiliarybar")
