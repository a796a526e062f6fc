"""The journal is the user's alone, whatever the umask, and is not written through what others put in its way."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.journal import Store
from sidecar.journal.alive import Alive, is_alive
from sidecar.journal.database import NAME
from sidecar.journal.entry import JournalFailed
from tests.support.journals import entry

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def umask_000():
    old = os.umask(0)
    yield
    os.umask(old)


def everything_below(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): mode(path) for path in [folder, *folder.rglob("*")]}


@pytest.mark.usefixtures("umask_000")
def test_modes_with_the_most_open_umask(tmp_path: Path) -> None:
    top = tmp_path / "state"
    with Store(top / "acp-sidecar" / "journal") as store:
        store.begin(entry("secret", "secrets"))
        found = everything_below(top)
    assert {f"acp-sidecar/journal/{NAME}{end}" for end in ("", "-wal", "-shm")} <= set(found)
    for name, bits in found.items():
        assert bits == (0o700 if (top / name).is_dir() else 0o600), name


@pytest.mark.usefixtures("umask_000")
def test_what_was_too_open_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "j"
    with Store(folder) as store:
        store.begin(entry("a", "b"))
    folder.chmod(0o777)
    (folder / NAME).chmod(0o666)
    with Store(folder) as store:
        store.begin(entry("b", "c"))
        found = everything_below(folder)
    assert {".", NAME} <= set(found)
    for name, bits in found.items():
        assert bits == (0o700 if (folder / name).is_dir() else 0o600), name


def folder_is_a_link(folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    folder.symlink_to(other)


def folder_is_a_dangling_link(folder: Path) -> None:
    folder.symlink_to(folder.parent / "nowhere")


def folder_is_a_file(folder: Path) -> None:
    folder.write_text("")


def linked(name: str):
    def make(folder: Path) -> None:
        folder.mkdir()
        target = folder.parent / "target"
        target.write_text("")
        (folder / name).symlink_to(target)

    return make


def fifo(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / NAME)


@pytest.mark.parametrize(
    "in_the_way",
    [
        folder_is_a_link,
        folder_is_a_dangling_link,
        folder_is_a_file,
        linked(NAME),
        linked(f"{NAME}-wal"),
        linked(f"{NAME}-shm"),
        linked("lock"),
        linked("alive"),
        fifo,
    ],
)
def test_what_is_not_plainly_ours_is_refused(tmp_path: Path, in_the_way) -> None:
    in_the_way(tmp_path / "j")
    with Store(tmp_path / "j") as store, pytest.raises(JournalFailed):
        store.begin(entry("a", "b"))
    for name in ("other", "target", "nowhere"):
        path = tmp_path / name
        assert not path.exists() or not (list(path.iterdir()) if path.is_dir() else path.read_bytes())


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_belongs_to_somebody_else_is_refused(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "j"
    with Store(folder) as store:
        store.begin(entry("a", "b"))
    if os.geteuid() == 0:
        os.chown(folder if what == "folder" else folder / NAME, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with Store(folder) as store, pytest.raises(JournalFailed, match="belongs to another user"):
        store.begin(entry("a", "b"))


def test_a_process_is_alive_as_long_as_it_holds_its_mark(tmp_path: Path) -> None:
    (tmp_path / "j").mkdir(mode=0o700)
    one, two = Alive(tmp_path / "j"), Alive(tmp_path / "j")
    assert is_alive(tmp_path / "j", one.owner)
    one.close()
    assert not is_alive(tmp_path / "j", one.owner)
    assert is_alive(tmp_path / "j", two.owner)
    script = "import os, sys, pathlib; from sidecar.journal.alive import Alive; "
    script += "print(Alive(pathlib.Path(sys.argv[1])).owner, flush=True); os._exit(0)"  # without taking leave
    dead = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "j")],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    ).stdout.strip()
    assert (tmp_path / "j" / "alive" / dead).exists()
    assert not is_alive(tmp_path / "j", dead)
    assert not (tmp_path / "j" / "alive" / dead).exists()
    assert not is_alive(tmp_path / "j", "../../etc")
    two.close()


@pytest.mark.skipif(os.name == "nt", reason="no process holds a file for the one that started it")
def test_a_process_that_was_killed_while_it_started_a_program_is_dead(tmp_path: Path) -> None:
    """The program that is being started has every open file of its parent until it is loaded: here, for as long as it lives."""
    (tmp_path / "j").mkdir(mode=0o700)
    script = "import os, signal, sys, pathlib; from sidecar.journal.alive import Alive; "
    script += "mark = Alive(pathlib.Path(sys.argv[1])); os.fork() or (sys.stdin.read(), os._exit(0)); "
    script += "print(mark.owner, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "j")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        dead = process.stdout.readline().strip()
        assert process.wait(30) == -signal.SIGKILL
        assert (tmp_path / "j" / "alive" / dead).exists()
        assert not is_alive(tmp_path / "j", dead)
        assert not (tmp_path / "j" / "alive" / dead).exists()


def test_marks_of_the_dead_are_swept(tmp_path: Path) -> None:
    folder = tmp_path / "j"
    with Store(folder) as store:
        store.begin(entry("a", "b"))
        (folder / "alive" / ("0" * 16)).write_text("1")
        (folder / "alive" / "old.new").write_text("1")
        (folder / "alive" / "fresh.new").write_text("1")
        os.utime(folder / "alive" / "old.new", (0, 0))
        store.tidy()
        left = {path.name for path in (folder / "alive").iterdir()}
        assert left == {"fresh.new", store.entries()[0].owner}
