"""What goes, what stays, and that what is purged is gone from the file."""

from __future__ import annotations

import asyncio
import random
import re
import time
import zlib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from sidecar.core.uri import from_path
from sidecar.journal import SqliteJournal, Store, retention
from sidecar.journal.retention import RetentionLimits, Tidied
from sidecar.journal.selecting import Selection
from tests.support.journals import entry, numbered

DAY = 24 * 3600.0


def noise(seed: int, size: int) -> str:
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789\n", k=size))


def sessions(store: Store) -> list[str]:
    return sorted({found.session for found in store.entries()})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "j"


def a_closed_session(folder: Path, name: str, days_ago: float, size: int = 1000) -> None:
    """Written and closed by a process that is gone."""
    with Store(folder) as store:
        store.finish(store.begin(entry("", noise(hash(name), size), f"/w/{name}", session=name)), "done")
        store.session_closed(name)
        then = time.time() - days_ago * DAY
        store._open.connection.execute("UPDATE sessions SET closed = ? WHERE id = ?", (then, name))


def test_what_is_older_than_thirty_days_goes(folder: Path) -> None:
    for name, days in (("old", 31.0), ("older", 99.0), ("young", 29.0)):
        a_closed_session(folder, name, days)
    with Store(folder) as store:
        assert store.tidy() == (2, 2)
        assert sessions(store) == ["young"]
        assert store.texts(store.entries()[0].id).after == noise(hash("young"), 1000)


def test_the_oldest_go_until_it_fits(folder: Path) -> None:
    for i in range(6):
        a_closed_session(folder, f"s{i}", 10 - i, 200_000)
    with Store(folder) as store:
        store.tidy(RetentionLimits(bytes=550_000))
        assert sessions(store) == ["s3", "s4", "s5"]
    size = (folder / "journal.sqlite3").stat().st_size
    assert size < 600_000


def test_an_open_session_of_a_running_process_never_goes(folder: Path) -> None:
    with Store(folder) as running:
        running.begin(entry("", noise(1, 300_000), session="open"))
        running.session_opened("idle", "agent", "/w")
        with Store(folder) as store:
            assert store.tidy(RetentionLimits(0, 0), now=time.time() + 99 * DAY) == (0, 0)
            assert sessions(store) == ["open"]
    with Store(folder) as store:  # its process is gone, but nobody has said what became of the write
        assert store.tidy(RetentionLimits(0, 0), now=time.time() + 99 * DAY).writes == 0
        store.settle(store.entries()[0].id, "done")
        assert store.tidy(RetentionLimits(0, 0), now=time.time() + 99 * DAY).writes == 1
        assert store.entries() == []


def test_a_closed_session_of_a_running_process_may_go(folder: Path) -> None:
    with Store(folder) as store:
        store.finish(store.begin(entry("a", "b", session="one")), "done")
        store.finish(store.begin(entry("b", "c", session="two")), "done")
        store.session_closed("one")
        store.tidy(RetentionLimits(seconds=0))
        assert sessions(store) == ["two"]


def test_a_text_that_others_are_changes_of_stays(folder: Path) -> None:
    first = numbered(500)
    second, third = first.replace("1 ", "one ", 1), first.replace("2 ", "two ", 1)
    with Store(folder) as store:
        store.finish(store.begin(entry(first, second, session="old")), "done")
        kept = store.begin(entry(second, third, session="new"))
        store.finish(kept, "done")
        store.save_ledger("file:///other", first + "x", b"")
        store.session_closed("old")
        store.tidy(RetentionLimits(seconds=0), now=time.time() + 1)
        assert sessions(store) == ["new"]
    with Store(folder) as store:
        assert store.texts(kept) == (second, third)


def test_reviews_that_nobody_looks_at_go_too(folder: Path) -> None:
    with Store(folder) as store:
        store.save_ledger("file:///a", "text", b"")
        store.tidy(now=time.time() + 29 * DAY)
        assert store.load_ledger("file:///a")
        store.tidy(now=time.time() + 31 * DAY)
        assert store.load_ledger("file:///a") is None


SECRET = "".join(random.Random(7).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=4000))


def holds_secret(folder: Path) -> bool:
    """In any file of the folder, as it is or as it would be compressed."""
    packed = zlib.compress(SECRET.encode(), 1)[20:-20]
    pieces = [packed[i : i + 32] for i in range(0, len(packed) - 32, 512)] + [SECRET[100:130].encode()]
    data = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return any(piece in data for piece in pieces)


@pytest.mark.parametrize(
    ("selection", "left"),
    [
        (Selection(), []),
        (Selection(session="leaky"), ["other"]),
        (Selection(paths=("/w/.env",)), ["other"]),
        (Selection(paths=("/w",)), []),
        (Selection(paths=("/elsewhere",)), ["leaky", "leaky", "other"]),
    ],
)
def test_purged_texts_are_gone_from_every_file(folder: Path, selection: Selection, left: list[str]) -> None:
    uri = from_path("/w/.env")
    with Store(folder) as store:
        store.finish(store.begin(entry("", SECRET, "/w/.env", session="leaky")), "done")
        store.finish(store.begin(entry(SECRET, SECRET + "\nmore", "/w/.env", session="leaky")), "done")
        store.finish(store.begin(entry(None, "plain", "/w/a", session="other")), "done")
        store.save_ledger(uri, SECRET + "\nmore", b"")
        (folder / "journal-damaged-1.sqlite3").write_text(SECRET if not selection.paths else "")
        assert holds_secret(folder)
        if selection.session:
            (folder / "journal-damaged-1.sqlite3").unlink()
        assert store.purge(selection) == 3 - len(left)
        assert sorted(found.session for found in store.entries()) == left
        assert (store.load_ledger(uri) is None) == ("leaky" not in left)
        assert holds_secret(folder) == ("leaky" in left)


def test_what_builds_on_a_purged_text_stands_by_itself(folder: Path) -> None:
    texts = [numbered(500)]
    texts += [texts[0].replace(f"{i} ", f"changed {i} ", 1) for i in range(1, 6)]
    with Store(folder) as store:
        ids = [store.begin(entry(a, b, session=f"s{i}")) for i, (a, b) in enumerate(pairwise(texts))]
        for write in ids:
            store.finish(write, "done")
        store.purge(Selection(session="s0"))
        store.purge(Selection(session="s3"))
    with Store(folder) as store:
        assert store.texts(ids[1]) == (texts[1], texts[2])
        assert store.texts(ids[4]) == (texts[4], texts[5])
        gone = store._open.connection.execute("SELECT count(*) FROM texts").fetchone()[0]
        assert gone == 5  # of six: the first is nobody's any more


def test_what_is_just_being_written_is_not_purged(folder: Path) -> None:
    with Store(folder) as running, Store(folder) as store:
        write = running.begin(entry("before", "after"))
        assert store.purge(Selection()) == 0
        assert store.texts(write) == ("before", "after")
        running.finish(write, "done")
        assert store.purge(Selection()) == 1


async def test_it_is_tidied_when_much_was_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.journal.store.TIDY_EVERY_BYTES", 400_000)
    a_closed_session(folder, "old", 99.0)
    async with SqliteJournal.opened(folder) as journal:
        counts: list[int] = []
        for i in range(12):
            await journal.save_ledger("file:///a", noise(i, 100_000), b"")
            counts.append(len(await journal.entries()))
        assert counts[0] == 1
        for _ in range(1000):
            if await journal.entries():
                await asyncio.sleep(0.01)
        assert await journal.entries() == []


def many_sessions(folder: Path, many: int, writes: int = 3, size: int = 3_000) -> None:
    with Store(folder) as store:
        for session in range(many):
            for write in range(writes):
                text = noise(session * writes + write, size)
                one = entry(None, text, f"/w/{session}-{write}", session=f"s{session:04}")
                store.finish(store.begin(one), "done")
            store.session_closed(f"s{session:04}")
        store._open.connection.execute("UPDATE sessions SET closed = 0")


def test_what_a_slice_costs_does_not_depend_on_the_size(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted as sqlite counts: its own instructions, in tens."""
    monkeypatch.setattr(retention, "BYTES_AT_ONCE", 50_000)  # which the smallest one has, too
    most: list[int] = []
    for many in (10, 40, 160):
        with Store(folder / str(many)) as store:
            many_sessions(folder / str(many), many)
            assert store.tidy(RetentionLimits(seconds=2 * time.time())) == (0, 0)  # the indexes are there
            steps = [0]

            def another(steps: list[int] = steps) -> None:
                steps[-1] += 1

            store._open.connection.set_progress_handler(another, 10)
            while store.tidy_slice(RetentionLimits(bytes=50_000, seconds=2 * time.time())) is None:
                steps.append(0)
            assert len(sessions(store)) < 10
        most.append(sorted(steps)[-4])  # three look for what there is: which sessions, and which of 500 texts
    assert most[2] < 2 * most[0], most


def test_a_slice_is_small(folder: Path) -> None:
    with Store(folder) as store, Store(folder, busy_seconds=0) as other:
        for write in range(450):
            store.finish(store.begin(entry(None, f"{write}", f"/w/{write}", session="many")), "done")
        for write in range(9):
            store.finish(
                store.begin(entry(None, noise(write, 900_000), f"/w/b{write}", session="large")), "done"
            )
        for session in ("many", "large"):
            store.session_closed(session)
        left, size = [459], [store._open.connection.execute(SIZE).fetchone()[0]]
        while store.tidy_slice(RetentionLimits(seconds=-1)) is None:
            left.append(len(other.entries()))
            size.append(other._open.connection.execute(SIZE).fetchone()[0])
            other.begin(entry(None, f"x{len(left)}", "/w/x", session="another"))  # nobody keeps it locked
            left[-1] = len(other.entries()) - len(left) + 1
        assert left[-1] == 0
        assert max(a - b for a, b in pairwise(left)) <= retention.WRITES_AT_ONCE
        assert max(a - b for a, b in pairwise(size)) <= retention.BYTES_AT_ONCE + 1_000_000


SIZE = "SELECT coalesce(sum(length(data)), 0) FROM texts"


@pytest.mark.parametrize("seed", range(20))
def test_whoever_writes_meanwhile_loses_nothing(
    folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random writes and reviews, which also say what is being deleted, or are changes of it."""
    monkeypatch.setattr(retention, "WRITES_AT_ONCE", 2)
    monkeypatch.setattr(retention, "TEXTS_AT_ONCE", 3)
    monkeypatch.setattr(retention, "BYTES_AT_ONCE", 4096)
    chance = random.Random(seed)
    texts = [numbered(300)]
    texts += [chance.choice(texts).replace(f"{n} ", f"{n}' ", 1) for n in chance.sample(range(300), 12)]
    texts += [noise(n, 2_000) for n in range(4)]
    kept: dict[str, tuple[str, str]] = {}
    reviews: dict[str, str] = {}

    def acts(store: Store, session: str) -> None:
        if chance.random() < 0.3:
            uri, text = f"file:///{chance.randrange(3)}", chance.choice(texts)
            store.save_ledger(uri, text, b"")
            reviews[uri] = text
        elif chance.random() < 0.1:
            for uri in reviews:
                store.forget_ledger(uri)
            reviews.clear()
        else:
            a, b = chance.sample(texts, 2)
            kept[write := store.begin(entry(a, b, session=session))] = (a, b)
            store.finish(write, "done")

    with Store(folder) as store, Store(folder, busy_seconds=0) as other:
        for session in ("a", "b", "c"):
            for _ in range(chance.randrange(1, 8)):
                acts(store, session)
            store.session_closed(session)
        kept.clear()
        while store.tidy_slice(RetentionLimits(seconds=-1)) is None:
            for _ in range(chance.randrange(3)):
                acts(other, "new")
        reviews_left = {uri: text for uri, text in reviews.items() if other.load_ledger(uri)}
        assert {found.id for found in other.entries()} == kept.keys()
    with Store(folder) as store:
        for write, both in kept.items():
            assert store.texts(write) == both
        for uri, text in reviews_left.items():
            assert store.load_ledger(uri) == (text, b"")
        store.tidy(RetentionLimits(bytes=0))
        needed = store._open.connection.execute(
            f"{retention._NEEDED} SELECT count(DISTINCT id) FROM needed WHERE id IS NOT NULL"
        ).fetchone()
        assert store._open.connection.execute("SELECT count(*) FROM texts").fetchone() == needed


async def test_a_write_waits_for_one_slice_at_most(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many_sessions(folder, 30)
    sliced, slices = Store.tidy_slice, list[int]()

    def counted(
        self: Store, limits: RetentionLimits | None = None, now: float | None = None
    ) -> Tidied | None:
        slices.append(1)
        return sliced(self, limits, now)

    monkeypatch.setattr(Store, "tidy_slice", counted)
    async with SqliteJournal.opened(folder) as journal:
        tidying = asyncio.ensure_future(journal.tidy())
        waited: list[int] = []
        while not tidying.done():
            before = len(slices)
            await journal.begin(entry("a", f"b{len(waited)}"))
            waited.append(len(slices) - before)
            await asyncio.sleep(0)
        await tidying
    assert len(slices) > 30
    assert len(waited) > 10
    assert max(waited) <= 2, "the one that ran, and the next where that one was asked for first"


def test_what_is_too_much_and_stays_is_told_once(folder: Path) -> None:
    with Store(folder) as store:
        store.begin(entry("", noise(3, 30_000), session="small"))
        store.begin(replace(entry("", noise(1, 3_000_000), session="open"), agent="the large one"))
        limits = RetentionLimits(bytes=100_000)
        store.tidy(limits)
        (told,) = store.notices
        assert "more than its limit" in told
        assert re.search(
            r"The largest part, \d MB, is from one session of the large one; .* on \d{4}-\d\d-\d\d", told
        )
        store.tidy(limits)
        assert len(store.notices) == 1
        store.begin(entry("", noise(2, 9_000_000), session="open"))
        store.tidy(limits)
        assert len(store.notices) == 2
        store.tidy(RetentionLimits())
        assert len(store.notices) == 2


def test_indexes_are_made_in_a_journal_of_an_earlier_version(folder: Path) -> None:
    many_sessions(folder, 3)
    with Store(folder) as store:
        store.tidy()
        for name in retention._INDEXES:
            store._open.connection.execute(f"DROP INDEX {name}")
        store.tidy(RetentionLimits(bytes=0))
        assert store.entries() == []
        names = store._open.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")
        assert set(retention._INDEXES) <= {name for (name,) in names}
