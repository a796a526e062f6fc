"""`acp-sidecar setup EDITOR --write` puts the file where the real editor looks for it, and what it says to do next works."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from sidecar.cli import main
from sidecar.setup.editors import EDITORS, place
from tests.support import tools

pytestmark = pytest.mark.e2e


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def run(*command: str) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr


def written(editor: str) -> tuple[Path, str]:
    """Where the file is now, and the code that the instructions show."""
    assert main(["setup", editor, "--write"]) == 0
    where = place(editor, os.environ)
    assert where is not None
    assert where.is_file()
    code = "\n".join(line for line in EDITORS[editor].then.splitlines() if line.startswith("  "))
    return where, code.replace("{folder}", str(where.parent))


@pytest.mark.parametrize("name", ["nvim-0.7", "nvim-0.11"])
def test_neovim(home: Path, name: str) -> None:
    nvim = tools.require(name)
    where, code = written("nvim")
    (where.parents[1] / "init.lua").write_text(code)
    assert run(nvim.command, "--headless", "-c", "echo exists(':AcpPrompt')", "-c", "qall!").strip() == "2"


@pytest.mark.parametrize("name", ["emacs-28", "emacs-30"])
def test_emacs(home: Path, name: str) -> None:
    emacs = tools.require(name)
    where, code = written("emacs")
    init = where.parents[1] / "init.el"
    init.write_text(code)
    show = "(princ (list (commandp 'acp-sidecar) (plist-get acp-sidecar-settings :defaultAgent)))"
    assert run(emacs.command, "--batch", "-l", str(init), "--eval", show).splitlines()[-1] == "(t fast-agent)"


def test_helix(home: Path) -> None:
    hx = tools.require("hx")
    written("helix")
    said = re.sub(r"\x1b\[[0-9;]*m", "", run(hx.command, "--health", "python"))
    assert re.search(r"acp-sidecar", said), said
