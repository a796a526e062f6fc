"""What the sidecar says to somebody at a Neovim in a real terminal takes no key from them."""

from __future__ import annotations

import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.e2e.conftest import NEOVIMS
from tests.e2e.nvim import SNIPPET
from tests.e2e.probe import Probe
from tests.e2e.terminal import Terminal
from tests.support import tools
from tests.support.waiting import eventually

LONG = (
    "The file was changed on the disk, and what you typed is merged with it: "
    + "look at every line of it, " * 5
)
ASKED = (
    "Start the agent? It was never started from here with this command:\n" + "an-agent --with-options " * 9
)


@pytest.fixture(params=NEOVIMS)
def terminal(request: pytest.FixtureRequest, tmp_path: Path, probe: Probe) -> Generator[Terminal]:
    init, file = tmp_path / "init.lua", tmp_path / "a.txt"
    setup = f"dofile({json.dumps(str(SNIPPET))}).setup {{ cmd = vim.json.decode({json.dumps(json.dumps(probe.command))}) }}"
    init.write_text(setup)
    file.write_text("one\ntwo\n")
    command = [tools.require(request.param).command, "--clean", "-u", str(init), "-i", "NONE", str(file)]
    home = {"HOME": str(tmp_path / "home")} | {
        f"XDG_{name}_HOME": str(tmp_path / "home" / name) for name in ("CONFIG", "CACHE", "DATA", "STATE")
    }
    with Terminal(tools.require("tmux"), tmp_path / "terminal", command, home, tmp_path) as opened:
        opened.wait_for("two")
        probe.wait_for("textDocument/didOpen")
        yield opened


@contextmanager
def typing(terminal: Terminal) -> Generator[None]:
    """Somebody types at the end of the first line while that happens, and goes on with a blank, which a prompt ("Press ENTER") takes."""
    terminal.type("Aand")
    terminal.wait_for("oneand")
    yield
    terminal.type(" more")
    terminal.wait_for("oneand more")
    terminal.keys("Escape")


def arrived(probe: Probe) -> None:
    """What was sent before was dealt with."""
    assert probe.request("sidecar/close", {"uri": "file:///nothing"}) == {"closed": False}


MESSAGES = {
    "one word": (3, ["ready"]),
    "information": (3, [LONG]),
    "a warning": (2, [LONG]),
    "an error": (1, [LONG]),
    "lines": (3, [f"{LONG}\n{LONG}"]),
    "three at once": (3, ["first", "second", LONG]),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message(terminal: Terminal, probe: Probe, name: str) -> None:
    """While somebody types Neovim itself shows none: it is seen right after."""
    kind, texts = MESSAGES[name]
    for mode in (nullcontext(), typing(terminal)):
        with mode:
            for text in texts:
                probe.notify("window/showMessage", {"type": kind, "message": text})
            arrived(probe)
        terminal.wait_for(f"acp-sidecar: {texts[-1][:40]}")
        assert "Press ENTER" not in terminal.screen()
    terminal.type(":AcpMessages")
    terminal.keys("Enter")
    ends = texts[-1].split("\n")[-1].split()[-1]
    eventually(
        lambda: ends in "".join(terminal.screen().split("\n")), "all is shown", otherwise=terminal.screen
    )


@pytest.mark.parametrize("terminal", ["nvim-0.11"], indirect=True)
def test_a_question(terminal: Terminal, probe: Probe) -> None:
    """Not in Neovim 0.7: that asks in the command line, and nothing else goes on meanwhile."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        actions = [{"title": "Do not"}, {"title": "Do"}]
        params = {"type": 2, "message": ASKED, "actions": actions}
        with typing(terminal):
            answer = pool.submit(probe.request, "window/showMessageRequest", params, within=60)
            eventually(lambda: answer.running(), "it is asked")
            arrived(probe)
        terminal.wait_for(":AcpAnswer")
        assert "Press ENTER" not in terminal.screen()
        terminal.type(":AcpAnswer")
        terminal.keys("Enter")
        terminal.wait_for("2: Do")
        terminal.type("2")
        terminal.keys("Enter")
        assert answer.result(timeout=60) == {"title": "Do"}
