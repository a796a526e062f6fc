"""What fast-agent does by itself, against a tiny client: the habits that the tests with the sidecar rely on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e import fast_agent
from tests.e2e.acp_client import AcpClient
from tests.support import tools


def client(tmp_path: Path, workspace: Path, *options: str, fs: bool = True) -> AcpClient:
    agents: Any = fast_agent.settings(tools.require("fast-agent"), tmp_path / "home", *options)["agents"]
    agent = agents[fast_agent.NAME]
    return AcpClient([agent["command"], *agent["args"]], agent["env"], workspace, fs=fs)


def test_reads_and_writes_through_its_client(tmp_path: Path, workspace: Path) -> None:
    path, new = workspace / "a.txt", workspace / "new.txt"
    with client(tmp_path, workspace) as agent:
        agent.files[str(path)] = "one\ntwo\nthree\nfour\n"
        assert agent.prompt(fast_agent.read(path, line=2, limit=2)) == "end_turn"
        assert "two\nthree\n" in agent.said()
        assert agent.prompt(fast_agent.write(new, "hello\n")) == "end_turn"
        assert agent.files[str(new)] == "hello\n"
        assert len(agent.requests("session/request_permission")) == 2
        assert [params["path"] for params in agent.requests("fs/read_text_file")] == [str(path), str(new)]
    assert list(workspace.iterdir()) == [], "nothing of its own beside the files"


def test_asks_nothing_when_told_not_to(tmp_path: Path, workspace: Path) -> None:
    with client(tmp_path, workspace, "--no-permissions") as agent:
        agent.prompt(fast_agent.write(workspace / "new.txt", "hello\n"))
        assert agent.files[str(workspace / "new.txt")] == "hello\n"
        assert not agent.requests("session/request_permission")


@pytest.mark.parametrize("tool", ["read_text_file", "write_text_file"])
def test_has_no_such_tool_when_the_client_has_no_fs(tmp_path: Path, workspace: Path, tool: str) -> None:
    with client(tmp_path, workspace, fs=False) as agent:
        assert agent.prompt(fast_agent.call(tool, path=str(workspace / "a.txt"), content="x")) == "refusal"
        assert "No tools are currently available" in agent.said()
