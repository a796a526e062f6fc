"""Bars in the gutter show removed lines in the editor's own peek, with Keep and Reject in its title."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.vscode.reviewing import agent_writes, lenses, until_lenses
from tests.vscode.test_review import BASE, LENSES, WANTED
from tests.vscode.window import Window


def bars(window: Window) -> Locator:
    return window.page.locator(".editor-instance .dirty-diff-glyph")


def peek(window: Window) -> Locator:
    return window.page.locator(".zone-widget.dirty-diff")


def click_bar(window: Window, kind: str) -> None:
    """Clicks the first bar of this kind, at its left edge: that is the part that reacts."""
    bar = window.page.locator(f".editor-instance .dirty-diff-{kind}").first
    bar.click(position={"x": 1, "y": 8})


def press(window: Window, title: str) -> None:
    peek(window).locator(f'.action-label[aria-label^="{title}"]').click()


def test_removed_lines_are_one_click_away_and_kept_or_rejected_there(window: Window, tmp_path: Path) -> None:
    pictures = Path(os.environ.get("PICTURES", tmp_path))
    file = window.file("a.txt", BASE)
    window.open(file)
    expect(bars(window)).to_have_count(0)
    agent_writes(window, (file, WANTED))
    until_lenses(window, file, LENSES)
    # one modified line, the place of the removed lines, and two new lines
    expect(bars(window)).to_have_count(4)
    window.type("mine\n", at=(20, 0))
    until_lenses(window, file, LENSES)
    expect(bars(window)).to_have_count(4)

    click_bar(window, "deleted")
    expect(peek(window)).to_contain_text("Agent Changes")
    for line in ("line 8", "line 9"):
        expect(peek(window).locator(".view-lines", has_text=line).first).to_be_visible()
    window.screenshot(pictures / "review-vscode-peek.png")
    press(window, "Reject Agent Change")
    with_lines = WANTED.replace("line 7\n", "line 7\nline 8\nline 9\n") + "mine\n"
    window.until_text(file, with_lines)
    until_lenses(window, file, {2: ["Keep", "Reject", "− 1 line"], 15: ["Keep", "Reject"]})

    window.command("workbench.view.scm")
    row = window.page.locator(".scm-view .monaco-list-row", has_text="a.txt")
    expect(row).to_have_count(1)
    window.screenshot(pictures / "review-vscode-scm.png")
    window.focus_editor()

    window.configure({"acpSidecar.review.goOn": True})
    window.keys("Escape")
    click_bar(window, "modified")
    press(window, "Keep Agent Change")
    until_lenses(window, file, {15: ["Keep", "Reject"]})
    window.until_js(
        "return vscode.window.activeTextEditor?.selection.active.line === 15", "the next change is shown"
    )
    window.command("acpSidecar.review.keepAll")
    expect(bars(window)).to_have_count(0)
    expect(row).to_have_count(0)
    assert not lenses(window, file)
