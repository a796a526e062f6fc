"""What an agent was shown that the user took back, and then makes again, is made: in real editors (tests/e2e/made_again.py)."""

from __future__ import annotations

from pathlib import Path

from tests.e2e import made_again, scripted, sidecar
from tests.e2e.emacs import Emacs
from tests.e2e.helix import Helix, on_disk
from tests.e2e.nvim import Neovim
from tests.support import tools


class NeovimHands:
    def __init__(self, nvim: Neovim) -> None:
        self._nvim = nvim
        self._shown = Path()
        self.undo, self.text = nvim.undo, nvim.text

    def open(self, path: Path) -> None:
        self._nvim.open(path)
        self._shown = path

    def is_listed(self) -> bool:
        return bool(self._nvim.command("sidecar.listChanges", {"uri": self._shown.as_uri()}))

    def reject(self) -> None:
        self._nvim.ex("AcpRejectAll")

    def retype(self, line: int, text: str) -> None:
        self._nvim.keys(f"{line + 1}GS{text}<Esc>")

    def type_line(self, where: str) -> None:
        self._nvim.keys(f"{'ggO' if where == 'above' else 'Go'}{made_again.LINE}<Esc>")


class EmacsHands:
    def __init__(self, emacs: Emacs) -> None:
        self._emacs = emacs
        self._shown = Path()
        self.undo, self.open, self.text = emacs.undo, emacs.open, emacs.text

    def is_listed(self) -> bool:
        uri = self._emacs.look('(concat "file://" buffer-file-name)')
        return bool(self._emacs.request("sidecar.listChanges", {"uri": uri}))

    def reject(self) -> None:
        uri = self._emacs.look('(concat "file://" buffer-file-name)')
        self._emacs.request("sidecar.reject", {"uri": uri})

    def retype(self, line: int, text: str) -> None:
        self._emacs.terminal.keys("M-<", *["C-n"] * line, "C-k")
        self._emacs.type(text)

    def type_line(self, where: str) -> None:
        self._emacs.terminal.keys("M-<" if where == "above" else "M->")
        before = self._emacs.look("(buffer-size)")
        self._emacs.type(f"{made_again.LINE}\n")
        self._emacs.wait_for(f"(= (buffer-size) {before + len(made_again.LINE) + 1})", "it is typed")


class HelixHands:
    """Its buffers are looked at by saving them, and what is under review by the marks beside the lines."""

    def __init__(self, helix: Helix) -> None:
        self._helix = helix
        self._shown = Path()
        self.undo, self.reject = helix.undo, helix.reject

    def open(self, path: Path) -> None:
        self._helix.command(f"open {path.name}")
        self._shown = path

    def text(self) -> str:
        self._helix.command("write")
        return on_disk(self._shown) or ""

    def is_listed(self) -> bool:
        return "●" in self._helix.terminal.screen()

    def retype(self, line: int, text: str) -> None:
        self._helix.type(text, *str(line + 1), "g", "g", "A", "C-u")

    def type_line(self, where: str) -> None:
        self._helix.type(made_again.LINE, "g", *("gO" if where == "above" else "eo"))


def test_neovim(nvim: Neovim, workspace: Path) -> None:
    nvim.setup(sidecar.COMMAND, scripted.settings(), workspace)
    nvim.ex("set hidden")
    hands = NeovimHands(nvim)
    made_again.play(hands, workspace, lambda prompt: nvim.command("sidecar.prompt", {"prompt": prompt}))


def test_emacs(emacs: Emacs, workspace: Path) -> None:
    emacs.setup(sidecar.COMMAND, scripted.settings())
    first = workspace / "first.txt"
    first.write_text("first\n")
    emacs.open(first)
    emacs.start()
    hands = EmacsHands(emacs)
    made_again.play(hands, workspace, lambda prompt: emacs.request("sidecar.prompt", {"prompt": prompt}))


def test_helix(tmp_path: Path, workspace: Path) -> None:
    tool, tmux = tools.require("hx"), tools.require("tmux")
    first = workspace / "first.txt"
    first.write_text("first\n")
    settings = scripted.settings()
    with Helix(tool, tmux, tmp_path / "hx", workspace, sidecar.COMMAND[:-1], first, settings) as helix:
        made_again.play(HelixHands(helix), workspace, helix.prompt)
