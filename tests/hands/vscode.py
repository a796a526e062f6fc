"""VS Code in its real workbench: key events in the browser, texts from the extension host. One window serves all runs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import Error as PlaywrightError

from tests.hands import agent
from tests.hands.steps import WEIGHTS, Kind
from tests.support import tools
from tests.vscode import vsix
from tests.vscode.browser import Browser
from tests.vscode.code_server import CodeServer
from tests.vscode.conftest import approve, default_settings
from tests.vscode.panel import Panel
from tests.vscode.window import DOCUMENT, SETTLE, Window

NAME = "hands"
SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "files.autoSave": ("off", "off", "afterDelay", "onFocusChange", "onWindowChange"),
    "files.autoSaveDelay": (1000, 50, 300),
    "files.trimTrailingWhitespace": (False, True),
    "files.insertFinalNewline": (False, True),
    "editor.formatOnSave": (False, True),
    "workbench.colorTheme": ("Default Dark Modern", "Default Light Modern"),
}
ASKS = "asks for your permission"
ALLOW = re.compile(r"once$")
BEGIN = """
const turn = (keep.hands = { done: false });
const end = () => { turn.done = true; };
vscode.commands.executeCommand('sidecar.prompt', { prompt: args[0], wait: true }).then(end, end);
"""
STATE = """
const done = keep.hands?.done ?? true;
const status = done ? undefined : await vscode.commands.executeCommand('sidecar.status');
return { done, asked: (status?.questions ?? []).length > 0 };
"""
CLOSE = """
const wanted = vscode.Uri.file(args[0]);
const shown = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => ({ group, tab })))
  .filter(({ tab }) => tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === wanted.toString());
for (let left = 10; left > 0 && shown().length > 0; left--) {
  await vscode.window.showTextDocument(wanted, { viewColumn: shown()[0].group.viewColumn, preview: false });
  await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
}
return shown().length;
"""
SHOWN = """
await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
return vscode.window.activeTextEditor?.document.uri.fsPath === args[0];
"""
SET = """
const now = vscode.workspace.getConfiguration();
for (const [name, value] of Object.entries(args[0])) {
  if (JSON.stringify(now.get(name)) !== JSON.stringify(value)) {
    await now.update(name, value, vscode.ConfigurationTarget.Global);
  }
}
"""
PLACE = """
const editor = vscode.window.activeTextEditor;
const line = editor.document.lineAt(Math.min(args[0], editor.document.lineCount - 1));
const place = args[1] ? line.range.end : line.range.start;
editor.selection = new vscode.Selection(place, place);
"""


class VSCode:
    name = "vscode"
    kinds: frozenset[Kind] = frozenset(WEIGHTS)
    settings = SETTINGS

    def __init__(self, window: Window) -> None:
        self._window = window
        self._page = window.page

    def begin(self, folder: Path) -> None:
        self._window.reset(folder)
        self._window.js(SET, {name: values[0] for name, values in SETTINGS.items()})

    def open(self, path: Path) -> None:
        if not self._window.js(SETTLE + SHOWN, str(path)):
            self._window.open(path)

    def close(self, path: Path) -> None:
        left = self._window.js(CLOSE, str(path))
        assert not left, f"{path.name} cannot be closed"

    def type(self, text: str, pace: float) -> None:
        self._page.keyboard.type(text, delay=pace * 1000)

    def place(self, line: int, at_end: bool) -> None:
        self._window.js(PLACE + SETTLE, line, at_end)

    def save(self) -> None:
        self._page.keyboard.press("Control+s")

    def undo(self) -> None:
        self._page.keyboard.press("Control+z")

    def redo(self) -> None:
        self._page.keyboard.press("Control+Shift+z")

    def split(self) -> None:
        self._window.command("workbench.action.splitEditor")

    def set(self, name: str, value: Any) -> None:
        self._window.js(SET, {name: value})

    def text(self, path: Path) -> str | None:
        """A document without a tab, which the workbench only has not thrown away yet, is not open."""
        text = self._window.text(path)
        return None if text is None else text.replace("\r\n", "\n")

    def is_dirty(self, path: Path) -> bool:
        return bool(self._window.js(SETTLE + DOCUMENT + "return document?.isDirty ?? false", str(path)))

    def prompt(self, steps: list[dict[str, Any]]) -> None:
        self._window.js(BEGIN, json.dumps(steps))

    def is_working(self) -> bool:
        state = self._window.js(STATE)
        if state["asked"]:
            self._allow()
        return not state["done"]

    def _allow(self) -> None:
        """The person lets the agent run its commands: a message leads to the question, which is in the panel."""
        asked = self._page.locator(".notifications-toasts .notification-list-item", has_text=ASKS)
        show = asked.get_by_role("button", name="Show", exact=True)
        with suppress(PlaywrightError):  # it may go in this moment
            show.first.click(timeout=2000)
            panel = Panel(self._window)
            panel.page.locator(".question button[aria-disabled=false]").first.wait_for(
                state="attached", timeout=5000
            )
            panel.page.get_by_role("button", name=ALLOW).first.click(timeout=5000)
        self._window.command("workbench.action.closeAuxiliaryBar")
        self._window.command("workbench.action.focusActiveEditorGroup")

    def command(self, name: str, argument: Any) -> Any:
        return self._window.command(name, argument, seconds=60)

    def said(self) -> str:
        return "\n".join([*self._window.notifications(), self._window.server.last_words()])


def machine(log: Path) -> dict[str, Any]:
    """Settings that make the agent of these runs the default one."""
    command = {"command": sys.executable, "args": ["-S", agent.__file__, str(log)]}
    return {"acpSidecar.agents": {NAME: command}, "acpSidecar.defaultAgent": NAME}


@contextmanager
def started(folder: Path, log: Path) -> Generator[VSCode]:
    with ExitStack() as stack:
        browser = Browser()
        browser.start(tools.require("chromium"))
        stack.callback(browser.close)
        folder.mkdir(parents=True, exist_ok=True)
        settings = {**default_settings(folder), **machine(log)}
        extensions = [vsix.ours(), vsix.support(folder / "support.vsix")]
        server = CodeServer(tools.require("code-server"), folder, extensions, machine=settings)
        approve(server, settings)
        stack.enter_context(server)
        context = stack.enter_context(browser.chromium.new_context(viewport={"width": 1280, "height": 800}))
        (folder / "ws").mkdir()
        window = Window(server, context, folder / "ws")
        window.until_server_runs()
        yield VSCode(window)
