"""What became of writes that nobody finished, and how the user is told."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.journal import SqliteJournal, Store
from sidecar.journal.database import NAME
from sidecar.recovery.settle import TOLD, at_start, settle
from tests.support.journals import entry

OLD, NEW = "one\ntwo\n", "one\nTWO\nthree\n"

ROWS: list[tuple[str, dict[str, Any], bytes | None, str, str]] = [
    # name, the entry, the file's bytes now, state, a part of the sentence
    ("written", {}, NEW.encode(), "done", "complete"),
    ("not written", {}, OLD.encode(), "failed", "is unchanged"),
    ("something else", {}, b"mine\n", "unknown", "neither"),
    ("gone", {}, None, "unknown", "neither"),
    ("other line ends", {}, NEW.replace("\n", "\r\n").encode(), "done", "complete"),
    ("a mark", {}, codecs.BOM_UTF8 + NEW.encode(), "done", "complete"),
    ("utf-16", {"encoding": "utf-16-le", "bom": codecs.BOM_UTF16_LE}, codecs.BOM_UTF16_LE + OLD.encode("utf-16-le"), "failed", "is unchanged"),
    ("binary", {}, b"\0\0\0", "unknown", "cannot be read"),
    ("created", {"before": None}, NEW.encode(), "done", "complete"),
    ("not created", {"before": None}, None, "failed", "is unchanged"),
    ("created by another", {"before": None}, b"mine\n", "unknown", "neither"),
    ("removed", {"after": None}, None, "done", "complete"),
    ("not removed", {"after": None}, OLD.encode(), "failed", "is unchanged"),
    ("same text", {"after": OLD}, OLD.encode(), "done", "complete"),
    ("editor, saved", {"via": "editor"}, NEW.encode(), "done", "complete"),
    ("editor, not saved", {"via": "editor"}, OLD.encode(), "unknown", "may have the new text, unsaved"),
    ("editor, something else", {"via": "editor"}, b"mine\n", "unknown", "neither"),
    ("editor, never created", {"via": "editor", "before": None}, None, "unknown", "unsaved"),
    ("untitled", {"via": "editor", "path": "untitled:1"}, None, "unknown", "not a file"),
    ("half", {}, b"one\nTWO\n", "failed", "was restored"),
    ("half, room reserved", {}, b"one\nTW" + b"o\n\0\0\0\0\0\0", "failed", "was restored"),
    ("longer before, not cut off", {"before": NEW, "after": OLD}, b"one\ntwo\nthree\n", "failed", "was restored"),
    ("half, then edited", {}, b"one\nTWO\nmine", "unknown", "neither"),
    ("half, by the editor", {"via": "editor"}, b"one\nTWO\n", "unknown", "neither"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def leave(journal: Path, *entries: Any) -> list[str]:
    """Journals entries and goes before it says what became of them."""
    with Store(journal) as store:
        return [store.begin(one) for one in entries]


@pytest.mark.parametrize(
    ("more", "data", "state", "words"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_by_the_file(
    journal: Path, folder: Path, more: dict[str, Any], data: bytes | None, state: str, words: str
) -> None:
    path = folder / "a.txt"
    values = {"before": OLD, "after": NEW, "path": str(path), "root": str(folder), **more}
    leave(journal, entry(**values))
    if data is not None:
        path.write_bytes(data)
    with Store(journal) as store:
        (sentence,) = settle(store)
        assert [one.state for one in store.entries()] == [state]
        assert words in sentence
        assert ("a.txt" in sentence) is ("untitled" not in sentence)
        assert str(folder) not in sentence or "cannot" in sentence
        if "was restored" in words:
            assert path.read_text() == values["before"]
        elif data is not None:
            assert path.read_bytes() == data
        assert settle(store) == []


def test_a_half_written_file_with_another_name_keeps_it(journal: Path, folder: Path) -> None:
    path, other = folder / "a.txt", folder / "b.txt"
    path.write_bytes(b"one\nTWO\n")
    other.hardlink_to(path)
    leave(journal, entry(OLD, NEW, str(path), root=str(folder)))
    with Store(journal) as store:
        settle(store)
    assert path.read_text() == other.read_text() == OLD
    assert path.samefile(other)


NEXT: list[tuple[str, str | None, str]] = [
    ("the next write found it done", NEW, "done"),
    ("the next write found it undone", OLD, "failed"),
    ("the next write found something else", "mine\n", "unknown"),
    ("the next write found no file", None, "unknown"),
]


@pytest.mark.parametrize(("found", "state"), [row[1:] for row in NEXT], ids=[row[0] for row in NEXT])
def test_by_the_next_write(journal: Path, folder: Path, found: str | None, state: str) -> None:
    path = str(folder / "a.txt")
    (folder / "a.txt").write_text("much later\n")
    first, _ = leave(
        journal,
        entry(OLD, NEW, path, root=str(folder)),
        entry(found, "later\n", path, root=str(folder)),
    )
    with Store(journal) as store:
        settle(store)
        assert {one.id: one.state for one in store.entries()}[first] == state


def test_what_a_running_process_is_writing_is_left_alone(journal: Path, folder: Path) -> None:
    with Store(journal) as running, Store(journal) as store:
        running.begin(entry(OLD, NEW, str(folder / "a.txt"), root=str(folder)))
        assert settle(store) == []
        assert store.entries()[0].state == "intent"


def test_an_interrupted_revert_that_was_made_counts(journal: Path, folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text(OLD)
    with Store(journal) as store:
        taken = store.begin(entry(OLD, NEW, str(path), root=str(folder)))
        store.finish(taken, "done")
        store.begin(entry(NEW, OLD, str(path), root=str(folder)), takes_back=[taken])
    with Store(journal) as store:
        settle(store)
        assert {one.id == taken: one.state for one in store.entries()} == {True: "undone", False: "done"}


@pytest.mark.parametrize(
    ("path", "make"),
    [
        ("nowhere/a.txt", lambda folder: None),
        ("link/a.txt", lambda folder: (folder / "link").symlink_to(folder.parent)),
        ("../a.txt", lambda folder: None),
    ],
)
def test_paths_that_lead_elsewhere_now_are_not_followed(
    tmp_path: Path, journal: Path, folder: Path, path: str, make: Callable[[Path], None]
) -> None:
    make(folder)
    (tmp_path / "a.txt").write_text(NEW)
    leave(journal, entry(OLD, NEW, f"{folder}/{path}", root=str(folder)))
    with Store(journal) as store:
        settle(store)
        assert store.entries()[0].state == "unknown"


async def test_at_start_everything_is_told_but_not_too_much(journal: Path, folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    paths = [str(folder / "a.txt"), *(str(folder / f"{i}.txt") for i in range(TOLD + 2))]
    leave(journal, *(entry(OLD, NEW, path, root=str(folder)) for path in paths))
    async with SqliteJournal.opened(journal) as opened:
        told = await at_start(opened)
        assert len(told) == TOLD + 1
        assert (
            told[0].words
            == "agent's write to a.txt was interrupted before anything was written; the file is unchanged."
        )
        assert told[-1].words.startswith("3 more")
        assert await at_start(opened) == []


async def test_at_start_a_journal_that_cannot_be_used_is_told(tmp_path: Path, journal: Path) -> None:
    (tmp_path / "file").write_text("")
    async with SqliteJournal.opened(tmp_path / "file" / "j") as opened:
        (sentence,) = await at_start(opened)
    assert "agents cannot write" in sentence.words


def test_damaged_texts_are_told(journal: Path, folder: Path) -> None:
    leave(journal, entry(OLD, NEW, str(folder / "a.txt"), root=str(folder)))
    with Store(journal) as store:
        store.open()
        store._open.connection.execute("UPDATE texts SET data = x'00'")
        (sentence,) = settle(store)
        assert "damaged" in sentence
    assert (journal / NAME).exists()
