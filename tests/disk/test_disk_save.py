"""Saving: all or nothing, what the file has is kept, what changed meanwhile is never overwritten."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.core.refusal import Refusal
from sidecar.disk import (
    Roots,
    Stat,
    check_writable,
    create,
    save,
)
from tests.disk.saving import SIZES, listing, missing, resolved, tree, write


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
        before = tree(ws)
        answer = save(target, b"mine", target.stat)
        assert isinstance(answer, Refusal)
        assert answer.kind.value == "changed_on_disk"
        assert answer.message.endswith(str(file))
    assert tree(ws) == before


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
