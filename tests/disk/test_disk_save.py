"""Saving and creating: all or nothing, what the file has is kept, what changed meanwhile is never overwritten."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidecar.core.refusal import Refusal
from sidecar.disk import (
    Missing,
    Resolved,
    Roots,
    Stat,
    check_writable,
    create,
    fresh_stat,
    resolve,
    save,
    sweep_temporaries,
    temporaries,
)


def resolved(roots: Roots, path: Path) -> Resolved:
    target = resolve(roots, str(path), access="write")
    assert isinstance(target, Resolved)
    return target


def missing(roots: Roots, path: Path) -> Missing:
    target = resolve(roots, str(path), access="write")
    assert isinstance(target, Missing)
    return target


def write(roots: Roots, path: Path, content: bytes) -> str:
    """Saves and says what came of it."""
    with resolved(roots, path) as target:
        assert check_writable(target, len(content)) is None
        answer = save(target, content, target.stat)
    if isinstance(answer, Refusal):
        return answer.kind.value
    assert answer == fresh_stat(str(path))
    return "saved"


def listing(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


SIZES = [b"", b"x", b"longer than it was before\n" * 1000, b"\xff\xfe\0\0"]


@pytest.mark.parametrize("content", SIZES, ids=len)
def test_a_save_replaces_the_bytes(roots: Roots, ws: Path, content: bytes) -> None:
    file = ws / "f"
    file.write_bytes(b"old text")
    before = file.stat().st_ino
    with resolved(roots, file) as target:
        assert target.writable
        answer = save(target, content, target.stat, before=b"old text")
        assert isinstance(answer, Stat)
        # another file stands there now; the handle still is the old one
        assert target.read_bytes() == b"old text"
    assert file.read_bytes() == content
    assert file.stat().st_ino != before
    assert listing(ws) == ["f"]


@pytest.mark.parametrize("mode", [0o755, 0o644, 0o600, 0o640, 0o777, 0o664])
def test_the_mode_is_kept(roots: Roots, ws: Path, mode: int) -> None:
    file = ws / "f"
    file.write_bytes(b"old")
    file.chmod(mode)
    mask = os.umask(0o077)
    try:
        assert write(roots, file, b"new") == "saved"
    finally:
        os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_set_id_bits_are_dropped_as_the_kernel_does_on_a_write(roots: Roots, ws: Path) -> None:
    file = ws / "f"
    file.write_bytes(b"old")
    file.chmod(0o4755)
    assert write(roots, file, b"new") == "saved"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="Python has no extended attributes here")
def test_extended_attributes_are_kept(roots: Roots, ws: Path) -> None:
    file = ws / "f"
    file.write_bytes(b"old")
    try:
        os.setxattr(file, "user.origin", b"here")
    except OSError:
        pytest.skip("NOT TESTED HERE: the file system has no user attributes")
    assert write(roots, file, b"new") == "saved"
    assert os.getxattr(file, "user.origin") == b"here"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="Python has no extended attributes here")
def test_an_acl_is_kept_and_an_inherited_one_is_not_added(roots: Roots, ws: Path) -> None:
    def entry(tag: int, permissions: int, identifier: int = 0xFFFFFFFF) -> bytes:
        return b"".join(
            n.to_bytes(size, "little") for n, size in ((tag, 2), (permissions, 2), (identifier, 4))
        )

    # acl(5) as the kernel stores it: version 2; user::rw- user:7:r-- group::r-- mask::r-- other::---
    acl = (2).to_bytes(4, "little")
    acl += entry(1, 6) + entry(2, 4, 7) + entry(4, 4) + entry(16, 4) + entry(32, 0)
    file, plain = ws / "f", ws / "plain"
    file.write_bytes(b"old")
    plain.write_bytes(b"old")
    try:
        os.setxattr(file, "system.posix_acl_access", acl)
        os.setxattr(ws, "system.posix_acl_default", acl)
    except OSError:
        pytest.skip("NOT TESTED HERE: the file system has no ACLs")
    assert write(roots, file, b"new") == "saved"
    assert os.getxattr(file, "system.posix_acl_access") == acl
    assert write(roots, plain, b"new") == "saved"
    assert "system.posix_acl_access" not in os.listxattr(plain)


def test_a_link_stays_a_link_and_its_target_is_written(roots: Roots, ws: Path) -> None:
    (ws / "d").mkdir()
    (ws / "d/real").write_bytes(b"old")
    (ws / "link").symlink_to("d/real")
    assert write(roots, ws / "link", b"new") == "saved"
    assert os.readlink(ws / "link") == "d/real"
    assert (ws / "d/real").read_bytes() == b"new"
    assert listing(ws) == ["d", "link"]


@pytest.mark.parametrize("content", [b"new", b"", b"much longer than before"])
def test_hard_links_stay_one_file(roots: Roots, ws: Path, base: Path, content: bytes) -> None:
    file, other = ws / "f", base / "other"
    file.write_bytes(b"old text")
    os.link(file, other)
    with resolved(roots, file) as target:
        assert target.links == 2
    assert write(roots, file, content) == "saved"
    assert other.read_bytes() == content
    assert file.stat().st_ino == other.stat().st_ino


def _append(file: Path) -> None:
    with file.open("ab") as out:
        out.write(b"!")


CHANGES: list[tuple[str, Callable[[Path], object]]] = [
    ("written", lambda f: f.write_bytes(b"theirs")),
    ("written, same size", lambda f: f.write_bytes(b"OLD")),
    ("appended to", _append),
    ("replaced", lambda f: (f.with_name("n").write_bytes(b"old"), os.rename(f.with_name("n"), f))),
    ("gone", lambda f: f.unlink()),
    ("a folder", lambda f: (f.unlink(), f.mkdir())),
    ("a link", lambda f: (os.rename(f, f.with_name("moved")), f.symlink_to("moved"))),
    ("a FIFO", lambda f: (f.unlink(), os.mkfifo(f))),
    ("its folder is gone", lambda f: os.rename(f.parent, f.parent.with_name("moved"))),
    (
        "its folder is a link",
        lambda f: (os.rename(f.parent, f.parent.with_name("moved")), f.parent.symlink_to("moved")),
    ),
    ("linked once more", lambda f: os.link(f, f.with_name("again"))),
]


@pytest.mark.parametrize(("what", "change"), CHANGES, ids=[what for what, _ in CHANGES])
@pytest.mark.timeout(10)
def test_what_changed_since_it_was_planned_is_not_overwritten(
    roots: Roots, ws: Path, what: str, change: Callable[[Path], object]
) -> None:
    (ws / "d").mkdir()
    file = ws / "d/f"
    file.write_bytes(b"old")
    os.utime(file, ns=(10**18, 10**18))
    with resolved(roots, file) as target:
        change(file)
        before = _tree(ws)
        answer = save(target, b"mine", target.stat)
        assert isinstance(answer, Refusal)
        assert answer.kind.value == "changed_on_disk"
        assert answer.message.endswith(str(file))
    assert _tree(ws) == before


def _tree(folder: Path) -> dict[str, object]:
    return {
        str(path): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else path.stat().st_mode
        for path in sorted(folder.rglob("*"))
    }


def test_two_states_that_look_alike_are_told_apart_by_their_bytes(roots: Roots, ws: Path) -> None:
    """A file system's clock has ticks; `before` does not."""
    file = ws / "f"
    file.write_bytes(b"one")
    os.link(file, ws / "g")
    with resolved(roots, file) as target:
        file.write_bytes(b"two")
        target.look()
        for name in ("f", "g"):
            with resolved(roots, ws / name) as again:
                answer = save(again, b"mine", again.stat, before=b"one")
                assert isinstance(answer, Refusal)
                assert answer.kind.value == "changed_on_disk"
    assert file.read_bytes() == b"two"


def test_a_change_between_writing_and_renaming_is_seen(
    roots: Roots, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ws / "f"
    file.write_bytes(b"old")
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            file.write_bytes(b"theirs")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with resolved(roots, file) as target:
        answer = save(target, b"mine", target.stat)
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "changed_on_disk"
    assert file.read_bytes() == b"theirs"
    assert listing(ws) == ["f"]


def test_text_and_name_are_durable_in_this_order(
    roots: Roots, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "f").write_bytes(b"old")
    steps: list[str] = []
    real_fsync, real_rename = os.fsync, os.rename

    def fsync(descriptor: int) -> None:
        steps.append("fsync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "fsync file")
        real_fsync(descriptor)

    def rename(*args: str, **kwargs: int) -> None:
        steps.append("rename")
        real_rename(*args, **kwargs)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    assert write(roots, ws / "f", b"new") == "saved"
    assert steps == ["fsync file", "rename", "fsync folder"]


FAILURES = [
    (errno.ENOSPC, "no_space"),
    (errno.EDQUOT, "no_space"),
    (errno.EIO, "io_error"),
]


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize(("code", "kind"), FAILURES)
def test_a_failing_write_leaves_the_old_text(
    roots: Roots, ws: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: str, links: int
) -> None:
    file = ws / "f"
    file.write_bytes(b"old text")
    if links == 2:
        os.link(file, ws / "g")
    real = os.write
    room = 3

    def full(descriptor: int, data: memoryview) -> int:
        nonlocal room
        if room == 0:
            room = 100  # what is deleted makes room: the old bytes can be put back
            raise OSError(code, "the system's own words")
        written = real(descriptor, data[:room])
        room = max(0, room - written)
        return written

    with resolved(roots, file) as target:
        monkeypatch.setattr(os, "write", full)
        answer = save(target, b"new text that is longer", target.stat)
        monkeypatch.undo()
    assert isinstance(answer, Refusal)
    assert answer.kind.value == kind
    assert "own words" not in answer.message
    assert file.read_bytes() == b"old text"
    assert listing(ws) == ["f", "g"][:links]


@pytest.mark.parametrize("name", ["new", "a/b/c/new", " ", "-", "żółw\n", "x" * 255])
def test_create_makes_a_file_and_the_folders_above(roots: Roots, ws: Path, name: str) -> None:
    target = missing(roots, ws / name)
    assert check_writable(target, 4) is None
    answer = create(target, b"text")
    assert isinstance(answer, Stat)
    assert answer == fresh_stat(str(ws / name))
    assert (ws / name).read_bytes() == b"text"
    assert (ws / name).stat().st_nlink == 1
    assert listing((ws / name).parent) == [name.rpartition("/")[2]]
    again = create(target, b"other")
    assert isinstance(again, Refusal)
    assert again.kind.value == "changed_on_disk"
    assert (ws / name).read_bytes() == b"text"


def test_a_new_file_has_the_mode_the_person_asked_for(roots: Roots, ws: Path) -> None:
    mask = os.umask(0o027)
    try:
        create(missing(roots, ws / "d/f"), b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((ws / "d/f").stat().st_mode) == 0o640
    assert stat.S_IMODE((ws / "d").stat().st_mode) == 0o750


def test_a_dangling_link_is_kept_and_its_target_made(roots: Roots, ws: Path) -> None:
    (ws / "link").symlink_to("d/real")
    assert isinstance(create(missing(roots, ws / "link"), b"text"), Stat)
    assert os.readlink(ws / "link") == "d/real"
    assert (ws / "d/real").read_bytes() == b"text"


APPEARED: list[tuple[str, Callable[[Path, Path], object], str]] = [
    (
        "a file",
        lambda ws, out: ((ws / "d").mkdir(), (ws / "d/new").write_bytes(b"theirs")),
        "changed_on_disk",
    ),
    (
        "a link out",
        lambda ws, out: ((ws / "d").mkdir(), (ws / "d/new").symlink_to(out / "new")),
        "changed_on_disk",
    ),
    ("its folder a link out", lambda ws, out: (ws / "d").symlink_to(out), "changed_on_disk"),
    ("its folder a file", lambda ws, out: (ws / "d").write_bytes(b""), "not_a_file"),
    ("its folder", lambda ws, out: (ws / "d").mkdir(), "made"),
]


@pytest.mark.parametrize(("what", "change", "expected"), APPEARED, ids=[row[0] for row in APPEARED])
def test_what_appeared_since_it_was_planned(
    roots: Roots, ws: Path, base: Path, what: str, change: Callable[[Path, Path], object], expected: str
) -> None:
    out = base / "out"
    out.mkdir()
    target = missing(roots, ws / "d/new")
    change(ws, out)
    before = _tree(ws)
    answer = create(target, b"mine")
    if expected == "made":
        assert isinstance(answer, Stat)
    else:
        assert isinstance(answer, Refusal)
        assert answer.kind.value == expected
        assert _tree(ws) == before
    assert listing(out) == []


@pytest.mark.parametrize("where", ["write", "link", "fsync"])
def test_a_failing_create_leaves_nothing(
    roots: Roots, ws: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*args: object, **kwargs: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    target = missing(roots, ws / "a/b/new")
    monkeypatch.setattr(os, where, fail)
    answer = create(target, b"text")
    monkeypatch.undo()
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "no_space"
    assert listing(ws) == []


def test_a_file_system_without_hard_links(roots: Roots, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EPERM, "FAT")

    target = missing(roots, ws / "new")
    monkeypatch.setattr(os, "link", fail)
    assert isinstance(create(target, b"text"), Stat)
    answer = create(target, b"other")
    assert isinstance(answer, Refusal)
    assert answer.kind.value == "changed_on_disk"
    assert (ws / "new").read_bytes() == b"text"
    assert listing(ws) == ["new"]


def test_a_root_that_went_away_is_not_written_to(roots: Roots, ws: Path, base: Path) -> None:
    (ws / "f").write_bytes(b"old")
    (base / "out").mkdir()
    (base / "out/f").write_bytes(b"old")
    gone = missing(roots, ws / "new")
    with resolved(roots, ws / "f") as target:
        os.rename(ws, base / "moved")
        ws.symlink_to("out")
        for answer in (save(target, b"new", target.stat), create(gone, b"new"), check_writable(target)):
            assert isinstance(answer, Refusal) or answer is None
    assert (base / "out/f").read_bytes() == b"old"
    assert (base / "moved/f").read_bytes() == b"old"
    assert not (base / "out/new").exists()


# Fewer rights, less room: in a process of its own.


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
