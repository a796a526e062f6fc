"""A file is removed only while it is the one that was looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar import disk
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Resolved, Roots


@pytest.fixture
def file(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_bytes(b"text\n")
    with Roots([str(tmp_path)]) as roots:
        found = disk.resolve(roots, str(tmp_path / "sub" / "a.txt"), access="write")
        assert isinstance(found, Resolved)
        with found:
            yield found


def nothing(path: Path) -> None: ...


def written(path: Path) -> None:
    path.write_bytes(b"mine\n")


def replaced(path: Path) -> None:
    path.rename(path.with_name("old"))
    path.write_bytes(b"text\n")


def gone(path: Path) -> None:
    path.unlink()


def folder_is_a_link(path: Path) -> None:
    path.parent.rename(path.parent.with_name("other"))
    path.parent.symlink_to("other")


def is_a_link(path: Path) -> None:
    path.rename(path.with_name("old"))
    path.symlink_to("old")


def read_only(path: Path) -> None:
    path.chmod(0o444)


ROWS = [
    (nothing, None),
    (written, Kind.CHANGED_ON_DISK),
    (replaced, Kind.CHANGED_ON_DISK),
    (gone, Kind.CHANGED_ON_DISK),
    (folder_is_a_link, Kind.CHANGED_ON_DISK),
    (is_a_link, Kind.CHANGED_ON_DISK),
    (read_only, Kind.READ_ONLY),
]


@pytest.mark.skipif(os.name == "nt", reason="links and modes")
@pytest.mark.parametrize(("meanwhile", "kind"), ROWS, ids=[row[0].__name__ for row in ROWS])
def test_remove(tmp_path: Path, file: Resolved, meanwhile, kind: Kind | None) -> None:
    path = tmp_path / "sub" / "a.txt"
    expected = file.stat
    meanwhile(path)
    if meanwhile is read_only:
        expected = file.look()
    refused = disk.remove(file, expected, before=b"text\n")
    if kind is None:
        assert refused is None
        assert not path.exists()
    else:
        assert isinstance(refused, Refusal)
        assert refused.kind is kind
        assert meanwhile is gone or path.exists()


def test_other_bytes_within_one_tick_of_the_clock(tmp_path: Path, file: Resolved) -> None:
    refused = disk.remove(file, file.stat, before=b"what was looked at\n")
    assert isinstance(refused, Refusal)
    assert (tmp_path / "sub" / "a.txt").exists()
