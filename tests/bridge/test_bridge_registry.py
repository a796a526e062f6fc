"""The folder, and what lies in it: made private or not used, there as long as its owner lives, swept when that is dead."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.bridge import entry as entries
from sidecar.bridge import folder, registry
from sidecar.bridge.entry import SidecarEntry
from sidecar.bridge.finding import find
from sidecar.bridge.registry import Claim, new_id
from tests.bridge.serving import serving
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the folder falls back to."""
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    monkeypatch.setattr(folder, "SHORT", str(shared))
    monkeypatch.setattr(folder, "SYSTEM", str(shared / "none"))
    return shared / f"acp-sidecar-{os.geteuid()}"


# The folder


def test_it_is_made_private_whatever_the_umask(runtime: Path) -> None:
    before = os.umask(0)
    try:
        made = folder.made({"XDG_RUNTIME_DIR": str(runtime)})
    finally:
        os.umask(before)
    assert made == runtime / "acp-sidecar"
    assert made.stat().st_mode & 0o777 == 0o700


def too_long(runtime: Path) -> Path:
    path = runtime / ("x" * 60) / ("y" * 60)
    path.mkdir(parents=True)
    path.chmod(0o700)
    return path


def not_private(runtime: Path) -> Path:
    runtime.chmod(0o755)
    return runtime


def a_link(runtime: Path) -> Path:
    (runtime / "acp-sidecar").symlink_to(runtime)
    return runtime


def a_file(runtime: Path) -> Path:
    (runtime / "acp-sidecar").touch()
    return runtime


def open_to_others(runtime: Path) -> Path:
    (runtime / "acp-sidecar").mkdir()
    (runtime / "acp-sidecar").chmod(0o750)
    return runtime


@pytest.mark.parametrize(
    "spoilt",
    [
        too_long,
        not_private,
        a_link,
        a_file,
        open_to_others,
        lambda runtime: Path("relative"),
        lambda runtime: Path(),
    ],
)
def test_a_folder_that_does_not_do_is_passed_over(
    runtime: Path, temporary: Path, spoilt: Callable[[Path], Path]
) -> None:
    env = {"XDG_RUNTIME_DIR": str(spoilt(runtime))}
    assert folder.existing(env) is None
    assert folder.made(env) == temporary
    assert folder.existing(env) == temporary


def test_no_folder_at_all_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, runtime: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(folder, "candidates", lambda env: [a_file(runtime) / "acp-sidecar"])
    with pytest.raises(folder.NoFolder, match="not a folder"):
        folder.made({})
    with serving(runtime) as running:
        assert registry.listed(running.folder) == []
    assert "commands in a terminal cannot reach this sidecar" in caplog.text


# Entry and socket


def test_what_is_there_while_it_runs_and_after(runtime: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with serving(runtime, roots=[str(tmp_path / "link"), str(tmp_path)]) as running:
        names = sorted(os.listdir(running.folder))
        assert names == [f"{running.server.id}.{kind}" for kind in ("json", "lock", "sock")]
        for name in names:
            assert (running.folder / name).lstat().st_mode & 0o777 == 0o600
        entry = running.entry
        assert (entry.pid, entry.roots) == (os.getpid(), (os.path.realpath(tmp_path),))
        assert entry.secret.hex() not in repr(entry)
    assert os.listdir(running.folder) == []


def test_the_folders_of_the_editor_may_change(runtime: Path, tmp_path: Path) -> None:
    with serving(runtime) as running:

        async def change() -> None:
            running.server.roots_changed([str(tmp_path)])

        assert running.entry.roots == ()
        assert find(str(tmp_path), running.env) is None
        before = running.entry
        running.do(change)
        eventually(lambda: running.entry.roots, "the entry is renewed")
        assert running.entry.roots == (os.path.realpath(tmp_path),)
        assert (running.entry.secret, running.entry.started) == (before.secret, before.started)
        client = find(str(tmp_path), running.env)
        assert client is not None
        client.close()


def test_nothing_at_the_sockets_path_is_ever_replaced(runtime: Path) -> None:
    place = folder.made({"XDG_RUNTIME_DIR": str(runtime)})
    claim = Claim.take(place, new_id())
    other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    other.bind(claim.socket_path)
    with other, pytest.raises(OSError, match="in use"):
        claim.listen()
    claim.release()


GOOD = {"v": 1, "pid": 1, "started": 1.0, "created": 2, "roots": ["/a"], "secret": "00" * 32}
BAD: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "not JSON": lambda path: path.write_text("{"),
    "a list": lambda path: path.write_text("[]"),
    "nested": lambda path: path.write_text("[" * 100_000),
    "another version": lambda path: path.write_text(json.dumps({**good(path), "v": 2})),
    "a short secret": lambda path: path.write_text(json.dumps({**good(path), "secret": "00"})),
    "no secret": lambda path: path.write_text(json.dumps({**good(path), "secret": None})),
    "odd secret": lambda path: path.write_text(json.dumps({**good(path), "secret": "x" * 64})),
    "odd roots": lambda path: path.write_text(json.dumps({**good(path), "roots": "/"})),
    "another socket": lambda path: path.write_text(json.dumps({**good(path), "socket": "/tmp/x.sock"})),
    "too large": lambda path: path.write_text(json.dumps({**good(path), "roots": ["/" + "x" * 300_000]})),
    "a folder": lambda path: path.mkdir(),
    "a FIFO": lambda path: os.mkfifo(path, 0o600),
    "not ours alone": lambda path: (path.write_text(json.dumps(good(path))), path.chmod(0o640)),
}


def good(path: Path) -> dict[str, object]:
    return {**GOOD, "socket": str(path.with_suffix(".sock"))}


@pytest.mark.parametrize("name", BAD)
def test_entries_that_are_not_believed(runtime: Path, name: str) -> None:
    path = entries.path_of(runtime, "0" * 16)
    before = os.umask(0o077)
    try:
        BAD[name](path)
        assert entries.read(runtime, "0" * 16) is None
        assert registry.listed(runtime) == []
    finally:
        os.umask(before)


def test_an_entry_is_read_as_it_was_written(runtime: Path) -> None:
    entry_id = new_id()
    odd = os.fsdecode(b"/r\xff\xe9")
    entry = SidecarEntry(
        entry_id, 7, 1.5, 2.5, ("/a b", odd), entries.socket_of(runtime, entry_id), bytes(range(32))
    )
    for _ in range(2):
        entries.write(runtime, entry)
        assert entries.read(runtime, entry_id) == entry
    assert os.listdir(runtime) == [f"{entry_id}.json"]


# What the dead leave behind

DIES = """
import sys, time
from pathlib import Path
from sidecar.bridge.registry import Claim, new_id
claim = Claim.take(Path(sys.argv[1]), new_id())
listener = claim.listen()
claim.publish([sys.argv[2]])
print(claim.id, flush=True)
sys.stdin.read()
"""


def test_a_crash_leaves_an_entry_that_the_next_start_sweeps(runtime: Path, tmp_path: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(runtime)}
    place = folder.made(env)
    stranger = place / "notes.txt"
    stranger.touch()
    with subprocess.Popen(
        [sys.executable, "-c", DIES, str(place), str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        dead = process.stdout.readline().strip()
        with serving(runtime) as running:  # it lives: nothing of it is touched
            assert {dead, running.server.id} == {entry.id for entry in registry.listed(place)}
        process.kill()
        process.wait()
    assert [entry.id for entry in registry.listed(place)] == [dead]
    with serving(runtime) as running:
        assert [entry.id for entry in registry.listed(place)] == [running.server.id]
    assert os.listdir(place) == [stranger.name]


def test_a_client_sweeps_what_it_cannot_reach(runtime: Path, tmp_path: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(runtime)}
    place = folder.made(env)
    claim = Claim.take(place, new_id())
    claim.listen().close()
    claim.publish([str(tmp_path)])
    assert find(str(tmp_path), env) is None  # nobody listens, but somebody has the lock: it may be about to
    assert len(os.listdir(place)) == 3
    os.close(claim._lock)  # as its death would
    assert find(str(tmp_path), env) is None
    assert os.listdir(place) == []


@pytest.mark.parametrize(
    "kinds", [("new",), ("lock",), ("json",), ("sock", "json"), ("tmp", "lock"), ("new", "json")]
)
def test_halves_are_swept_too(runtime: Path, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        (runtime / f"{'a' * 16}.{kind}").touch(0o600)
    for name in ("a" * 16, "b.json", f"{'A' * 16}.json", f"{'a' * 16}.txt"):
        (runtime / name).touch()
    registry.sweep(runtime)
    assert sorted(os.listdir(runtime)) == sorted(("a" * 16, "b.json", f"{'A' * 16}.json", f"{'a' * 16}.txt"))


def test_two_sidecars_of_the_same_folders(runtime: Path, tmp_path: Path) -> None:
    with serving(runtime, roots=[str(tmp_path)]) as first:
        with serving(runtime, roots=[str(tmp_path)]) as second:
            assert first.entry.socket != second.entry.socket
            assert first.entry.secret != second.entry.secret
            for running in (first, second):
                named = find("/", {**first.env, "ACP_SIDECAR_BRIDGE": running.server.id})
                assert named is not None
                assert named.entry == running.entry
                named.close()
        left = find(str(tmp_path), first.env)
        assert left is not None
        assert left.entry.id == first.server.id
        left.close()
