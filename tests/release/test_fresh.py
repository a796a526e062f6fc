"""`make fresh`: a newcomer's machine has nothing of this one but the way to the package registries."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import fresh

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="make fresh runs on Linux only")
FROM_HERE = ("--bind", "--ro-bind", "--dev-bind")
"""Options of bubblewrap that bring something of this machine: what, and where it is then."""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A system to start in; nothing of this machine's own settings is looked at."""
    reaching = (
        {"PIP_INDEX_URL": "https://index.test/simple", "HTTPS_PROXY": "http://proxy.test"},
        [("/etc/hosts", "/etc/hosts")],
    )
    monkeypatch.setattr(fresh, "settings", lambda: (dict(reaching[0]), list(reaching[1])))
    monkeypatch.setattr(fresh, "node", lambda: tmp_path / "node")
    return tmp_path / "system"


def brought(command: list[str]) -> dict[str, str]:
    """What a container has of this machine, by where it stands in it."""
    found = [at for at, word in enumerate(command) if word in FROM_HERE]
    return {command[at + 2]: command[at + 1] for at in found}


def environment(command: list[str]) -> dict[str, str]:
    found = [at for at, word in enumerate(command) if word == "--setenv"]
    return {command[at + 1]: command[at + 2] for at in found}


def test_it_is_run_without_node_with_everything_and_not_as_root() -> None:
    forms = [(form.node, form.ci, form.root) for form in fresh.FORMS.values()]
    assert sorted(forms) == [(False, False, True), (True, True, False), (True, True, True)]
    assert fresh.COMMAND == ("sh", "-ec", "make demo && make test")
    assert set(fresh.PACKAGES) == {"python3", "python3-venv", "make", "git", "ca-certificates"}


@pytest.mark.parametrize("name", fresh.FORMS)
def test_devices_and_processes_are_the_containers_own(bare: Path, name: str) -> None:
    command = fresh.container(bare, fresh.FORMS[name])
    assert command[command.index("--dev") + 1] == "/dev"
    assert command[command.index("--proc") + 1] == "/proc"
    assert "--unshare-pid" in command
    expected = {"/": str(bare), "/sys": "/sys", "/etc/hosts": "/etc/hosts"}
    if fresh.FORMS[name].node:
        expected["/usr/local"] = str(bare.parent / "node")
    assert brought(command) == expected


@pytest.mark.parametrize("name", fresh.FORMS)
def test_its_environment_is_the_newcomers(bare: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("ACP_SIDECAR_STATE", "/somewhere")
    form = fresh.FORMS[name]
    command = fresh.container(bare, form)
    assert "--clearenv" in command
    told = environment(command)
    assert told.pop("HOME") == ("/root" if form.root else "/home/newcomer")
    assert told.pop("CI", None) == ("true" if form.ci else None)
    assert set(told) == {"PATH", "TERM", "PIP_INDEX_URL", "HTTPS_PROXY"}


@pytest.mark.parametrize("we_are_root", [True, False])
def test_a_newcomer_who_is_not_root_has_no_rights(
    bare: Path, monkeypatch: pytest.MonkeyPatch, we_are_root: bool
) -> None:
    monkeypatch.setattr(fresh.os, "geteuid", lambda: 0 if we_are_root else 1234)
    command = fresh.container(bare, fresh.FORMS["user"])
    if we_are_root:
        become = command[command.index("--") + 1 :]
        assert become[:3] == ["setpriv", "--reuid=1000", "--regid=1000"]
        assert "--inh-caps=-all" in become
    else:
        assert command[command.index("--uid") + 1] == "1000"


def test_the_first_process_collects_only_its_own_child(bare: Path) -> None:
    """As in most dev containers: orphans stay zombies."""
    command = fresh.container(bare, fresh.FORMS["bare"])
    assert "--as-pid-1" in command
    assert command[-3:] == ["python3", "-c", fresh.PID_1]


@pytest.mark.parametrize("mounted", [True, False])
def test_a_folder_with_something_mounted_in_it_is_not_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], mounted: bool
) -> None:
    monkeypatch.setattr(fresh, "CACHE", tmp_path)

    def points(folder: Path) -> list[str]:
        return [f"{folder}/system/dev"] if mounted else []

    monkeypatch.setattr(fresh, "mounted_beneath", points)
    with fresh.place(None) as folder:
        (folder / "system").mkdir()
    assert folder.exists() is mounted
    assert ("is kept: something is mounted" in capsys.readouterr().err) is mounted


def test_every_form_is_run_and_one_that_fails_is_an_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def one(name: str, keep: Path | None, command: object) -> int:
        ran.append(name)
        return int(name == "ci")

    monkeypatch.setattr(fresh, "check_machine", lambda: None)
    monkeypatch.setattr(fresh, "run", one)
    assert fresh.main([]) == 1
    assert ran == list(fresh.FORMS)
    assert fresh.main(["bare", "user"]) == 0
