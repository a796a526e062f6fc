"""A rejection of changes of whole files that is cut off: whatever the journal has of it by then, all else can still be taken back."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.journal import SqliteJournal
from sidecar.workspace.review.review import Selector
from tests.support.editor_time import run
from tests.turns.doors import CommandLine
from tests.workspace.test_behind import Agent, Turn
from tests.workspace.test_gone_again import acts
from tests.workspace.test_rows_beneath import a_sidecar


class Scene:
    """Two agents work one after the other on run.sh, whose mode is 644. What the first did is rejected; after each call of
    the journal meanwhile, it and the folder are copied: with one of the copies, the next sidecar begins."""

    def __init__(self, folder: Path, *does: Callable[[Path], object]) -> None:
        self.folder = folder.resolve() / "w"
        self.folder.mkdir()
        self.journal, self.file, self._copies = folder / "journal", self.folder / "run.sh", folder
        self.file.write_text("echo\n")
        self.file.chmod(0o644)
        self.agents, self._does = Agent(), list(does)
        self.left: list[Path] = []

    async def rejects_first(self, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
        """And returns both sessions."""

        async def script(turn: Turn) -> None:
            await acts(self._does.pop(0))(turn)

        self.agents.script = script
        async with a_sidecar(self.folder, self.agents) as bench:
            first, other = bench.session, await bench.another_session()
            for session in (first, other):
                await bench.workspace.start_prompt(session, [])[2]
                await asyncio.sleep(15)
            with monkeypatch.context() as patch:
                patch.setattr(SqliteJournal, "_run", self._copied(SqliteJournal._run))
                assert (await bench.workspace.review.reject(Selector(session_id=first))).done
                await asyncio.sleep(5)
        assert len(self.left) > 5
        return first, other

    def _copied(self, original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def copied(*arguments: Any) -> Any:
            done = await original(*arguments)
            copy = self._copies / f"left{len(self.left)}"
            shutil.copytree(self.journal, copy / "journal")
            shutil.copytree(self.folder, copy / "w")
            self.left.append(copy)
            return done

        return copied

    def begins_with(self, copy: Path) -> None:
        for folder in (self.journal, self.folder):
            shutil.rmtree(folder)
            (copy / folder.name).rename(folder)


@pytest.mark.parametrize("by_review", [True, False], ids=["by the review", "by the command line"])
def test_a_mode_that_another_agent_has_set_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_review: bool
) -> None:
    """Nothing on the disk shows that it was taken back (turns seed 1885191827)."""
    scene = Scene(tmp_path, *(lambda folder, mode=m: (folder / "run.sh").chmod(mode) for m in (0o600, 0o755)))

    async def rejects_other(first: str, other: str) -> None:
        async with a_sidecar(scene.folder, scene.agents) as bench:
            review, command_line = bench.workspace.review, CommandLine(scene.journal, print)
            if by_review:
                await review.reject(Selector(session_id=other))
                await command_line.revert_beside(bench.workspace, "--session", first)
            else:
                await command_line.revert_beside(bench.workspace, "--session", other)
                await review.reject(Selector(everything=True))
            assert not await review.listed(Selector())

    sessions = run(scene.rejects_first(monkeypatch))
    for copy in scene.left:
        scene.begins_with(copy)
        run(rejects_other(*sessions))
        assert scene.file.stat().st_mode & 0o777 == 0o644, copy.name


def test_a_mode_that_another_agent_has_set_since_the_file_was_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes back with the file, and is under review there."""
    scene = Scene(
        tmp_path,
        lambda folder: (folder / "run.sh").rename(folder / "b.sh"),
        lambda folder: (folder / "b.sh").chmod(0o755),
    )

    async def rejects_all() -> None:
        async with a_sidecar(scene.folder, scene.agents) as bench:
            review = bench.workspace.review
            for _ in range(2):  # what is not known to be back is another row's, which goes first
                await review.reject(Selector(everything=True))
            assert not await review.listed(Selector())

    run(scene.rejects_first(monkeypatch))
    for copy in scene.left:
        scene.begins_with(copy)
        run(rejects_all())
        assert [one.name for one in scene.folder.iterdir()] == ["run.sh"]
        assert scene.file.stat().st_mode & 0o777 == 0o644, copy.name
