"""What an editor that follows an agent is told: which file, which line, and what became of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.core.uri import from_path
from sidecar.workspace.ports.session_ports import Activity
from tests.support.workspaces import QuietEditor, a_workspace

OLD = "one\ntwo\nthree\n"


class Editor(QuietEditor):
    def __init__(self) -> None:
        super().__init__(activity=True)
        self.seen: list[tuple[str, str, int | None]] = []

    def activity(self, activity: Activity) -> None:
        assert activity.uri == self.uri
        self.seen.append((activity.kind, activity.outcome, activity.line))

    uri = ""


# what the agent does: the line it reads from (from 1), or what it writes · what is told, with a line from 0
ROWS: dict[str, tuple[int | str | None, tuple[str, str, int | None]]] = {
    "reads": (None, ("read", "ok", None)),
    "reads from a line": (3, ("read", "ok", 2)),
    "reads from line 0": (0, ("read", "ok", 0)),
    "reads too far": (9, ("read", "bad_range", 8)),
    "writes the first line": (OLD.replace("one", "ONE"), ("write", "ok", 0)),
    "writes the last line": (OLD.replace("three", "THREE"), ("write", "ok", 2)),
    "writes two lines": ("one\nTWO\nTHREE\n", ("write", "ok", 1)),
    "writes what is there": (OLD, ("write", "ok", None)),
    "may not": ("a\ud800", ("write", "unencodable", None)),
}


@pytest.mark.parametrize(("does", "told"), ROWS.values(), ids=ROWS)
async def test_told(tmp_path: Path, does: int | str | None, told: tuple[str, str, int | None]) -> None:
    (tmp_path / "a.txt").write_text(OLD)
    editor = Editor()
    editor.uri = from_path(str(tmp_path / "a.txt"))
    async with a_workspace(tmp_path, editor) as bench:
        if isinstance(does, str):
            await bench.write("a.txt", does)
        else:
            await bench.read("a.txt", does)
    assert editor.seen == [told]


async def test_the_line_is_that_of_the_last_write(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(OLD)
    editor = Editor()
    editor.uri = from_path(str(tmp_path / "a.txt"))
    async with a_workspace(tmp_path, editor) as bench:
        await bench.write("a.txt", OLD.replace("three", "THREE"))
        await bench.write("a.txt", OLD.replace("three", "THREE"))
    assert editor.seen == [("write", "ok", 2), ("write", "ok", None)]
