"""The folders that were made for an agent's files go with them, whoever takes the files back, and after whatever end of a sidecar."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sidecar.core.file_state import FileState
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.selecting import Selection
from sidecar.journal.turns import FolderStart, TurnStart
from sidecar.recovery.cut_off import settle
from sidecar.recovery.revert import RevertOutcome, revert
from sidecar.workspace.review.review import Selector
from tests.support.journals import entry
from tests.support.workspaces import QuietEditor, a_workspace

NEW = "new\n"


def made(store: Store, path: Path, *folders: Path, is_bytes: bool = False) -> None:
    """An agent made the file, and the folders for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(NEW)
    states = (None, FileState(NEW.encode(), path.stat().st_mode & 0o777)) if is_bytes else None
    texts = (None, None) if is_bytes else (None, NEW)
    where = {"root": str(path.parents[2]), "states": states, "made": tuple(map(str, folders))}
    store.finish(store.begin(entry(*texts, str(path), **where)), "done")


@pytest.mark.parametrize("is_bytes", [False, True])
@pytest.mark.parametrize("removed_before", [False, True])
def test_they_go_with_the_files(journal: Path, tmp_path: Path, is_bytes: bool, removed_before: bool) -> None:
    """Also where somebody has removed the files, or was ended before the folders were removed."""
    (tmp_path / "there").mkdir()
    outer, there = tmp_path / "outer", tmp_path / "there"
    with Store(journal) as store:
        for number in range(3):
            made(store, outer / "inner" / f"{number}", outer, outer / "inner", is_bytes=is_bytes)
        made(store, there / "inner" / "a", there / "inner", is_bytes=is_bytes)
        if removed_before:
            for path in [*(outer / "inner").iterdir(), there / "inner" / "a"]:
                path.unlink()
        assert not any(one.outcome.is_failure for one in revert(store, store.entries(), "r-1"))
    assert not outer.exists()
    assert not list(there.iterdir())


def test_who_is_ended_while_it_is_noted_has_removed_them(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is noted as taken back, nobody comes back to them."""

    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    with Store(journal) as store:
        made(store, tmp_path / "outer" / "inner" / "a", tmp_path / "outer", tmp_path / "outer" / "inner")
        (tmp_path / "outer" / "inner" / "a").unlink()
        monkeypatch.setattr(store, "finish_all", ended)
        with pytest.raises(KeyboardInterrupt):
            list(revert(store, store.entries(), "r-1"))
    assert not (tmp_path / "outer").exists()


def test_but_not_with_what_somebody_put_there(journal: Path, tmp_path: Path) -> None:
    mine = tmp_path / "outer" / "mine"
    with Store(journal) as store:
        made(store, tmp_path / "outer" / "inner" / "a", tmp_path / "outer", tmp_path / "outer" / "inner")
        mine.write_text("mine\n")
        list(revert(store, store.entries(), "r-1"))
    assert list(tmp_path.joinpath("outer").iterdir()) == [mine]


def test_made_for_one_turn_and_used_by_the_next(journal: Path, tmp_path: Path) -> None:
    """In which the sidecar was ended, and which is taken back last."""
    folder = tmp_path / "made"
    with Store(journal) as store:
        made(store, folder / "inner" / "a", folder, folder / "inner")
        start = FolderStart(str(tmp_path), "", {}, unknown=["made/inner/a"], folders=["made", "made/inner"])
        store.turn_began(TurnStart("t", "agent", 1, str(tmp_path), time.time(), [start]))
        store.turn_acted("t")
        (folder / "b").write_text(NEW)
    with Store(journal) as store:
        settle(store)
        for session in ("s", "t"):
            writes = store.entries(Selection(session=session))
            assert [one.outcome for one in revert(store, writes, "r-1")] == [RevertOutcome.REMOVED]
    assert not folder.exists()


def test_a_revert_that_made_them_again_is_reverted(journal: Path, tmp_path: Path) -> None:
    path = tmp_path / "outer" / "inner" / "a"
    with Store(journal) as store:
        removed = store.begin(entry(NEW, None, str(path), root=str(tmp_path)))
        store.finish(removed, "done")
        (result,) = revert(store, store.entries(), "r-1")
        assert result.outcome is RevertOutcome.MADE_AGAIN
        assert path.read_text() == NEW
        list(revert(store, [one for one in store.entries() if one.session == "r-1"], "r-2"))
    assert not (tmp_path / "outer").exists()


def test_of_a_turn_that_was_cut_off(journal: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with Store(journal) as store:
        start = FolderStart(str(tmp_path), "", {}, folders=["empty"])
        store.turn_began(TurnStart("s", "agent", 1, str(tmp_path), 0.0, [start]))
        store.turn_acted("s")
    for path in (tmp_path / "empty" / "a", tmp_path / "outer" / "inner" / "a"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NEW)
    with Store(journal) as store:
        settle(store)
        list(revert(store, store.entries(), "r-1"))
    assert [one for one in tmp_path.rglob("*") if journal not in one.parents] == [tmp_path / "empty"]


async def test_by_another_sidecar(journal: Path, tmp_path: Path) -> None:
    """What the folders were made for is under review again after a restart."""
    folder = tmp_path.resolve()
    async with (
        SqliteJournal.opened(journal) as kept,
        a_workspace(folder, QuietEditor(), journal=kept) as bench,
    ):
        await bench.write("outer/inner/a", NEW)
        await bench.workspace.reviews_stored()
    async with (
        SqliteJournal.opened(journal) as kept,
        a_workspace(folder, QuietEditor(), journal=kept) as bench,
    ):
        await bench.workspace.restore_reviews()
        await bench.workspace.review.reject(Selector(everything=True))
    assert not (folder / "outer").exists()
