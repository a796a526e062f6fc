"""The system's own file watcher: tells of what is watched, of nothing else, and ends when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from watchfiles import _rust_notify

from sidecar.disk import watching
from sidecar.disk.watching import FolderWatch, probe, reason
from tests.support import tools
from tests.support.waiting import eventually

HANGS = 30.0


@pytest.fixture(autouse=True)
def descriptors_are_closed_soon() -> Iterator[None]:
    """The library's own thread closes them; conftest.py looks afterwards whether any is left."""
    folder = Path("/proc/self/fd")
    if not folder.exists():
        yield
        return
    before = len(list(folder.iterdir()))
    yield
    eventually(lambda: len(list(folder.iterdir())) <= before, "the library closes what it opened")


class Told:
    def __init__(self) -> None:
        self.event = threading.Event()
        self.ended = threading.Event()

    @contextmanager
    def of(self, roots: list[str], folders: Iterable[str] = ()) -> Iterator[FolderWatch]:
        watch = FolderWatch(roots, folders, self.event.set, self.ended.set)
        try:
            eventually(lambda: self.event.is_set() or watch.why_not, "it runs, or says why not")
            if "no more watches" in watch.why_not:
                tools.lacking("watches", watch.why_not)
            self.event.clear()
            yield watch
        finally:
            watch.stop()
            assert watch.join(HANGS)


@pytest.mark.parametrize("what", ["written", "made", "removed", "replaced", "below"])
def test_tells(tmp_path: Path, what: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_text("a")
    (tmp_path / "sub" / "b").write_text("b")
    told = Told()
    with told.of([str(tmp_path)], [str(tmp_path / "sub")]) as watch:
        match what:
            case "written":
                (tmp_path / "a").write_text("b")
            case "made":
                (tmp_path / "new").write_text("b")
            case "removed":
                (tmp_path / "a").unlink()
            case "replaced":
                (tmp_path / "sub" / "b").rename(tmp_path / "a")
            case _:
                (tmp_path / "sub" / "b").write_text("c")
        assert told.event.wait(HANGS)
        assert watch.covers(str(tmp_path / "sub" / "b"))
        assert not watch.covers(str(tmp_path.parent / "x"))
    assert not watch.running
    assert not watch.covers(str(tmp_path / "a"))
    assert not told.ended.is_set()


@pytest.mark.skipif(not watching.ONE_BY_ONE, reason="one watch covers a tree here")
def test_a_folder_that_is_not_named_is_not_watched(tmp_path: Path) -> None:
    for name in ("node_modules", "last"):
        (tmp_path / name).mkdir()
    told = Told()
    with told.of([str(tmp_path)], [str(tmp_path / "last")]) as watch:
        (tmp_path / "node_modules" / "a").write_text("a")
        assert not watch.covers(str(tmp_path / "node_modules" / "a"))
        assert watch.folders == [str(tmp_path), str(tmp_path / "last")]


def test_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MAX_FOLDERS", 3)
    monkeypatch.setattr(watching, "ONE_BY_ONE", True)
    names = [tmp_path / str(number) for number in range(5)]
    for name in names:
        name.mkdir()
    with Told().of([str(tmp_path)], map(str, names)) as watch:
        assert watch.folders == [str(tmp_path), *map(str, names[:2])]
        assert not watch.covers(str(names[4] / "a"))
        assert watch.covers_folders(map(str, names)), "another one would have no more"


def test_a_folder_that_is_gone_does_not_matter(tmp_path: Path) -> None:
    told = Told()
    with told.of([str(tmp_path), str(tmp_path / "gone")]):
        (tmp_path / "a").write_text("a")
        assert told.event.wait(HANGS)


# what the library raises · a part of what is said
FAILURES = [
    (OSError(28, 'OS file watch limit reached. about ["/secret"]'), "allows no more watches"),
    (OSError(24, "Too many open files"), "allows no more watches"),
    (_rust_notify.WatchfilesRustInternalError("odd"), "odd"),
    (ImportError("no module"), "not installed"),
]


@pytest.mark.parametrize(("error", "words"), FAILURES)
def test_without_watches_it_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(_rust_notify, "RustNotify", fail)
    told = Told()
    watch = FolderWatch([str(tmp_path)], [], told.event.set, told.ended.set)
    assert told.ended.wait(HANGS)
    assert watch.join(HANGS)
    assert words in watch.why_not
    assert "/secret" not in watch.why_not
    assert "checked twice a second" in caplog.text
    assert not watch.covers(str(tmp_path / "a"))
    assert not watch.covers_folders([str(tmp_path)])
    assert probe(str(tmp_path)) == watch.why_not


def test_the_probe(tmp_path: Path) -> None:
    assert probe(str(tmp_path)) == ""
    assert reason(RuntimeError()) == "RuntimeError"


def test_many_begun_and_ended_leave_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    for _ in range(20):
        watch = FolderWatch([str(tmp_path)], [], lambda: None, lambda: None)
        watch.stop()
        assert watch.join(HANGS)
    assert threading.active_count() == before
