"""The command line for a person: each command's help, and what a command that only programs use says at a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.cli import main

WINDOWS = sys.platform == "win32"
ENTRY = re.compile(r"^    ([a-z][\w-]*)(?:\n {20,}| {2,})(\S.*(?:\n {20,}\S.*)*)", re.MULTILINE)
"""A command in the list of all, with its words, over as many lines as they take."""


def helped(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    return capsys.readouterr().out


def test_every_help_begins_with_what_the_command_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # wrapped at a hyphen, words would no longer be equal
    listed = {name: " ".join(words.split()) for name, words in ENTRY.findall(helped(capsys))}
    assert {"lsp", "demo", "setup", "codex-environment", "completion"} <= set(listed)
    for name, words in listed.items():
        described = " ".join(helped(capsys, name).split("\n\n")[1].split())
        assert described == f"{words[0].upper()}{words[1:]}.", name


def test_no_line_of_help_is_too_long_for_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in [name for name, _ in ENTRY.findall(helped(capsys))]:
        assert [line for line in helped(capsys, name).splitlines() if len(line) > 80] == []


def test_without_a_command_the_help_is_shown_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith("usage: acp-sidecar ")) == ("", True)


@pytest.mark.parametrize("port", ["x", "65536", "00099999", "-1", "", "1" * 5000, "\u0661"])
def test_what_is_no_port_is_wrong_use(capsys: pytest.CaptureFixture[str], port: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["acp", f"--listen={port}"])
    assert left.value.code == 2
    assert "not a port: a whole number from 0 to 65535" in capsys.readouterr().err


@pytest.mark.skipif(WINDOWS, reason="a terminal is made with Unix' pty")
@pytest.mark.parametrize(
    ("command", "told", "code"),
    [
        ("lsp", "Your editor starts it", 1),
        ("mcp", "An agent starts it", 0),
        ("mcp --guest claude", "An agent starts it", 0),
        ("acp", "An ACP client starts it", 0),
        ("proxy", "An ACP client starts it", 0),
        ("proxy -- cat", "An ACP client starts it", 0),
        ("relay", "the sidecar starts it", 2),
        ("reach", "the sidecar starts it", 2),
        ("codex-environment", "Codex starts it", 2),
    ],
)
def test_at_a_terminal_it_says_who_starts_it(command: str, told: str, code: int, tmp_path: Path) -> None:
    """A command that speaks a protocol on stdin does not wait there in silence."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sidecar", *command.split()],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=os.environ | {"ACP_SIDECAR_STATE": str(tmp_path)},
    )
    os.close(theirs)
    os.write(ours, b"\x04")  # Ctrl-D: the end of the input
    out, err = process.communicate(timeout=60)
    os.close(ours)
    assert (out, process.returncode) == (b"", code)
    assert told in err.decode()


@pytest.mark.parametrize("command", ["lsp", "mcp", "relay --id 0123456789abcdef"])
def test_a_program_is_told_nothing(command: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sidecar", *command.split()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        env=os.environ | {"ACP_SIDECAR_STATE": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        timeout=60,
        check=False,
    )
    assert done.stderr == b""
