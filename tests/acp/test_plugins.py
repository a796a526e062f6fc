"""The programs of ours that agents load: what they are told, and that nobody else's files are touched."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from sidecar.acp.own_tools import plugins
from sidecar.acp.own_tools.kilo import KILO
from sidecar.acp.own_tools.opencode import OPENCODE
from sidecar.acp.own_tools.pi import PI
from sidecar.acp.own_tools.plugins import NamedServer, led_by

SERVER = {"name": "sidecar", "command": "/x/python", "args": ["mcp"], "env": [{"name": "T", "value": "1"}]}
PLUGIN = OPENCODE.plugin
assert PLUGIN is not None
SOURCE = Path(plugins.__file__).with_name("opencode.js").read_bytes()


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_the_agent_is_told_the_program_and_how_it_starts_our_server(state: Path) -> None:
    env = led_by(PLUGIN, SERVER, {})
    assert json.loads(env["ACP_SIDECAR_TOOLS"]) == {
        "command": "/x/python",
        "args": ["mcp"],
        "env": {"T": "1"},
    }
    settings = Path(env["OPENCODE_CONFIG"])
    (program,) = json.loads(settings.read_text())["plugin"]
    path = Path(program.removeprefix("file://"))
    assert path.read_bytes() == SOURCE
    assert path.is_relative_to(state)
    if os.name == "posix":
        assert {one.stat().st_mode & 0o077 for one in (path, settings, path.parent)} == {0}


def test_what_was_changed_there_is_put_right_at_the_next_start(state: Path) -> None:
    settings = Path(led_by(PLUGIN, SERVER, {})["OPENCODE_CONFIG"])
    program = settings.with_name("opencode.js")
    good = settings.read_bytes()
    program.write_bytes(SOURCE + b"evil()")
    settings.write_text("{}")
    led_by(PLUGIN, SERVER, {})
    assert (program.read_bytes(), settings.read_bytes()) == (SOURCE, good)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_nothing_is_written_through_a_link(state: Path, tmp_path: Path) -> None:
    program = Path(led_by(PLUGIN, SERVER, {})["OPENCODE_CONFIG"]).with_name("opencode.js")
    theirs = tmp_path / "theirs.js"
    theirs.write_text("theirs")
    program.unlink()
    program.symlink_to(theirs)
    assert led_by(PLUGIN, SERVER, {}) == {}, "it keeps its own tools"
    assert theirs.read_text() == "theirs"


def test_where_the_user_has_set_the_variable_theirs_stands(state: Path) -> None:
    assert led_by(PLUGIN, SERVER, {"OPENCODE_CONFIG": "/home/me/opencode.json"}) == {}
    assert not state.exists()


def test_agents_that_load_one_program_have_settings_of_their_own() -> None:
    assert KILO.plugin is not None
    opencodes = Path(led_by(PLUGIN, SERVER, {})["OPENCODE_CONFIG"])
    before = opencodes.read_bytes()
    kilos = Path(led_by(KILO.plugin, SERVER, {})["KILO_CONFIG"])
    assert opencodes.read_bytes() == before
    told, known = json.loads(kilos.read_text()), json.loads(before)
    assert told["plugin"] == known["plugin"]
    assert "kilo" in told["$schema"], "it would write its own into a file without it"


@pytest.fixture
def path_with_pi(tmp_path: Path) -> str:
    """A program that says with what it was started."""
    folder = tmp_path / "a folder's programs"
    folder.mkdir()
    program = folder / "pi"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    return os.pathsep.join((str(folder), os.environ["PATH"]))


@pytest.mark.skipif(os.name == "nt", reason="another starter there")
def test_pi_is_started_with_our_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path_with_pi: str
) -> None:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "it's a state"))
    assert PI.plugin is not None
    env = led_by(PI.plugin, SERVER, {"PATH": path_with_pi})
    starter = env["PI_ACP_PI_COMMAND"]
    started = subprocess.run(
        [starter, "--mode", "rpc"], env={"PATH": path_with_pi}, capture_output=True, text=True, check=True
    )
    *words, program = started.stdout.splitlines()
    assert words == ["--mode", "rpc", "--extension"]
    assert Path(program).read_bytes() == Path(plugins.__file__).with_name("pi.js").read_bytes()
    assert Path(program).with_name("door.mjs").exists(), "what it imports"
    assert Path(starter).stat().st_mode & 0o077 == 0


def test_without_pi_its_adapter_says_so_itself(tmp_path: Path, state: Path) -> None:
    assert PI.plugin is not None
    assert led_by(PI.plugin, SERVER, {"PATH": str(tmp_path)}) == {}
    assert not state.exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a mode of files")
def test_where_no_program_may_be_run_pi_keeps_its_own_tools(
    monkeypatch: pytest.MonkeyPatch, path_with_pi: str
) -> None:
    """The state folder may lie where programs cannot be started; the agent would not start at all."""
    assert PI.plugin is not None
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(plugins, "find", lambda name, path: "/x/pi")
    assert led_by(PI.plugin, SERVER, {"PATH": path_with_pi}) == {}


@pytest.mark.skipif(os.name == "nt", reason="there, it cannot be told whether a process runs")
def test_a_file_with_a_secret_does_not_outlive_a_killed_sidecar_for_long(state: Path) -> None:
    """The next one removes it; that of one that runs stays."""
    ended = subprocess.Popen(["/bin/sh", "-c", "exit"])
    ended.wait()
    folder = state / "own_tools"
    folder.mkdir(parents=True)
    left, others = (folder / f"server-{pid}-0.json" for pid in (ended.pid, os.getppid()))
    for path in (left, others):
        path.write_text("{}")
    named = NamedServer("copilot", SERVER)
    assert sorted(folder.iterdir()) == sorted((others, named.path))
