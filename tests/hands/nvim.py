"""A real Neovim for these runs: keys through `nvim_input`, the buffers as `nvim_buf_get_lines` has them."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e import sidecar
from tests.e2e.nvim import Neovim
from tests.hands.approved import agent_settings, unasked
from tests.hands.steps import Kind
from tests.support import tools
from tests.support.waiting import eventually

KINDS: frozenset[Kind] = frozenset(
    {"type", "save", "save and type", "undo", "redo", "close", "open", "split", "set", "outside"}
    | {"checkout", "prompt", "keep", "reject", "undo turn", "rest"}
)
SETTINGS: dict[str, tuple[Any, ...]] = {"mode": ("normal", "insert"), "fixendofline": (True, False)}
"""`mode`: where the hands are between two steps."""

_ASKED_AGAIN_SECONDS = 1.0
"""How long the key that says that Neovim has taken the others in may take until it is pressed again."""
_FIND = """
local found
for _, number in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_get_name(number) == ... and vim.api.nvim_buf_is_loaded(number) then found = number end
end
"""
_LINES = """
return found and {
  text = vim.api.nvim_buf_get_lines(found, 0, -1, true),
  ended = vim.api.nvim_buf_get_option(found, 'endofline'),
}
"""


class NeovimHands:
    def __init__(self, name: str, nvim: Neovim) -> None:
        self.name = name
        self.kinds = KINDS
        self.settings: Mapping[str, tuple[Any, ...]] = SETTINGS
        self._nvim = nvim
        self._mode = "normal"
        self._answer = "o"
        self._session: str | None = None
        self._asked: list[str] = []
        """When Neovim asked something, and in which mode: a key that comes then is the answer, and goes nowhere else."""
        self._lua = nvim.lua

    def begin(self, folder: Path) -> None:
        self._normal()
        if self._session is not None:
            eventually(lambda: not self.is_working(), "the last run's turn has ended")
            self.command("sidecar.keep", {"all": True})
            self.command("sidecar.closeSession", {"sessionId": self._session})
        self._nvim.ex("silent! only! | silent! %bwipeout!")
        self._nvim.ex("messages clear")
        self._asked.clear()
        self._session = self.command("sidecar.newSession", {"cwd": str(folder)})["sessionId"]
        self._mode = "normal"

    def open(self, path: Path) -> None:
        """By keys, which are taken in when Neovim does nothing else: while it saves another buffer for the sidecar, that one is the current one for
        whoever asks from outside."""
        self._normal()
        self._keys(f"<Cmd>if expand('%:p') !=# '{path}' | edit {path} | endif<CR>")

    def close(self, path: Path) -> None:
        if self.text(path) is not None:
            self._normal()
            self._lua(_FIND + "if found then vim.cmd('bwipeout! ' .. found) end", str(path))

    def type(self, text: str, pace: float) -> None:
        if self._nvim.mode() != "i":
            self._keys("a")
        for key in text if pace else [text]:
            self._keys(key.replace("<", "<lt>").replace("\n", "<CR>"))
            time.sleep(pace)
        if self._mode == "normal":
            self._normal()

    def place(self, line: int, at_end: bool) -> None:
        self._normal()
        self._keys(f"{line + 1}G" + ("A" if at_end else "0i"))  # or the last line

    def save(self) -> None:
        """Where Neovim asks whether to write over a file that changed behind it, the person says no."""
        taken = "vim.g.taken"
        before = self._lua(f"return {taken}")
        self._nvim.raw_keys("<Cmd>silent! write<CR><F20>")

        def written() -> bool:
            mode = self._nvim.mode()
            if mode.startswith("r"):
                self._asked.append(f"{time.monotonic():.3f} {mode}, to save")
                self._nvim.raw_keys("n<F20>")
                return False
            return not mode.endswith("!") and self._lua(f"return {taken}") > before

        eventually(written, "the file is written, or not", otherwise=self._nvim.mode)

    def undo(self) -> None:
        self._normal()
        self._keys("u")

    def redo(self) -> None:
        self._normal()
        self._keys("<C-r>")

    def split(self) -> None:
        self._normal()
        self._nvim.ex("silent! split")

    def set(self, name: str, value: Any) -> None:
        if name == "mode":
            self._mode = value
        else:
            self._nvim.ex(f"set {'' if value else 'no'}{name}")

    def text(self, path: Path) -> str | None:
        """As the server is told it: without a final line end where the buffer has none."""
        lines = self._lua(_FIND + _LINES, str(path))
        if not lines:
            return None
        return "\n".join(lines["text"]) + ("\n" if lines["ended"] else "")

    def prompt(self, steps: list[dict[str, Any]]) -> None:
        self.command("sidecar.prompt", {"prompt": json.dumps(unasked(steps)), "sessionId": self._session})

    def is_working(self) -> bool:
        rows = self.command("sidecar.status", None)["sessions"]
        return any(row["sessionId"] == self._session and row["running"] for row in rows)

    def command(self, name: str, argument: Any) -> Any:
        return self._nvim.command(name, argument)

    def said(self) -> str:
        asked = "\n".join(["questions:", *self._asked])
        return f"{asked}\n{self._nvim.messages()}\n{self._nvim.server_log()}"

    def _keys(self, keys: str) -> None:
        """Returns when they were taken in. Where Neovim asks before that what to do with a file that changed behind it, the person keeps what they have."""
        self._answered()
        before = self._lua("return vim.g.taken")
        self._nvim.raw_keys(keys + "<F20>")
        asked = time.monotonic()

        def taken() -> bool:
            nonlocal asked
            if self._answered() and self._lua("return vim.g.taken") > before:
                return True
            if time.monotonic() - asked > _ASKED_AGAIN_SECONDS:  # Neovim's "Press ENTER" may have taken it
                self._nvim.raw_keys("<F20>")
                asked = time.monotonic()
            return False

        eventually(taken, f"Neovim takes {keys!r} in", otherwise=self._nvim.mode)

    def _answered(self) -> bool:
        """Whether it asks nothing. What to do with a changed file is answered with "OK" ("o"), and whether to write over one with "no"."""
        mode = self._nvim.mode()
        if mode.startswith("r"):
            self._asked.append(f"{time.monotonic():.3f} {mode}")
        if mode.startswith("r?"):
            self._nvim.raw_keys(f"{self._answer}<F20>")
            self._answer = "n" if self._answer == "o" else "o"
        elif mode.startswith("r"):
            self._nvim.raw_keys("<CR><F20>")
        else:
            self._answer = "o"
        return not mode.startswith("r")

    def _normal(self) -> None:
        if self._nvim.mode() != "n":
            self._keys("<Esc>")


class Version:
    """One of the Neovims that `make tools` installs, by its name there."""

    def __init__(self, name: str) -> None:
        self._name = name

    @contextmanager
    def started(self, folder: Path, log: Path) -> Generator[NeovimHands]:
        workspace = folder / "ws"
        workspace.mkdir(parents=True, exist_ok=True)
        settings = agent_settings(log)  # before the editor starts: it sets where the sidecar keeps its state
        with Neovim(tools.require(self._name), folder / "nvim") as nvim:
            nvim.setup(sidecar.COMMAND, settings, workspace)
            nvim.ex("set hidden nomore shortmess+=FIA noswapfile autoread")
            first = workspace / "first.txt"
            first.write_text("FIRST\n")
            nvim.open(first)
            nvim.wait_until_ready()
            yield NeovimHands(self._name, nvim)
