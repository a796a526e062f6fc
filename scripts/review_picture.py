"""Draws docs/images/review.svg: what a review looks like, from a real Neovim with the sidecar and a scripted agent in a terminal.

Usage: python -m scripts.review_picture [FILE]     (needs what `make tools` installs)
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from scripts.demo_picture import THEME
from tests.e2e import scripted, sidecar
from tests.e2e.nvim import SNIPPET
from tests.e2e.nvim_rpc import Rpc
from tests.e2e.terminal import Terminal
from tests.support import tools
from tests.support.waiting import connect, eventually

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "review.svg"

BEFORE = '''\
"""What a basket costs."""


def total(prices):
    sum = 0
    for price in prices:
        sum = sum + price
    return sum


def discount(prices, percent):
    return total(prices) * (100 - percent) / 100


def receipt(prices):
    for price in prices:
        print(price)
    print("total", total(prices))
'''
AFTER = (
    BEFORE.replace(
        "    sum = 0\n    for price in prices:\n        sum = sum + price\n    return sum\n",
        "    return sum(prices)\n",
    )
    .replace(
        "    return total(prices) * (100 - percent) / 100\n",
        "    if not 0 <= percent <= 100:\n        raise ValueError(percent)\n    return total(prices) * (100 - percent) / 100\n",
    )
    .replace("print(price)", 'print(f"{price:8.2f}")')
)

INIT = """
vim.o.number, vim.o.termguicolors, vim.o.ruler, vim.o.showmode, vim.o.signcolumn = true, true, false, false, 'yes:1'
vim.o.laststatus, vim.o.swapfile, vim.o.shortmess = 0, false, 'filnxtToOFcsI'
vim.cmd 'highlight Normal guibg=NONE'
vim.diagnostic.config { virtual_text = false, signs = { text = { [vim.diagnostic.severity.HINT] = '▎' } }, underline = false }
"""


def draw() -> str:
    nvim, tmux = tools.require("nvim-0.11"), tools.require("tmux")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["ACP_SIDECAR_STATE"] = str(folder / "state")
        file = folder / "shop" / "basket.py"
        file.parent.mkdir()
        file.write_text(BEFORE)
        (folder / "init.lua").write_text(INIT)
        socket = folder / "nvim"
        command = [
            nvim.command,
            "--clean",
            "-u",
            str(folder / "init.lua"),
            "--listen",
            str(socket),
            file.name,
        ]
        environment = {
            f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        environment |= {
            "HOME": str(folder),
            "ACP_SIDECAR_STATE": str(folder / "state"),
            "COLORTERM": "truecolor",
        }
        terminal = Terminal(tmux, folder, command, environment, file.parent)
        try:
            editor = Rpc(connect(socket, "Neovim listens", otherwise=terminal.screen))
            return _photograph(terminal, editor, file)
        finally:
            terminal.close()


def _photograph(terminal: Terminal, editor: Rpc, file: Path) -> str:
    def lua(code: str, *arguments: object) -> object:
        return editor.request("nvim_exec_lua", code, list(arguments))

    settings = {**scripted.settings(), "cmd": sidecar.COMMAND, "root_dir": str(file.parent)}
    lua(
        "local path, config = ...; Acp = dofile(path);"
        "config.on_turn_ended = function(turn) Ended = turn end; Acp.setup(config)",
        str(SNIPPET),
        settings,
    )
    eventually(
        lambda: lua("local all = vim.lsp.get_clients(); return #all > 0 and all[1].initialized or false"),
        "the server is ready",
    )
    terminal.keys("g", "g", "O")
    terminal.type("# typed and not saved")
    terminal.keys("Escape")
    eventually(lambda: lua("return vim.fn.mode() == 'n' and vim.fn.line('$') == 20 - 1"), "it is typed")
    steps = scripted.steps(scripted.read(file), scripted.write(file, "# typed and not saved\n" + AFTER))
    lua("Acp.command('sidecar.prompt', { prompt = ... }, function(problem) Problem = problem end)", steps)
    eventually(
        lambda: lua("return Ended"),
        "the turn ends",
        otherwise=lambda: str(lua("return vim.fn.execute('messages')")),
    )

    def lenses() -> object:
        return lua(
            "vim.lsp.codelens.refresh { bufnr = 0 }; vim.cmd('redraw!'); return #vim.lsp.codelens.get(0) > 0"
        )

    eventually(lenses, "the lenses are there", otherwise=lambda: str(lua("return vim.inspect(Ended)")))
    terminal.wait_for("Keep")
    terminal.type(":AcpNext")
    terminal.keys("Enter")
    eventually(lambda: lua("return vim.api.nvim_win_get_cursor(0)[1]") == 6, "at the first change")
    terminal.type(":AcpReject")
    terminal.wait_for(":AcpReject")
    return _svg(terminal.colours())


def _svg(ansi: str) -> str:
    console = Console(
        record=True, file=io.StringIO(), width=100, force_terminal=True, color_system="truecolor"
    )
    for row in ansi.rstrip("\n").split("\n"):
        line = Text.from_ansi(row)
        if line.plain.strip() != "~":  # below the end of the file
            console.print(line, overflow="crop", no_wrap=True)
    svg = console.export_svg(title="Neovim: basket.py", theme=THEME, unique_id="review")
    svg = svg.replace(
        "<svg ", '<svg xml:space="preserve" ', 1
    )  # some renderers drop even non-breaking spaces
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> int:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
