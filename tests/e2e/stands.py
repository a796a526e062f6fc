"""Stands: a real editor and the fake one, side by side behind the same server that only asks, driven by the same words.

What a `Scene` sees in the real editor is compared with what it sees in the fake one of the same name, so that the fake goes on
telling the truth. Editors are as they come, or with our snippet loaded (`our_…`). One editor serves a whole file of tests; every
scene has a document of its own.

    Hands    what a person does: opens, types, undoes, saves. One class an editor, `FakeHands` for the fake.
    Desk     one document on a stand: what the server was told of it, and edits that it asks for.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.e2e.emacs import Emacs, quoted
from tests.e2e.helix import Helix
from tests.e2e.nvim import Neovim
from tests.e2e.probe import Message, Probe
from tests.support import oracle
from tests.support.editor_habits import Habits
from tests.support.editor_wire import FakeWireEditor
from tests.support.waiting import eventually

_NUMBERS = itertools.count(1)


class Hands(Protocol):
    """A person at one editor. Everything but `open` is about the document opened last."""

    def open(self, path: Path) -> None: ...
    def type(self, text: str) -> None:
        """Key by key, from the start of the text or from where the last typing ended."""
        ...

    def undo(self) -> None: ...
    def save(self) -> None: ...
    def command(self) -> None:
        """Any command of the server's (`sidecar.prompt`): what is held back is told before it, as before any request."""
        ...

    def confirms(self, yes: bool) -> None:
        """From now on the editor asks before every edit, where it can, or no longer does."""
        ...

    def agree(self) -> None:
        """To a question about an edit."""
        ...

    def dismiss(self) -> None:
        """A question of the server's."""
        ...


def pause(seconds: float) -> None:
    """The pace at which a person types: nothing is waited for."""
    time.sleep(seconds)


class Stand:
    """An editor that runs, with a probe as its server, and the habits it is said to have."""

    def __init__(
        self, hands: Hands, probe: Probe, folder: Path, habits: Habits, *, ours: bool = False
    ) -> None:
        """`ours`: our snippet is loaded."""
        self.hands = hands
        self.probe = probe
        self.folder = folder
        self.habits = habits
        self.ours = ours

    def desk(self, data: bytes, *, shown: bool = True) -> Desk:
        """A new file with these bytes, opened by the user (unless it is not to be `shown`)."""
        path = self.folder / f"file{next(_NUMBERS)}.txt"
        path.write_bytes(data)
        desk = Desk(self, path)
        if shown:
            self.hands.open(path)
            eventually(lambda: desk.told("open"), "didOpen")
        return desk


class Desk:
    def __init__(self, stand: Stand, path: Path) -> None:
        self.stand = stand
        self.hands = stand.hands
        self.path = path
        self.uri = path.as_uri()

    def told(self, kind: str = "") -> list[Message]:
        """The notifications about this document; `kind` is open, change, save or close."""
        methods = {f"textDocument/did{kind.capitalize()}"} if kind else set[str]()
        return [
            message
            for message in self.stand.probe.seen()
            if message.get("method", "").startswith("textDocument/did")
            and message["params"]["textDocument"]["uri"] == self.uri
            and (not methods or message["method"] in methods)
        ]

    def story(self) -> list[str]:
        """What came, in order: open, change, save, close of this document, and `answer` for each answer to `put`."""
        return [
            "answer"
            if "method" not in message
            else message["method"].removeprefix("textDocument/did").lower()
            for message in self.stand.probe.seen()[self._first() :]
            if "method" not in message
            or (
                message["method"].startswith("textDocument/did")
                and message["params"]["textDocument"]["uri"] == self.uri
            )
        ]

    def _first(self) -> int:
        for number, message in enumerate(self.stand.probe.seen()):
            if self.uri in str(message):
                return number
        return 0

    def versions(self) -> list[int]:
        told = [*self.told("open"), *self.told("change")]
        return [message["params"]["textDocument"]["version"] for message in told]

    @property
    def version(self) -> int:
        versions = self.versions()
        if self.stand.habits.any_order:
            versions.sort()
        return versions[-1] if versions else 0

    def text(self) -> str:
        """What a server holds after all it was told, if it counts lines as the editor does, and changes by their versions."""
        told = self.told()
        if self.stand.habits.any_order:
            told.sort(key=lambda message: message["params"]["textDocument"].get("version", 2**31))
        text = ""
        for message in told:
            params = message["params"]
            if "text" in params["textDocument"]:
                text = params["textDocument"]["text"]
            for change in params.get("contentChanges", ()):
                if "range" not in change:
                    text = change["text"]
                    continue
                start, end = (
                    self._offset(text, (change["range"][side]["line"], change["range"][side]["character"]))
                    for side in ("start", "end")
                )
                text = text[:start] + change["text"] + text[end:]
        return text

    def _offset(self, text: str, place: tuple[int, int]) -> int:
        if not self.stand.habits.lf_lines:
            return oracle.offset_at(text, place, self.encoding)
        before = "".join(f"{line}\n" for line in text.split("\n")[: place[0]])
        line = text[len(before) :].partition("\n")[0].replace("\r", "x")
        return min(len(before) + oracle.offset_at(line, (0, place[1]), self.encoding), len(text))

    @property
    def encoding(self) -> str:
        return self.stand.probe.encoding

    def wait_for_text(self, text: str) -> None:
        eventually(
            lambda: self.text() == text,
            f"the server was told {text!r}",
            otherwise=lambda: f"{self.text()!r}\n{self.told()}",
        )

    def settle(self) -> None:
        """Everything that is held back is told."""
        before = len(self.stand.probe.seen("workspace/executeCommand"))
        self.hands.command()
        eventually(
            lambda: len(self.stand.probe.seen("workspace/executeCommand")) > before, "the command arrives"
        )

    def types(self, text: str) -> None:
        """Typed, and told."""
        self.hands.type(text)
        self.settle()

    def saves(self) -> bytes:
        """Saved, and told; what the file holds then."""
        before = len(self.told("save"))
        self.hands.save()
        eventually(lambda: len(self.told("save")) > before, "didSave", otherwise=lambda: str(self.told()))
        return self.path.read_bytes()

    def put(
        self,
        start: tuple[int, int],
        end: tuple[int, int],
        new: str,
        *,
        version: int | None = None,
        within: float = 20,
    ) -> Message:
        """workspace/applyEdit of one range; the editor's whole response, {} when there is none in time."""
        change = {
            "textDocument": {"uri": self.uri, "version": self.version if version is None else version},
            "edits": [{"range": {"start": _place(start), "end": _place(end)}, "newText": new}],
        }
        return self.request([change], within=within)

    def request(self, changes: list[Message], *, within: float = 20) -> Message:
        params = {"label": "probe", "edit": {"documentChanges": changes}}
        return self.stand.probe.ask("workspace/applyEdit", params, within=within)


def _place(place: tuple[int, int]) -> Message:
    return {"line": place[0], "character": place[1]}


def verdict(response: Message) -> object:
    """A response to applyEdit in short: True, False, (False, reason), or an error's code."""
    if "error" in response:
        return response["error"]["code"]
    if "result" not in response:
        return "no answer"
    result = response["result"]
    if result["applied"]:
        return True
    reason = result.get("failureReason") or ""
    return (False, reason) if reason else False


# The fake editor


class FakeHands:
    def __init__(self, portal: BlockingPortal, editor: FakeWireEditor, asks: bool) -> None:
        self._asks = asks
        self._portal = portal
        self.editor = editor
        self._path = ""

    def open(self, path: Path) -> None:
        self._path = str(path)
        self._portal.call(lambda: self.editor.open(self._path))

    def type(self, text: str) -> None:
        def typed() -> None:
            for character in text:
                self.editor.type(self._path, character)

        self._portal.call(typed)

    def undo(self) -> None:
        self._portal.call(lambda: self.editor.undo(self._path))

    def save(self) -> None:
        self._portal.call(lambda: self.editor.save(self._path))

    def command(self) -> None:
        self._portal.call(self.editor.execute, "sidecar.prompt")

    def confirms(self, yes: bool) -> None:
        habits = self.editor.model.habits
        self.editor.model.habits = replace(habits, thinks=1.0 if yes and self._asks else 0.0)

    def agree(self) -> None:
        """It does, when it has thought enough."""

    def dismiss(self) -> None:
        """It did."""


@contextmanager
def fake(habits: Habits, folder: Path, *, ours: bool = False, seed: int = 0) -> Generator[Stand]:
    """The fake editor over real pipes; the probe's server is its server. It asks nobody before an edit until it is to."""
    probe = Probe(folder)
    with start_blocking_portal() as portal:

        async def start() -> FakeWireEditor:
            return FakeWireEditor(probe.command, folder, replace(habits, thinks=0.0), seed=seed)

        with portal.wrap_async_context_manager(portal.call(start)) as editor:
            hands = FakeHands(portal, editor, habits.thinks > 0)
            yield Stand(hands, probe, folder, habits, ours=ours)


# Neovim

PLAIN_NEOVIM = """
local cmd, root = ...
vim.o.hidden = true
local id = vim.lsp.start_client({
  name = 'acp-sidecar',
  cmd = cmd,
  root_dir = root,
  get_language_id = function(_, filetype) return filetype == '' and 'plaintext' or filetype end,
})
vim.api.nvim_create_autocmd('BufReadPost', {
  callback = function(event) vim.lsp.buf_attach_client(event.buf, id) end,
})
Client = function() return vim.lsp.get_client_by_id(id) end
"""


class NeovimHands:
    def __init__(self, nvim: Neovim, *, asks_later: bool = False) -> None:
        """`asks_later`: a question waits until its user asks for it (our snippet in 0.11)."""
        self.nvim = nvim
        self._asks_later = asks_later

    def open(self, path: Path) -> None:
        self.nvim.open(path)

    def type(self, text: str) -> None:
        self.nvim.keys("i" + text.replace("<", "<lt>").replace("\n", "<CR>") + "<Esc>`^")

    def undo(self) -> None:
        self.nvim.undo()

    def save(self) -> None:
        """Whatever it asks about that (a file that changed on disk): no."""
        before = self.nvim.lua("return vim.g.taken")
        self.nvim.raw_keys(":write<CR>")
        eventually(lambda: self._no() and self.nvim.lua("return vim.g.taken") > before, "it goes on")

    def _no(self) -> bool:
        """Whether it waits for nothing; else it is answered."""
        mode = self.nvim.mode()
        self.nvim.raw_keys("n<CR>" if "?" in mode else "<CR>" if mode.endswith("!") else "<F20>")
        return not self.nvim.mode().endswith("!")

    def command(self) -> None:
        self.nvim.lua(
            "local client = Client(); local order = { command = 'sidecar.prompt' };"
            "if vim.fn.has('nvim-0.11') == 1 then"
            "  client:request('workspace/executeCommand', order, function() end)"
            "else client.request('workspace/executeCommand', order, function() end) end"
        )

    def confirms(self, yes: bool) -> None:
        """It never asks."""

    def agree(self) -> None:
        """Never asked."""

    def dismiss(self) -> None:
        if self._asks_later:
            return
        eventually(lambda: self.nvim.mode() != "n", "it asks")
        self.nvim.raw_keys("<Esc>")
        eventually(lambda: self._no() and self.nvim.mode() == "n", "it goes on")


def plain_neovim(nvim: Neovim, probe: Probe, folder: Path, habits: Habits) -> Stand:
    """Neovim's own client, without our snippet."""
    nvim.lua(PLAIN_NEOVIM, probe.command, str(folder))
    eventually(
        lambda: nvim.lua("local c = Client(); return c and c.initialized or false"), "the server is ready"
    )
    return Stand(NeovimHands(nvim), probe, folder, habits)


def our_neovim(nvim: Neovim, probe: Probe, folder: Path, habits: Habits) -> Stand:
    first = folder / "first.txt"
    first.write_text("\n")
    nvim.setup(probe.command, {}, folder)
    nvim.open(first)
    nvim.wait_until_ready()
    nvim.lua(
        "vim.o.hidden = true;"
        "Client = function() return vim.tbl_filter(function(c) return c.name == 'acp-sidecar' end, %s)[1] end"
        % ("vim.lsp.get_clients()" if nvim.version >= (0, 10) else "vim.lsp.get_active_clients()")
    )
    return Stand(NeovimHands(nvim, asks_later=True), probe, folder, habits, ours=True)


# Emacs


class EmacsHands:
    def __init__(self, emacs: Emacs) -> None:
        self.emacs = emacs

    def open(self, path: Path) -> None:
        self.emacs.open(path)

    def type(self, text: str) -> None:
        # tmux turns line ends into Enter, which the editor takes as such
        before = self.emacs.look("(buffer-chars-modified-tick)")
        self.emacs.type(text)
        grown = f"(>= (buffer-chars-modified-tick) {before + len(text)})"
        self.emacs.wait_for(grown, f"{text!r} is typed")

    def undo(self) -> None:
        before = self.emacs.look("(buffer-chars-modified-tick)")
        self.emacs.undo()
        self.emacs.wait_for(f"(> (buffer-chars-modified-tick) {before})", "the undo is made")

    def save(self) -> None:
        """Whatever it asks about that (a file that changed on disk): no."""
        before = self.emacs.look("num-input-keys")
        self.emacs.terminal.keys("C-x", "C-s")
        self.emacs.wait_for(f"(> num-input-keys {before})", "the keys are taken")
        if self.emacs.look("(minibuffer-depth)"):
            self.emacs.terminal.keys("no", "Enter")
            self.emacs.wait_for("(zerop (minibuffer-depth))", "it goes on")

    def command(self) -> None:
        self.emacs.eval(
            "(with-current-buffer (window-buffer (selected-window)) (eglot--signal-textDocument/didChange)"
            " (jsonrpc-async-request (eglot-current-server) :workspace/executeCommand"
            ' \'(:command "sidecar.prompt" :arguments [])))'
        )

    def confirms(self, yes: bool) -> None:
        change = "remove" if yes else "add"
        self.emacs.eval(
            f"(progn (setq eglot-confirm-server-initiated-edits {'t' if yes else 'nil'})"
            f" (setq eglot-confirm-server-edits nil)"  # of eglot 1.17, which asks about nothing as it comes
            f" (advice-{change} 'y-or-n-p{'' if yes else ' :override'} 'acp-sidecar-tests-yes))"
        )

    def agree(self) -> None:
        if "y or n" in self.emacs.terminal.screen():
            self.emacs.terminal.keys("y")

    def dismiss(self) -> None:
        self.emacs.wait_for("(> (minibuffer-depth) 0)", "it asks")
        self.emacs.terminal.keys("C-g")
        self.emacs.wait_for("(zerop (minibuffer-depth))", "it goes on")


def plain_emacs(emacs: Emacs, probe: Probe, folder: Path, habits: Habits) -> Stand:
    """eglot as it comes, but that it asks nobody before an edit until it is to."""
    first = folder / "first.txt"
    first.write_text("\n")
    emacs.eval("(defun acp-sidecar-tests-yes (&rest _) t)")
    hands = EmacsHands(emacs)
    hands.confirms(False)
    emacs.open(first)
    server = f"'({' '.join(map(quoted, probe.command))})"
    emacs.eval(
        "(with-current-buffer (window-buffer (selected-window)) (require 'eglot)"
        " (let ((old (not (fboundp 'eglot--languages))))"
        "  (eglot (if old 'text-mode '(text-mode)) (eglot--current-project) 'eglot-lsp-server"
        f'   {server} (if old "text" \'("text")))))'
    )
    probe.wait_for("textDocument/didOpen")
    return Stand(hands, probe, folder, habits)


def our_emacs(emacs: Emacs, probe: Probe, folder: Path, habits: Habits) -> Stand:
    first = folder / "first.txt"
    first.write_text("\n")
    emacs.setup(probe.command)
    emacs.open(first)
    emacs.start()
    probe.wait_for("textDocument/didOpen")
    return Stand(EmacsHands(emacs), probe, folder, habits, ours=True)


# Helix


class HelixHands:
    def __init__(self, helix: Helix) -> None:
        self.helix = helix

    def open(self, path: Path) -> None:
        self.helix.command(f"open {path}")
        self.helix.terminal.wait_for(path.name)

    def type(self, text: str) -> None:
        self.helix.type(text)

    def undo(self) -> None:
        self.helix.undo()

    def save(self) -> None:
        self.helix.command("write")

    def command(self) -> None:
        self.helix.command("lsp-workspace-command sidecar.prompt")

    def confirms(self, yes: bool) -> None:
        """It never asks."""

    def agree(self) -> None:
        """Never asked."""

    def dismiss(self) -> None:
        """It has no questions."""


def plain_helix(helix: Helix, probe: Probe, folder: Path, habits: Habits) -> Stand:
    return Stand(HelixHands(helix), probe, folder, habits)


Scene = Callable[[Stand], Any]
"""What is done on a stand; what was seen is the result, as plain values."""
