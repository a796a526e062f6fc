"""What `acp-sidecar revert` takes back of a file goes out of its review, and nothing else does: as if it had been rejected there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sidecar.core.file_state import FileState
from sidecar.core.kept_hunks import to_json, with_edit
from sidecar.core.ledger import Author
from sidecar.core.uri import from_path
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import EntryState
from sidecar.journal.selecting import Selection
from sidecar.recovery.revert import revert
from sidecar.workspace.review.applying import Change, Step
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.journals import entry
from tests.support.workspaces import Bench, QuietEditor, a_workspace

BASE = "base19\nbase20\nbase21\nbase22\nbase23\nbase24\nbase25\n"
FIRST = "base19\nbase20\nagent48\nbase22\nbase23\nbase24\nbase25\n"
SECOND = "base19\nbase20\nagent63\nagent62\nbase23\nagent69\nbase25\n"
PATIENCE = 10.0
"""Seconds."""


def mine(text: str) -> str:
    """With a line that the user changed since, so that the text is none that was there before."""
    return text.replace("base25", "mine")


async def written(bench: Bench, second: str) -> None:
    """The first session changes a line, the second one that line and the next."""
    await bench.read("a.txt")
    await bench.write("a.txt", FIRST)
    other = await bench.another_session()
    await bench.read("a.txt", session=other)
    await bench.write("a.txt", second, session=other)
    await bench.workspace.reviews_stored()


def revert_second(journal: Path, path: Path, first: str) -> None:
    with Store(journal) as store:
        paths = str(path), str(path.with_name("b.txt"))
        writes = [one for one in store.entries(Selection(paths=paths)) if one.session != first]
        assert not any(one.outcome.is_failure for one in revert(store, writes, "r-1"))


@asynccontextmanager
async def on_the_journal(folder: Path, journal: Path) -> AsyncGenerator[Bench]:
    """A workspace whose editor has nothing open, on this journal."""
    async with (
        SqliteJournal.opened(journal) as kept,
        a_workspace(folder, QuietEditor(), journal=kept) as bench,
    ):
        yield bench


@pytest.mark.parametrize("restarted", [False, True])
async def test_the_rest_stays_under_review(tmp_path: Path, journal: Path, restarted: bool) -> None:
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await written(bench, SECOND)
        path.write_text(mine(SECOND))
        if not restarted:
            revert_second(journal, path, bench.session)
            assert path.read_text() == mine(FIRST)
            await bench.workspace.review.listed(Selector())
            assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
    if restarted:
        revert_second(journal, path, bench.session)
        async with on_the_journal(folder, journal) as bench:
            await bench.workspace.restore_reviews()
            await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == mine(BASE)


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_comes_back_though_nothing_was_under_review(
    tmp_path: Path, journal: Path, restarted: bool
) -> None:
    """The second one had changed everything back, so that nothing was left to review."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await written(bench, BASE)
        first = bench.session
        if not restarted:
            revert_second(journal, path, first)
            assert path.read_text() == FIRST
            assert len(await bench.workspace.review.listed(Selector())) == 1
            await bench.workspace.review.reject(Selector(everything=True))
    if restarted:
        revert_second(journal, path, first)
        async with on_the_journal(folder, journal) as bench:
            await bench.workspace.restore_reviews()
            await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == BASE


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_the_other_had_put_right_is_under_review_again(
    tmp_path: Path, journal: Path, restarted: bool
) -> None:
    """The second one's work had taken a change of the first one's out of the review, which comes back when that is taken back."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await written(bench, BASE.replace("base24", "agent69"))
        first = bench.session
        if not restarted:
            revert_second(journal, path, first)
            assert path.read_text() == FIRST
            await bench.workspace.review.listed(Selector())
            await bench.workspace.review.reject(Selector(everything=True))
    if restarted:
        revert_second(journal, path, first)
        async with on_the_journal(folder, journal) as bench:
            await bench.workspace.restore_reviews()
            await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == BASE


async def test_the_sidecar_was_ended_right_after_it_brought_something_back(
    tmp_path: Path, journal: Path
) -> None:
    """Nothing was under review in the document, and nothing is stored of it yet."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(mine(FIRST))
    with Store(journal) as store:
        writes = [(BASE, FIRST, "first"), (FIRST, BASE, "second")]
        ids = [store.begin(entry(a, b, str(path), root=str(folder), session=who)) for a, b, who in writes]
        store.finish_all(ids, "done")
        back = entry(mine(BASE), mine(FIRST), str(path), root=str(folder), agent="revert", via="editor")
        store.finish(store.begin(back, [ids[1]]), "done")
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")
        await asyncio.sleep(0.3)
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == mine(BASE)


@pytest.mark.parametrize("state", ["done", "unknown"])
@pytest.mark.parametrize("is_unsaved", [False, True])
async def test_the_sidecar_was_ended_right_after_an_agents_write(
    tmp_path: Path, journal: Path, is_unsaved: bool, state: EntryState
) -> None:
    """Nothing is stored of its review yet, and the editor has kept it unsaved. (What is saved is found in the file when the turn is settled.) "unknown": the
    sidecar did not hear that the editor had made it."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE if is_unsaved else FIRST)
    with Store(journal) as store:
        write = entry(BASE, FIRST, str(path), root=str(folder), session="first", via="editor")
        store.finish(store.begin(write), state)
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        buffer = editor.opens("a.txt")
        editor.attach(bench.workspace.apply)
        buffer.text = FIRST
        editor.model.opened(buffer)
        await asyncio.sleep(0.3)
        rows = await bench.workspace.review.listed(Selector())
        assert [row["newText"] for row in rows] == (["agent48"] if is_unsaved else [])
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == (BASE if is_unsaved else FIRST)


@pytest.mark.parametrize("seen_first", [False, True])
async def test_an_editor_has_kept_what_the_turn_wrote_first(
    tmp_path: Path, journal: Path, seen_first: bool
) -> None:
    """Unsaved, while the file says what the same turn wrote next."""
    folder = tmp_path.resolve()
    path, second = folder / "a.txt", FIRST.replace("agent48", "agent49")
    path.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        for text in (FIRST, second):
            await bench.read("a.txt")
            await bench.write("a.txt", text)
        await bench.workspace.reviews_stored()
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        if seen_first:
            await bench.workspace.restore_reviews()
        buffer = editor.opens("a.txt")
        editor.attach(bench.workspace.apply)
        buffer.text = FIRST
        editor.model.opened(buffer)
        await asyncio.sleep(0.3)
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE


async def test_an_editor_has_kept_what_was_taken_back_in_the_file(tmp_path: Path, journal: Path) -> None:
    """Unsaved: it had taken back the other's work, and the command line then took back this one's, while no sidecar ran."""
    folder = tmp_path.resolve()
    path, second = folder / "a.txt", FIRST.replace("base24", "agent69")
    path.write_text(BASE)
    editor = FakeEditor(VSCODE, folder, custom=False)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        await written(bench, second)
        editor.opens("a.txt")
        await asyncio.sleep(0.3)
        (_, first) = await kept.entries()
        change = Change(str(path), (Step(FIRST, BASE),), "revert", takes_back=(first.id,))
        assert (await bench.workspace.applier.apply(change)).result == "applied"
        unsaved = editor.text("a.txt")
        assert (unsaved, path.read_text()) == (BASE.replace("base24", "agent69"), second)
        await bench.workspace.reviews_stored()
    revert_second(journal, path, bench.session)
    assert path.read_text() == FIRST
    editor = FakeEditor(VSCODE, folder, custom=False)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        buffer = editor.opens("a.txt")
        editor.attach(bench.workspace.apply)
        buffer.text = unsaved
        editor.model.opened(buffer)
        await asyncio.sleep(0.3)
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE


@pytest.mark.parametrize(
    "second", [SECOND, BASE.replace("base24", "agent69")], ids=["on top", "which puts the first right"]
)
async def test_in_a_file_that_is_open(tmp_path: Path, journal: Path, second: str) -> None:
    """The first one's change is there again, and under review, beside what the user typed."""
    folder = tmp_path.resolve()
    (folder / "a.txt").write_text(BASE)
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")
        await written(bench, second)
        editor.replaces("a.txt", "base25", "mine")
        (newest, _) = await kept.entries()
        change = Change(str(folder / "a.txt"), (Step(second, FIRST),), "revert", takes_back=(newest.id,))
        assert (await bench.workspace.applier.apply(change)).result == "applied"
        assert editor.text("a.txt") == mine(FIRST)
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == mine(BASE)


async def test_what_is_out_of_an_open_file_already_counts_as_taken_back(
    tmp_path: Path, journal: Path
) -> None:
    """So that nothing that is taken back later brings it back."""
    folder = tmp_path.resolve()
    (folder / "a.txt").write_text(BASE)
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")
        await written(bench, BASE)
        editor.replaces("a.txt", "base25", "mine")
        (_, first) = await kept.entries()
        change = Change(str(folder / "a.txt"), (Step(FIRST, BASE),), "revert", takes_back=(first.id,))
        assert (await bench.workspace.applier.apply(change)).result == "applied"
        assert [one.state for one in await kept.entries()] == ["done", "undone"]
        assert editor.text("a.txt") == mine(BASE)


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_file_that_was_moved_and_moved_back(tmp_path: Path, journal: Path, restarted: bool) -> None:
    """What is under review in it goes with it both times; the move back is one that no sidecar made."""
    folder = tmp_path.resolve()
    old, new = folder / "a.txt", folder / "b.txt"
    old.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        old.rename(new)
        bench.workspace.state.renamed(bench.uri("a.txt"), bench.uri("b.txt"))
        await bench.workspace.reviews_stored()
        if not restarted:
            new.rename(old)
            (row,) = await bench.workspace.review.listed(Selector())
            assert row["uri"] == bench.uri("a.txt")
            await bench.workspace.review.reject(Selector(everything=True))
    if restarted:
        new.rename(old)
        async with on_the_journal(folder, journal) as bench:
            await bench.workspace.restore_reviews()
            await bench.workspace.review.reject(Selector(everything=True))
    assert old.read_text() == BASE


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_goes_with_a_file_is_in_the_journal_all_the_time(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    """The sidecar may be ended between any two of its steps."""
    folder = tmp_path.resolve()
    old, new = folder / "a.txt", folder / "b.txt"
    old.write_text(BASE)
    left: list[list[str]] = []
    forgets = Store.forget_ledger

    def forget(store: Store, *uris: str) -> None:
        forgets(store, *uris)
        left.append(store.ledger_uris())

    monkeypatch.setattr(Store, "forget_ledger", forget)
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        await bench.workspace.reviews_stored()
        old.rename(new)
        bench.workspace.state.renamed(bench.uri("a.txt"), bench.uri("b.txt"))
        await bench.workspace.reviews_stored()
        assert left == [[bench.uri("b.txt")]]
    if restarted:
        new.rename(old)
        async with on_the_journal(folder, journal) as bench:
            await bench.workspace.restore_reviews()
            await bench.workspace.reviews_stored()
            assert left[1:] == [[bench.uri("a.txt")]]


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


async def test_what_comes_back_is_rejected_though_nobody_has_listed_it(tmp_path: Path, journal: Path) -> None:
    """The second agent had put right what the first one did, while the sidecar ran: nothing was left to review."""
    path = tmp_path.resolve() / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(path.parent, journal) as bench:
        await written(bench, BASE)
        assert not await bench.workspace.review.listed(Selector())
        revert_second(journal, path, bench.session)
        assert path.read_text() == FIRST
        await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == BASE


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


class Held(SqliteJournal):
    """Nobody gets a ledger before `let_go`."""

    def __init__(self, folder: Path | None = None, **more: float) -> None:
        super().__init__(folder, **more)
        self.asked = asyncio.Event()
        self.let_go = asyncio.Event()

    async def load_ledger(self, uri: str) -> tuple[str, bytes] | None:
        self.asked.set()
        await self.let_go.wait()
        return await super().load_ledger(uri)


async def test_a_document_that_is_closed_before_its_review_is_back(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor tells another sidecar of it, and the user closes it in the same moment."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        await bench.workspace.reviews_stored()
    editor = FakeEditor(VSCODE, folder)
    async with Held.opened(journal) as held, a_workspace(folder, editor, journal=held) as bench:
        assert isinstance(held, Held)
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")
        await asyncio.wait_for(held.asked.wait(), PATIENCE)
        await bench.workspace.restore_reviews()
        editor.closes("a.txt")
        back = asyncio.Event()
        monkeypatch.setattr(editor, "changes_moved", lambda uris: back.set())
        held.let_go.set()
        await asyncio.wait_for(back.wait(), PATIENCE)
        await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == BASE


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
