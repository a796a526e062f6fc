"""docs/editors.md, followed word for word by somebody whose HOME is empty: the real editor, the sidecar, the agent that the page names.

Kate is not here: it needs a desktop. VS Code's first steps are those of its extension (tests/vscode).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.setup.editors import place
from tests.e2e.newcomer import Newcomer, code, line_with, steps
from tests.e2e.terminal import Terminal
from tests.support import tools
from tests.support.waiting import NeverHappened, eventually

pytestmark = pytest.mark.e2e

ONCE = "Start it this once"
"""What a newcomer answers when asked whether the agent may start."""
WORDS = "good morning"
"""The prompt. The agent's model says the same."""


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path)


@contextmanager
def started(newcomer: Newcomer, *command: str) -> Generator[Terminal]:
    file = newcomer.project / "a.txt"
    file.write_text("one\ntwo\n")
    terminal = newcomer.start(*command, file.name)
    try:
        terminal.wait_for("two")
        yield terminal
    finally:
        terminal.close()


def run(terminal: Terminal, line: str) -> None:
    """A command line of Neovim or Helix, with its colon."""
    terminal.type(line)
    terminal.wait_for(line)
    terminal.keys("Enter")


def answered(terminal: Terminal) -> None:
    """The agent's words are the last in the window with the chat."""
    line_with(terminal, rf"^ *(?:\d+ +)?{WORDS}\n[^#]*## Prompt")


@pytest.mark.parametrize("name", ["nvim-0.7", "nvim-0.11"])
def test_neovim(newcomer: Newcomer, name: str) -> None:
    copy, settings, use = steps("Neovim")
    newcomer.follow(copy)
    newcomer.follow(settings)
    prompt, answer, undo, *_ = code(use)
    with started(newcomer, tools.require(name).command) as terminal:
        run(terminal, f"{prompt} {WORDS}")
        if name == "nvim-0.7":  # "asks in the command line"
            number = line_with(terminal, rf"(\d+)\. {ONCE}")[1]
        else:
            line_with(terminal, rf"^acp-sidecar: .*{answer}")
            terminal.type("iand ")
            terminal.wait_for("and one")  # no key of theirs was taken
            terminal.keys("Escape")
            run(terminal, answer)
            number = line_with(terminal, rf"(\d+): {ONCE}")[1]
        terminal.type(number)
        terminal.keys("Enter")
        answered(terminal)
        terminal.wait_for("turn ended")
        terminal.keys("x")
        terminal.keys(undo)


@pytest.mark.parametrize("name", ["emacs-28", "emacs-30"])
def test_emacs(newcomer: Newcomer, name: str) -> None:
    copy, settings, start, use = steps("Emacs")
    newcomer.follow(copy)
    newcomer.follow(settings)
    with started(newcomer, tools.require(name).command, "-nw") as terminal:
        extended(terminal, code(start)[0])
        terminal.wait_for("[eglot:project")
        extended(terminal, code(use)[0])
        terminal.wait_for("Prompt:")
        terminal.type(WORDS)
        terminal.keys("Enter")
        terminal.wait_for("Start the agent")
        terminal.keys("Tab")  # "lists the answers"
        terminal.wait_for(ONCE)
        terminal.type(ONCE[len("Start it") : -2])
        terminal.keys("Tab")
        terminal.wait_for(f"not now): {ONCE}")
        terminal.keys("Enter")
        answered(terminal)


def extended(terminal: Terminal, command: str) -> None:
    """`M-x NAME`."""
    key, _, name = command.partition(" ")
    terminal.keys(key)
    terminal.wait_for("M-x")
    terminal.type(name)
    terminal.keys("Enter")


def test_helix(newcomer: Newcomer) -> None:
    copy, settings, chat, write = steps("Helix")
    newcomer.follow(copy)
    newcomer.follow(settings)
    with started(newcomer, tools.require("hx").command) as terminal:
        eventually(
            lambda: shown(terminal, code(chat)[0]), "the chat's path is shown", otherwise=terminal.screen
        )
        run(terminal, line_with(terminal, r":open \S+\.md")[0])
        terminal.wait_for("## Prompt")
        terminal.keys(*code(write)[0])
        terminal.keys(code(write)[1])
        terminal.wait_for("INS")
        terminal.type(WORDS)
        terminal.keys("Escape")
        terminal.wait_for("NOR")
        act(terminal, "Send")
        terminal.wait_for("Start the agent")
        act(terminal, ONCE)
        answered(terminal)


def shown(terminal: Terminal, command: str) -> bool:
    """Once more if nothing comes: the sidecar may not have started yet. Not at once, as the next `:` covers what is shown."""
    run(terminal, command)
    try:
        terminal.wait_for(":open", within=5)
    except NeverHappened:
        return False
    return True


def act(terminal: Terminal, title: str) -> None:
    """A code action of the menu, whose first entry is the chosen one."""
    terminal.keys("Space", "a")
    menu = line_with(terminal, rf"^(\W+){title} *$")
    column, rows = len(menu[1]), menu.string[: menu.start()].splitlines()
    above = 0
    while rows[-1 - above][column:].strip() and not rows[-1 - above][:column].strip(" ~"):
        above += 1
    terminal.keys(*["Down"] * above, "Enter")


def test_setup_puts_the_files_where_the_page_says(newcomer: Newcomer) -> None:
    """`acp-sidecar setup EDITOR --write` "does the first step"."""
    for title, editor in {"Neovim": "nvim", "Emacs": "emacs", "Helix": "helix", "Kate": "kate"}.items():
        newcomer.follow(steps(title)[0])
        where = place(editor, {"HOME": str(newcomer.home)}, "linux")
        assert where is not None
        assert where.is_file(), where
