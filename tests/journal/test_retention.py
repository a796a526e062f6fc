"""What goes, what stays, and that what is purged is gone from the file."""

from __future__ import annotations

import random
import time
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from sidecar.core.uri import from_path
from sidecar.journal import Store
from sidecar.journal.retention import Limits
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
        store.tidy(Limits(bytes=550_000))
        assert sessions(store) == ["s3", "s4", "s5"]
    size = (folder / "journal.sqlite3").stat().st_size
    assert size < 600_000


def test_an_open_session_of_a_running_process_never_goes(folder: Path) -> None:
    with Store(folder) as running:
        running.begin(entry("", noise(1, 300_000), session="open"))
        running.session_opened("idle", "agent", "/w")
        with Store(folder) as store:
            assert store.tidy(Limits(0, 0), now=time.time() + 99 * DAY) == (0, 0)
            assert sessions(store) == ["open"]
    with Store(folder) as store:  # its process is gone, but nobody has said what became of the write
        assert store.tidy(Limits(0, 0), now=time.time() + 99 * DAY).writes == 0
        store.settle(store.entries()[0].id, "done")
        assert store.tidy(Limits(0, 0), now=time.time() + 99 * DAY).writes == 1
        assert store.entries() == []


def test_a_closed_session_of_a_running_process_may_go(folder: Path) -> None:
    with Store(folder) as store:
        store.finish(store.begin(entry("a", "b", session="one")), "done")
        store.finish(store.begin(entry("b", "c", session="two")), "done")
        store.session_closed("one")
        store.tidy(Limits(seconds=0))
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
        store.tidy(Limits(seconds=0), now=time.time() + 1)
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


def test_it_is_tidied_when_much_was_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.journal.store.TIDY_EVERY_BYTES", 400_000)
    with Store(folder) as store:
        store.finish(store.begin(entry("", "x", session="old")), "done")
        store.session_closed("old")
        store._open.connection.execute("UPDATE sessions SET closed = 0")
        counts = []
        for i in range(12):
            store.save_ledger("file:///a", noise(i, 100_000), b"")
            counts.append(len(store.entries()))
    assert counts[0] == 1
    assert counts[-1] == 0
