"""A file that is gone, was moved or was made anew, and of which `acp-sidecar revert` takes something back: what is under review then."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.core.file_state import FileState
from sidecar.core.kept_hunks import to_json, with_edit
from sidecar.core.ledger import Author
from sidecar.core.uri import from_path
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import EntryState
from sidecar.recovery.revert import revert
from sidecar.workspace.review.review import Selector
from tests.recovery.test_review_after_revert import (
    BASE,
    FIRST,
    mine,
    on_the_journal,
    revert_second,
)
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.journals import entry
from tests.support.workspaces import Bench, QuietEditor, a_workspace


async def test_a_file_that_is_gone_comes_back_after_a_restart(tmp_path: Path, journal: Path) -> None:
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        await bench.workspace.reviews_stored()
    path.unlink()
    async with on_the_journal(folder, journal) as bench:
        await bench.workspace.restore_reviews()
        assert await bench.workspace.review.listed(Selector()) == []
        path.write_text(FIRST)
        assert (await bench.workspace.review.reject(Selector(everything=True))).done
    assert path.read_text() == BASE


async def test_a_file_that_an_agent_made_and_removed_is_not_listed_any_more(
    tmp_path: Path, journal: Path
) -> None:
    """In two turns: it is gone with its removal and without it, so the disk does not tell."""
    folder = tmp_path.resolve()
    path, there = str(folder / "new"), FileState(b"\0", 0o644)
    async with (
        SqliteJournal.opened(journal) as kept,
        a_workspace(folder, QuietEditor(), journal=kept) as bench,
    ):
        for turn, states in enumerate([(None, there), (there, None)], 1):
            write = await kept.begin(
                entry(None, None, path, root=str(folder), session=bench.session, turn=turn, states=states)
            )
            await kept.finish(write, "done")
            bench.workspace.review.files.enter(path, *states, Author(bench.session, turn, write))
        assert [row["turn"] for row in await bench.workspace.review.listed(Selector())] == [1, 2]
        with Store(journal) as store:
            assert not any(one.outcome.is_failure for one in revert(store, store.entries(), "r-1"))
        assert await bench.workspace.review.listed(Selector()) == []


async def test_of_a_file_that_is_gone_nothing_is_left_to_reject(tmp_path: Path, journal: Path) -> None:
    """Also where nobody has listed the changes since."""
    folder = tmp_path.resolve()
    (folder / "a.txt").write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        (folder / "a.txt").unlink()
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible


async def test_a_new_file_that_nobody_has_open_is_removed_in_one_step(tmp_path: Path, journal: Path) -> None:
    """An editor would save it empty first, and whatever ends the sidecar then would leave that."""
    folder = tmp_path.resolve()
    editor = FakeEditor(VSCODE, folder)
    async with on_the_journal(folder, journal) as bench:
        await bench.write("new.txt", FIRST)
        await bench.workspace.reviews_stored()
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        editor.attach(bench.workspace.apply)
        await bench.workspace.restore_reviews()
        await bench.workspace.review.reject(Selector(everything=True))
        assert not editor.sent
    assert not (folder / "new.txt").exists()


@pytest.mark.parametrize("is_mine", [False, True])
def test_a_rejection_that_was_ended_before_the_file_was_removed(
    tmp_path: Path, journal: Path, is_mine: bool
) -> None:
    """`acp-sidecar revert` goes on with it."""
    path = tmp_path.resolve() / "new.txt"
    with Store(journal) as store:
        made = store.begin(entry(None, FIRST, str(path), root=str(path.parent)))
        store.finish(made, "done")
        emptied = entry(FIRST, "", str(path), root=str(path.parent), session="", agent="reject")
        store.finish(store.begin(emptied), "done")
        path.write_text("mine\n" if is_mine else "")
        (result,) = revert(store, [one for one in store.entries() if one.id == made], "r-1")
        assert result.outcome.is_failure is is_mine
    assert path.exists() is is_mine


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_file_that_one_agent_removed_and_another_made_anew(
    tmp_path: Path, journal: Path, restarted: bool, moved: bool
) -> None:
    """And perhaps moved away. When the command line takes back that it was made, that it was removed is under review again."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    states = (FileState(BASE.encode(), 0o644), None)
    with Store(journal) as store:
        gone = entry(BASE, None, str(path), root=str(folder), session="other", states=states)
        store.finish(store.begin(gone), "done")
    async with on_the_journal(folder, journal) as bench:
        await bench.write("a.txt", FIRST)
        if moved:
            await moves(bench, journal, path, folder / "b.txt")
        await bench.workspace.reviews_stored()
        await bench.workspace.review.files.stored()
        if not restarted:
            revert_second(journal, path, "other")
            await taken_back(bench)
    if restarted:
        revert_second(journal, path, "other")
        async with on_the_journal(folder, journal) as bench:
            await bench.workspace.restore_reviews()
            await taken_back(bench)
    assert path.read_text() == BASE


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_file_that_was_made_anew_as_it_was_before_agents_changed_it(
    tmp_path: Path, journal: Path, restarted: bool, made: bool
) -> None:
    """The same holds where nothing of whom it is taken back from is under review, only what nobody is known to have done; but not of a file that an agent
    had `made` first, where that is taken back, too."""
    path = tmp_path.resolve() / "a.txt"
    unknown = Author("", 0, "w0", unknown=True)
    with Store(journal) as store:
        states = (FileState(FIRST.encode(), 0o644), None)
        if made:
            first = entry(None, FIRST, str(path), root=str(path.parent), session="other")
            store.finish(store.begin(first), "undone")
        gone = entry(FIRST, None, str(path), root=str(path.parent), session="other", states=states)
        anew = entry(None, mine(BASE), str(path), root=str(path.parent), session="second")
        store.finish_all([store.begin(gone), store.begin(anew)], "done")
        hunks = to_json(with_edit(None, BASE, mine(BASE), unknown))
        store.save_ledger(from_path(str(path)), mine(BASE), hunks)
    path.write_text(mine(BASE))
    async with on_the_journal(path.parent, journal) as bench:
        if not restarted:
            await bench.workspace.restore_reviews()
        revert_second(journal, path, "other")
        if restarted:
            await bench.workspace.restore_reviews()
        if made:
            assert not await bench.workspace.review.listed(Selector())
            return
        await taken_back(bench)
    assert path.read_text() == FIRST


@pytest.mark.parametrize(("restarted", "was_reviewed"), [(False, False), (False, True), (True, False)])
async def test_a_file_that_was_made_anew_so_that_nothing_was_left_to_review(
    tmp_path: Path, journal: Path, restarted: bool, was_reviewed: bool
) -> None:
    """Or the user had brought it back as it was, while an agent's command ran. That it was removed is under review again all the same."""
    path = tmp_path.resolve() / "a.txt"
    with Store(journal) as store:
        states = (FileState(FIRST.encode(), 0o644), None)
        more = {"root": str(path.parent), "session": "other"}
        edit = store.begin(entry(BASE, FIRST, str(path), **more))
        gone = store.begin(entry(FIRST, None, str(path), states=states, **more))
        anew = store.begin(entry(None, BASE, str(path), root=str(path.parent), session="second"))
        store.finish_all([edit, gone, anew], "done")
    path.write_text(BASE)
    async with on_the_journal(path.parent, journal) as bench:
        if not restarted:
            await bench.workspace.restore_reviews()
        if was_reviewed:
            bench.workspace.state.ledgers.restore(from_path(str(path)), BASE, ())
        revert_second(journal, path, "other")
        assert not path.exists()
        if restarted:
            await bench.workspace.restore_reviews()
        await taken_back(bench)
        await bench.workspace.reviews_stored()
    assert path.read_text() == BASE, "what had been changed in it before goes with it"
    with Store(journal) as store:
        assert not store.ledger_uris()


async def moves(bench: Bench, journal: Path, path: Path, new: Path) -> None:
    """The session's agent does that, as its next turn."""
    path.rename(new)
    after = FileState(FIRST.encode(), 0o644)
    more = {"root": str(path.parent), "session": bench.session, "turn": 2}
    with Store(journal) as store:
        removed = store.begin(entry(FIRST, None, str(path), states=(after, None), **more))
        made = store.begin(entry(None, FIRST, str(new), states=(None, after), **more))
        store.finish_all([removed, made], "done")
    bench.workspace.state.renamed(from_path(str(path)), from_path(str(new)))
    author = Author(bench.session, 2, made)
    bench.workspace.review.files.enter(str(new), None, after, author, str(path), removed)


async def taken_back(bench: Bench) -> None:
    (row,) = await bench.workspace.review.listed(Selector())
    assert row["file"] == {"kind": "deleted"}
    assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible


@pytest.mark.parametrize("became", ["rejected", "undone", "done"])
async def test_what_was_taken_back_in_a_file_that_is_gone_does_not_come_back_with_it(
    tmp_path: Path, journal: Path, became: EntryState
) -> None:
    """In a document that was still open, by a sidecar that was ended since; then its removal is rejected."""
    folder = tmp_path.resolve()
    path, states = folder / "a.txt", (FileState(mine(FIRST).encode(), 0o600), None)
    with Store(journal) as store:
        written = store.begin(entry(BASE, FIRST, str(path), root=str(folder), session="first"))
        removal = entry(mine(FIRST), None, str(path), root=str(folder), session="second", states=states)
        removed = store.begin(removal)
        store.finish_all([written, removed], "done")
        store.finish(written, became)
    async with on_the_journal(folder, journal) as bench:
        bench.workspace.review.files.enter(str(path), *states, Author("second", 1, removed))
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
    assert path.read_text() == mine(FIRST if became == "done" else BASE)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["other\n", ""])
async def test_a_file_that_is_gone_does_not_come_back_once_it_was_taken_back_that_it_was_made(
    tmp_path: Path, journal: Path, text: str
) -> None:
    """The first made it, the second removed it. By the time that the removal is rejected, there would be no file without it."""
    folder = tmp_path.resolve()
    path, made = folder / "made" / "a.txt", FileState(text.encode(), 0o644)
    with Store(journal) as store:
        as_a_whole = {} if text else {"states": (None, made)}
        first = entry(None, text or None, str(path), root=str(folder), session="first", **as_a_whole)
        removal = entry(text, None, str(path), root=str(folder), session="second", states=(made, None))
        written, removed = store.begin(first), store.begin(removal)
        store.finish_all([written, removed], "done")
        store.finish(written, "undone")
    async with on_the_journal(folder, journal) as bench:
        bench.workspace.review.files.enter(str(path), made, None, Author("second", 1, removed))
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert not await bench.workspace.review.listed(Selector())
    assert not path.parent.exists()


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_comes_back_with_a_file_that_another_had_removed(
    tmp_path: Path, journal: Path, restarted: bool
) -> None:
    """The user had worked in it, too, so that the command line cannot take the rest back."""
    path = tmp_path.resolve() / "a.txt"
    with Store(journal) as store:
        more = {"root": str(path.parent)}
        edit = store.begin(entry(BASE, FIRST, str(path), session="other", **more))
        states = (FileState(mine(FIRST).encode(), 0o644), None)
        gone = store.begin(entry(mine(FIRST), None, str(path), session="second", states=states, **more))
        store.finish_all([edit, gone], "done")
    async with on_the_journal(path.parent, journal) as bench:
        if not restarted:
            await bench.workspace.restore_reviews()
        revert_second(journal, path, "other")
        assert path.read_text() == mine(FIRST)
        if restarted:
            await bench.workspace.restore_reviews()
        await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == mine(BASE)
