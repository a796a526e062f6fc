"""Rows of whole files that stand above one another, and hunks that stand upon them (test_file_rows_at_random.py found each of these): nothing that an agent did is
left unlisted, and all of it can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from tests.support.workspaces import Bench
from tests.turns.world import entries
from tests.workspace.test_gone_again import acts, moves, plays, puts, removes

Act = Callable[[Path], object]
BYTES, TEXT = b"\0bytes", b"text\n"


def chmods(mode: int, name: str = "a.txt") -> Act:
    return lambda folder: (folder / name).chmod(mode)


def links(name: str = "a.txt") -> Act:
    def act(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("nowhere")

    return act


def moves_here(name: str) -> Act:
    return lambda folder: (folder / name).rename(folder / "a.txt")


def nothing_there(folder: Path) -> None: ...


EMPTY, OTHER = puts(b""), puts(b"others\n", "c.txt")
STORIES: dict[str, tuple[Act, list[list[Act]]]] = {
    "an empty file with another mode is filled": (EMPTY, [[chmods(0o755)], [puts(TEXT)]]),
    "an empty file is moved and filled": (EMPTY, [[moves], [puts(TEXT, "b.txt")]]),
    "made empty with another mode where there was a link": (links(), [[removes], [EMPTY, chmods(0o755)]]),
    "made empty, removed and made empty": (puts(TEXT), [[removes, EMPTY, removes], [EMPTY]]),
    "made empty in three turns": (nothing_there, [[EMPTY], [removes], [EMPTY]]),
    "bytes are a text, which is changed": (puts(BYTES), [[puts(TEXT), OTHER, moves_here("c.txt")]]),
    "a link is an empty file, which is filled": (links(), [[removes, EMPTY], [puts(TEXT)]]),
    "bytes are a text with another mode": (puts(BYTES), [[removes, puts(TEXT), chmods(0o755)]]),
    "a text with another mode in place of a link": (links(), [[removes], [puts(TEXT), chmods(0o600)]]),
    "a text of another mode is moved over one in place of bytes": (
        puts(BYTES),
        [[removes], [puts(TEXT), OTHER, chmods(0o600, "c.txt"), moves_here("c.txt")]],
    ),
    "a text is emptied and removed": (puts(TEXT), [[puts(b"", "c.txt"), moves_here("c.txt")], [removes]]),
    "moved, made a link, and a text in its old place": (
        puts(BYTES),
        [[moves], [links("b.txt")], [puts(TEXT)]],
    ),
    "a link, removed; and a text that is removed at once": (
        nothing_there,
        [[links()], [removes], [puts(TEXT), removes]],
    ),
}


@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("story", STORIES)
def test_all_of_it_is_taken_back(tmp_path: Path, story: str, custom: bool) -> None:
    begins_with, turns = STORIES[story]
    begins_with(tmp_path)
    before = entries(tmp_path)
    plays(tmp_path, *([acts(act) for act in turn] for turn in turns), custom=custom)
    assert entries(tmp_path) == before


@pytest.mark.parametrize("then", [chmods(0o755, "b.txt"), puts(b"\0others", "b.txt")], ids=["mode", "bytes"])
def test_what_was_done_to_a_file_since_it_was_moved_goes_back_with_it(tmp_path: Path, then: Act) -> None:
    puts(BYTES)(tmp_path)
    before = entries(tmp_path)

    async def after(bench: Bench) -> None:
        assert not (await bench.workspace.review.reject(Selector(turn=1))).impossible
        (row,) = await bench.workspace.review.listed(Selector())
        assert row["uri"] == bench.uri("a.txt")

    plays(tmp_path, [acts(moves)], [acts(then)], after=after)
    assert entries(tmp_path) == before


def test_a_removed_file_that_is_back_is_not_what_the_agent_had_put_there_since_although_it_says_the_same(
    tmp_path: Path,
) -> None:
    puts(TEXT)(tmp_path)
    before = entries(tmp_path)

    async def after(bench: Bench) -> None:
        while rows := await bench.workspace.review.listed(Selector()):  # one by one, the newest first
            newest = max(rows, key=lambda row: ("file" not in row, str(row["changeId"])))
            await bench.workspace.review.reject(Selector(change_ids=frozenset([str(newest["changeId"])])))
        assert entries(tmp_path) == before

    plays(tmp_path, [acts(removes)], [acts(EMPTY)], [acts(puts(TEXT))], after=after)
