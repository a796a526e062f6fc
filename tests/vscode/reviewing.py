"""What a user sees and does in a review, on top of Window."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.e2e import scripted
from tests.support.waiting import eventually
from tests.vscode.window import BOUND, Window

_LENSES = """
const found = await vscode.commands.executeCommand('vscode.executeCodeLensProvider', vscode.Uri.file(args[0]), 100);
return found.map((lens) => [lens.range.start.line, lens.command?.title.replace(/\\$\\([\\w-]+\\) /, '') ?? '']);
"""
_ACTIONS = """
const line = new vscode.Range(args[1], 0, args[1], 0);
const found = await vscode.commands.executeCommand('vscode.executeCodeActionProvider', vscode.Uri.file(args[0]), line);
keep.actions = new Map(found.map((action) => [action.title, action.command]));
return [...keep.actions.keys()];
"""
_HOVER = """
const place = new vscode.Position(args[1], args[2]);
const found = await vscode.commands.executeCommand('vscode.executeHoverProvider', vscode.Uri.file(args[0]), place);
return found.flatMap((hover) => hover.contents.map((text) => text.value ?? text)).join('\\n');
"""


ASKED = "Mend it"


def agent_writes(window: Window, *files: tuple[Path, str]) -> str:
    """Runs one turn, titled ASKED, that reads and writes these files in the default session. Returns the session's id."""
    steps = [step for file, text in files for step in _of_file(file, text)]
    ended = window.prompt(f"{ASKED}\n{scripted.steps(*steps)}")
    assert ended["stopReason"] == "end_turn"
    return ended["sessionId"]


def _of_file(file: Path, text: str) -> list[dict[str, object]]:
    return [*([scripted.read(file)] if file.exists() else []), scripted.write(file, text)]


def lenses(window: Window, file: Path) -> dict[int, list[str]]:
    """Titles of lenses by line, from 0, including the server's own."""
    found: dict[int, list[str]] = {}
    for line, title in window.js(_LENSES, str(file)):
        found.setdefault(line, []).append(title)
    return found


def until_lenses(window: Window, file: Path, expected: dict[int, list[str]]) -> None:
    """Waits for the lenses of the active editor's file until they are drawn."""
    eventually(
        lambda: lenses(window, file) == expected,
        f"the lenses are {expected}",
        within=BOUND,
        otherwise=lambda: f"{lenses(window, file)}\n{window.server.last_words()}",
    )
    drawn = window.page.locator(".codelens-decoration").filter(has_text=re.compile(r"\w"))
    expect(drawn).to_have_count(len(expected))


def until_reviewed(window: Window, file: Path | None = None) -> None:
    eventually(
        lambda: not window.changes(file), "nothing is under review", otherwise=lambda: str(window.changes())
    )


def actions(window: Window, file: Path, line: int) -> list[str]:
    """The code actions offered on a line. `act` runs one of them."""
    return window.js(_ACTIONS, str(file), line)


def act(window: Window, title: str) -> None:
    window.js(
        "const command = keep.actions.get(args[0]);\n"
        "await vscode.commands.executeCommand(command.command, ...command.arguments);",
        title,
    )


def hover(window: Window, file: Path, line: int, column: int = 0) -> str:
    return window.js(_HOVER, str(file), line, column)


def lens(window: Window, title: str, nth: int = 0) -> Locator:
    """A lens as drawn: the nth with this title, from the top."""
    return window.page.locator(".codelens-decoration a").filter(has_text=title).nth(nth)


def title_button(window: Window, words: str) -> Locator:
    """A button at the right of the tabs."""
    return window.page.locator(f'.editor-actions .action-label[aria-label^="{words}"]').first


def view(window: Window) -> Locator:
    """Opens the view "Agent Changes" and returns its rows."""
    window.command("workbench.view.extension.acpSidecarReview")
    window.page.locator(".sidebar .pane-body .monaco-list").wait_for()
    return window.page.locator(".sidebar .pane-body .monaco-list-row")


def row_button(row: Locator, words: str) -> Locator:
    """A row's inline action, which appears when the pointer is on the row."""
    row.hover()
    return row.locator(f'.action-label[aria-label^="{words}"]')


def expand(row: Locator) -> None:
    row.locator(".monaco-tl-twistie").click()


def shown_settings(window: Window, name: str) -> None:
    """Waits for the settings page to show a setting with this name, then closes the page."""
    expect(window.page.locator(".settings-editor .setting-item-label", has_text=name).first).to_be_visible()
    # not with Escape: the page's search box takes the focus a moment after the page opens
    window.page.get_by_role("button", name="Close Modal Editor").click()
    expect(window.page.locator(".settings-editor")).to_have_count(0)


def until_backed_up(window: Window, text: str) -> None:
    """VS Code backs up unsaved text a moment after the last key. Without the backup, a reload could not restore
    anything.
    """
    backups = window.server.data / "User" / "Backups"
    eventually(
        lambda: any(text.encode() in path.read_bytes() for path in backups.rglob("*") if path.is_file()),
        f"a backup has {text!r}",
    )
