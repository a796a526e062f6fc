"""From a configured command to a program and its environment: no shell, nothing from the folder that is open."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sidecar.acp.command import _odd_for_batch, environment, find, path_of, resolve, runs_packages
from sidecar.config import AgentCommand
from sidecar.workspace.ports.ports import AgentFailed


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


MANAGED = [
    (
        [".nvm/versions/node/v20.1.0/bin", ".nvm/versions/node/v22.0.0/bin", ".nvm/versions/node/v9.9.9/bin"],
        1,
    ),
    ([".local/share/fnm/node-versions/v22.1.0/installation/bin"], 0),
    (["Library/Application Support/fnm/node-versions/v22.1.0/installation/bin"], 0),
    ([".pyenv/shims"], 0),
    ([".volta/bin"], 0),
    ([".asdf/shims"], 0),
    ([".local/bin"], 0),
]


@pytest.mark.skipif(sys.platform == "win32", reason="version managers of POSIX")
@pytest.mark.parametrize(("places", "newest"), MANAGED, ids=lambda value: str(value)[:40])
def test_a_program_that_a_desktops_path_misses_is_told_with_its_place(
    places: list[str], newest: int, tmp_path: Path
) -> None:
    for place in places:
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "agent").write_text("#!/bin/sh\n")
        (tmp_path / place / "agent").chmod(0o755)
    with pytest.raises(AgentFailed) as raised:
        resolve("x", AgentCommand("agent"), {"PATH": str(tmp_path / "none"), "HOME": str(tmp_path)})
    assert raised.value.kind == "not_installed"
    assert f"it is at {tmp_path / places[newest] / 'agent'}." in raised.value.message
    assert "PATH that the editor was started with" in raised.value.message


BATCH = [
    ([r"C:\n\npx.cmd", "--yes", "@scope/agent@1.0.0", "a b"], None),
    ([r"C:\n\npx.CMD", "a", "b&calc"], "b&calc"),
    ([r"C:\n\x.bat", "%PATH%"], "%PATH%"),
    ([r"C:\n\x.bat", 'a"b'], 'a"b'),
    ([r"C:\n\x.bat", "a\nb"], "a\nb"),
    ([r"C:\n\x & y.cmd"], r"C:\n\x & y.cmd"),
    ([r"C:\n\agent.exe", "b&calc%PATH%"], None),
]


@pytest.mark.parametrize(("argv", "odd"), BATCH)
def test_what_a_batch_file_cannot_be_given(argv: list[str], odd: str | None) -> None:
    assert _odd_for_batch(argv) == odd


@pytest.mark.skipif(sys.platform != "win32", reason="NOT TESTED HERE: PATHEXT is of Windows")
def test_npx_is_a_batch_file_on_windows(tmp_path: Path) -> None:
    (tmp_path / "npx.cmd").write_text("@echo off\r\n")
    found = find("npx", str(tmp_path))
    assert found is not None
    assert found.lower().endswith("npx.cmd")


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


@pytest.mark.parametrize("inherited", [None, "", "/bin:.:/usr/bin"])
@pytest.mark.parametrize(
    "extra", [{}, {"PATH": "/x:."}, {"PATH": "${env:OTHER}"}, {"PATH": "${env:NONE}"}, {"A": "b"}]
)
def test_the_path_is_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, inherited: str | None, extra: dict[str, str]
) -> None:
    monkeypatch.setenv("OTHER", "/other")
    monkeypatch.delenv("NONE", raising=False)
    monkeypatch.delenv("PATH")
    if inherited is not None:
        monkeypatch.setenv("PATH", inherited)
    assert path_of(extra) == environment(extra).get("PATH")
