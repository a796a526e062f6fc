"""Saving and creating with fewer rights, less room, and killed in the middle: in a process of its own."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.disk import (
    sweep_temporaries,
    temporaries,
)
from tests.disk.saving import listing


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can get at (pytest's own are 0700)."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="sidecar-test-")))
    folder.chmod(0o777)
    yield folder
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o777)
    shutil.rmtree(folder)


def in_child(
    root: Path, steps: list[list[object]], prefix: list[str] | None = None, **task: object
) -> list[str]:
    arguments = json.dumps({"root": str(root), "steps": steps, **task})
    command = [*(prefix or []), sys.executable, "-m", "tests.disk.saver", arguments]
    project = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=project, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


# name, mode of the file, mode of its folder, needs another owner, and what read, check, save and a creation beside it say
PERMISSIONS = [
    ("plain", 0o644, 0o755, False, "old, fine, fine, fine"),
    ("read-only", 0o444, 0o755, False, "old, read_only, read_only, fine"),
    ("not readable", 0o200, 0o755, False, "io_error, read_only, read_only, fine"),
    ("folder read-only: written in place", 0o644, 0o555, False, "old, fine, fine, read_only"),
    ("folder not listable", 0o644, 0o311, False, "old, fine, fine, fine"),
    ("folder closed", 0o644, 0o600, False, "io_error, read_only, read_only, read_only"),
    ("foreign, not writable", 0o644, 0o777, True, "old, read_only, read_only, fine"),
    ("foreign, writable: written in place", 0o666, 0o777, True, "old, fine, fine, fine"),
]


@pytest.mark.parametrize(
    ("name", "file_mode", "folder_mode", "foreign", "expected"),
    PERMISSIONS,
    ids=[row[0] for row in PERMISSIONS],
)
def test_permissions(
    open_folder: Path, name: str, file_mode: int, folder_mode: int, foreign: bool, expected: str
) -> None:
    root = os.geteuid() == 0
    if foreign and not root:
        pytest.skip("NOT TESTED HERE: a file of another owner takes root to make")
    folder, file = open_folder / "d", open_folder / "d/f"
    folder.mkdir()
    file.write_bytes(b"old")
    if root:
        os.chown(folder, 65534, 65534)
        if not foreign:
            os.chown(file, 65534, 65534)
    file.chmod(file_mode)
    owner, inode = file.stat().st_uid, file.stat().st_ino
    folder.chmod(folder_mode)
    steps: list[list[object]] = [[action, str(file), 3] for action in ("read", "check", "save")]
    answers = in_child(open_folder, [*steps, ["create", str(folder / "new"), 3]])
    assert ", ".join(answers) == expected
    folder.chmod(0o755)
    after = file.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid) == (file_mode, owner)
    if "in place" in name:
        assert after.st_ino == inode
    if not foreign:
        file.chmod(0o644)
    assert file.read_bytes() == (b"nnn" if answers[2] == "fine" else b"old")
    assert set(listing(folder)) <= {"f", "new"}


def test_a_file_without_a_write_bit_is_read_only_to_root_too(open_folder: Path) -> None:
    (open_folder / "f").write_bytes(b"old")
    (open_folder / "f").chmod(0o444)
    steps: list[list[object]] = [[action, str(open_folder / "f"), 3] for action in ("check", "save")]
    assert in_child(open_folder, steps, as_root=True) == ["read_only", "read_only"]


@pytest.mark.parametrize("reserve", [True, False])
def test_no_room_leaves_everything_as_it_was(open_folder: Path, reserve: bool) -> None:
    """A limit on file sizes stops a write in its middle, like a full disk."""
    file, linked = open_folder / "f", open_folder / "linked"
    for path in (file, linked):
        path.write_bytes(b"o" * 20_000)
    os.link(linked, open_folder / "again")
    if os.geteuid() == 0:
        for path in (open_folder, file, linked):
            os.chown(path, 65534, 65534)
    answers = in_child(
        open_folder,
        [
            ["save", str(file), 100_000],
            ["save", str(linked), 100_000],
            ["create", str(open_folder / "a/new"), 100_000],
            ["save", str(file), 30_000],
            ["save", str(linked), 10_000],
        ],
        file_limit=30_000,
        no_reserve=not reserve,
    )
    assert answers == ["no_space", "no_space", "no_space", "fine", "fine"]
    assert file.read_bytes() == b"n" * 30_000
    assert linked.read_bytes() == b"n" * 10_000
    assert listing(open_folder) == ["again", "f", "linked"]


def mounting(script: str, folder: Path) -> list[str]:
    """What makes a child run in a mount namespace of its own, after `script` ($0 is the folder)."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("NOT TESTED HERE: no unshare")
    own = [unshare, "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    prefix = [*own, "sh", "-ec", script + '\nexec "$@"', str(folder)]
    if subprocess.run([*prefix, "true"], capture_output=True, timeout=30, check=False).returncode:
        pytest.skip("NOT TESTED HERE: mounting is not permitted")
    return prefix


def test_the_kernels_files_are_none_wherever_they_are_mounted(open_folder: Path) -> None:
    (open_folder / "chroot").mkdir()
    prefix = mounting('mount --rbind /proc "$0/chroot"', open_folder)
    steps: list[list[object]] = [
        ["read", f"{open_folder}/chroot/{name}"] for name in ("version", "1/environ", "none")
    ]
    answers = in_child(open_folder, steps, prefix, as_root=True)
    assert answers[0] == "not_a_file"
    assert answers[1] in ("not_a_file", "io_error")
    assert answers[2] == "missing"


def test_a_full_disk(open_folder: Path) -> None:
    """A real one: 64 KiB."""
    script = """
        mount -t tmpfs -o size=64k,mode=777 none "$0"
        head -c 20000 /dev/zero > "$0/f"
        ln "$0/f" "$0/g"
        head -c 20000 /dev/zero > "$0/h"
    """
    prefix = mounting(script, open_folder)
    answers = in_child(
        open_folder,
        [
            ["check", str(open_folder / "h"), 60_000],
            ["check", str(open_folder / "h"), 10_000],
            ["save", str(open_folder / "h"), 60_000],
            ["save", str(open_folder / "f"), 60_000],
            ["create", str(open_folder / "new"), 60_000],
            ["read", str(open_folder / "h")],
            ["save", str(open_folder / "h"), 10_000],
            ["save", str(open_folder / "f"), 21_000],
        ],
        prefix,
        as_root=True,
    )
    assert answers == ["no_space", "fine", "no_space", "no_space", "no_space", "\0" * 20, "fine", "fine"]


# Crashes


def test_kill_9_during_a_save_leaves_one_text_or_the_other(open_folder: Path) -> None:
    size = 400_000
    rounds = int(os.environ.get("SIDECAR_TEST_KILLS", "6"))
    (open_folder / "f").write_bytes(b"B" * size)
    (open_folder / "f").chmod(0o755)
    chance = random.Random(7)
    task = json.dumps(
        {"root": str(open_folder), "steps": [["forever", str(open_folder / "f"), size]], "as_root": True}
    )
    left = 0
    for _ in range(rounds):
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.disk.saver", task],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        with child:
            assert child.stdout is not None
            for _ in range(chance.randrange(1, 12)):
                assert child.stdout.readline()
            # a moment within the save that follows: as long as some system calls take
            for _ in range(chance.randrange(300)):
                os.stat(open_folder)
            child.kill()
            assert child.wait(30) == -9
        content = (open_folder / "f").read_bytes()
        assert content in (b"A" * size, b"B" * size), f"torn: {len(content)} bytes"
        assert stat.S_IMODE((open_folder / "f").stat().st_mode) == 0o755
        left += len(listing(open_folder)) - 1
        swept = sweep_temporaries(str(open_folder))
        assert listing(open_folder) == ["f"]
        left -= swept
    assert left == 0


def test_a_sweep_takes_only_what_nobody_holds(ws: Path) -> None:
    folder = os.open(ws, os.O_RDONLY)
    try:
        live, descriptor = temporaries.make_temporary(folder, 0o600)
        dead, other = temporaries.make_temporary(folder, 0o600)
        os.close(other)
        keep = [".acp-sidecar-notes.tmp", ".acp-sidecar-0123456789abcdef.tmp.txt", "f"]
        for name in keep:
            (ws / name).write_bytes(b"")
        (ws / ".acp-sidecar-00000000000000aa.tmp").mkdir()
        (ws / ".acp-sidecar-00000000000000bb.tmp").symlink_to("f")
        assert sweep_temporaries(str(ws)) == 1
        assert dead not in listing(ws)
        assert live in listing(ws)
        os.close(descriptor)
        assert sweep_temporaries(str(ws)) == 1
        assert len(listing(ws)) == len(keep) + 2
    finally:
        os.close(folder)
    assert sweep_temporaries(str(ws / "not-there")) == 0
