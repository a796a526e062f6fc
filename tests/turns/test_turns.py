"""Whole turns, taken back: a few here through each door and after each end of a sidecar, many by `make fuzz`. And the oracle finds what it is there
to find.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar import disk
from sidecar.core.kept_files import KeptFile
from sidecar.journal import SqliteJournal
from sidecar.recovery import cut_off, revert
from sidecar.recovery.cut_off import Look
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.edits.keeper import Keeper
from tests.turns import killed
from tests.turns.each_call import at_each_call
from tests.turns.play import play
from tests.turns.scene import ENDINGS, ending_of
from tests.turns.world import World

can_kill = pytest.mark.skipif(not killed.CAN, reason="no process can be forked here")
SEEDS = {
    "": [
        0,
        1,
        5,
        7,
        2690837,
        1883003063,
        1885131575,
        1883007962,
        1883009658,
        1884003127,
        1884003968,
        1885052319,
        1885052957,
        1885100269,
        1885180356,
        1885180536,
        1885190937,
        1885191879,
        1885221899,
        1885224553,
    ],
    "shut down": [
        3,
        21,
        1883012226,
        1883012862,
        1885024188,
        1885025329,
        1885053462,
        1885080165,
        1885025972,
        1885132786,
        1885147565,
        1885147441,
        1885187243,
    ],
    "killed in a turn": [
        4,
        9,
        42,
        1880001160,
        1882001203,
        1883002754,
        1883020524,
        1883021135,
        1884001105,
        1885070795,
        1885071077,
        1885120453,
        1885120904,
        1885121066,
        1885147444,
        1885181602,
        1885185857,
        1885186218,
    ],
    "killed taking back": [
        6,
        10,
        500080,
        2710657,
        1883007597,
        1883007670,
        1884002585,
        1885000864,
        1885003057,
        1885150828,
        1885191827,
        1885193292,
        1885194222,
        1885196389,
        1885222901,
    ],
}
"""By how their sidecar ended."""


@pytest.mark.parametrize("seed", [seed for some in SEEDS.values() for seed in some])
def test_a_whole_turn_is_taken_back(seed: int) -> None:
    report = play(seed)
    assert not report.problems, report


@pytest.mark.gauntlet
@pytest.mark.timeout(600)
def test_thousands_of_generated_files_are_taken_back() -> None:
    """It takes about a minute. No thread works for long at a time (`Stuck`)."""
    report = play(1885180286)
    assert not report.problems, report


def test_the_seeds_go_through_every_end() -> None:
    assert set(SEEDS) == set(ENDINGS)
    for ending, some in SEEDS.items():
        assert set(map(ending_of, some)) == {ending}


async def nothing(*_: object, **__: object) -> str:
    return ""


@pytest.mark.parametrize(
    ("where", "name", "defect", "seeds"),
    [
        pytest.param(FileReviews, "_put", nothing, [0, 1], id="reject"),
        pytest.param(revert, "_put", lambda step, data: None, [5], id="revert"),
        pytest.param(disk, "remove_empty", lambda folders: [], [0], id="folders"),
        pytest.param(cut_off, "look", lambda *_: Look((), ()), [42], id="killed", marks=can_kill),
        pytest.param(Keeper, "restore_all", nothing, [21], id="shut down"),
    ],
)
def test_the_oracle_sees_what_is_not_put_back(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, defect: Any, seeds: list[int]
) -> None:
    """At each door, and after each end of a sidecar."""
    monkeypatch.setattr(where, name, defect)
    assert any(play(seed).problems for seed in seeds)


@can_kill
def test_it_is_killed_at_each_call() -> None:
    reports = list(at_each_call(6))
    assert not any(report.problems for report in reports)
    assert sum(report.in_the_middle for report in reports) == len(reports) - 1 > 10


@can_kill
def test_a_kill_between_two_calls_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that replaces others is to be stored in the transaction in which they are forgotten. In this run there are some thirty calls in between."""
    real = SqliteJournal.save_rows

    async def forgets_first(
        self: SqliteJournal,
        rows: Mapping[str, KeptFile],
        forgotten: Collection[str],
        rejected: Collection[str],
    ) -> None:
        await real(self, {}, forgotten, rejected)
        for name, row in rows.items():
            await real(self, {name: row})

    monkeypatch.setattr(SqliteJournal, "save_rows", forgets_first)
    assert any(report.problems for report in at_each_call(21, first=50, step=16))


def test_the_oracle_knows_the_users_from_the_agents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("0\n1\n2\n")
    world = World(tmp_path)
    world.begins()
    world.users_line("a", 1, "mine")
    (tmp_path / "a").write_text("0\nmine\n2\n")
    assert not world.problems({})
    (tmp_path / "a").write_text("0\nmine\nagent\n")
    (tmp_path / "b").write_text("")
    (tmp_path / "a").chmod(0o600)
    assert len(world.problems({"a": "0\n1\n2\n"})) == 3
