"""Whole turns, taken back: a few here, many by `make fuzz`. And the oracle finds what it is there to find."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.workspace.behind.file_reviews import FileReviews
from tests.turns.play import play
from tests.turns.world import World


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 7, 8, 500080])
def test_a_whole_turn_is_taken_back(seed: int) -> None:
    report = play(seed)
    assert not report.problems, report


def test_the_oracle_sees_what_is_not_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> str:
        return ""

    monkeypatch.setattr(FileReviews, "_put", nothing)
    assert any(play(seed).problems for seed in range(8))


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
