"""What is run here so that something runs there: words arrive whole, in the right folder, and nothing runs on when the connection is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.command import missing, resolve
from sidecar.acp.command_line import CommandLine, Run
from sidecar.acp.elsewhere.commands import RunsThere
from sidecar.acp.elsewhere.folders import Folders
from sidecar.acp.logins import by_person
from sidecar.config import AgentCommand, Transport
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.ports.ports import AgentFailed
from tests.support.agents import until_gone

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands run on Unix only")

SSH = """#!/bin/sh
# What ssh does with its words: one line for the user's shell there
[ "$1 $2" = "host --" ] || exit 255
shift 2
cd / && exec /bin/sh -c "$*"
"""
ODD = ("a  b", "$HOME", "'", '"', "*", "!x", ";ls", "#", "\\", "ü", "")
OWN_GROUP: dict[str, Any] = {"start_new_session": True}
"""As process.py starts them, and every machine that they reach."""
ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def ssh(tmp_path: Path) -> Transport:
    program = tmp_path / "ssh"
    program.write_text(SSH)
    program.chmod(0o700)
    return Transport((str(program), "host", "--"), {"/there": str(tmp_path)}, shell=True)


def plainly(tmp_path: Path) -> Transport:
    return Transport(("env",), {str(tmp_path): str(tmp_path)})


def line(*argv: str, **env: str) -> CommandLine:
    return CommandLine("s", argv, None, env, 1000)


def a_run(by: Transport, tmp_path: Path, command: CommandLine) -> Run:
    run = RunsThere("fake", by, Folders([(str(tmp_path), str(tmp_path))])).run(command, str(tmp_path), ENV)
    assert isinstance(run, Run)
    return run


def ran(run: Run, cwd: Path) -> tuple[str, int]:
    """What it said, with its errors, and its exit code. Its input stays open until then."""
    with subprocess.Popen(
        run.argv, env=run.env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **OWN_GROUP
    ) as running:
        assert running.stdout is not None
        return running.stdout.read().decode(), running.wait(60)


def test_the_agent_itself(ssh: Transport) -> None:
    agent = AgentCommand("printf", ("<%s>", *ODD), transport=ssh)
    done = subprocess.run(resolve("fake", agent, ENV), capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == "".join(f"<{word}>" for word in ODD)
    assert agent.words == (
        "/".join((*ssh.command[0].split("/")[:-1], "ssh")),
        "host",
        "--",
        "printf",
        "<%s>",
        *ODD,
    )


def test_without_a_shell_there_words_go_as_they_are(tmp_path: Path) -> None:
    agent = AgentCommand("my agent", ("a b",), transport=plainly(tmp_path))
    assert resolve("fake", agent, ENV)[1:] == ["my agent", "a b"]


def test_a_transport_that_is_not_there(tmp_path: Path) -> None:
    agent = AgentCommand("sh", transport=Transport(("no-such-ssh", "host")))
    with pytest.raises(AgentFailed, match='there is no command "no-such-ssh" on PATH') as raised:
        resolve("fake", agent, ENV)
    assert raised.value.kind == "not_installed"
    assert "no-such-ssh" in missing(agent, [])


def test_a_login_in_a_terminal_is_left_to_the_user() -> None:
    agent = AgentCommand("my agent", transport=Transport(("ssh", "host", "--"), shell=True))
    method: dict[str, Any] = {"id": "tui", "type": "terminal", "args": ["login"]}
    with pytest.raises(AgentFailed, match=r"log in there: .*\('my agent' login\); then try again"):
        by_person("far", agent, method)
    assert by_person("far", agent, {"id": "browser"}) is None, "what the agent does itself"


@pytest.mark.parametrize("shell", [True, False])
def test_a_command(tmp_path: Path, ssh: Transport, shell: bool) -> None:
    by = ssh if shell else plainly(tmp_path)
    said = "".join(f"<{word}>" for word in ODD)
    assert ran(a_run(by, tmp_path, line("printf", "<%s>", *ODD)), tmp_path) == (said, 0)
    script = 'pwd -P; echo "$A$B"; cat; echo err >&2; echo last; exit 7'
    run = a_run(by, tmp_path, line("sh", "-c", script, A="$x ", B="--"))
    assert ran(run, tmp_path) == (f"{tmp_path.resolve()}\n$x --\nerr\nlast\n", 7)


def test_the_agents_variables_are_never_those_of_the_program_here(tmp_path: Path) -> None:
    """`LD_PRELOAD` there is its business, and would be ours here."""
    run = a_run(plainly(tmp_path), tmp_path, line("true", LD_PRELOAD="/tmp/x.so", PATH="/tmp"))
    assert run.env == ENV


@pytest.mark.parametrize("name", ["-i", "--", "A B", "1", "A;ls", "ü"])
def test_a_variable_that_no_shell_has(tmp_path: Path, name: str) -> None:
    run = RunsThere("fake", plainly(tmp_path), Folders([(str(tmp_path), str(tmp_path))])).run(
        line("true", **{name: "x"}), str(tmp_path), ENV
    )
    assert isinstance(run, Refusal)
    assert run.kind is Kind.BAD_PARAMS


def test_a_folder_that_is_not_mapped(tmp_path: Path) -> None:
    run = RunsThere("fake", plainly(tmp_path), Folders([])).run(line("true"), str(tmp_path), ENV)
    assert isinstance(run, Refusal)
    assert run.kind is Kind.OUTSIDE


async def test_what_runs_there_ends_with_the_connection(tmp_path: Path, ssh: Transport) -> None:
    """Ending the program here is not enough: what it started there has no tie to it but its input."""
    run = a_run(ssh, tmp_path, line("sh", "-c", "echo $$; sleep 600 & echo $!; wait"))
    with subprocess.Popen(
        run.argv, env=run.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **OWN_GROUP
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        pids = [int(running.stdout.readline()), int(running.stdout.readline())]
        assert await until_gone(pids, 0) == set(pids)
        running.stdin.close()
        assert await until_gone(pids, 30) == set()
        assert running.wait(30) != 0
