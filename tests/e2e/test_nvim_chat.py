"""The chat in real Neovims: a markdown buffer that agents write into while a person types in it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.e2e.nvim import Neovim
from tests.support.tools import ROOT
from tests.support.waiting import eventually

PLAYER = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.lsp.chat_process"]


def started(nvim: Neovim, workspace: Path) -> Neovim:
    file = workspace / "a.py"
    file.write_text("one\n")
    nvim.setup(PLAYER, {}, workspace)
    nvim.open(file)
    nvim.wait_until_ready()
    nvim.command("sidecar.openChat")
    eventually(lambda: "## Prompt" in nvim.text(), "the chat is shown", otherwise=nvim.server_log)
    nvim.wait_until_ready()
    return nvim


def test_write_send_read(nvim: Neovim, workspace: Path) -> None:
    chat = started(nvim, workspace)
    assert chat.lua("return vim.bo.filetype") in ("markdown", "")
    chat.keys("Ahello<Esc>")
    chat.command("sidecar.send")
    # the answer comes in pieces, and the place for the next prompt with the turn's end
    chat.wait_for_text(
        "# Chat\n\nWrite below the last heading, then choose *Send* (code lens or code action).\n\n"
        "## You\n\nhello\n\n## Agent\n\n- player, a new session\n\nYou said: hello \n\n## Prompt\n\n\n"
    )
    chat.keys("Aagain<Esc>")
    chat.command("sidecar.send")
    eventually(lambda: "You said: again" in chat.text(), "the next answer", otherwise=chat.text)


def test_typing_goes_on_while_the_agent_writes(nvim: Neovim, workspace: Path) -> None:
    chat = started(nvim, workspace)
    chat.keys("A" + "many words " * 40 + "<Esc>")
    chat.command("sidecar.send")
    eventually(lambda: "## You" in chat.text(), "it is sent", otherwise=chat.text)
    chat.keys("A")
    for number in range(60):
        chat.keys(f"{number} ")
    chat.keys("<Esc>")
    eventually(lambda: chat.text().count("many words") == 80, "the answer", otherwise=chat.text)
    below = chat.text().rpartition("## Prompt\n")[2]
    assert below.split() == [str(number) for number in range(60)]
