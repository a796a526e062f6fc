"""Creating: all or nothing, and never over what appeared meanwhile."""

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
    fresh_stat,
)
from tests.disk.saving import listing, missing, tree


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
    before = tree(ws)
    answer = create(target, b"mine")
    if expected == "made":
        assert isinstance(answer, Stat)
    else:
        assert isinstance(answer, Refusal)
        assert answer.kind.value == expected
        assert tree(ws) == before
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
