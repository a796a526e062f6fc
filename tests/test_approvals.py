"""Approvals: exactly this command was allowed, on this machine; anything else asks."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.approvals import Approvals, fingerprint
from sidecar.config import AgentCommand, Transport

COMMAND = AgentCommand("agent", ("--acp",), {"KEY": "1"})
BY = Transport(("ssh", "host", "--"), {"/w": "${workspaceFolder}"}, shell=True)


def test_remembered_over_a_restart_and_only_for_the_user(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Approvals(tmp_path / "state").remember(COMMAND)
    finally:
        os.umask(before)
    assert Approvals(tmp_path / "state").knows(COMMAND)
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "state/approvals.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "other",
    [
        replace(COMMAND, command="/tmp/agent"),
        replace(COMMAND, args=("--acp", "--yolo")),
        replace(COMMAND, args=("--acp --yolo",)),
        replace(COMMAND, args=()),
        replace(COMMAND, env={"KEY": "2"}),
        replace(COMMAND, env={"KEY": "1", "LD_PRELOAD": "/tmp/x.so"}),
        AgentCommand("agent --acp", (), {"KEY": "1"}),
        replace(COMMAND, transport=BY),
    ],
)
def test_any_other_command_is_not_known(tmp_path: Path, other: AgentCommand) -> None:
    approvals = Approvals(tmp_path)
    approvals.remember(COMMAND)
    assert not approvals.knows(other)


def test_a_stored_approval_of_a_way_stays_valid() -> None:
    """However many fields a transport has: what was approved before is not asked about again."""
    parts = ["a", [], [], [["ssh", "host", "--"], [["/w", "${workspaceFolder}"]], True]]
    whole = hashlib.blake2b(json.dumps(parts).encode(), digest_size=20).hexdigest()
    assert fingerprint(AgentCommand("a", transport=BY)) == whole


@pytest.mark.parametrize(
    "other",
    [
        None,
        replace(BY, command=("ssh", "other", "--")),
        replace(BY, command=("ssh host --",)),
        replace(BY, folders={"/w": "/"}),
        replace(BY, folders={}),
        replace(BY, shell=False),
        replace(BY, sidecar="/tmp/acp-sidecar"),
    ],
)
def test_another_way_to_it_is_not_known(tmp_path: Path, other: Transport | None) -> None:
    approvals = Approvals(tmp_path)
    approvals.remember(replace(COMMAND, transport=BY))
    assert approvals.knows(replace(COMMAND, transport=BY))
    assert not approvals.knows(replace(COMMAND, transport=other))


ADDRESS = Transport(url="wss://host/acp", headers={"Authorization": "${env:TOKEN}"}, folders={"/w": "/p"})


@pytest.mark.parametrize(
    "other",
    [
        replace(ADDRESS, url="wss://host/other"),
        replace(ADDRESS, headers={"Authorization": "${env:OTHER}"}),
        replace(ADDRESS, headers={}),
        replace(ADDRESS, folders={"/w": "/"}),
        Transport(("wss://host/acp",), {"/w": "/p"}),
    ],
)
def test_another_address_is_not_known(tmp_path: Path, other: Transport) -> None:
    approvals = Approvals(tmp_path)
    approvals.remember(AgentCommand("", transport=ADDRESS))
    assert approvals.knows(AgentCommand("", transport=ADDRESS))
    assert not approvals.knows(AgentCommand("", transport=other))


def test_several_are_remembered(tmp_path: Path) -> None:
    Approvals(tmp_path).remember(COMMAND)
    Approvals(tmp_path).remember(replace(COMMAND, command="other"))
    assert Approvals(tmp_path).knows(COMMAND)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"agents": 3}', "\0"])
def test_a_broken_file_approves_nothing_and_is_repaired_by_the_next_yes(tmp_path: Path, content: str) -> None:
    (tmp_path / "approvals.json").write_text(content)
    approvals = Approvals(tmp_path)
    assert not approvals.knows(COMMAND)
    approvals.remember(COMMAND)
    assert approvals.knows(COMMAND)


@pytest.mark.skipif(os.name != "posix", reason="links to folders need rights elsewhere")
def test_a_state_folder_behind_a_link_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state").symlink_to("elsewhere")
    Approvals(tmp_path / "state").remember(COMMAND)
    assert not list((tmp_path / "elsewhere").iterdir())
