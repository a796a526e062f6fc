"""Every disk test runs over both ways into a root where both exist: openat2 and the descriptor walk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidecar.disk import Roots, beneath, openat2, walk
from tests.support import tools

if sys.platform == "win32":  # descriptors beneath a root are POSIX's
    collect_ignore = [
        "test_disk_create.py",
        "test_disk_paths.py",
        "test_disk_race.py",
        "test_disk_rights.py",
        "test_disk_save.py",
        "test_folder_syncs.py",
    ]


@pytest.fixture(params=["openat2", "walk"])
def way_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "openat2" and not openat2.available():
        if not sys.platform.startswith("linux"):
            pytest.skip("openat2 is Linux's")
        tools.lacking("openat2", "this kernel, or what it is confined by, does not have it")
    chosen: Callable[[int, str, int], int] = {"openat2": openat2, "walk": walk}[request.param].open_beneath
    monkeypatch.setattr(beneath, "open_beneath", chosen)
    return str(request.param)


@pytest.fixture(autouse=True)
def no_descriptor_is_left_open() -> Iterator[None]:
    before = _open_descriptors()
    yield
    assert _open_descriptors() - before == set()


def _open_descriptors() -> set[tuple[int, int, int]]:
    found: set[tuple[int, int, int]] = set()
    for number in range(3, 256):
        try:
            stat = os.fstat(number)
        except OSError:
            continue
        found.add((number, stat.st_dev, stat.st_ino))
    return found


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder by its canonical name, to put roots and what is outside them in."""
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def ws(base: Path) -> Path:
    folder = base / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def roots(ws: Path, way_in: str) -> Iterator[Roots]:
    with Roots([str(ws)]) as roots:
        yield roots
