"""Turns that were cut off: what no text says of what their agents changed (modes, links, bytes, empty files, removals) is found, journalled, under
review again, and taken back by every door.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from sidecar.core.file_state import FileState, link
from sidecar.core.kept_files import KEPT, KeptFile, to_kept
from sidecar.core.ledger import Author
from sidecar.core.uri import from_path
from sidecar.disk import folder_files
from sidecar.disk.states import text_of
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.turns import TurnStart
from sidecar.recovery.cut_off import look, settle
from sidecar.recovery.revert import revert
from sidecar.recovery.settle import settle as settle_all
from sidecar.workspace.behind.tree_notes import LeftToRead, take
from sidecar.workspace.behind.tree_starts import TreeStart
from sidecar.workspace.review.review import Selector
from tests.recovery.test_whole_files import CASES, put, there
from tests.support.journals import entry
from tests.support.repositories import commit, with_git
from tests.support.workspaces import QuietEditor, a_workspace

TEXT = FileState(b"a\n", 0o644)
ALL: dict[str, tuple[FileState | None, FileState | None]] = {
    **CASES,
    "empty file made": (None, FileState(b"", 0o644)),
    "text removed": (FileState(b"a\n", 0o755), None),
    "text and mode": (TEXT, FileState(b"b\n", 0o600)),
    "text for bytes": (FileState(b"\0", 0o644), TEXT),
    "nothing": (TEXT, TEXT),
    "nothing, no text": (FileState(b"\0", 0o644), FileState(b"\0", 0o644)),
}


def begun(folder: Path, made: Sequence[str] = ()) -> TurnStart:
    """As a sidecar journals it. `made`: folders that agents made before."""
    top = str(folder)
    tree, _ = folder_files.own(top)
    assert tree is not None
    start = TreeStart(take(tree, LeftToRead(), None, 0)).for_journal(made)
    return TurnStart("s", "agent", 1, top, time.time(), [start])


async def taken_back(journal: Path, folder: Path, door: str) -> list[str]:
    """What another sidecar, or the command line, tells first."""
    if door == "revert":
        with Store(journal) as store:
            told = settle(store)
            assert not any(one.outcome.is_failure for one in revert(store, store.entries(), "r-1"))
        return told
    with Store(journal) as store:
        told = settle(store)
    async with (
        SqliteJournal.opened(journal) as kept,
        a_workspace(folder, QuietEditor(), journal=kept) as bench,
    ):
        await bench.workspace.restore_reviews()
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
    return told


@pytest.mark.parametrize("door", ["revert", "reject"])
@pytest.mark.parametrize(("before", "after"), ALL.values(), ids=ALL)
async def test_taken_back(
    journal: Path, tmp_path: Path, before: FileState | None, after: FileState | None, door: str
) -> None:
    folder = tmp_path.resolve()
    put(folder / "f", before)
    put(folder / "bytes", FileState(b"\0other", 0o600))
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
    put(folder / "f", after)
    told = " ".join(await taken_back(journal, folder, door))
    assert ("f was changed" in told) == (before != after)
    assert "f, f" not in told, "each is named once"
    assert "cannot be taken back" not in told
    assert there(folder / "f") == before
    assert there(folder / "bytes") == FileState(b"\0other", 0o600)


@with_git
@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_in_a_repository(journal: Path, tmp_path: Path, door: str) -> None:
    folder = tmp_path.resolve()
    commit(folder, {"image": b"\0\1", "run.sh": b"echo\n", "gone": b"\0"})
    put(folder / "link", link("run.sh"))
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
    put(folder / "image", FileState(b"\0\2"))
    put(folder / "run.sh", FileState(b"echo\n", 0o755))
    put(folder / "gone", None)
    put(folder / "link", link("nowhere"))
    await taken_back(journal, folder, door)
    assert there(folder / "image") == FileState(b"\0\1", 0o644)
    assert there(folder / "run.sh") == FileState(b"echo\n", 0o644)
    assert there(folder / "gone") == FileState(b"\0", 0o644)
    assert there(folder / "link") == link("run.sh")


@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_what_was_journalled_and_not_under_review_yet(journal: Path, tmp_path: Path, door: str) -> None:
    """The sidecar was ended between the two."""
    folder = tmp_path.resolve()
    empty = FileState(b"", 0o644)
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
        put(folder / "f", empty)
        made = entry(None, "", str(folder / "f"), root=str(folder), states=(None, empty))
        store.finish(store.begin(made), "done")
    await taken_back(journal, folder, door)
    assert there(folder / "f") is None


@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_a_write_that_never_reached_the_file_is_nobodys_change(
    journal: Path, tmp_path: Path, door: str
) -> None:
    """It was journalled, and the sidecar was ended before the editor made it: what the agent's command does then begins with the text before."""
    folder = tmp_path.resolve()
    path = folder / "f"
    put(path, TEXT)
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
        store.begin(entry("a\n", "never\n", str(path), root=str(folder), via="editor"))
    await taken_back(journal, folder, door)
    assert there(path) == TEXT


async def test_a_file_that_was_removed_and_made_anew_is_one_change(journal: Path, tmp_path: Path) -> None:
    """On top of what was under review in it before."""
    folder = tmp_path.resolve()
    path = folder / "f"
    put(path, TEXT)
    async with (
        SqliteJournal.opened(journal) as kept,
        a_workspace(folder, QuietEditor(), journal=kept) as bench,
    ):
        await bench.read("f")
        await bench.write("f", "first\n")
        await bench.workspace.reviews_stored()
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
        first = FileState(b"first\n", 0o644)
        gone = entry("first\n", None, str(path), root=str(folder), states=(first, None))
        store.finish(store.begin(gone), "done")
        put(path, FileState(b"second\n", 0o644))
    await taken_back(journal, folder, "reject")
    assert there(path) == TEXT


FIRST, SECOND = "first\n1\n2\nlast\n", "FIRST\n1\n2\nLAST\n"
"""What an agent made of `0\\n1\\n2\\n3\\n`, and the next turn of that."""


@pytest.mark.parametrize("saved", [b"1", b"mine"])
@pytest.mark.parametrize("journalled", [True, False])
async def test_the_editor_told_of_its_text_before_the_change_was_noted(
    journal: Path, tmp_path: Path, journalled: bool, saved: bytes
) -> None:
    """It had taken the change from the disk, which counts as the user's until somebody has looked there; the sidecar was ended in between. The user may
    have saved something since the turn before."""
    folder = tmp_path.resolve()
    path, base = folder / "f", FileState(b"0\n1\n2\n3\n")
    first, second = (text.replace("1", saved.decode()) for text in (FIRST, SECOND))
    put(path, base)
    with Store(journal) as store:
        earlier = entry("0\n1\n2\n3\n", FIRST, str(path), root=str(folder))
        store.finish(store.begin(earlier), "done")
        put(path, FileState(first.encode()))
        store.turn_began(begun(folder))
        store.turn_acted("s")
        put(path, FileState(second.encode()))
        if journalled:
            store.finish(store.begin(entry(first, second, str(path), root=str(folder), turn=2)), "done")
        store.save_ledger(from_path(str(path)), second, b"[]")
    await taken_back(journal, folder, "reject")
    assert there(path) == FileState(base.data.replace(b"1", saved))


async def test_a_file_that_was_removed_in_one_turn_and_made_anew_in_the_next(
    journal: Path, tmp_path: Path
) -> None:
    """And a command that had begun to settle that was ended, too."""
    folder = tmp_path.resolve()
    path = folder / "f"
    removed = entry("a\n", None, str(path), root=str(folder), states=(TEXT, None))
    with Store(journal) as store:
        store.finish(store.begin(removed), "done")
        store.turn_began(begun(folder))
        store.turn_acted("s")
    put(path, FileState(b"b\n"))
    with Store(journal) as store:
        (cut,) = store.cut_off()
        store.begin(look(cut).found[0].entry)
    with Store(journal) as store:
        settle_all(store)
        assert len(store.entries()) == 2
    await taken_back(journal, folder, "reject")
    assert there(path) == TEXT


async def test_bytes_that_a_turn_changed_twice_are_one_change(journal: Path, tmp_path: Path) -> None:
    """It was under review when the sidecar was ended."""
    folder = tmp_path.resolve()
    path, states = folder / "f", [FileState(b"\0" + bytes([n])) for n in range(3)]
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
        for before, after in pairwise(states):
            made = entry(None, None, str(path), root=str(folder), states=(before, after))
            write = store.begin(made)
            store.finish(write, "done")
        row = KeptFile(str(path), states[0], states[2], Author("s", 1, write))
        store.save_ledger(f"{KEPT}1:{from_path(str(path))}", *to_kept(row))
    put(path, states[2])
    await taken_back(journal, folder, "reject")
    assert there(path) == states[0]


@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_a_file_that_was_moved_is_one_change(journal: Path, tmp_path: Path, door: str) -> None:
    """It was under review when the sidecar was ended. That it is gone from its old name belongs to that."""
    folder = tmp_path.resolve()
    old, new = folder / "f", folder / "g"
    put(old, TEXT)
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
        made = store.begin(entry(None, "a\n", str(new), root=str(folder), states=(None, TEXT)))
        gone = store.begin(entry("a\n", None, str(old), root=str(folder), states=(TEXT, None)))
        store.finish_all([made, gone], "done")
        row = KeptFile(str(new), None, TEXT, Author("s", 1, made), str(old), gone)
        store.save_ledger(f"{KEPT}1:{from_path(str(new))}", *to_kept(row))
    old.rename(new)
    await taken_back(journal, folder, door)
    assert (there(old), there(new)) == (TEXT, None)


@pytest.mark.parametrize("saved", [0, 1, 2])
def test_writes_that_the_editor_has_not_saved_are_no_change_of_the_file(
    journal: Path, tmp_path: Path, saved: int
) -> None:
    """However many of them are on the disk."""
    folder = tmp_path.resolve()
    texts = ["0\n", "1\n", "2\n"]
    put(folder / "f", FileState(texts[0].encode()))
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
        for before, after in pairwise(texts):
            write = entry(before, after, str(folder / "f"), root=str(folder), via="editor")
            store.finish(store.begin(write), "done")
    put(folder / "f", FileState(texts[saved].encode()))
    with Store(journal) as store:
        assert settle(store) == []
        assert len(store.entries()) == 2


@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_a_folder_that_was_removed(journal: Path, tmp_path: Path, door: str) -> None:
    folder = tmp_path.resolve()
    (folder / "d" / "e").mkdir(parents=True)
    put(folder / "d" / "e" / "f", TEXT)
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
    shutil.rmtree(folder / "d")
    await taken_back(journal, folder, door)
    assert there(folder / "d" / "e" / "f") == TEXT


@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_a_folder_that_an_agent_had_made_goes_with_its_last_file(
    journal: Path, tmp_path: Path, door: str
) -> None:
    """What it had been made for was rejected while the turn ran. The folder beside it is the user's."""
    folder = tmp_path.resolve()
    (folder / "made").mkdir()
    (folder / "mine").mkdir()
    with Store(journal) as store:
        store.turn_began(begun(folder, [str(folder / "made")]))
        store.turn_acted("s")
    put(folder / "made" / "f", TEXT)
    put(folder / "mine" / "f", TEXT)
    await taken_back(journal, folder, door)
    assert (os.listdir(folder), os.listdir(folder / "mine")) == (["mine"], [])


@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_a_change_that_was_being_journalled_when_the_next_one_came(
    journal: Path, tmp_path: Path, door: str
) -> None:
    """Whatever became of the entry: what the file says was made on top of it."""
    folder = tmp_path.resolve()
    put(folder / "f", FileState(b"0\n1\n2\n"))
    with Store(journal) as store:
        store.turn_began(begun(folder))
        store.turn_acted("s")
        store.begin(entry("0\n1\n2\n", "A\n1\n2\n", str(folder / "f"), root=str(folder)))
    put(folder / "f", FileState(b"A\n1\nB\n"))
    with Store(journal) as store:
        settle_all(store)
    await taken_back(journal, folder, door)
    assert there(folder / "f") == FileState(b"0\n1\n2\n")


@pytest.mark.parametrize("anew", [FileState(b"0\nA\n", 0o644), FileState(b"\0A", 0o644), link("there")])
@pytest.mark.parametrize("was", [FileState(b"0\n1\n", 0o755), FileState(b"\0\1", 0o644)])
@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_a_file_that_was_made_anew_while_its_removal_was_being_journalled(
    journal: Path, tmp_path: Path, door: str, done: bool, was: FileState, anew: FileState
) -> None:
    """It is as it was, however much of that the journal has."""
    path = tmp_path.resolve() / "f"
    put(path, was)
    with Store(journal) as store:
        store.turn_began(begun(path.parent))
        store.turn_acted("s")
        text = text_of(was)
        write = store.begin(entry(text, None, str(path), root=str(path.parent), states=(was, None)))
        if done:
            store.finish(write, "done")
    put(path, anew)
    with Store(journal) as store:
        settle_all(store)
    await taken_back(journal, path.parent, door)
    assert there(path) == was


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("door", ["revert", "reject"])
async def test_what_was_changed_again_while_that_was_being_journalled(
    journal: Path, tmp_path: Path, door: str, done: bool
) -> None:
    """No text."""
    path, states = tmp_path.resolve() / "f", [FileState(b"\0" + bytes([n])) for n in range(3)]
    put(path, states[0])
    with Store(journal) as store:
        store.turn_began(begun(path.parent))
        store.turn_acted("s")
        write = store.begin(
            entry(None, None, str(path), root=str(path.parent), states=(states[0], states[1]))
        )
        if done:
            store.finish(write, "done")
    put(path, states[2])
    with Store(journal) as store:
        settle_all(store)
    await taken_back(journal, path.parent, door)
    assert there(path) == states[0]


@pytest.mark.parametrize(
    ("mine", "agents"),
    [
        (link("mine"), link("agents")),
        (FileState(b"\0\1", 0o644), FileState(b"\0\2", 0o644)),
        (TEXT, FileState(b"b\n", 0o644)),
        (TEXT, None),
        (FileState(b"\0\1", 0o644), None),
    ],
    ids=["link", "bytes", "text", "gone", "bytes gone"],
)
async def test_what_was_taken_back_in_the_turn_and_then_made_again(
    journal: Path, tmp_path: Path, mine: FileState, agents: FileState | None
) -> None:
    """The file is as it was when the turn began, or there is none as then, and the change is the agent's all the same."""
    path = tmp_path.resolve() / "f"
    put(path, agents)
    with Store(journal) as store:
        store.turn_began(begun(path.parent))
        store.turn_acted("s")
        back = entry(
            text_of(agents),
            text_of(mine),
            str(path),
            root=str(path.parent),
            states=(agents, mine),
            agent="reject",
        )
        store.finish(store.begin(back), "done")
        put(path, mine)
    put(path, agents)
    await taken_back(journal, path.parent, "reject")
    assert there(path) == mine
