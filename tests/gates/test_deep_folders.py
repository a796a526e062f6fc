"""deep_folders: no tree of folders that an agent can make, however deep or wide, makes a turn fail: not its own, not another agent's, not after
a restart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.disk import folder_files
from tests.gates.product import a_product
from tests.gates.size import size

pytestmark = pytest.mark.timeout(300)
DEPTHS = size((1100,), (90, 300, 995, 1100, 1800))
NAMES = ("a", "é")


def deep(folder: Path, depth: int, name: str) -> str:
    """A file so many folders deep, as far as a path can be."""
    most = (4000 - len(os.fsencode(folder))) // (len(os.fsencode(name)) + 1)
    return "/".join([str(folder), *[name] * min(depth, most), "file.txt"])


async def table(folder: Path, planted: str | None = None) -> list[str]:
    """Which turns failed."""
    wrong: list[str] = []
    paths = [deep(folder, depth, name) for depth in DEPTHS for name in NAMES]
    acts: list[dict[str, Any]] = [{"write": path, "content": "x"} for path in paths]
    scripts = {
        name: {"turns": [acts if name == "deep" else [{"say": "hello"}]]} for name in ("deep", "other")
    }
    for run in ("first", "after a restart"):
        async with a_product(folder, scripts, planted=planted, scripts_in=folder.parent) as product:
            for name in ("deep", "other", "deep"):
                outcome = await product.prompt(await product.session(name))
                if outcome.get("stopReason") != "end_turn":
                    wrong.append(f"{run}, {name}: {outcome.get('error')}")
            wrong += [f"{run}: {box}" for box in product.boxes if "could not be" in box]
    return wrong + [f"{path[-40:]} was not written" for path in paths if not os.path.exists(path)]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Removed afterwards: pytest's own way to do that later is not made for trees like these."""
    folder = tmp_path / "ws"
    folder.mkdir()
    yield folder
    every = [str(folder)]
    for one in every:
        for entry in list(os.scandir(one)):
            if entry.is_dir(follow_symlinks=False):
                every.append(entry.path)
            else:
                os.unlink(entry.path)
    for one in reversed(every):
        os.rmdir(one)


async def test_every_turn_goes_on(folder: Path, record_property: Callable[[str, object], None]) -> None:
    assert await table(folder) == []
    record_property("depths", len(DEPTHS) * len(NAMES))


async def test_the_gate_can_fail(folder: Path) -> None:
    try:
        found = "\n".join(await table(folder, "folders_are_walked_by_calls"))
    except AssertionError as error:  # what was logged has a traceback in it
        found = str(error)
    assert "RecursionError" in found or "failed by a fault" in found


def test_a_wide_tree_has_too_many_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (tmp_path / f"d{number}").mkdir()
    (tmp_path / "d3" / "a.txt").write_text("")
    assert folder_files.names(str(tmp_path)) == ["d3/a.txt"]
    monkeypatch.setattr(folder_files, "MAX_FOLDERS_WITHOUT_GIT", 20)
    assert folder_files.names(str(tmp_path)) is None
