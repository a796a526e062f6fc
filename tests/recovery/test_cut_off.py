"""Turns that their sidecar did not live to see the end of: what the agent changed until then is found by the next one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.cli import main
from sidecar.core.kept_hunks import from_json, to_json, with_edit
from sidecar.core.ledger import Author, Ledger
from sidecar.core.uri import from_path
from sidecar.disk import git_head
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.retention import RetentionLimits
from sidecar.journal.selecting import Selection
from sidecar.journal.turns import FolderStart, PreImage, SavedOver, TurnStart
from sidecar.recovery import cut_off
from sidecar.recovery.cut_off import at_start, settle
from sidecar.recovery.revert import revert
from sidecar.recovery.settle import settle as settle_all
from tests.support.journals import entry
from tests.support.repositories import commit, with_git

OLD, NEW = "one\ntwo\n", "one\nTWO\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def image(text: str) -> PreImage:
    return PreImage(text, "utf-8", b"")


def begun(folder: Path, texts: Mapping[str, str], **more: Any) -> TurnStart:
    start = FolderStart(str(folder), more.pop("head", ""), {n: image(t) for n, t in texts.items()}, **more)
    return TurnStart("s", "agent", 3, str(folder), time.time(), [start])


def die(journal: Path, start: TurnStart, *more: Callable[[Store], object], acted: bool = True) -> None:
    """A process journals the turn's start, and is gone."""
    with Store(journal) as store:
        store.turn_began(start)
        if acted:
            store.turn_acted("s")
        for step in more:
            step(store)


Row = tuple[dict[str, str], dict[str, str | None], list[tuple[str, str | None, str | None, str]], str]
# what the files were · what is done to them meanwhile (None: removed) · name, before, after, state · a part of what is told
ROWS: dict[str, Row] = {
    "nothing": ({"a.txt": OLD}, {}, [], ""),
    "changed": ({"a.txt": OLD, "b.txt": OLD}, {"a.txt": NEW}, [("a.txt", OLD, NEW, "done")], "a.txt was changed by agent"),
    "made": ({}, {"a.txt": NEW}, [("a.txt", None, NEW, "done")], "a.txt was"),
    "removed": ({"a.txt": OLD}, {"a.txt": None}, [("a.txt", OLD, None, "done")], "a.txt was"),
    "written again, the same": ({"a.txt": OLD}, {"a.txt": OLD}, [], ""),
    "only its line ends": ({"a.txt": OLD}, {"a.txt": OLD.replace("\n", "\r\n")}, [], ""),
    "in a folder of its own": ({"d/a.txt": OLD}, {"d/a.txt": NEW}, [("d/a.txt", OLD, NEW, "done")], "a.txt was"),
}  # fmt: skip


def put(folder: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_bytes(text.encode())


@pytest.mark.parametrize(("was", "done", "found", "words"), ROWS.values(), ids=ROWS)
def test_what_changed_is_the_agents(
    journal: Path, folder: Path, was: Any, done: Any, found: Any, words: str
) -> None:
    put(folder, was)
    die(journal, begun(folder, was))
    put(folder, done)
    with Store(journal) as store:
        told = settle(store)
        rows = [(e, store.texts(e.id)) for e in store.entries()]
        assert [
            (os.path.relpath(e.path, folder), t.before, t.after, e.state) for e, t in rows
        ] == found  # fmt: skip
        assert all((e.session, e.agent, e.turn, e.via) == ("s", "agent", 3, "disk") for e, _ in rows)
        assert words in " ".join(told)
        assert bool(told) == bool(words)
        for name, before, after, _ in found:
            kept = store.load_ledger(from_path(str(folder / name)))
            assert (kept is None) == (after is None)
            if kept is not None:
                (hunk,) = from_json(kept[1])
                assert kept[0][: hunk.start] + hunk.old + kept[0][hunk.end :] == (before or "")
        assert store.cut_off() == []
        assert settle(store) == []
        assert len(store.entries()) == len(found), "it is found once"


@pytest.mark.parametrize("acted", [True, False])
def test_a_folder_that_had_not_been_looked_at(journal: Path, folder: Path, acted: bool) -> None:
    """What changed is named, and nothing that did not; nobody knows what it said before."""
    put(folder, {"old.txt": OLD, "a.txt": OLD, "written.txt": OLD})
    os.utime(folder / "old.txt", (1, 1))
    start = TurnStart(
        "s", "agent", 3, str(folder), time.time(), [FolderStart(str(folder), "", {}, noted=False)]
    )
    wait_until_files_are_later(folder, start.began)

    def writes(store: Store) -> None:
        path = str(folder / "written.txt")
        store.finish(store.begin(entry(OLD, NEW, path, root=str(folder), turn=3)), "done")

    die(journal, start, writes, acted=acted)
    put(folder, {"a.txt": NEW, "written.txt": NEW, "made.txt": NEW})
    with Store(journal) as store:
        told = " ".join(settle(store))
        assert [store.texts(e.id).before for e in store.entries()] == [OLD], "the one that we wrote"
        assert settle(store) == []
    assert ("a.txt, made.txt were changed by agent" in told) == acted
    assert "old.txt" not in told
    assert "written.txt" not in told


def wait_until_files_are_later(folder: Path, than: float) -> None:
    path = folder / "clock"
    until = time.monotonic() + 10
    while True:
        path.write_text("x")
        later = path.stat().st_ctime > than
        path.unlink()
        if later:
            return
        assert time.monotonic() < until


@with_git
def test_the_last_commit_holds_the_rest(journal: Path, folder: Path) -> None:
    put(folder, {"a.txt": OLD, "gone.txt": OLD, "same.txt": OLD})
    commit(folder)
    head = getattr(git_head.commit(str(folder)), "id", "")
    (folder / "gone.txt").unlink()
    die(journal, begun(folder, {}, head=head, absent=["gone.txt"]))
    put(folder, {"a.txt": NEW, "gone.txt": NEW})
    with Store(journal) as store:
        settle(store)
        found = {os.path.basename(e.path): store.texts(e.id) for e in store.entries()}
    assert found == {"a.txt": (OLD, NEW), "gone.txt": (None, NEW)}


@with_git
def test_what_the_commit_holds_with_other_line_ends(journal: Path, folder: Path) -> None:
    """A checkout with `eol=crlf`."""
    crlf = OLD.replace("\n", "\r\n")
    commit(folder, {"gone.txt": OLD.encode(), "same.txt": OLD.encode()})
    put(folder, {"gone.txt": crlf, "same.txt": crlf})
    head = getattr(git_head.commit(str(folder)), "id", "")
    die(journal, begun(folder, {}, head=head, crlf=["gone.txt", "same.txt"]))
    put(folder, {"gone.txt": None})
    with Store(journal) as store:
        settle(store)
        found = {os.path.basename(e.path): store.texts(e.id) for e in store.entries()}
    assert found == {"gone.txt": (crlf, None)}


@with_git
def test_a_repository_within_has_a_start_of_its_own(journal: Path, folder: Path) -> None:
    commit(folder, {"a.txt": OLD.encode()})
    commit(folder / "in", {"b.txt": OLD.encode()})
    starts = [
        FolderStart(str(top), getattr(git_head.commit(str(top)), "id", ""), {})
        for top in (folder, folder / "in")
    ]
    die(journal, TurnStart("s", "agent", 3, str(folder), time.time(), starts))
    put(folder, {"in/b.txt": NEW, "in/new.txt": NEW})
    with Store(journal) as store:
        settle(store)
        found = {os.path.basename(e.path): store.texts(e.id) for e in store.entries()}
    assert found == {"b.txt": (OLD, NEW), "new.txt": (None, NEW)}


def test_what_changed_later_may_be_the_users(
    journal: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listed, so that its text before is not lost; but nothing under review, and no new file is anybody's."""
    monkeypatch.setattr(cut_off, "AFTER_SECONDS", -60.0)
    put(folder, {"a.txt": OLD})
    die(journal, begun(folder, {"a.txt": OLD}))
    put(folder, {"a.txt": NEW, "new.txt": NEW})
    with Store(journal) as store:
        (told,) = settle(store)
        (found,) = store.entries()
        assert (found.state, store.texts(found.id)) == ("unknown", (OLD, NEW))
        assert store.ledger_uris() == []
    assert "perhaps not by it" in told


def test_an_agent_that_did_nothing(journal: Path, folder: Path) -> None:
    put(folder, {"a.txt": OLD})
    die(journal, begun(folder, {"a.txt": OLD}), acted=False)
    put(folder, {"a.txt": NEW})
    with Store(journal) as store:
        settle(store)
        assert [e.state for e in store.entries()] == ["unknown"]


def test_what_nobody_knows_is_told(journal: Path, folder: Path) -> None:
    put(folder, {"big.txt": OLD})
    die(journal, begun(folder, {}, unknown=["big.txt"]))
    put(folder, {"big.txt": NEW})
    with Store(journal) as store:
        assert settle(store) == [
            "big.txt was changed by agent in a turn that was interrupted, and cannot be taken back."
        ]
        assert store.entries() == []


def test_what_was_written_through_us_is_not_counted_again(journal: Path, folder: Path) -> None:
    put(folder, {"a.txt": OLD})
    path = str(folder / "a.txt")

    def write(store: Store) -> None:
        store.finish(store.begin(entry(OLD, NEW, path, root=str(folder), turn=3)), "done")

    die(journal, begun(folder, {"a.txt": OLD}), write)
    put(folder, {"a.txt": NEW})
    with Store(journal) as store:
        assert settle(store) == []
        assert len(store.entries()) == 1


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("before", [OLD, None])
@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.parametrize("more", ["", "three\n"])
def test_a_write_whose_hunks_were_not_noted_is_under_review(
    journal: Path, folder: Path, finished: bool, before: str | None, earlier: bool, more: str
) -> None:
    """The sidecar ended right after the write, or before it had journalled that it was made."""
    uri, path = from_path(str(folder / "a.txt")), str(folder / "a.txt")
    first = with_edit(None, "zero\n" + OLD, OLD, Author("s", 1, "w1", None, False, "agent"))
    earlier = earlier and before is not None

    def write(store: Store) -> None:
        if earlier:
            store.save_ledger(uri, OLD, to_json(first))
        written = store.begin(entry(before, NEW, path, root=str(folder), turn=3))
        if finished:
            store.finish(written, "done")

    die(journal, begun(folder, {} if before is None else {"a.txt": before}), write)
    put(folder, {"a.txt": NEW + more})
    with Store(journal) as store:
        settle_all(store)
        kept = store.load_ledger(uri)
        assert kept is not None
        turns = [hunk.author.turn for hunk in from_json(kept[1])]
        assert turns == ([1] if earlier else []) + [3] + ([3] if more else [])
        assert kept[0] == NEW + more
        settle_all(store)
        assert store.load_ledger(uri) == kept


def test_what_was_reviewed_since_a_write_is_not_put_under_review_again(journal: Path, folder: Path) -> None:
    uri, path = from_path(str(folder / "a.txt")), str(folder / "a.txt")

    def write(store: Store) -> None:
        written = store.begin(entry(OLD, NEW, path, root=str(folder), turn=3))
        store.finish(written, "done")
        store.finish(written, "kept")

    die(journal, begun(folder, {"a.txt": OLD}), write)
    put(folder, {"a.txt": NEW})
    with Store(journal) as store:
        settle_all(store)
        assert store.load_ledger(uri) is None


@pytest.mark.parametrize(("bound", "value"), [("MAX_CHANGED", 2), ("MAX_BYTES", 2 * len(NEW))])
def test_what_is_beyond_a_bound_is_told(
    journal: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    monkeypatch.setattr(cut_off, bound, value)
    names = [f"{number}.txt" for number in range(5)]
    put(folder, dict.fromkeys(names, OLD))
    die(journal, begun(folder, dict.fromkeys(names, OLD)))
    put(folder, dict.fromkeys(names, NEW))
    with Store(journal) as store:
        told = settle(store)
        assert [os.path.basename(one.path) for one in reversed(store.entries())] == names[:2]
    assert any(
        words.startswith("2.txt, 3.txt, 4.txt were changed") and words.endswith("cannot be taken back.")
        for words in told
    )


def test_thousands_are_found_in_few_transactions(
    journal: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number}.txt" for number in range(1200)]
    put(folder, dict.fromkeys(names, OLD))
    die(journal, begun(folder, dict.fromkeys(names, OLD)))
    put(folder, dict.fromkeys(names, NEW))
    begin_all, times = Store.begin_all, list[int]()
    monkeypatch.setattr(
        Store, "begin_all", lambda self, entries, *more: times.append(1) or begin_all(self, entries, *more)
    )
    with Store(journal) as store:
        settle(store)
        assert len(store.entries()) == len(names)
        assert {one.state for one in store.entries()} == {"done"}
    assert len(times) < 20


def test_what_the_user_saved_meanwhile_is_the_users(journal: Path, folder: Path) -> None:
    put(folder, {"a.txt": OLD})
    mine = "mine\n" + OLD
    die(
        journal,
        begun(folder, {}),
        lambda store: store.turn_saved("s", str(folder / "a.txt"), image(mine)),
    )
    put(folder, {"a.txt": mine + "agent\n"})
    with Store(journal) as store:
        settle(store)
        (found,) = store.entries()
        assert store.texts(found.id) == (mine, mine + "agent\n")


@pytest.mark.parametrize("recorded", ["not yet", "begun", "done"])
@pytest.mark.parametrize("later", ["", "more\n"])
def test_what_the_user_saved_while_a_change_was_being_recorded_is_the_users(
    journal: Path, folder: Path, recorded: str, later: str
) -> None:
    """The sidecar had read the agent's change, and was ended before it had recorded all of it and then the save."""
    path, mine = folder / "a.txt", NEW.replace("one", "mine")

    def change(store: Store) -> None:
        if recorded != "not yet":
            made = entry(OLD, NEW, str(path), root=str(folder), turn=3, agent="agent")
            done = store.begin(made)
            if recorded == "done":
                store.finish(done, "done")

    put(folder, {"a.txt": OLD})
    die(
        journal,
        begun(folder, {"a.txt": OLD}),
        lambda store: store.turn_saving("s", str(path), SavedOver(NEW, mine)),
        change,
    )
    put(folder, {"a.txt": mine + later})
    with Store(journal) as store:
        settle_all(store)
        kept = store.load_ledger(from_path(str(path)))
        assert kept is not None
        text, hunks = kept[0], from_json(kept[1])
        assert Ledger(hunks).base(text) == (OLD if text == NEW else OLD.replace("one", "mine"))
        assert not any(one.outcome.is_failure for one in revert(store, store.entries(), "r-1"))
    assert path.read_text() == OLD.replace("one", "mine")


def test_a_save_that_is_recorded_as_usual_is_no_other_one(journal: Path, folder: Path) -> None:
    path, mine = folder / "a.txt", NEW.replace("one", "mine")
    put(folder, {"a.txt": OLD})
    die(
        journal,
        begun(folder, {"a.txt": OLD}),
        lambda store: store.turn_saving("s", str(path), SavedOver(NEW, mine)),
        lambda store: store.turn_saved("s", str(path), image(mine)),
    )
    with Store(journal) as store:
        (cut,) = store.cut_off()
        assert not cut.start.saves
        store.turn_settled(cut.id)
        store.tidy()
        assert store._do(lambda db: db.connection.execute("SELECT count(*) FROM texts").fetchone()) == (0,)


def test_earlier_hunks_stay_under_review(journal: Path, folder: Path) -> None:
    uri = from_path(str(folder / "a.txt"))
    first = with_edit(None, "zero\n" + OLD, OLD, Author("s", 1, "w1", None, False, "agent"))
    put(folder, {"a.txt": OLD})
    die(journal, begun(folder, {"a.txt": OLD}), lambda store: store.save_ledger(uri, OLD, to_json(first)))
    put(folder, {"a.txt": NEW})
    with Store(journal) as store:
        settle(store)
        kept = store.load_ledger(uri)
    assert kept is not None
    assert [(h.old.strip(), h.author.turn) for h in from_json(kept[1])] == [("zero", 1), ("two", 3)]


async def test_the_sentence_about_a_review_says_which_text_to_show(journal: Path, folder: Path) -> None:
    texts = {"a.txt": OLD, "b.txt": OLD}
    put(folder, texts)
    die(journal, begun(folder, texts))
    put(folder, {"a.txt": None, "b.txt": NEW})
    async with SqliteJournal.opened(journal) as opened:
        (told,) = await at_start(opened)
    assert "under review" in told.words
    assert told.under_review == str(folder / "b.txt")


def test_a_running_turn_is_nobody_elses(journal: Path, folder: Path) -> None:
    put(folder, {"a.txt": OLD})
    with Store(journal) as running:
        running.turn_began(begun(folder, {"a.txt": OLD}))
        running.turn_acted("s")
        put(folder, {"a.txt": NEW})
        with Store(journal) as store:
            assert settle(store) == []
            assert store.cut_off() == []
        running.turn_ended("s")
    with Store(journal) as store:
        assert settle(store) == [], "it had ended"


def test_one_of_two_looks_into_it(journal: Path, folder: Path) -> None:
    die(journal, begun(folder, {}))
    with Store(journal) as one, Store(journal) as two:
        (mine,) = one.cut_off()
        assert two.cut_off() == []
        assert mine.turn == 3
    with Store(journal) as three:
        assert len(three.cut_off()) == 1, "the one that had it is gone"


def test_of_several_the_one_that_worked_there(journal: Path, folder: Path) -> None:
    """Folders that belong to several sessions: a change is one's, who said that it did something, in its own folder."""
    put(folder, {"a.txt": OLD})
    with Store(journal) as store:
        for session, root, acted in (
            ("idle", folder, False),
            ("guest", folder.parent, True),
            ("s", folder, True),
        ):
            start = replace(begun(folder, {"a.txt": OLD}), session=session, root=str(root))
            store.turn_began(start)
            if acted:
                store.turn_acted(session)
    put(folder, {"a.txt": NEW})
    with Store(journal) as store:
        settle(store)
        assert [(e.session, e.state) for e in store.entries()] == [("s", "done")]


SECRET = "a pre-image that nobody may find\n"


@pytest.mark.parametrize("how", ["purge", "purge the folder", "purge the session", "age"])
def test_it_is_thrown_away_with_the_rest(journal: Path, folder: Path, how: str) -> None:
    die(journal, begun(folder, {"a.txt": SECRET * 50}))
    with Store(journal) as store:
        match how:
            case "purge":
                store.purge(Selection())
            case "purge the folder":
                store.purge(Selection(paths=(str(folder),)))
            case "purge the session":
                store.purge(Selection(session="s"))
            case _:
                store.tidy(RetentionLimits(seconds=0), now=time.time() + 1)
        assert [text for cut in store.cut_off() for text in cut.start.texts] == []
        db = store._ready().connection
        assert db.execute("SELECT count(*) FROM pre_images").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM texts").fetchone() == (0,)


@pytest.mark.parametrize("words", [["--purge", "--yes"], ["--purge", "--yes", "--everywhere"]])
def test_what_a_turn_that_ended_left_is_purged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(folder.parent / "state"))
    monkeypatch.chdir(folder)
    with Store() as store:
        store.turn_began(begun(folder, {"a.txt": SECRET * 50}))
        store.turn_ended("s")
    assert main(["changes", *words]) == 0
    with Store() as store:
        assert store._ready().connection.execute("SELECT count(*) FROM texts").fetchone() == (0,)


def test_the_texts_outlive_a_tidying(journal: Path, folder: Path) -> None:
    put(folder, {"a.txt": OLD})
    die(journal, begun(folder, {"a.txt": OLD}), lambda store: store.tidy())
    put(folder, {"a.txt": NEW})
    with Store(journal) as store:
        store.tidy()
        settle(store)
        (found,) = store.entries()
        assert store.texts(found.id).before == OLD


@pytest.mark.parametrize(
    "dropped",
    [
        "DROP TABLE saves; DROP TABLE picked; DROP TABLE made_folders; DROP TABLE states; PRAGMA user_version = 2",
        "DROP TABLE saves; DROP TABLE picked; DROP TABLE made_folders; DROP TABLE states; DROP TABLE pre_images; DROP TABLE turns; PRAGMA user_version = 1",
    ],
)
def test_a_journal_of_a_version_before(journal: Path, folder: Path, dropped: str) -> None:
    with Store(journal) as store:
        store.finish(store.begin(entry(OLD, NEW)), "done")
        store._ready().connection.executescript(dropped)
    with Store(journal) as store:
        assert len(store.entries()) == 1
        assert store.notices == []
        store.turn_began(begun(folder, {"a.txt": OLD}))
        assert store.last_turn("s") == 1
        assert store.last_turn("t") == 0


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize(
    "name", ["../outside.txt", "d/../../outside.txt", "{outside}", "link.txt", "d/a.txt"]
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_row_that_leads_out_of_its_folder_changes_nothing_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, exists: bool
) -> None:
    """By its name, or by a link that was put in the place of a file or of a folder."""
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(folder)
    outside, private = tmp_path / "outside.txt", tmp_path / "private"
    private.mkdir()
    (private / "a.txt").write_text("secret\n")
    if exists:
        outside.write_text("secret\n")
    (folder / "d").mkdir()
    start = begun(folder, {name.format(outside=outside): OLD, "b.txt": OLD})
    with Store() as store:
        store.turn_began(start)
        store.turn_acted("s")
    if name == "d/a.txt":
        (folder / "d").rmdir()
        (folder / "d").symlink_to(private)
    (folder / "link.txt").symlink_to(outside)
    (folder / "b.txt").write_text(NEW)
    with Store() as store:
        settle(store)
        found = [store.texts(one.id) for one in store.entries()]
        assert not any("secret" in f"{texts.before}{texts.after}" for texts in found)
    main(["revert", "--session", "s"])
    assert (folder / "b.txt").read_text() == OLD
    assert (private / "a.txt").read_text() == "secret\n"
    assert outside.exists() == exists
    assert not exists or outside.read_text() == "secret\n"
