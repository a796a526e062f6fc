"""Which sidecar is meant: the one named in the environment, else the deepest root, else the newest of those; else none."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sidecar.bridge import folder
from sidecar.bridge.entry import path_of
from sidecar.bridge.finding import find, find_all
from tests.bridge.serving import Serving, serving

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet")
ROOT = Path(__file__).parents[2]


class Several:
    """Running sidecars by name; the roots of each are folders below `base`."""

    def __init__(self, base: Path, stack: ExitStack) -> None:
        self.base = base
        self._stack = stack
        self._runtime = base / "run"
        self._runtime.mkdir(mode=0o700)
        self.running: dict[str, Serving] = {}

    def start(self, name: str, *roots: str) -> None:
        for root in roots:
            (self.base / root).mkdir(parents=True, exist_ok=True)
        paths = [str(self.base / root) for root in roots]
        self.running[name] = self._stack.enter_context(serving(self._runtime, roots=paths))

    def name(self, entry_id: str) -> str:
        return next(name for name, running in self.running.items() if running.server.id == entry_id)

    def found(self, cwd: str, bridge: str = "") -> str | None:
        (self.base / cwd).mkdir(parents=True, exist_ok=True)
        client = find(str(self.base / cwd), self.env(bridge))
        if client is None:
            return None
        with client:
            assert client.call("echo") == {}
            return self.name(client.entry.id)

    def env(self, bridge: str = "") -> dict[str, str]:
        running = self.running.get(bridge)
        named = {"ACP_SIDECAR_BRIDGE": running.server.id if running else bridge}
        return {"XDG_RUNTIME_DIR": str(self._runtime), **(named if bridge else {})}


@pytest.fixture
def several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Several]:
    # The places beside XDG_RUNTIME_DIR: a person's own sidecars are listed there
    for name in ("SYSTEM", "SHORT"):
        monkeypatch.setattr(folder, name, str(tmp_path / "nothing"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ExitStack() as stack:
        yield Several(tmp_path, stack)


def test_none_at_all(several: Several, tmp_path: Path) -> None:
    assert several.found("p") is None
    assert list(find_all(str(tmp_path), several.env())) == []


def test_the_deepest_root_then_the_newest(several: Several) -> None:
    several.start("outer", "p")
    several.start("inner", "p/q", "elsewhere")
    several.start("sibling", "p/qq")
    several.start("nowhere")
    assert several.found("p") == "outer"
    assert several.found("p/x/y") == "outer"
    assert several.found("p/q") == "inner"
    assert several.found("p/q/r") == "inner"
    assert several.found("p/qqq") == "outer"
    assert several.found("p/qq/r") == "sibling"
    assert several.found("other") is None
    several.start("newer", "p")
    assert several.found("p") == "newer"
    (several.base / "link").symlink_to(several.base / "p" / "q")
    assert several.found("link") == "inner"


def test_the_environment_names_one(several: Several) -> None:
    several.start("here", "p")
    several.start("named", "elsewhere")
    assert several.found("p", "named") == "named"
    assert several.found("other", "named") == "named"


@pytest.mark.parametrize("wrong", ["0" * 16, "../../../etc/passwd", "", "x" * 5000, "a/b", "\udcff"])
def test_a_wrong_name_in_the_environment_is_no_name(several: Several, wrong: str) -> None:
    several.start("here", "p")
    assert several.found("p", wrong) == "here"


def test_one_that_does_not_answer_is_passed_over(several: Several) -> None:
    several.start("older", "p")
    several.start("newer", "p")
    broken = several.running["newer"]
    os.unlink(broken.entry.socket)
    assert several.found("p") == "older"
    assert several.found("p", "newer") == "older"
    assert path_of(broken.folder, broken.server.id).exists(), "its owner lives"


def test_all_of_them_the_meant_one_first(several: Several) -> None:
    several.start("a", "elsewhere")
    several.start("b", "p")
    several.start("c")
    clients = list(find_all(str(several.base / "p"), several.env()))
    assert [several.name(client.entry.id) for client in clients] == ["b", "c", "a"]
    for client in clients:
        client.close()


# Windows

WITHOUT = """
import asyncio, logging, multiprocessing, os, socket, subprocess, tempfile, anyio, anyio.to_thread, anyio._backends._asyncio
logging.basicConfig(level=logging.INFO)
runner = asyncio.Runner()
runner.get_loop()
import sys
sys.platform = "win32"
sys.modules["fcntl"] = None
del socket.AF_UNIX, os.geteuid
from sidecar.bridge import UNSUPPORTED
from sidecar.bridge import client, finding, server
assert finding.find(".", os.environ) is None and not list(finding.find_all(".", os.environ))
runner.run(server.BridgeServer({}, ["."]).run())
print(UNSUPPORTED)
"""


def test_where_there_is_no_bridge_it_says_so_and_nothing_breaks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "not available on Windows yet" in done.stdout
    assert "not available on Windows yet" in done.stderr, "and in the log"
