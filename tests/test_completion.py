"""`acp-sidecar completion`: every command and option is completed, in each shell; and a real bash completes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from sidecar.cli import main
from sidecar.completion import SHELLS
from sidecar.setup.editors import EDITORS
from tests.support import tools

COMMANDS = (
    "lsp",
    "demo",
    "setup",
    "changes",
    "revert",
    "sessions",
    "audit",
    "doctor",
    "completion",
    "connect",
    "proxy",
)


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_and_choices_are_in_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = set(re.findall(r"[a-z][\w-]*", script(shell, capsys)))
    assert {*COMMANDS, *EDITORS, *SHELLS, "everywhere", "dry-run", "purge", "agent", "write"} <= words


@pytest.mark.skipif(
    sys.platform == "win32" or (shutil.which("bash") is None and tools.may_skip("bash")), reason="needs bash"
)
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("set", {"setup"}),
        ("setup n", {"nvim"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("revert --d", {"--dry-run"}),
        ("connect cl", {"claude"}),
        ("disconnect claude --p", {"--print"}),
        ("changes app", {"apple.txt"}),
    ],
)
def test_bash_completes(typed: str, offered: set[str], capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    (tmp_path / "apple.txt").write_text("")
    words = ["acp-sidecar", *typed.split(" ")]
    ask = (
        f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}\n"
        f"_shtab_acp_sidecar acp-sidecar {words[-1]!r} {words[-2]!r}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script("bash", capsys) + ask],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = {line.strip() for line in done.stdout.splitlines()}
    assert offered <= found, done.stderr
    assert not {"lsp", "doctor"} & found, "only what begins with what was typed"
