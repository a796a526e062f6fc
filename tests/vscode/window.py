"""A VS Code window as a user has it (`page`, real keys) and as its extension host sees it (`js`, and helpers built
on it).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.support.waiting import NeverHappened, eventually
from tests.vscode import support
from tests.vscode.code_server import RECEIVED, CodeServer

# Answered only after the extension host was told everything that the workbench did before, because both share one
# ordered channel.
SETTLE = "await vscode.commands.executeCommand('setContext', 'acpTests.settled', Date.now());\n"
DOCUMENT = """
const wanted = vscode.Uri.file(args[0]).toString();
const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted && !one.isClosed);
"""
TABS = """
const kind = (input) => {
  const names = Object.keys(vscode).filter((name) => name.startsWith('TabInput') && input instanceof vscode[name]);
  return (names[0] ?? 'TabInputOther').replace('TabInput', '').toLowerCase();
};
return vscode.window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => ({
  label: tab.label, dirty: tab.isDirty, active: tab.isActive && group.isActive, preview: tab.isPreview, kind: kind(tab.input),
  path: tab.input?.uri?.fsPath ?? tab.input?.modified?.fsPath ?? null,
})));
"""
CLOSE_ALL = """
for (let left = 60; left > 0 && vscode.window.tabGroups.all.some((group) => group.tabs.length > 0); left--) {
  await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  if (vscode.window.tabGroups.activeTabGroup.tabs.length === 0) {
    await vscode.commands.executeCommand('workbench.action.focusNextGroup');
  }
}
await vscode.commands.executeCommand('notifications.clearAll');
await vscode.commands.executeCommand('workbench.action.closePanel');
await vscode.commands.executeCommand('workbench.action.closeAuxiliaryBar');
await vscode.commands.executeCommand('workbench.view.explorer');
return vscode.window.tabGroups.all.flatMap((group) => group.tabs).map((tab) => tab.label);
"""
END_SESSIONS = """
const known = await vscode.commands.getCommands(true);
if (!known.includes('sidecar.status')) return;
const status = await vscode.commands.executeCommand('sidecar.status');
for (const session of status.sessions ?? []) {
  await vscode.commands.executeCommand('sidecar.closeSession', { sessionId: session.sessionId ?? session.id });
}
await vscode.commands.executeCommand('sidecar.keep', { all: true });
"""
CONFIGURE = """
for (const [name, value] of Object.entries(args[0])) {
  await vscode.workspace.getConfiguration().update(name, value ?? undefined, vscode.ConfigurationTarget.Global);
}
"""
_NUMBERS = itertools.count(1)
BOUND = 60.0
"""Seconds for anything that a user would see at once. A limit costs nothing when all is well, and the machine may
be busy.
"""


class Turn:
    """A running turn. `result` waits for its end and returns the answer of `sidecar.prompt` with `wait`."""

    def __init__(self, window: Window, number: int) -> None:
        self._window = window
        self._number = number

    def result(self, *, seconds: float = 60) -> dict[str, Any]:
        return self._window.js("return await keep['turn' + args[0]]", self._number, seconds=seconds)


class Window:
    def __init__(
        self, server: CodeServer, context: BrowserContext, root: Path | None, workspace: Path | None = None
    ) -> None:
        """Opens `root` as the only folder, or the folders of the file `workspace`, or no folder at all."""
        self.server = server
        self._configured: list[str] = []
        self._heard = len(self._told())
        self.page: Page = context.new_page()
        self.root = root
        self.folder = root if root is not None else server.folder
        """Where this test's files are: `root`, or a folder in it."""
        shown = f"workspace={workspace}" if workspace else f"folder={root}" if root else "ew=true"
        self._visit(lambda: self.page.goto(f"{server.url}/?{shown}"))
        if workspace is not None:
            self._until_folders(workspace)

    # --- The extension host

    def js(self, body: str, *args: Any, seconds: float = 30) -> Any:
        """Runs the body of an async function in the extension host and returns its result as JSON.

        It has `vscode`, `args` (JSON), `require`, and `keep`, an object that lasts as long as the window.
        """
        return support.run(self._socket, body, *args, seconds=seconds)

    def command(self, name: str, *args: Any, seconds: float = 30) -> Any:
        """Runs any command (VS Code's, ours, or the server's `sidecar.…`) and returns its result."""
        return self.js(
            "return await vscode.commands.executeCommand(args[0], ...args[1])", name, args, seconds=seconds
        )

    def settle(self) -> None:
        """Waits until the extension host knows about all keys and clicks so far, and the workbench knows what
        extensions made of them.

        For example context keys, without which a key has another meaning.
        """
        self.js(SETTLE + SETTLE)

    def until_server_runs(self) -> None:
        body = "return (await vscode.commands.getCommands(true)).includes('sidecar.status')"
        eventually(lambda: self.js(body), "the sidecar runs", within=90, otherwise=self.server.last_words)

    def until_js(self, body: str, what: str, *, within: float = BOUND) -> Any:
        """Waits for a true value of `js(body)` and returns it."""
        return eventually(lambda: self.js(body), what, within=within, otherwise=self.server.last_words)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Changes settings until the end of the test. For those that start the sidecar anew, use the fixture
        `configure`, which waits for that.
        """
        self.js(CONFIGURE, settings)
        self._configured.extend(settings)

    # --- Documents

    def open(self, path: Path) -> None:
        """Opens a file in its own tab and shows it; keys go there."""
        self.js(
            "const document = await vscode.workspace.openTextDocument(vscode.Uri.file(args[0]));\n"
            "await vscode.window.showTextDocument(document, { preview: false });",
            str(path),
        )
        eventually(
            lambda: self.active() == path,
            f"{path.name} is the active editor's",
            within=BOUND,
            otherwise=lambda: f"{self.tabs()}\n{self.server.last_words()}",
        )
        self.focus_editor()

    def file(self, name: str, text: str | bytes) -> Path:
        """Creates a file on disk, in this test's folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def text(self, path: Path) -> str | None:
        """The document's exact text with its own line ends; None if it is not open."""
        return self.js(
            SETTLE + DOCUMENT + "return document === undefined ? null : document.getText()", str(path)
        )

    def document(self, path: Path) -> dict[str, Any] | None:
        """{text, version, dirty, language} or None."""
        return self.js(
            SETTLE + DOCUMENT + "return document === undefined ? null : { text: document.getText(), "
            "version: document.version, dirty: document.isDirty, language: document.languageId }",
            str(path),
        )

    def until_text(self, path: Path, expected: str, *, within: float = BOUND) -> None:
        eventually(
            lambda: self.text(path) == expected,
            f"{path.name} has the text {expected!r}",
            within=within,
            otherwise=lambda: repr(self.text(path)),
        )

    def until_disk(
        self, path: Path, expected: str, *, within: float = BOUND, encoding: str = "utf-8"
    ) -> None:
        eventually(
            lambda: path.exists() and path.read_bytes() == expected.encode(encoding),
            f"{path.name} is on disk as {expected!r}",
            within=within,
            otherwise=lambda: repr(path.read_bytes() if path.exists() else None),
        )

    def until_dirty(self, path: Path, dirty: bool, *, within: float = BOUND) -> None:
        eventually(
            lambda: (self.document(path) or {}).get("dirty") is dirty,
            f"{path.name} is {'' if dirty else 'not '}dirty",
            within=within,
            otherwise=lambda: repr(self.document(path)),
        )

    def until_marked(self, path: Path, marked: bool, *, within: float = BOUND) -> None:
        """Waits until its tab is marked as newer on disk."""
        tab = self.page.locator(f".tab[data-resource-name='{path.name}']")
        eventually(
            lambda: ("Newer on disk" in tab.first.inner_html()) is marked,
            f"{path.name} is {'' if marked else 'not '}marked as newer on disk",
            within=within,
            otherwise=lambda: tab.first.inner_html(),
        )

    def tabs(self) -> list[dict[str, Any]]:
        """{label, path, kind, dirty, active, preview}, in order."""
        return self.js(SETTLE + TABS)

    def active_tab(self) -> dict[str, Any]:
        return next((tab for tab in self.tabs() if tab["active"]), {"kind": None, "label": None})

    def active(self) -> Path | None:
        """The file of the active text editor."""
        path = self.js(SETTLE + "return vscode.window.activeTextEditor?.document.uri.fsPath ?? null")
        return Path(path) if path else None

    # --- Keys

    def focus_editor(self) -> None:
        self.command("workbench.action.focusActiveEditorGroup")
        self.page.wait_for_selector(".editor-instance .monaco-editor.focused", timeout=BOUND * 1000)

    def keys(self, *names: str) -> None:
        """Presses keys, named as in Playwright (`Control+S`), wherever the focus is. Several keys are one chord.

        Waits first until earlier actions have settled, because they determine what the keys mean.
        """
        self.settle()
        for name in names:
            self.page.keyboard.press(name)

    def place(self, line: int, column: int) -> None:
        """Puts the active editor's cursor there. Line and column count from 0."""
        self.js(
            "const place = new vscode.Position(args[0], args[1]);\n"
            "vscode.window.activeTextEditor.selection = new vscode.Selection(place, place);\n" + SETTLE,
            line,
            column,
        )

    def type(self, text: str, *, at: tuple[int, int] | None = None) -> None:
        """Types key by key into the active editor, at the cursor or at (line, column), both from 0."""
        if at is not None:
            self.place(*at)
        self.focus_editor()
        self.page.keyboard.type(text)
        self.settle()

    def undo(self) -> None:
        """One Ctrl+Z in the active editor."""
        self.focus_editor()
        self.keys("Control+z")

    def redo(self) -> None:
        self.focus_editor()
        self.keys("Control+Shift+z")

    def save(self) -> None:
        """One Ctrl+S in the active editor."""
        self.focus_editor()
        self.keys("Control+s")

    # --- Agents

    def begin(self, prompt: str | list[dict[str, Any]], session: str | None = None) -> Turn:
        """Sends a prompt and leaves the turn running."""
        number = next(_NUMBERS)
        order: dict[str, Any] = {"prompt": prompt, "wait": True}
        if session is not None:
            order["sessionId"] = session
        self.js(
            "const turn = vscode.commands.executeCommand('sidecar.prompt', args[1]);\n"
            "turn.then(undefined, () => undefined);\nkeep['turn' + args[0]] = turn;",
            number,
            order,
        )
        return Turn(self, number)

    def prompt(self, prompt: str | list[dict[str, Any]], session: str | None = None) -> dict[str, Any]:
        """Runs one turn to its end."""
        return self.begin(prompt, session).result()

    def answers(self) -> list[dict[str, Any]]:
        """The answers that the scripted agents got in this test (`result` or `error`), in order."""
        told = self._told()[self._heard :].splitlines()
        return [message for line in told if "method" not in (message := json.loads(line))]

    def _told(self) -> bytes:
        path = self.server.folder / RECEIVED
        return path.read_bytes() if path.exists() else b""

    def changes(self, path: Path | None = None) -> list[dict[str, Any]]:
        """The hunks under review, as `sidecar.listChanges` returns them."""
        return self.command("sidecar.listChanges", {} if path is None else {"uri": path.as_uri()})

    # --- What a user sees

    def save_there(self, target: Path) -> None:
        """Presses OK in the workbench's file dialog, which holds this path, until there is the file. While the dialog looks into a folder, it takes no
        answer."""
        button = self.page.locator(".quick-input-widget").get_by_role("button", name="OK")

        def is_saved() -> bool:
            try:
                if not target.exists():
                    button.click(timeout=1_000)
            except PlaywrightTimeout:
                pass  # the dialog is closed
            return target.exists()

        eventually(is_saved, "the file is there", within=60)

    def notifications(self) -> list[str]:
        """The texts of the visible notifications, oldest first."""
        return self.page.locator(".notifications-toasts .notification-list-item-message").all_inner_texts()

    def notification(self, words: str) -> Locator:
        """A notification that contains these words. Its buttons are `.get_by_role("button", name=…)`."""
        return self.page.locator(".notifications-toasts .notification-list-item").filter(has_text=words)

    def answer(self, words: str, button: str) -> None:
        """Presses a button of the notification with these words, when it comes, and even if it is no longer visible.

        Warnings are visible for 12 s. After that they are in the list behind the bell, which opens only if there is anything in it.
        """
        listed = self.page.locator(".notifications-center .notification-list-item").filter(has_text=words)

        def is_pressed() -> bool:
            self.command("notifications.showList")
            if listed.count() == 0:
                return False
            try:  # the list is drawn anew, or closes, when another notification comes or goes
                listed.get_by_role("button", name=button).click(timeout=5_000)
            except PlaywrightTimeout:
                return False
            return True

        eventually(is_pressed, f"a notification: {words}", within=60)

    def words(self) -> str:
        """What a person could read in the workbench, without its editors, the line breaks as they are laid out."""
        parts = self.page.locator(".part, .notifications-toasts, .quick-input-widget, .monaco-dialog-box")
        shown = [part.inner_text() for part in parts.all() if part.is_visible()]
        return "\n".join(shown)

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path)

    # --- Life cycle

    def visit(self, workspace: Path) -> None:
        """Shows the folders of this file instead."""
        self._visit(lambda: self.page.goto(f"{self.server.url}/?workspace={workspace}"))
        self._until_folders(workspace)

    def _until_folders(self, workspace: Path) -> None:
        """Waits for the folders of the file `workspace`.

        On a busy machine the workbench may read that file before its own file system is there. It then shows no
        folder at all until the file is opened again.
        """
        wanted = len(json.loads(workspace.read_text())["folders"])
        body = "return (vscode.workspace.workspaceFolders ?? []).length"
        for visits_left in (2, 1, 0):
            try:
                eventually(lambda: self.js(body) == wanted, "the folders are there", within=5)
                return
            except NeverHappened:
                if visits_left == 0:
                    raise
                self._visit(lambda: self.page.goto(f"{self.server.url}/?workspace={workspace}"))

    def reload(self) -> None:
        """Reloads the window like Developer: Reload Window. VS Code restores unsaved text from its own backup."""
        self._visit(lambda: self.page.reload())

    def reload_by_command(self) -> None:
        """The command itself, which also saves which tabs are open. The browser's own reload does not wait for that."""
        body = "setTimeout(() => vscode.commands.executeCommand('workbench.action.reloadWindow'), 0); return null;"
        self._visit(lambda: self.js(body))

    def reset(self, folder: Path) -> None:
        """Resets the window for the next test, whose files are in `folder`, inside `root`."""
        self.keys("Escape", "Escape")
        self.js("for (const one of keep.disposables ?? []) one.dispose();\ndelete keep.disposables;")
        self.js(CONFIGURE, {name: self.server.settings.get(name) for name in self._configured})
        self._configured.clear()
        self.js(END_SESSIONS, seconds=60)
        left = self.js(CLOSE_ALL, seconds=60)
        assert not left, f"these tabs cannot be closed: {left}"
        eventually(self._nothing_under_review, "nothing is under review", within=20)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._heard = len(self._told())

    def _nothing_under_review(self) -> bool:
        """Closing unsaved text is an undo, which may bring back rejected changes."""
        self.command("sidecar.keep", {"all": True})
        return not self.changes()

    def close(self) -> None:
        self.page.close()

    def _visit(self, go: Any) -> None:
        before = set(self.server.sockets.glob("host-*.sock"))
        go()
        self.page.wait_for_selector(".monaco-workbench", timeout=30_000)

        def connected() -> bool:
            for path in set(self.server.sockets.glob("host-*.sock")) - before:
                self._socket = path
                try:
                    return bool(self.js("return true"))
                except OSError:
                    continue  # it does not listen yet
            self.page.wait_for_timeout(20)  # lets the page process its own events
            return False

        eventually(connected, "the extension host runs", within=90, otherwise=self.server.last_words)
