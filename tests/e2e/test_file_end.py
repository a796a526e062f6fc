"""An agent's edits at a file's end, and their rejection, in real editors: what the agent is told is what was done.

Neovim's buffer is lines: it tells the deletion of the last ones as two changes, each of them correct. `FILE_ENDS` is played in each
editor by one process; every row is a file of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import scripted, sidecar
from tests.e2e.emacs import Emacs
from tests.e2e.helix import Helix, on_disk
from tests.e2e.nvim import Neovim
from tests.support import tools
from tests.support.file_ends import FILE_ENDS, failures, files_of
from tests.support.waiting import eventually

NEW = "first\nsecond\n"
"""A file that the agent makes."""


def lines(text: str) -> str:
    """A text as an editor of lines has it: with a final line end, and an empty one as one empty line."""
    return text.replace("\r\n", "\n") if text.endswith("\n") else text + "\n"


def plain(text: str) -> str:
    return text.replace("\r\n", "\n")


@pytest.mark.parametrize("fix", ["fixendofline", "nofixendofline"])
def test_neovim(nvim: Neovim, workspace: Path, tmp_path: Path, fix: str) -> None:
    files, trace = files_of(workspace), tmp_path / "trace"
    nvim.setup(sidecar.COMMAND, scripted.settings(trace=trace, afterWrite="never"), workspace)
    nvim.ex(f"set hidden {fix}")
    nvim.open(files["all"])
    nvim.wait_until_ready()

    def written(name: str) -> tuple[str, str]:
        path = files[name]
        nvim.open(path)
        steps = scripted.steps(scripted.read(path), scripted.write(path, FILE_ENDS[name][1]))
        nvim.command("sidecar.prompt", {"prompt": steps, "wait": True})
        return scripted.answers(trace)[-1], nvim.text(path)

    def rejected(name: str) -> str:
        nvim.command("sidecar.reject", {"uri": files[name].as_uri()})
        return nvim.text(files[name])

    assert failures(written, rejected, lines) == {}


def test_emacs(emacs: Emacs, workspace: Path, tmp_path: Path) -> None:
    files, trace = files_of(workspace), tmp_path / "trace"
    emacs.setup(sidecar.COMMAND, scripted.settings(trace=trace, afterWrite="never"))
    emacs.open(files["all"])
    emacs.start()

    def written(name: str) -> tuple[str, str]:
        path = files[name]
        emacs.open(path)
        steps = scripted.steps(scripted.read(path), scripted.write(path, FILE_ENDS[name][1]))
        emacs.request("sidecar.prompt", {"prompt": steps, "wait": True})
        return scripted.answers(trace)[-1], emacs.text(path)

    def rejected(name: str) -> str:
        emacs.request("sidecar.reject", {"uri": files[name].as_uri()})
        return emacs.text(files[name])

    assert failures(written, rejected, plain) == {}


def test_helix(tmp_path: Path, workspace: Path) -> None:
    """One turn writes all of them. Helix' buffers are looked at by saving them as they are: by default it would end the last line, that of
    an empty text too."""
    tool, tmux = tools.require("hx"), tools.require("tmux")
    files, trace = files_of(workspace), tmp_path / "trace"
    everything = [
        step
        for name, path in files.items()
        for step in (scripted.read(path), scripted.write(path, FILE_ENDS[name][1]))
    ]
    settings = scripted.settings(trace=trace)
    with Helix(tool, tmux, tmp_path / "hx", workspace, sidecar.COMMAND[:-1], files["all"], settings) as helix:

        def differing(which: int) -> dict[str, str | None]:
            helix.command("write-all")
            saved = {name: on_disk(path) for name, path in files.items()}
            return {name: text for name, text in saved.items() if text != FILE_ENDS[name][which]}

        helix.command("set insert-final-newline false")
        for path in files.values():
            helix.command(f"open {path.name}")
            helix.terminal.wait_for(path.name)
        helix.prompt(scripted.steps(*everything))
        eventually(
            lambda: len(scripted.answers(trace)) == len(everything),
            "all is answered",
            otherwise=helix.log,
        )
        told = scripted.answers(trace)
        eventually(lambda: differing(1) == {}, "all is written", otherwise=lambda: str(differing(1)))
        assert set(told) == {"ok"}
        for path in files.values():
            helix.command(f"open {path.name}")
            helix.reject()
        eventually(lambda: differing(0) == {}, "all is rejected", otherwise=lambda: str(differing(0)))


@pytest.mark.parametrize("is_open", [False, True])
def test_neovim_a_rejected_new_file(nvim: Neovim, workspace: Path, is_open: bool) -> None:
    """It is gone; where the user has it open nothing is left in it."""
    other, new = workspace / "a.txt", workspace / "new.txt"
    other.write_text("one\n")
    nvim.setup(sidecar.COMMAND, scripted.settings(), workspace)
    nvim.open(other)
    nvim.wait_until_ready()
    nvim.command("sidecar.prompt", {"prompt": scripted.steps(scripted.write(new, NEW)), "wait": True})
    assert new.read_text() == NEW
    if is_open:
        nvim.ex("set hidden")
        nvim.open(new)
    result = nvim.command("sidecar.reject", {"uri": new.as_uri()})
    assert result["impossible"] == []
    if is_open:
        assert nvim.text(new) == "\n"
    else:
        eventually(lambda: not new.exists(), "it is gone", otherwise=lambda: repr(new.read_bytes()))
    assert nvim.command("sidecar.listChanges", {"uri": new.as_uri()}) == []
