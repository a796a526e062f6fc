"""A sidecar that is killed while it rejects changes of whole files: whatever the journal and the disk have of that by then, the next one can take all of it
back, byte for byte and mode for mode.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.journal import SqliteJournal
from sidecar.workspace.review.review import Selector
from sidecar.workspace.state.storage import Storage
from tests.support.editor_time import run
from tests.turns.doors import CommandLine
from tests.turns.world import entries
from tests.workspace.test_behind import Agent, Turn
from tests.workspace.test_gone_again import acts, puts, removes, removes_moved
from tests.workspace.test_rows_beneath import a_sidecar, all_of, listed, moves_to
from tests.workspace.test_rows_upon_rows import Act, chmods, links, nothing_there

BYTES, OTHER_BYTES, TEXT, OTHER = b"\0bytes", b"\0others", b"text\n", b"other\n"
LINES = b"one\ntwo\nthree\nfour\nfive\n"
CHANGED = LINES.replace(b"two", b"TWO")
EVERYTHING = Selector(everything=True)


def with_mode(text: bytes) -> Act:
    return all_of(puts(text), chmods(0o644))


STORIES: dict[str, tuple[Act, list[Act], int]] = {
    # What was there, what the agents did one after the other, and which of them is rejected first
    "a mode that is set anew": (with_mode(TEXT), [chmods(0o600), chmods(0o755)], 0),
    "a mode between two others": (with_mode(TEXT), [chmods(0o600), chmods(0o755), chmods(0o700)], 1),
    "a mode of a text that is bytes and gets another mode": (
        with_mode(LINES),
        [chmods(0o600), puts(BYTES), chmods(0o755)],
        0,
    ),
    "a mode of bytes that are others and get another mode": (
        with_mode(BYTES),
        [chmods(0o600), puts(OTHER_BYTES), chmods(0o755)],
        0,
    ),
    "a mode of a file that is moved": (with_mode(TEXT), [chmods(0o755), moves_to("b.txt")], 0),
    "a mode between bytes and others": (
        with_mode(BYTES),
        [puts(OTHER_BYTES), chmods(0o755), puts(BYTES + OTHER_BYTES)],
        1,
    ),
    "a file that is moved and gets a mode": (with_mode(TEXT), [moves_to("b.txt"), chmods(0o755, "b.txt")], 0),
    "a file with another mode that is moved": (with_mode(TEXT), [chmods(0o755), moves_to("b.txt")], 1),
    "a file that is moved and changed": (puts(LINES), [moves_to("b.txt"), puts(CHANGED, "b.txt")], 0),
    "a file that is changed, moved and changed": (
        puts(LINES),
        [puts(CHANGED), moves_to("b.txt"), puts(CHANGED.replace(b"five", b"FIVE"), "b.txt")],
        1,
    ),
    "a file that is moved, and changed with its mode": (
        with_mode(LINES),
        [moves_to("b.txt"), all_of(chmods(0o755, "b.txt"), puts(CHANGED, "b.txt"))],
        0,
    ),
    "a file that is made empty, filled and moved": (
        nothing_there,
        [puts(b""), puts(TEXT), moves_to("b.txt")],
        2,
    ),
    "a changed text that is removed": (puts(LINES), [puts(CHANGED), removes], 1),
    "a changed text that is bytes": (puts(LINES), [puts(CHANGED), puts(BYTES)], 1),
    "a changed text that is a link": (puts(LINES), [puts(CHANGED), links()], 1),
    "a removed text that is another with another mode": (
        with_mode(TEXT),
        [removes, all_of(puts(OTHER), chmods(0o755))],
        1,
    ),
    "bytes between others": (puts(BYTES), [puts(OTHER_BYTES), puts(BYTES + OTHER_BYTES)], 1),
    "bytes that are a text, which is changed and removed": (
        puts(BYTES),
        [puts(TEXT), puts(OTHER), removes],
        2,
    ),
    # What later work is in the way of: the disk shows what was there before, and yet it was not put back
    "a file that is moved twice": (
        puts(LINES),
        [moves_to("b.txt"), lambda folder: (folder / "b.txt").rename(folder / "c.txt")],
        0,
    ),
    "a file that is moved and removed": (puts(BYTES), [moves_to("b.txt"), removes_moved], 0),
    "a file with another mode that is moved, removed and made anew": (
        with_mode(BYTES),
        [chmods(0o600), moves_to("b.txt"), removes_moved, puts(TEXT, "b.txt")],
        1,
    ),
}


class Scene:
    """A folder with the journal beside it, and what both were like before and after each call of the journal in a rejection, and each step on the disk."""

    def __init__(self, place: Path, begins_with: Act, turns: Sequence[Act]) -> None:
        self.folder, self.journal = place.resolve() / "w", place.resolve() / "journal"
        self.folder.mkdir()
        begins_with(self.folder)
        self._turns = list(turns)
        self._copies = place / "copies"
        self._last: object = None
        self.moments: list[Path] = []
        self.agents = Agent()
        self.agents.script = self._plays

    async def _plays(self, turn: Turn) -> None:
        await acts(self._turns.pop(0))(turn)

    async def rejects(self, number: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Each turn is of a session of its own: what this one did is rejected. Returns the sessions."""
        async with a_sidecar(self.folder, self.agents) as bench:
            sessions = [await bench.another_session() for _ in self._turns]
            for session in sessions:
                await bench.workspace.start_prompt(session, [])[2]
                await asyncio.sleep(15)
            assert await listed(bench)
            with monkeypatch.context() as patch:
                patch.setattr(SqliteJournal, "_run", self._copied(SqliteJournal._run))
                patch.setattr(Storage, "restore", self._copied(Storage.restore))
                await bench.workspace.review.reject(Selector(session_id=sessions[number]))
                await asyncio.sleep(5)
        return sessions

    def _copied(self, real: Callable[..., Any]) -> Callable[..., Any]:
        async def copied(*arguments: Any) -> Any:
            self._copy()
            done = await real(*arguments)
            self._copy()
            return done

        return copied

    def _copy(self) -> None:
        """Unless nothing has changed since."""
        journal = [
            file.read_bytes() for file in sorted(self.journal.glob("*.sqlite3*")) if "-shm" not in file.name
        ]
        if (now := (journal, entries(self.folder))) != self._last:
            self._last = now
            self.moments.append(self._copies / str(len(self.moments)))
            for of in (self.journal, self.folder):
                shutil.copytree(of, self.moments[-1] / of.name, symlinks=True)

    def is_as_at(self, moment: Path) -> None:
        for of in (self.journal, self.folder):
            shutil.rmtree(of)
            (moment / of.name).rename(of)


@pytest.mark.parametrize("story", STORIES)
def test_the_next_sidecar_takes_all_of_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, story: str
) -> None:
    begins_with, turns, number = STORIES[story]
    scene = Scene(tmp_path, begins_with, turns)
    before = entries(scene.folder)
    run(scene.rejects(number, monkeypatch))

    async def rejects_all() -> list[dict[str, Any]]:
        async with a_sidecar(scene.folder, scene.agents) as bench:
            for _ in turns:  # what is not known to be back is another row's, which goes first
                await bench.workspace.review.reject(EVERYTHING)
            await asyncio.sleep(5)
            return await listed(bench)

    for moment in scene.moments:
        scene.is_as_at(moment)
        assert not run(rejects_all()), moment.name
        assert entries(scene.folder) == before, moment.name


@pytest.mark.parametrize("ends", ["with the review", "with the command line"])
def test_the_command_line_takes_part_of_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """Nothing on the disk shows that a mode was taken back which another agent has set since (turns seed 1885191827)."""
    scene = Scene(tmp_path, with_mode(TEXT), [chmods(0o600), chmods(0o755)])
    before = entries(scene.folder)
    first, other = run(scene.rejects(0, monkeypatch))

    async def takes_back() -> list[dict[str, Any]]:
        async with a_sidecar(scene.folder, scene.agents) as bench:
            review, command_line = bench.workspace.review, CommandLine(scene.journal, print)
            if ends == "with the command line":
                await review.reject(Selector(session_id=other))
                await command_line.revert_beside(bench.workspace, "--session", first)
            else:
                await command_line.revert_beside(bench.workspace, "--session", other)
                await review.reject(EVERYTHING)
            return await listed(bench)

    for moment in scene.moments:
        scene.is_as_at(moment)
        assert not run(takes_back()), moment.name
        assert entries(scene.folder) == before, moment.name
