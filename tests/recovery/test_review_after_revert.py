"""What `acp-sidecar revert` takes back of a file goes out of its review, and nothing else does: as if it had been rejected there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sidecar.core.diff import diff
from sidecar.core.file_state import FileState
from sidecar.core.kept_files import KEPT, KeptFile, to_kept
from sidecar.core.kept_hunks import to_json
from sidecar.core.ledger import Author, Ledger
from sidecar.core.text import Text
from sidecar.core.uri import from_path
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.entry import EntryState, JournalFailed
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
        await bench.observed("a.txt")
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
        await bench.observed("a.txt")
        rows = await bench.workspace.review.listed(Selector())
        assert [row["newText"] for row in rows] == (["agent48"] if is_unsaved else [])
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == (BASE if is_unsaved else FIRST)


async def test_a_change_of_mode_says_nothing_of_the_text(tmp_path: Path, journal: Path) -> None:
    """It is noted with the text that the file had when the turn began. The user has worked next to the other's line since."""
    folder = tmp_path.resolve()
    path, second = folder / "a.txt", FIRST.replace("base24", "agent69")
    path.write_text(second.replace("base23", "mine"))
    modes = tuple(FileState(FIRST.encode(), mode) for mode in (0o644, 0o600))
    writes = [("a", BASE, FIRST, None), ("b", FIRST, second, None), ("b", FIRST, FIRST, modes)]
    ledger = Ledger()
    with Store(journal) as store:
        for who, before, after, states in writes:
            one = entry(before, after, str(path), root=str(folder), session=who, states=states)
            store.finish(write := store.begin(one), "done")
            if states is None:
                author = Author(who, 1, write)
                ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), author)
        store.save_ledger(from_path(str(path)), second, to_json(ledger.hunks))
        taken = [one for one in store.entries() if one.session == "a"]
        assert not any(one.outcome.is_failure for one in revert(store, taken, "r-1"))
    async with on_the_journal(folder, journal) as bench:
        await bench.workspace.restore_reviews()
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
    assert path.read_text() == BASE.replace("base23", "mine")


async def test_a_mode_that_another_agent_put_back_after_it_had_written_the_file(
    tmp_path: Path, journal: Path
) -> None:
    """The mode that the other found goes out of review with what set it, whatever the file said then (turns seed 1880000371)."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(FIRST)
    path.chmod(0o644)
    rows = [("a", BASE, 0o644, 0o600), ("b", FIRST, 0o600, 0o644)]
    with Store(journal) as store:
        for number, (who, text, before, after) in enumerate(rows, 1):
            states = FileState(text.encode(), before), FileState(text.encode(), after)
            one = entry(text, text, str(path), root=str(folder), session=who, states=states)
            store.finish(write := store.begin(one), "done")
            kept = KeptFile(str(path), *states, Author(who, 1, write))
            store.save_ledger(f"{KEPT}{number}:{from_path(str(path))}", *to_kept(kept))
        taken = [one for one in store.entries() if one.session == "a"]
        assert not any(one.outcome.is_failure for one in revert(store, taken, "r-1"))
    async with on_the_journal(folder, journal) as bench:
        await bench.workspace.restore_reviews()
        await bench.workspace.review.listed(Selector())
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
    assert path.stat().st_mode & 0o777 == 0o644


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


class SlowToForget(SqliteJournal):
    """Has a ledger until `let_go`, whoever wants it forgotten."""

    def __init__(self, folder: Path | None = None, **more: float) -> None:
        super().__init__(folder, **more)
        self.let_go = asyncio.Event()

    async def forget_ledger(self, *uris: str) -> None:
        await self.let_go.wait()
        await super().forget_ledger(*uris)


async def test_what_was_kept_just_now_is_not_taken_for_what_the_command_line_brought_back(
    tmp_path: Path, journal: Path
) -> None:
    """It is still stored for a moment, and what was restored and then kept leaves nothing behind in the sidecar."""
    folder = tmp_path.resolve()
    (folder / "a.txt").write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        await bench.workspace.reviews_stored()
    async with (
        SlowToForget.opened(journal) as slow,
        a_workspace(folder, QuietEditor(), journal=slow) as bench,
    ):
        assert isinstance(slow, SlowToForget)
        review = bench.workspace.review
        await bench.workspace.restore_reviews()
        await bench.workspace.reviews_stored()
        assert len(review.keep(Selector(everything=True)).done) == 1
        assert await review.listed(Selector()) == []
        slow.let_go.set()
        await bench.workspace.reviews_stored()
        assert await review.listed(Selector()) == []


BOTH = FIRST.replace("base24", "other")


@pytest.mark.parametrize(
    ("then", "listed"),
    [(BOTH, [("base24", "other")]), (FIRST.replace("agent48", "other"), [("agent48", "other")])],
    ids=["elsewhere", "on top"],
)
async def test_what_was_kept_here_stays_kept_when_another_sidecar_stores_it_with_its_own(
    tmp_path: Path, journal: Path, then: str, listed: list[tuple[str, str]]
) -> None:
    """Two editors on one folder had the same change under review. An agent of the other one writes the file after this one's user has kept it."""
    folder = tmp_path.resolve()
    (folder / "a.txt").write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        await bench.workspace.reviews_stored()
    async with on_the_journal(folder, journal) as one, on_the_journal(folder, journal) as two:
        for bench in (one, two):
            await bench.workspace.restore_reviews()
            await bench.workspace.reviews_stored()
        review = one.workspace.review
        assert len(review.keep(Selector(everything=True)).done) == 1
        await one.workspace.reviews_stored()
        await two.read("a.txt")
        await two.write("a.txt", then)
        await two.workspace.reviews_stored()
        assert [(row["oldText"], row["newText"]) for row in await review.listed(Selector())] == listed
        await review.reject(Selector(everything=True))
    assert (folder / "a.txt").read_text() == FIRST


@pytest.mark.parametrize("second_is", ["kept", "rejected"])
async def test_what_was_decided_stays_decided_if_the_journal_did_not_take_it(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch, second_is: str
) -> None:
    """It was locked, or its disk was full, when the user decided about two changes, and is as before since."""
    path = tmp_path.resolve() / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(path.parent, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", BOTH)
        await bench.workspace.reviews_stored()
    async with on_the_journal(path.parent, journal) as bench:
        review = bench.workspace.review
        await bench.workspace.restore_reviews()
        await bench.workspace.reviews_stored()

        def fails(*_: object) -> None:
            raise JournalFailed

        for name in ("save_ledger", "forget_ledger", "save_picked", "finish_all"):
            monkeypatch.setattr(Store, name, fails)
        first, second = [str(row["changeId"]) for row in await review.listed(Selector())]
        assert review.keep(Selector(change_ids=frozenset([first]))).done == [first]
        that = Selector(change_ids=frozenset([second]))
        decided = review.keep(that) if second_is == "kept" else await review.reject(that)
        assert decided.done == [second]
        await bench.workspace.reviews_stored()
        monkeypatch.undo()
        assert await review.listed(Selector()) == []
        assert not (await review.reject(Selector(everything=True))).done
    assert path.read_text() == (BOTH if second_is == "kept" else FIRST)


class Late(SqliteJournal):
    """The first to ask for a ledger gets it, as it was then, at `let_go`."""

    def __init__(self, folder: Path | None = None, **more: float) -> None:
        super().__init__(folder, **more)
        self.read = asyncio.Event()
        self.let_go = asyncio.Event()

    async def load_ledger(self, uri: str) -> tuple[str, bytes] | None:
        ledger, is_first = await super().load_ledger(uri), not self.read.is_set()
        self.read.set()
        if is_first:
            await self.let_go.wait()
        return ledger


async def test_what_is_decided_while_another_listing_reads_the_same_review(
    tmp_path: Path, journal: Path
) -> None:
    """That listing still has the review from before."""
    folder = tmp_path.resolve()
    (folder / "a.txt").write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        await bench.workspace.reviews_stored()
    async with (
        Late.opened(journal) as late,
        a_workspace(folder, QuietEditor(), journal=late) as bench,
    ):
        assert isinstance(late, Late)
        review = bench.workspace.review
        listing = asyncio.create_task(review.listed(Selector()))
        await asyncio.wait_for(late.read.wait(), PATIENCE)
        assert len(await review.listed(Selector())) == 1
        assert len(review.keep(Selector(everything=True)).done) == 1
        await bench.workspace.reviews_stored()
        late.let_go.set()
        assert await listing == []
        assert await review.listed(Selector()) == []


class Ended(BaseException):
    """A process was ended."""


async def test_the_command_line_was_ended_while_the_file_was_gone(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session had removed the file and made it anew, as it was: the new one was taken back, the removal not yet."""
    path = tmp_path.resolve() / "a.txt"
    here = {"path": str(path), "root": str(path.parent)}
    with Store(journal) as store:
        removal = entry(None, None, states=(FileState(BASE.encode(), 0o644), None), **here)
        for write in (removal, entry(None, BASE, **here)):
            store.finish(store.begin(write), "done")
    path.write_text(BASE)
    finish = Store.finish_all

    def is_ended_then(store: Store, *ended: object) -> None:
        finish(store, *ended)  # pyright: ignore[reportArgumentType]
        if not path.exists():
            raise Ended

    monkeypatch.setattr(Store, "finish_all", is_ended_then)
    with Store(journal) as store, pytest.raises(Ended):
        list(revert(store, store.entries(), "r-1"))
    monkeypatch.undo()
    assert not path.exists()
    async with on_the_journal(path.parent, journal) as bench:
        await bench.workspace.restore_reviews()
        (row,) = await bench.workspace.review.listed(Selector())
        assert row["file"] == {"kind": "deleted"}
        await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == BASE


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_text_that_was_changed_and_then_made_bytes(
    tmp_path: Path, journal: Path, restarted: bool
) -> None:
    """Both are rejected at once."""
    path = tmp_path.resolve() / "a.txt"
    path.write_text(BASE)
    path.chmod(0o644)
    spoiled = FileState(b"\0\1", 0o644)
    here = {"path": str(path), "root": str(path.parent)}

    def spoils(bench: Bench) -> None:
        with Store(journal) as store:
            states = (FileState(FIRST.encode(), 0o644), spoiled)
            write = store.begin(entry(FIRST, None, states=states, session=bench.session, **here))
            store.finish(write, "done")
        path.write_bytes(spoiled.data)
        author = Author(bench.session, 1, write)
        bench.workspace.review.files.enter(str(path), states[0], spoiled, author)

    async with on_the_journal(path.parent, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        await bench.workspace.reviews_stored()
        spoils(bench)
        await bench.workspace.review.files.stored()
        if not restarted:
            await bench.workspace.review.reject(Selector(everything=True))
    if restarted:
        async with on_the_journal(path.parent, journal) as bench:
            await bench.workspace.restore_reviews()
            await bench.workspace.review.reject(Selector(everything=True))
            assert not await bench.workspace.review.listed(Selector())
    assert path.read_text() == BASE
