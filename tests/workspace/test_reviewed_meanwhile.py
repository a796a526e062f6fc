"""The user rejects what is under review, and an agent goes on: all of its work can be taken back all the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workspace.test_behind import BASE, Turn
from tests.workspace.test_gone_again import acts, moves, plays, removes
from tests.workspace.test_whose import reject_all


def closes_to_others(folder: Path) -> None:
    (folder / "a.txt").chmod(0o600)


def makes_executable(folder: Path) -> None:
    (folder / "a.txt").chmod(0o755)


async def rejects(turn: Turn) -> None:
    await reject_all(turn.bench)


def as_it_was(folder: Path) -> None:
    assert sorted(os.listdir(folder)) == ["a.txt"]
    assert ((folder / "a.txt").read_text(), (folder / "a.txt").stat().st_mode & 0o777) == (BASE, 0o644)


def begins_with(folder: Path) -> None:
    (folder / "a.txt").write_text(BASE)
    (folder / "a.txt").chmod(0o644)


@pytest.mark.parametrize("first", [removes, moves, makes_executable])
@pytest.mark.parametrize("second", [removes, moves, closes_to_others])
def test_the_agent_goes_on_with_a_file_that_was_put_back(
    tmp_path: Path, first: Callable[[Path], object], second: Callable[[Path], object]
) -> None:
    begins_with(tmp_path)
    plays(tmp_path, [acts(first)], [rejects], [acts(second)])
    as_it_was(tmp_path)
