"""A real Neovim with the project's snippet, driven as a person would: keys go in, the buffer is looked at.

One `Neovim` is one process with folders of its own for everything (HOME, XDG_*). Keys are fed through `nvim_input`, which
is what a terminal does. A request to an editor that waits for an answer of its own (a prompt) would never return, so every
look first asks for the mode, which Neovim answers at any time.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.e2e.nvim_rpc import Rpc
from tests.support.tools import ROOT, Tool
from tests.support.waiting import connect, eventually

SNIPPET = ROOT / "editor-extension" / "nvim" / "acp-sidecar.lua"


NO_PROVIDERS = "let g:loaded_python_provider=0 | let g:loaded_python3_provider=0"
"""Neovim's own Python plugin would start every python3.x it finds, once for each Neovim that opens a .py file."""


COUNT_KEYS = """
vim.g.taken = 0
for _, mode in ipairs({ 'n', 'x', 'o', 's', 'i', 'c' }) do
  vim.api.nvim_set_keymap(mode, '<F20>', '<Cmd>let g:taken += 1<CR>', { noremap = true })
end
"""
"""A key that nobody has, typed behind others: once it was counted they were all taken in."""


class Blocked(AssertionError):
    """Neovim waits for somebody to answer a prompt."""


class Neovim:
    def __init__(self, tool: Tool, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._socket = folder / "nvim"
        home = folder / "home"
        environment = os.environ | {"HOME": str(home), "NVIM_LOG_FILE": str(folder / "nvim.log")}
        for name in ("CACHE", "CONFIG", "DATA", "STATE"):
            environment[f"XDG_{name}_HOME"] = str(home / name.lower())
            # 0.7 does not make the folder of its own log
            (home / name.lower() / "nvim").mkdir(parents=True)
        environment.pop("NVIM", None)
        with (folder / "stderr").open("wb") as stderr:
            self._process = subprocess.Popen(
                [
                    tool.command,
                    "--embed",
                    "--headless",
                    "--clean",
                    "-u",
                    "NONE",
                    "--cmd",
                    NO_PROVIDERS,
                    "--listen",
                    str(self._socket),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        listening = connect(self._socket, "Neovim listens", otherwise=lambda: (folder / "stderr").read_text())
        self._nvim = Rpc(listening)
        self.lua(COUNT_KEYS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """As :qall!, which also ends the language server; killed with its whole session when it does not."""
        process = self._process
        try:
            self._nvim.request("nvim_input", "<C-\\><C-N>:qall!<CR>")
        except (OSError, EOFError):
            pass  # it has ended already
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=10)
        self._nvim.close()
        assert process.stdin is not None
        process.stdin.close()

    # --- the sidecar in it

    def setup(
        self, command: Sequence[str], settings: Mapping[str, object] | None = None, root: Path | None = None
    ) -> None:
        """What a person's init.lua does: loads the snippet and calls its setup()."""
        config = {**(settings or {}), "cmd": list(command)}
        if root is not None:
            config["root_dir"] = str(root)
        self.lua("local path, config = ...; Acp = dofile(path); Acp.setup(config)", str(SNIPPET), config)

    def wait_until_ready(self) -> None:
        """The server has answered initialize and was told of the current buffer."""
        ready = (
            "return #vim.tbl_filter(function(c) return c.initialized and c.name == 'acp-sidecar' end, %s) > 0"
        )
        clients = (
            "vim.lsp.get_clients({bufnr=0})" if self.version >= (0, 10) else "vim.lsp.buf_get_clients(0)"
        )
        eventually(
            lambda: self.lua(ready % f"vim.tbl_values({clients})") or self._still_runs(),
            "the server is ready",
            otherwise=self.server_log,
        )

    def command(self, name: str, argument: object = None, *, within: float = 100) -> Any:
        """A sidecar.* command through the snippet, its result; AssertionError with the server's words for an error."""
        self.lua(
            "local name, argument = ...; Answer = nil;"
            "Acp.command(name, argument ~= vim.NIL and argument or nil, function(problem, result)"
            "  Answer = { answered = true, problem = problem and (problem.message or vim.inspect(problem)), result = result } end)",
            name,
            argument,
        )
        answer = eventually(self._answer, f"{name} answers", within=within, otherwise=self.server_log)
        assert answer.get("problem") is None, answer["problem"]
        return answer.get("result")

    def _answer(self) -> Any:
        return self.lua("return Answer") or self._still_runs()

    def _still_runs(self) -> None:
        """None, for waits; AssertionError when there is no language server any more."""
        assert self.lua("return Acp.running()"), f"the server has ended\n{self.server_log()}"

    def server_log(self) -> str:
        """The end of what the language server wrote to stderr, and of Neovim's own words about it."""
        words = ""
        for path in sorted((self._folder / "home").rglob("lsp.log")):
            for line in path.read_text(errors="replace").splitlines():
                _, is_stderr, piece = line.partition('"stderr"\t')
                # Neovim logs stderr in the pieces it arrives in, quoted
                words += piece[1:-1].replace("\\n", "\n").replace('\\"', '"') if is_stderr else f"{line}\n"
        return words[-4000:]

    # --- a person's hands and eyes

    @property
    def version(self) -> tuple[int, int]:
        told = self._request("nvim_call_function", "api_info", [])["version"]
        return told["major"], told["minor"]

    def open(self, path: Path) -> None:
        self.ex(f"edit {self._request('nvim_call_function', 'fnameescape', [str(path)])}")

    def keys(self, keys: str) -> None:
        """As typed, in Neovim's notation (<Esc>, <CR>, <lt>); returns when they were taken in."""
        before = self.lua("return vim.g.taken")
        self.raw_keys(keys + "<F20>")
        eventually(
            lambda: self.lua("return vim.g.taken") > before, f"Neovim takes {keys!r} in", otherwise=self.mode
        )

    def raw_keys(self, keys: str) -> None:
        """As typed, also into a prompt; returns at once."""
        self._nvim.request("nvim_input", keys)

    def type(self, text: str) -> None:
        """Text typed in insert mode from where the cursor is; ends in normal mode."""
        self.keys("i" + text.replace("<", "<lt>").replace("\n", "<CR>") + "<Esc>")

    def undo(self) -> None:
        self.keys("u")

    def text(self, path: Path | None = None) -> str:
        """A buffer's text with \\n after each line (the current buffer's without a path)."""
        number = self.buffer(path) if path else 0
        return "".join(f"{line}\n" for line in self._request("nvim_buf_get_lines", number, 0, -1, True))

    def buffer(self, path: Path) -> int:
        """The number of the buffer that holds a file; AssertionError when none does."""
        for number in self._request("nvim_list_bufs"):
            if self._request("nvim_buf_get_name", number) == str(path) and self._request(
                "nvim_buf_is_loaded", number
            ):
                return int(number)
        raise AssertionError(f"no buffer holds {path}")

    def modified(self, path: Path | None = None) -> bool:
        return bool(self._request("nvim_buf_get_option", self.buffer(path) if path else 0, "modified"))

    def wait_for_text(self, text: str, path: Path | None = None, *, within: float = 60) -> None:
        def same() -> bool:
            return self.text(path) == text

        eventually(
            same,
            f"the buffer is {text!r}",
            within=within,
            otherwise=lambda: f"buffer: {self.text(path)!r}\n{self.server_log()}",
        )

    def messages(self) -> str:
        return str(self._request("nvim_exec", "messages", True))

    def mode(self) -> str:
        """Neovim's short name of its mode, with ! when it waits for an answer to a prompt."""
        told = self._nvim.request("nvim_get_mode")
        return told["mode"] + ("!" if told["blocking"] else "")

    def ex(self, command: str) -> None:
        self._request("nvim_command", command)

    def lua(self, code: str, *arguments: object) -> Any:
        return self._request("nvim_exec_lua", code, list(arguments))

    def _request(self, name: str, *arguments: object) -> Any:
        mode = self.mode()
        if mode.endswith("!"):
            raise Blocked(f"Neovim waits for an answer (mode {mode}); its log:\n{self.server_log()}")
        return self._nvim.request(name, *arguments)
