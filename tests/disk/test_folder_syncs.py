"""FolderSyncs: the names in each folder are made durable with one wait, after all of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.core.file_state import FileState
from sidecar.disk import FolderSyncs, Missing, Resolved, Roots, create, remove, resolve, restore, save


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The inodes of the folders that were waited for."""
    inodes: list[int] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        of = os.fstat(descriptor)
        if stat.S_ISDIR(of.st_mode):
            inodes.append(of.st_ino)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return inodes


@contextmanager
def at(folder: Path, name: str) -> Iterator[Resolved | Missing]:
    with Roots([str(folder)]) as roots:
        target = resolve(roots, str(folder / name), access="write")
        assert isinstance(target, Resolved | Missing)
        if isinstance(target, Resolved):
            target.close()
        yield target


def test_whatever_changes_the_names_of_a_folder_it_is_waited_for_once(
    ws: Path, synced: list[int], way_in: str
) -> None:
    for name in ("saved", "removed", "put back", "gone"):
        (ws / name).write_bytes(b"old")
    (ws / "in").mkdir()
    (ws / "in" / "saved").write_bytes(b"old")
    with FolderSyncs() as syncs:
        for folder in (ws, ws / "in"):
            with at(folder, "saved") as target:
                assert isinstance(target, Resolved)
                assert isinstance(save(target, b"new", target.stat, sync=syncs.later), type(target.stat))
        with at(ws, "removed") as target:
            assert isinstance(target, Resolved)
            assert remove(target, target.stat, sync=syncs.later) is None
        with at(ws, "created") as target:
            assert isinstance(target, Missing)
            create(target, b"new", sync=syncs.later)
        was = FileState(b"old", (ws / "gone").stat().st_mode & 0o777)
        for name in ("put back", "gone"):
            assert restore(str(ws), str(ws / name), was, None, sync=syncs.later) is None
        assert synced == []
        syncs.sync()
        assert sorted(synced) == sorted([ws.stat().st_ino, (ws / "in").stat().st_ino])
    assert sorted(path.name for path in ws.iterdir()) == ["created", "in", "saved"]
    assert (ws / "saved").read_bytes() == (ws / "in" / "saved").read_bytes() == b"new"


def test_a_folder_that_cannot_be_held_is_waited_for_at_once(
    ws: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name has changed by then: the save is no failure."""

    def dup(descriptor: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "dup", dup)
    (ws / "a").write_bytes(b"old")
    with FolderSyncs() as syncs, at(ws, "a") as target:
        assert isinstance(target, Resolved)
        assert isinstance(save(target, b"new", target.stat, sync=syncs.later), type(target.stat))
        assert synced == [ws.stat().st_ino]
