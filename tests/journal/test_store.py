"""What the journal keeps, finds again, and says when it cannot."""

from __future__ import annotations

import os
import sqlite3
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.file_state import FileState
from sidecar.core.kept_hunks import AsJson, from_json, to_json
from sidecar.core.ledger import Author, Hunk
from sidecar.core.retold import Picked
from sidecar.core.text import Text
from sidecar.core.versions import Version
from sidecar.journal import Store, writing
from sidecar.journal.database import NAME
from sidecar.journal.entry import Entry, EntryState, JournalFailed
from sidecar.journal.selecting import Selection
from sidecar.journal.writing import lines_changed
from tests.support.journals import entry, numbered


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "j") as store:
        yield store


def test_a_write_as_it_was_journalled(store: Store) -> None:
    made = entry(
        "a\nb\n",
        "a\nc\nd\n",
        path="/w/dir/\udcff.txt",
        root="/w/dir",
        session="\ud800 session",
        agent="an agent",
        turn=7,
        tool_call="call \ud800",
        encoding="utf-16-le",
        bom=b"\xff\xfe",
        via="editor",
    )
    write = store.begin(made)
    (found,) = store.entries()
    assert found.id == write
    assert found.state == "intent"
    assert (found.path, found.root) == (made.path, made.root)
    assert (found.session, found.tool_call) == ("\\ud800 session", "call \\ud800")
    assert (found.agent, found.turn, found.encoding, found.bom, found.via) == (
        "an agent", 7, "utf-16-le", b"\xff\xfe", "editor",
    )  # fmt: skip
    assert (found.added, found.removed, found.existed, found.exists) == (2, 1, True, True)
    assert store.is_running(found.owner)


@pytest.mark.parametrize(
    ("before", "after", "added", "removed"),
    [
        (None, "", 0, 0),
        (None, "a\nb", 2, 0),
        ("a\r\nb\rc\n", None, 0, 3),
        ("a\nb\nc\n", "a\nX\nc\n", 1, 1),
        ("a\nb\n", "a\nb\nc\n", 1, 0),
        ("a\nb", "a\nb\n", 1, 1),
        ("same\n", "same\n", 0, 0),
    ],
)
def test_lines_are_counted_as_a_diff_counts_them(
    before: str | None, after: str | None, added: int, removed: int
) -> None:
    assert lines_changed(before, after) == (added, removed)


def test_ids_sort_in_the_order_of_the_writes_also_when_the_clock_goes_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([2000.0, 2000.0, 1000.0, 3000.0])
    now = 2000.0

    def tick() -> float:
        nonlocal now
        now = next(clock, now)
        return now

    monkeypatch.setattr("sidecar.journal.writing.time.time", tick)
    ids = [store.begin(entry(str(i), str(i + 1))) for i in range(6)]
    assert ids == sorted(set(ids))
    assert [found.id for found in store.entries()] == ids[::-1]


def test_a_write_can_end_with_another_text_than_was_planned(store: Store) -> None:
    write = store.begin(entry("a\nb\n", "a\nB\n"))
    store.finish(write, "done", "a\nB\nC\n")
    assert store.texts(write) == ("a\nb\n", "a\nB\nC\n")
    (found,) = store.entries()
    assert (found.state, found.added, found.removed) == ("done", 2, 1)


FILE, OTHER = FileState(b"a\n"), FileState(b"a\n", 0o755)


@pytest.mark.parametrize(
    ("put_back", "says", "expected"),
    [
        (entry("b", "a", agent="reject"), "a", True),
        (entry("b", "a", agent="reject"), "b", False),
        (entry("b", "a", agent="reject"), None, False),
        (entry("b", "a"), "a", False),
        (entry("b", None, agent="reject"), None, True),
        (entry(None, None, agent="reject", states=(FILE, None)), None, True),
        (entry(None, None, agent="reject", states=(None, FILE)), None, False),
        (entry(None, None, agent="reject", states=(OTHER, FILE)), None, False),
    ],
)
def test_what_was_put_back(store: Store, put_back: Entry, says: str | None, expected: bool) -> None:
    """A file that was put back as a whole has not been removed, though no text is noted of it."""
    began = time.time_ns()
    store.finish(store.begin(put_back), "done")
    assert store.put_back("/w/a.txt", says) is store.put_back("/w/a.txt", says, began) is expected
    assert not store.put_back("/w/a.txt", says, time.time_ns() + 1_000_000)


SELECTIONS: list[tuple[dict[str, Any], str]] = [
    ({}, "edcba"),
    ({"session": "s1"}, "cba"),
    ({"session": "s1", "turn": 2}, "c"),
    ({"paths": ("/w/x",)}, "db"),
    ({"paths": ("/w/x/1",)}, "b"),
    ({"paths": ("/w/x/", "/w/y")}, "dcb"),
    ({"paths": ("/",)}, "edcba"),
    ({"paths": ()}, ""),
    ({"without": ("failed",)}, "edba"),
    ({"limit": 2}, "ed"),
    ({"ids": ()}, ""),
]


@pytest.mark.parametrize(("selection", "expected"), SELECTIONS, ids=[str(row[0]) for row in SELECTIONS])
def test_selections(store: Store, selection: dict[str, Any], expected: str) -> None:
    rows = [
        ("a", "/w/a", "s1", 1),
        ("b", "/w/x/1", "s1", 1),
        ("c", "/w/y", "s1", 2),
        ("d", "/w/x/2", "s2", 1),
        ("e", "/w/x.txt", "", 0),
    ]
    names = {store.begin(entry("", n, path=p, session=s, turn=t)): n for n, p, s, t in rows}
    failed = next(write for write, name in names.items() if name == "c")
    store.finish(failed, "failed")
    asked = Selection(**selection)
    assert "".join(names[found.id] for found in store.entries(asked)) == expected
    if asked.limit is None:
        assert store.count(asked) == len(expected)


def test_writes_and_sessions_are_found_by_a_part_of_their_name(store: Store) -> None:
    one = store.begin(entry("", "1", session="abc1"))
    two = store.begin(entry("", "2", session="abd2"))
    assert [w.id for w in store.named(one)] == [one]
    assert [w.id for w in store.named(two[-6:].upper())] == [two]
    assert {w.id for w in store.named(one[:4])} == {one, two}
    assert store.named("nothing") == store.named("") == []
    assert store.sessions_named("abc") == ["abc1"]
    assert sorted(store.sessions_named("ab")) == ["abc1", "abd2"]
    assert store.sessions_named("x") == []


def test_a_revert_undoes_what_it_took_back_once_it_is_done(store: Store) -> None:
    def states() -> str:
        return " ".join(found.state for found in reversed(store.entries()))

    a = store.begin(entry("0", "1"))
    b = store.begin(entry("1", "2"))
    store.finish(a, "kept")
    store.finish(b, "done")
    back = store.begin(entry("2", "0"), takes_back=[a, b])
    assert states() == "kept done intent"
    store.finish(back, "done")
    assert states() == "undone undone done"
    again = store.begin(entry("0", "2"), takes_back=[back])
    store.finish(again, "done")
    assert states() == "kept done undone done"
    third = store.begin(entry("2", "0"), takes_back=[again])
    store.finish(third, "done")
    assert states() == "undone undone done undone done"
    fourth = store.begin(entry("0", "2"), takes_back=[third])
    store.finish(fourth, "failed")
    assert states() == "undone undone done undone done failed"


def test_ledgers(store: Store) -> None:
    assert store.load_ledger("file:///a") is None
    store.save_ledger("file:///a", "text \ud800", b"hunks")
    store.save_ledger("file:///a", "text \ud800 more", b"hunks 2")
    assert store.load_ledger("file:///a") == ("text \ud800 more", b"hunks 2")
    store.forget_ledger("file:///a")
    assert store.load_ledger("file:///a") is None


def test_the_ledger_of_a_file_is_stored_beside_that_of_its_document_and_goes_with_it(store: Store) -> None:
    hunk = Hunk(1, 0, 3, "old", (Version(Author("s", 1, "w"), "new"),))
    in_file = Text.of("new"), AsJson([hunk])

    def stored() -> str | None:
        found = store.load_ledger_in_file("file:///a")
        return found and found[0]

    store.save_ledger("file:///a", "newer", b"hunks", in_file)
    assert (store.ledger_uris(), stored()) == (["file:///a"], "new")
    store.save_ledger("file:///a", "newest", b"hunks")
    assert (store.ledger_uris(), stored()) == (["file:///a"], None)
    store.save_ledger("file:///a", "newer", b"hunks", in_file)
    store.forget_ledger("file:///a")
    assert (store.ledger_uris(), stored()) == ([], None)


def test_hunks_are_stored_compressed(store: Store) -> None:
    hunk = Hunk(1, 0, 3, "ü\ud83d\ude00" * 1000, (Version(Author("s", 1, "w"), "new"),))
    store.save_ledger("file:///a", "new", AsJson([hunk]))
    found = store.load_ledger("file:///a")
    assert found is not None
    assert from_json(found[1]) == [hunk]
    with sqlite3.connect(store.folder / NAME) as connection:
        assert len(connection.execute("SELECT hunks FROM ledgers").fetchone()[0]) < 1000
        connection.execute("UPDATE ledgers SET hunks = ?", (b"xno zlib",))
    connection.close()
    with pytest.raises(JournalFailed):
        store.load_ledger("file:///a")


def test_what_a_text_builds_on_may_be_thrown_away_while_it_is_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another process, between the preparing and the writing."""
    first = numbered(300)
    second, third = first.replace("7 ", "seven ", 1), first.replace("8 ", "eight ", 1)
    with Store(tmp_path / "j") as store, Store(tmp_path / "j") as other:
        store.finish(store.begin(entry(first, second)), "done")
        real = writing._prepare

        def prepare(*arguments: Any) -> Any:
            prepared = real(*arguments)
            monkeypatch.setattr(writing, "_prepare", real)
            assert other.purge(Selection()) == 1
            return prepared

        monkeypatch.setattr(writing, "_prepare", prepare)
        write = store.begin(entry(second, third))
    with Store(tmp_path / "j") as store:
        assert store.texts(write) == (second, third)
        assert len(store.entries()) == 1


# Failures, in words


def refused(store: Store, message: str) -> None:
    with pytest.raises(JournalFailed, match=message) as caught:
        store.begin(entry("a", "b" * 100_000))
    assert "/" not in str(caught.value).replace("kept/", "")


def test_a_full_disk(store: Store, tmp_path: Path) -> None:
    write = store.begin(entry("a", "b"))
    _sql(store, "PRAGMA max_page_count = 1")  # as low as it gets: what is there
    with pytest.raises(JournalFailed, match=r"disk with the journal is full; free some space"):
        store.begin(entry("b", "".join(map(chr, range(0x4E00, 0x9000)))))
    assert [found.id for found in store.entries()] == [write]
    _sql(store, "PRAGMA max_page_count = 1000000")
    assert store.begin(entry("b", "".join(map(chr, range(0x4E00, 0x9000)))))


def test_another_program_that_does_not_let_go(tmp_path: Path) -> None:
    with Store(tmp_path / "j", busy_seconds=0.05) as store:
        write = store.begin(entry("a", "b"))
        other = sqlite3.connect(tmp_path / "j" / NAME, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused(store, "another program keeps")
        assert store.texts(write) == ("a", "b")  # readers do not wait for writers
        other.execute("ROLLBACK")
        other.close()
        assert store.begin(entry("b", "c"))


def test_another_program_that_holds_the_folder(tmp_path: Path) -> None:
    from sidecar.journal.folder import locked, make

    make(tmp_path / "j")
    with locked(tmp_path / "j", 1), Store(tmp_path / "j", busy_seconds=0.05) as store:
        refused(store, "another program keeps")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    folder = tmp_path / "no"
    folder.mkdir(mode=0o500)
    with Store(folder / "j") as store:
        refused(store, "permissions")


def test_something_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Store(tmp_path / "file" / "j") as store:
        refused(store, "folder cannot be used")


def test_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    with Store(tmp_path / "j") as store:
        write = store.begin(entry("a", "b"))
        _sql(store, "PRAGMA user_version = 99")
    with Store(tmp_path / "j") as store:
        refused(store, "newer acp-sidecar")
        assert not store.notices
    with sqlite3.connect(tmp_path / "j" / NAME) as connection:
        assert connection.execute("SELECT id FROM writes").fetchall() == [(write,)]
    connection.close()


@pytest.mark.parametrize("junk", [b"not a database, but long enough to be taken for one" * 50, b"x" * 600])
def test_a_damaged_database_is_put_aside_and_a_new_one_begun(tmp_path: Path, junk: bytes) -> None:
    folder = tmp_path / "j"
    with Store(folder) as store:
        store.begin(entry("a", "b"))
    (folder / NAME).write_bytes(junk)
    with Store(folder) as store:
        write = store.begin(entry("b", "c"))
        assert store.texts(write) == ("b", "c")
        (sentence,) = store.notices
    (aside,) = folder.glob("journal-damaged-*.sqlite3")
    assert aside.read_bytes() == junk
    assert str(aside) in sentence


def test_damage_that_shows_while_it_is_used_costs_no_write(tmp_path: Path) -> None:
    folder = tmp_path / "j"
    with Store(folder) as store:
        for i in range(50):
            store.begin(entry(str(i), "".join(map(chr, range(0x4E00 + i, 0x5E00)))))
    data = bytearray((folder / NAME).read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)  # all but the first page
    (folder / NAME).write_bytes(data)
    with Store(folder) as store:
        with pytest.raises(JournalFailed, match="damaged"):
            store.entries()
        write = store.begin(entry("b", "c"))
        assert store.texts(write) == ("b", "c")
        assert len(store.notices) == 1
    assert list(folder.glob("journal-damaged-*.sqlite3"))


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be removed there")
@pytest.mark.parametrize("moved", ["file", "folder"])
def test_a_journal_that_is_removed_while_it_is_used_is_begun_again(tmp_path: Path, moved: str) -> None:
    folder = tmp_path / "j"
    with Store(folder) as store:
        store.begin(entry("a", "b"))
        (folder if moved == "folder" else folder / NAME).rename(tmp_path / "away")
        write = store.begin(entry("b", "c"))
        assert "removed while it was in use" in store.notices[0]
    with Store(folder) as store:
        assert [found.id for found in store.entries()] == [write]


def test_two_that_find_the_damage_put_it_aside_once(tmp_path: Path) -> None:
    folder = tmp_path / "j"
    with Store(folder) as one, Store(folder) as two:
        one.begin(entry("a", "b"))
        two.begin(entry("b", "c"))
        for other in (one, two):
            other._put_aside()
        one.begin(entry("c", "d"))
        two.begin(entry("d", "e"))
        assert len(two.entries()) == 2
    assert len(list(folder.glob("journal-damaged-*.sqlite3"))) == 1


def _sql(store: Store, sql: str) -> list[Any]:
    store.open()
    return store._open.connection.execute(sql).fetchall()


def test_many_entries_are_one_transaction(store: Store) -> None:
    """One wait for the disk, however many they are; each is as if it had been journalled by itself."""
    store.begin(entry("0\n", "1\n"))
    said: list[str] = []
    assert store._open is not None
    store._open.connection.set_trace_callback(said.append)
    ids = store.begin_all([entry("a\n", f"{number}\n", f"/w/{number}.txt") for number in range(100)])
    store.finish_all(ids[:99], "done")
    store._open.connection.set_trace_callback(None)
    assert said.count("COMMIT") == 2
    assert [words for words in said if words.startswith("PRAGMA sync")] == ["PRAGMA synchronous = NORMAL"]
    assert ids == sorted(set(ids))
    found = {write.id: write for write in store.entries()}
    assert [found[i].path for i in ids] == [f"/w/{number}.txt" for number in range(100)]
    assert [found[i].state for i in ids] == ["done"] * 99 + ["intent"]
    assert store.texts(ids[7]) == ("a\n", "7\n")


def test_of_many_entries_all_are_journalled_or_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = store.begin(entry("0\n", "1\n"))
    insert, left = writing._insert, [5]

    def failing(*arguments: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise sqlite3.OperationalError("disk full")
        insert(*arguments)

    monkeypatch.setattr(writing, "_insert", failing)
    with pytest.raises(JournalFailed):
        store.begin_all([entry("a\n", "b\n", f"/w/{number}.txt") for number in range(9)])
    assert [write.id for write in store.entries()] == [first]


def test_a_journal_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """What was added to the schema since is made where it is missing."""
    with Store(tmp_path / "j") as store:
        first = store.begin(entry("a", "b"))
        _sql(store, "DROP TABLE made_folders")
        _sql(store, "DROP TABLE saves")
        _sql(store, "DROP TABLE picked")
        _sql(store, "PRAGMA user_version = 3")
    with Store(tmp_path / "j") as store:
        second = store.begin(entry(None, "b", "/w/d/b.txt", made=("/w/d",)))
        assert store.made_folders([first, second]) == ["/w/d"]
        assert store.folders_under_review() == []
        store.finish(second, "done")
        assert store.folders_under_review() == ["/w/d"]
        store.finish(second, "rejected")
        assert store.folders_under_review() == []
        store.purge(Selection())
        assert store.made_folders([second]) == []


def test_what_was_kept_of_a_write_goes_with_it(store: Store) -> None:
    hunks = [Hunk(1, 0, 1, "a", (Version(Author("s", 1, "w"), "b"),))]
    store.save_picked("/w/a.txt", "b\n", to_json(hunks))
    assert store.told("/w/a.txt") == [], "there is nothing that it could be told with"
    store.finish(store.begin(entry("a\n", "b\n")), "done")
    failed = store.begin(entry("b\n", "c\n"))
    store.finish(failed, "failed")
    store.save_picked("/w/a.txt", "b\nmine\n", to_json(hunks))
    (told,) = store.told("/w/a.txt")
    assert told.picked == [Picked("b\nmine\n", hunks)]
    store.tidy()
    assert store.told("/w/a.txt") == [told]
    store.purge(Selection())
    assert _sql(store, "SELECT count(*) FROM picked") == _sql(store, "SELECT count(*) FROM texts") == [(0,)]


def test_of_a_large_file_a_review_is_told_from_its_newest_writes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.journal.store._TOLD_CHARACTERS", 3_500)
    texts = [f"{n}" * 1_000 for n in range(6)]
    for before, after in pairwise(texts):
        store.finish(store.begin(entry(before, after)), "done")
    one, other = store.told("/w/a.txt")
    assert [one.before, one.after, other.after] == texts[3:]
    assert one.after is other.before  # it is in memory once
    monkeypatch.setattr("sidecar.journal.store._TOLD_CHARACTERS", 10)
    assert [one.after for one in store.told("/w/a.txt")] == texts[5:]


def test_a_review_is_told_from_the_writes_that_it_depends_on(store: Store) -> None:
    texts = [f"{n}\n" for n in range(8)]
    for before, after in pairwise(texts):
        store.finish(store.begin(entry(before, after)), "done" if after == "6\n" else "kept")
    every = store.told("/w/a.txt")
    assert store.told("/w/a.txt", "7\r\n") == every[5:], "the write that is not decided, and what follows"
    assert store.told("/w/a.txt", "3\n") == every[2:]
    assert store.told("/w/a.txt", "else\n") == store.told("/w/a.txt", "0\n") == every


@pytest.mark.parametrize(
    ("agent", "state", "became"),
    [
        ("agent", "done", "open"),
        ("agent", "kept", "kept"),
        ("agent", "rejected", "taken back"),
        ("agent", "undone", "taken back"),
        ("agent", "unknown", "kept"),  # perhaps not the agent's: never rejected
        ("reject", "done", "takes back"),
        ("revert", "done", "takes back"),
        ("agent", "failed", None),
    ],
)
def test_what_a_review_is_told_from(store: Store, agent: str, state: EntryState, became: str | None) -> None:
    store.finish(store.begin(entry("a\n", "b\n", "/w/a.txt", agent=agent)), state)
    store.finish(store.begin(entry("a\n", "b\n", "/w/a.txt/below")), "done")
    assert [one.became for one in store.told("/w/a.txt")] == ([] if became is None else [became])
