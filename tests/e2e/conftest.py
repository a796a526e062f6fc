"""Fixtures of the end-to-end tests: each gives a real part in folders of its own and ends it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.agents_table import Table, publish
from tests.e2e.emacs import Emacs
from tests.e2e.model_server import ModelServer
from tests.e2e.nvim import Neovim
from tests.e2e.probe import Probe
from tests.support import tools

NEOVIMS = ("nvim-0.7", "nvim-0.11")
EMACSES = ("emacs-28", "emacs-30")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder for each test, its own sidecars' and this process': what is approved here is known there."""
    folder = tmp_path / "state"
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(params=NEOVIMS)
def nvim(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Neovim]:
    with Neovim(tools.require(request.param), tmp_path / "nvim") as editor:
        yield editor


@pytest.fixture
def start_nvim(tmp_path: Path) -> Generator[Callable[[str], Neovim]]:
    """Starts more than one, or one of a certain version."""
    with ExitStack() as stack:
        count = iter(range(10))
        yield lambda name: stack.enter_context(Neovim(tools.require(name), tmp_path / f"nvim{next(count)}"))


@pytest.fixture(params=EMACSES)
def emacs(request: pytest.FixtureRequest, tmp_path: Path, workspace: Path) -> Generator[Emacs]:
    tool, tmux = tools.require(request.param), tools.require("tmux")
    with Emacs(tool, tmux, tmp_path / "emacs", workspace) as editor:
        yield editor


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    return Probe(tmp_path)


TABLE = Table()
"""What the tests of this run saw third-party agents do."""


@pytest.fixture
def agents_table() -> Table:
    return TABLE


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """`make agents` names the page that is written, and perhaps some agents."""
    page = os.environ.get("ACP_SIDECAR_AGENTS_PAGE")
    if not page or exitstatus != 0:
        return
    only = os.environ.get("ACP_SIDECAR_AGENTS", "").split()
    found = publish(Path(page), TABLE, only or None)
    for words in found:
        print(f"\nagents: {words}", end="")  # noqa: T201 - the outcome of the run
    if found:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
