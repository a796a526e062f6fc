"""An editor that hangs costs the run in which it does, and no other."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hands import batch
from tests.hands.batch import part, played
from tests.hands.report import summary
from tests.hands.steps import Kind
from tests.support.waiting import NeverHappened


class Files:
    """An editor in which typing goes right to the end of the file, and where the second run that it is used for hangs."""

    name = "files"
    kinds: frozenset[Kind] = frozenset({"type", "rest"})
    settings: Mapping[str, tuple[Any, ...]] = {}

    def __init__(self) -> None:
        self.runs = 0
        self.path = Path()

    def begin(self, folder: Path) -> None:
        self.runs += 1
        if self.runs == 2:
            raise NeverHappened("within 60 s never: an answer")

    def open(self, path: Path) -> None:
        self.path = path

    def type(self, text: str, pace: float) -> None:
        with self.path.open("a") as file:
            file.write(text)

    def text(self, path: Path) -> str | None:
        return None

    def command(self, name: str, argument: Any) -> Any:
        return []

    def nothing(self, *arguments: object) -> None: ...

    close = save = undo = redo = split = set = prompt = nothing

    def place(self, line: int, at_end: bool) -> None: ...

    def is_working(self) -> bool:
        return False

    def said(self) -> str:
        raise EOFError("it has ended")


class Driver:
    def __init__(self) -> None:
        self.editors: list[Files] = []

    @contextmanager
    def started(self, folder: Path, log: Path) -> Generator[Files]:
        folder.mkdir()
        self.editors.append(Files())
        yield self.editors[-1]


def test_the_next_run_has_a_new_editor(tmp_path: Path) -> None:
    driver = Driver()
    reports = list(played(driver, range(5), 4, tmp_path))
    assert [editor.runs for editor in driver.editors] == [2, 2, 1]
    assert [(report.seed, report.failed) for report in reports] == [
        (0, False),
        (1, True),
        (2, False),
        (3, True),
        (4, False),
    ]
    assert "within 60 s never: an answer" in str(reports[1])
    assert "2 runs that hung" in summary(reports)


def test_the_stories_of_runs_in_which_something_is_wrong_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "driver", lambda name: Driver())
    part("some", range(3), 4, storm=True, kept=tmp_path / "kept")
    (story,) = (tmp_path / "kept").iterdir()
    assert story.name == "some-1.txt"
    first, rest = story.read_text().split("\n", 1)
    assert first.endswith("(make hands EDITOR=files SEED=1 STEPS=4 HANDS=--storm)")
    assert "within 60 s never: an answer" in rest
