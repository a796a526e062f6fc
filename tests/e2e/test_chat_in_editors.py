"""The chat file in Emacs, and the answers to a prompt that was sent by a command, in Emacs and both Neovims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import scripted, sidecar
from tests.e2e.emacs import Emacs
from tests.e2e.nvim import Neovim
from tests.support.waiting import eventually

SAYS = scripted.steps({"say": "This is the answer."})


def chat_of(folder: Path) -> str:
    """What the chat files under a state folder say."""
    return "\n".join(path.read_text() for path in sorted(folder.rglob("chats/*.md")))


def test_emacs_sends_from_the_chat(emacs: Emacs, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("one\n")
    emacs.setup(sidecar.COMMAND, scripted.settings())
    emacs.open(file)
    emacs.start()
    emacs.command("acp-sidecar-chat")
    emacs.wait_for('(string-suffix-p ".md" (or buffer-file-name ""))', "the chat is shown")
    emacs.wait_for("(and eglot--managed-mode t)", "the sidecar knows it")
    emacs.terminal.keys("M->")
    emacs.type(SAYS)
    emacs.command("acp-sidecar-send")
    eventually(lambda: "This is the answer." in emacs.text(), "the answer is there", otherwise=emacs.messages)


def test_emacs_shows_the_answer_to_a_prompt(emacs: Emacs, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("one\n")
    emacs.setup(sidecar.COMMAND, scripted.settings())
    emacs.open(file)
    emacs.start()
    emacs.command("acp-sidecar-prompt")
    emacs.terminal.wait_for("Prompt:")
    emacs.terminal.type(SAYS)
    emacs.terminal.keys("Enter")
    emacs.terminal.wait_for("This is the answer.")
    emacs.wait_for(f'(equal buffer-file-name "{file}")', "the keys still go to the file")


def test_neovim_shows_the_answer_to_a_prompt(nvim: Neovim, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("one\n")
    nvim.setup(sidecar.COMMAND, scripted.settings(), workspace)
    nvim.open(file)
    nvim.wait_until_ready()
    nvim.raw_keys(f":AcpPrompt {SAYS}<CR>")
    shown = (
        "for _, w in ipairs(vim.api.nvim_list_wins()) do local b = vim.api.nvim_win_get_buf(w) "
        "if vim.api.nvim_buf_get_name(b):match('%.md$') then "
        "return table.concat(vim.api.nvim_buf_get_lines(b, 0, -1, false), '\\n') end end return ''"
    )
    eventually(
        lambda: "This is the answer." in nvim.lua(shown),
        "a window shows the answer",
        otherwise=nvim.server_log,
    )
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == str(file), "the keys still go to the file"


def asks(file: Path) -> dict[str, str]:
    """The argument of `sidecar.prompt`: the agent wants to write the file, and the user is asked."""
    return {"prompt": scripted.steps(scripted.write(file, "ONE\n"))}


def test_neovim_status_names_an_open_question(nvim: Neovim, workspace: Path) -> None:
    """Which ends with its turn."""
    if nvim.version < (0, 10):
        pytest.skip("while it asks, in its command line, this Neovim carries out no command")
    file = workspace / "a.txt"
    file.write_text("one\n")
    nvim.setup(sidecar.COMMAND, scripted.settings(writes="ask"), workspace)
    nvim.open(file)
    nvim.wait_until_ready()
    nvim.command("sidecar.prompt", asks(file))
    eventually(
        lambda: nvim.command("sidecar.status")["questions"], "a question is open", otherwise=nvim.messages
    )
    (question,) = nvim.command("sidecar.status")["questions"]
    assert "a.txt" in question["text"]
    assert question["answers"]
    nvim.ex("messages clear | set nomore")
    nvim.ex("AcpStatus")
    eventually(lambda: question["text"] in nvim.messages(), "it is shown", otherwise=nvim.messages)
    assert question["answers"][0] in nvim.messages()
    nvim.ex("AcpCancel")
    eventually(lambda: not nvim.command("sidecar.status")["questions"], "it is asked no longer")
    assert file.read_text() == "one\n"


ANSWER = """
Offered = ''
vim.ui.select = function(items, how, done) Offered = how.prompt; done(items[#items]) end
vim.cmd('AcpAnswer')
"""
"""A person who says yes to whatever is offered."""


def test_neovim_offers_only_questions_that_are_still_asked(
    start_nvim: Callable[[str], Neovim], workspace: Path
) -> None:
    """Neovim 0.11: 0.7 asks at once. The oldest was withdrawn, as its turn was stopped; then nothing is left."""
    nvim = start_nvim("nvim-0.11")
    files = [workspace / name for name in ("a.txt", "b.txt")]
    for file in files:
        file.write_text("one\n")
    nvim.setup(sidecar.COMMAND, scripted.settings(writes="ask"), workspace)
    nvim.open(files[0])
    nvim.wait_until_ready()
    for file in files:
        session = {"sessionId": nvim.command("sidecar.newSession", {})["sessionId"]}
        nvim.command("sidecar.prompt", asks(file) | session)
        eventually(
            lambda name=file.name: any(
                name in one["text"] for one in nvim.command("sidecar.status")["questions"]
            ),
            "it is asked",
        )
    oldest = nvim.command("sidecar.status")["questions"][0]
    nvim.command("sidecar.cancel", {"sessionId": oldest["sessionId"]})
    eventually(lambda: len(nvim.command("sidecar.status")["questions"]) == 1, "the oldest is withdrawn")
    nvim.lua(ANSWER)
    eventually(lambda: "b.txt" in nvim.lua("return Offered"), "the other is offered", otherwise=nvim.messages)
    eventually(lambda: files[1].read_text() == "ONE\n", "it is written", otherwise=nvim.messages)
    session = {"sessionId": nvim.command("sidecar.newSession", {})["sessionId"]}
    nvim.command("sidecar.prompt", asks(files[0]) | session)
    eventually(lambda: nvim.command("sidecar.status")["questions"], "a question is open")
    nvim.command("sidecar.cancel", session)
    eventually(lambda: not nvim.command("sidecar.status")["questions"], "it is withdrawn")
    nvim.lua(ANSWER)
    eventually(
        lambda: "nothing is asked any longer" in nvim.messages(), "that is said", otherwise=nvim.messages
    )
    assert nvim.lua("return Offered") == ""
    assert files[0].read_text() == "one\n"


def test_emacs_status_names_an_open_question(emacs: Emacs, workspace: Path) -> None:
    """Emacs asks in the minibuffer, and M-x works nowhere until that is left: the command is run as a key of one's own would."""
    file = workspace / "a.txt"
    file.write_text("one\n")
    emacs.setup(sidecar.COMMAND, scripted.settings(writes="ask"))
    emacs.open(file)
    emacs.start()
    emacs.command("acp-sidecar-status")
    eventually(lambda: ":questions" in emacs.messages(), "it is shown", otherwise=emacs.messages)
    emacs.request("sidecar.prompt", asks(file))
    emacs.terminal.wait_for("Answer (")
    (question,) = emacs.request("sidecar.status", {})["questions"]
    assert "a.txt" in question["text"]
    before = len(emacs.messages())
    emacs.eval("(acp-sidecar-status)")
    shown = emacs.messages
    eventually(lambda: question["text"] in shown()[before:], "it is shown", otherwise=shown)
    assert question["answers"][0] in shown()[before:]
    emacs.eval("(acp-sidecar-cancel)")
    eventually(lambda: not emacs.request("sidecar.status", {})["questions"], "it is asked no longer")
    emacs.wait_for("(zerop (minibuffer-depth))", "the minibuffer no longer asks it")
    assert file.read_text() == "one\n"
    emacs.wait_for('(equal (format-mode-line "%b") "a.txt")', "the keys go to the file")
    emacs.type("more ")
    emacs.wait_for_text("more one\n")


def test_emacs_answers_a_question(emacs: Emacs, workspace: Path) -> None:
    """Whose answers have blanks; nothing is filled in before, and nothing chosen is no."""
    file = workspace / "a.txt"
    file.write_text("one\n")
    emacs.setup(sidecar.COMMAND, scripted.settings(writes="ask"))
    emacs.open(file)
    emacs.start()
    for typed, text in {"": "one\n", "allow o": "ONE\n"}.items():
        emacs.request("sidecar.prompt", asks(file))
        emacs.terminal.wait_for("Answer (")
        emacs.type(typed)
        if typed:
            emacs.terminal.keys("Tab")
            emacs.terminal.wait_for("not now): Allow o")
        emacs.terminal.keys("Enter")
        eventually(
            lambda: not emacs.request("sidecar.status", {})["questions"],
            "it is answered",
            otherwise=emacs.terminal.screen,
        )
        emacs.wait_for_text(text)
