"""The doctor: what it says of machines that lack this or that."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sidecar.acp.ways import BESIDE, CONNECTED, DISK, ELSEWHERE, LIVE, way_of
from sidecar.bridge import folder
from sidecar.cli import main
from sidecar.config import AgentCommand, Transport
from sidecar.disk import openat2
from sidecar.doctor import agents, editors, leftovers, machine, running, show, state
from sidecar.doctor.finding import Finding
from tests.bridge.serving import METHODS, serving

BY = Transport(("ssh", "host", "--"), shell=True)
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX modes and shebangs")


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def runtime() -> Generator[Path]:
    """Sockets need short paths, and pytest's own folders have long ones."""
    short = "/tmp" if os.path.isdir("/tmp") else None
    with tempfile.TemporaryDirectory(prefix="d", dir=short) as folder:
        yield Path(os.path.realpath(folder))


def said(found: list[Finding], mark: str) -> str:
    return "\n".join(f"{one.words} → {one.todo}" for one in found if one.mark == mark)


@posix
def test_agents_on_path_and_where_version_managers_hide_them(tmp_path: Path) -> None:
    here = program(tmp_path / "bin/gemini")
    program(tmp_path / "home/.nvm/versions/node/v20.1.0/bin/opencode")
    newest = program(tmp_path / "home/.nvm/versions/node/v22.0.0/bin/opencode")
    env = {"PATH": str(here.parent), "HOME": str(tmp_path / "home")}
    found = list(agents.look(env))
    assert str(here) in said(found, "ok")
    assert str(newest) in said(found, "warn")
    assert "not on your PATH" in said(found, "warn")
    assert not said(found, "note")


def test_no_agents(tmp_path: Path) -> None:
    found = list(agents.look({"PATH": str(tmp_path), "HOME": str(tmp_path)}))
    assert "pip install" in said(found, "note")
    assert '"demo"' in said(found, "ok")


@posix
def test_editors_and_their_limits(tmp_path: Path) -> None:
    for name in ("nvim", "kate"):
        program(tmp_path / name)
    found = list(editors.look({"PATH": str(tmp_path)}))
    assert "Neovim" in said(found, "ok")
    assert "refuses every edit" in said(found, "warn")
    assert not said(list(editors.look({"PATH": str(tmp_path / "none")})), "warn")


def _missing(folder: Path) -> Path:
    return folder / "none"


def _private(folder: Path) -> Path:
    (folder / "journal").mkdir(mode=0o700)
    return folder


def _open(folder: Path) -> Path:
    (folder / "journal").mkdir()
    (folder / "journal").chmod(0o755)
    return folder


@posix
@pytest.mark.parametrize(
    ("make", "mark", "words"),
    [
        (_missing, "ok", "created when it is first needed"),
        (_private, "ok", "readable only by you"),
        (_open, "warn", "other users can read: journal → chmod"),
    ],
)
def test_state(tmp_path: Path, make: Callable[[Path], Path], mark: str, words: str) -> None:
    assert words in said(list(state.look(make(tmp_path))), mark)


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "is not writable" in said(list(state.look(tmp_path)), "fail")


def test_a_kernel_without_openat2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openat2, "available", lambda: False)
    found = list(machine.look())
    assert "opened one by one" in said(found, "note") or "opening folders" in said(found, "ok")


def test_a_missing_library_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LIBRARIES", ("no-such-library",))
    assert "no-such-library" in said(list(machine.look()), "fail")


def test_leftovers_of_saves(tmp_path: Path) -> None:
    deep = tmp_path / "a/b"
    deep.mkdir(parents=True)
    assert "no interrupted save left files below" in said(list(leftovers.look(str(tmp_path))), "ok")
    (deep / f".acp-sidecar-{'0' * 16}.tmp").touch()
    assert "1 temporary files of saves" in said(list(leftovers.look(str(tmp_path))), "note")
    assert "others were not checked" in said(list(leftovers.look(str(tmp_path), at_most=2)), "ok")
    assert "no interrupted save left" in said(list(leftovers.look(str(tmp_path / "none"))), "ok")


@posix
def test_running_sidecars(tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SYSTEM", "SHORT"):  # this machine may have some of its own
        monkeypatch.setattr(folder, name, str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert "no sidecar is running" in said(
        list(running.look(str(tmp_path), {"XDG_RUNTIME_DIR": str(runtime)})), "ok"
    )
    with serving(runtime, METHODS, [str(tmp_path / "project")]) as one:
        found = said(list(running.look(str(tmp_path), one.env)), "ok")
    assert f"process {os.getpid()} since" in found
    assert "project" in found
    (runtime / "acp-sidecar").chmod(0o755)
    assert "open to other users" in said(list(running.look(str(tmp_path), one.env)), "warn")


STATUS: dict[str, Any] = {
    "agents": [
        {"agent": "mine", "source": "configured", "files": LIVE},
        {"agent": "other", "source": "configured", "files": "asks the sidecar"},
        {"agent": "idle", "source": "found", "files": "disk"},
        {"agent": "used", "source": "found", "files": "disk"},
    ],
    "sessions": [
        {"agent": "mine", "alive": True, "ownToolsLive": True},
        {"agent": "mine", "alive": True, "ownToolsLive": False},
        {"agent": "mine", "alive": False, "ownToolsLive": False},
        {"agent": "used", "alive": True, "ownToolsLive": False},
    ],
}


@posix
@pytest.mark.parametrize(
    ("status", "mark", "words"),
    [
        (
            STATUS,
            "ok",
            [
                f"mine: its files: {LIVE} (1 of 2 sessions)",
                "other: its files: asks the sidecar",
                "used: its files: disk",
            ],
        ),
        ({"agents": [], "sessions": []}, "ok", []),
        (
            {"agents": [{"agent": "mine"}], "sessions": []},
            "note",
            ["it is of another version, and does not say"],
        ),
        (
            {
                "agents": [
                    {
                        "agent": "far",
                        "source": "configured",
                        "files": "x",
                        "needs": 'there is no command "ssh" on PATH. Install it',
                    }
                ],
                "sessions": [],
            },
            "warn",
            ["far cannot be started from there"],
        ),
    ],
)
def test_which_way_the_agents_of_a_running_sidecar_go(
    tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, status: Any, mark: str, words: list[str]
) -> None:
    for name in ("SYSTEM", "SHORT"):
        monkeypatch.setattr(folder, name, str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def answer(params: object) -> object:
        return status

    with serving(runtime, {"status": answer}, [str(tmp_path)]) as one:
        found = list(running.look(str(tmp_path), one.env))
    lines = [line for line in said(found, mark).splitlines() if not line.startswith("process")]
    assert len(lines) == len(words)
    assert all(line.strip().startswith(word) for line, word in zip(lines, words, strict=True)), lines


def test_which_way_an_agent_on_this_machine_goes(tmp_path: Path) -> None:
    for name in ("opencode", "codex-acp"):
        program(tmp_path / name)
    found = said(list(agents.look({"PATH": str(tmp_path), "HOME": str(tmp_path)})), "ok")
    assert f"opencode acp — its files: {LIVE}" in found
    assert "codex-acp — its files: disk" in found


WAYS = [
    ("opencode", AgentCommand("/x/opencode", ("acp",)), True, LIVE),
    ("opencode", AgentCommand("/x/opencode", ("acp",)), False, "disk"),
    ("mine", AgentCommand("npx", ("-y", "@agentclientprotocol/claude-agent-acp@1.2")), True, LIVE),
    ("mine", AgentCommand("/x/kilo", ("acp",)), True, LIVE),
    ("mine", AgentCommand("npx", ("-y", "pi-acp")), True, LIVE),
    ("mine", AgentCommand("/x/gemini"), True, "asks the sidecar to edit"),
    ("mine", AgentCommand("/x/agent"), True, "not tested"),
    ("opencode", AgentCommand("opencode", transport=BY), True, "disk"),
    ("mine", AgentCommand("fast-agent-acp", transport=BY), True, f"asks the sidecar{ELSEWHERE}"),
]


@pytest.mark.parametrize(
    ("program", "asks_us", "way"),
    [
        ("claude-agent-acp", True, LIVE),
        (
            "opencode",
            True,
            "disk; it tells the sidecar what it writes, too",
        ),  # its plugin would have to be there
        ("agent", False, BESIDE),
    ],
)
def test_the_way_of_one_that_runs_elsewhere_with_our_tools(program: str, asks_us: bool, way: str) -> None:
    command = AgentCommand(program, transport=BY)
    assert way_of("mine", command, asks_us=asks_us, reached=True) == way
    assert way_of("mine", command, asks_us=asks_us).endswith(ELSEWHERE)


@pytest.mark.parametrize(("agent", "command", "own_tools", "way"), WAYS)
def test_a_way_is_found_by_what_the_user_configured(
    agent: str, command: AgentCommand, own_tools: bool, way: str
) -> None:
    found = way_of(agent, command, own_tools=own_tools)
    assert found.startswith(way)
    assert found.endswith(ELSEWHERE) is (command.transport is not None)


@pytest.mark.parametrize(
    ("agent", "own_tools", "way"),
    [
        ("agent", True, BESIDE),
        ("agent", False, DISK),
        ("claude-agent-acp", True, LIVE),
        ("claude-agent-acp", False, DISK),
    ],
)
def test_the_way_of_one_that_cannot_ask_for_files(agent: str, own_tools: bool, way: str) -> None:
    assert way_of(agent, AgentCommand(f"/x/{agent}"), own_tools=own_tools, asks_us=False) == way


def test_the_way_of_codex_is_what_its_user_connected(tmp_path: Path) -> None:
    codex = AgentCommand("/x/codex-acp", env={"CODEX_HOME": str(tmp_path)})
    settings = tmp_path / "environments.toml"
    assert way_of("codex", codex) == "disk"
    settings.write_text('default = "theirs"\n')
    assert way_of("codex", codex) == "disk"
    settings.write_text('args = ["codex-environment"]\n')
    assert way_of("codex", codex) == CONNECTED
    assert way_of("codex", codex, own_tools=False) == "disk"


def test_a_machine_without_the_local_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "UNSUPPORTED", "It does not exist here.")
    assert "does not exist here" in said(list(running.look()), "note")


def test_nothing_of_others_words_is_interpreted() -> None:
    out = io.StringIO()
    show.show(Console(file=out, width=80), [Finding("agents", "warn", "at /x/[red]\x1b[2J/y", "do [bold]it")])
    assert "[red]\\x1b[2J/y" in out.getvalue()
    assert "[bold]it" in out.getvalue()


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_command(
    option: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["doctor", *option]) == 0
    printed = capsys.readouterr().out
    assert "acp-sidecar 0." in printed
    if option:
        assert {one["area"] for one in json.loads(printed)} == {
            "machine",
            "state",
            "running",
            "agents",
            "editors",
        }
    monkeypatch.setattr(machine, "LIBRARIES", ("no-such-library",))
    assert main(["doctor", *option]) == 1
