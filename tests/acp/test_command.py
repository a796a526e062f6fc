"""From a configured command to a program and its environment: no shell, nothing from the folder that is open."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sidecar.acp.command import environment, find, resolve, runs_packages
from sidecar.config import AgentCommand
from sidecar.workspace.ports import AgentFailed


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`bin` and `here` have programs; `here` is the current folder."""
    for name in ("bin", "here"):
        (tmp_path / name).mkdir()
        for program in ("agent", name):
            (tmp_path / name / program).write_text("#!/bin/sh\n")
            (tmp_path / name / program).chmod(0o755)
    (tmp_path / "bin" / "data").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


# command · PATH · what is found, relative to the folders
FOUND = [
    ("agent", "$/bin", "bin/agent"),
    ("agent", "$/none:$/bin", "bin/agent"),
    ("agent", ":.:here:$/bin", "bin/agent"),
    ("here", ":.:$/bin", None),
    ("agent", "", None),
    ("data", "$/bin", None),
    ("$/bin/agent", "", "bin/agent"),
    ("$/bin/none", "$/bin", None),
    ("~/bin/agent", "", "bin/agent"),
    ("./here", "$/bin", None),
    ("bin/agent", "$", None),
    ("agent --acp", "$/bin", None),
]


@pytest.mark.skipif(sys.platform == "win32", reason="about POSIX paths")
@pytest.mark.parametrize(("command", "path", "found"), FOUND)
def test_found(command: str, path: str, found: str | None, folders: Path) -> None:
    expected = None if found is None else str(folders / found)
    assert find(command.replace("$", str(folders)), path.replace("$", str(folders))) == expected


def test_argv_is_the_program_and_the_arguments_as_they_are(folders: Path) -> None:
    command = AgentCommand("agent", ("--a b", "$HOME", "*", ""))
    env = {"PATH": str(folders / "bin")}
    assert resolve("x", command, env) == [str(folders / "bin" / "agent"), "--a b", "$HOME", "*", ""]


RUNNERS = [
    ("npx", True),
    ("/usr/bin/npx --yes @scope/agent@1.0.0", True),
    (r"C:\Node\npx.cmd --yes agent", True),
    (r"C:\Node\NPX.CMD agent", True),
    ("/a/bunx agent", True),
    ("/a/uvx agent", True),
    ("/a/npm exec agent", True),
    ("/a/npm --yes exec agent", True),
    ("/a/pnpm dlx agent", True),
    ("/a/bun x agent", True),
    ("/a/npm run agent", False),
    ("/a/node exec", False),
    ("/a/agent npx", False),
    ("/npx/agent", False),
]


@pytest.mark.parametrize(("line", "expected"), RUNNERS)
def test_what_runs_packages(line: str, expected: bool) -> None:
    assert runs_packages(line.split()) == expected


def test_a_nul_is_refused(folders: Path) -> None:
    with pytest.raises(AgentFailed, match="NUL"):
        resolve("x", AgentCommand("agent", ("a\0b",)), {"PATH": str(folders / "bin")})


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name in (
        "PATH",
        "LC_ALL",
        "XDG_DATA_HOME",
        "https_proxy",
        "ANTHROPIC_API_KEY",
        "LD_PRELOAD",
        "PYTHONPATH",
    ):
        monkeypatch.setenv(name, f"our {name}")
    monkeypatch.setenv(
        "PATH", os.pathsep.join(("", "bin", os.path.abspath("/a"), ".", "./node_modules/.bin"))
    )
    assert environment({})["PATH"] == os.path.abspath("/a")
    configured = {
        "MINE": "1",
        "PATH": "/p",
        "KEY": "${env:ANTHROPIC_API_KEY}",
        "NONE": "${env:NO_SUCH}",
        "D": "${x}",
    }
    assert environment(configured) == {
        "PATH": "/p",
        "LC_ALL": "our LC_ALL",
        "XDG_DATA_HOME": "our XDG_DATA_HOME",
        "https_proxy": "our https_proxy",
        "MINE": "1",
        "KEY": "our ANTHROPIC_API_KEY",
        "D": "${x}",
    }
