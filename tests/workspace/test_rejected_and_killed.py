"""A rejection of changes of whole files that is cut off: whatever the journal has of it by then, all else can still be taken back."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, TypeVarTuple, Unpack

import pytest

from sidecar.journal import SqliteJournal
from sidecar.workspace.review.review import Selector
from tests.support.editor_time import run
from tests.turns.doors import CommandLine
from tests.workspace.test_behind import Agent, Turn
from tests.workspace.test_gone_again import acts
from tests.workspace.test_rows_beneath import a_sidecar

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@pytest.mark.parametrize("by_review", [True, False], ids=["by the review", "by the command line"])
def test_a_mode_that_another_agent_has_set_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_review: bool
) -> None:
    """Nothing on the disk shows that it was taken back (turns seed 1885191827)."""
    (folder := tmp_path.resolve() / "w").mkdir()
    journal, file, modes, agents = tmp_path / "journal", folder / "run.sh", [0o600, 0o755], Agent()
    file.write_text("echo\n")
    file.chmod(0o644)
    left: list[Path] = []
    """The journal after each call while the first agent's mode is rejected: with one of them, the next sidecar begins."""

    async def script(turn: Turn) -> None:
        await acts(lambda folder: file.chmod(modes.pop(0)))(turn)

    agents.script = script

    async def rejects_first() -> tuple[str, str]:
        """And returns both sessions."""
        async with a_sidecar(folder, agents) as bench:
            first, other = bench.session, await bench.another_session()
            for session in (first, other):
                await bench.workspace.start_prompt(session, [])[2]
                await asyncio.sleep(15)
            original = SqliteJournal._run

            async def copied(self: SqliteJournal, work: Callable[[Unpack[Ts]], T], *arguments: *Ts) -> T:
                done = await original(self, work, *arguments)
                left.append(Path(shutil.copytree(journal, tmp_path / f"left{len(left)}")))
                return done

            with monkeypatch.context() as patch:
                patch.setattr(SqliteJournal, "_run", copied)
                assert (await bench.workspace.review.reject(Selector(session_id=first))).done
                await asyncio.sleep(5)
        return first, other

    async def rejects_other(first: str, other: str) -> None:
        async with a_sidecar(folder, agents) as bench:
            review, command_line = bench.workspace.review, CommandLine(journal, print)
            if by_review:
                await review.reject(Selector(session_id=other))
                await command_line.revert_beside(bench.workspace, "--session", first)
            else:
                await command_line.revert_beside(bench.workspace, "--session", other)
                await review.reject(Selector(everything=True))
            assert not await review.listed(Selector())

    sessions = run(rejects_first())
    assert len(left) > 5
    for copy in left:
        shutil.rmtree(journal)
        copy.rename(journal)
        file.chmod(0o755)
        run(rejects_other(*sessions))
        assert file.stat().st_mode & 0o777 == 0o644, copy.name
