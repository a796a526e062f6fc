"""Selection, Diagnostics and Watch: what an editor tells, and what one that tells nothing leads to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sidecar.core.text import Position, Range
from sidecar.core.uri import DocumentUri, from_path
from sidecar.workspace.ports.ports import EditorRefused
from sidecar.workspace.ports.prompt_context import Mention, Problem
from tests.gates.product import Product
from tests.mcp.live import a_live_agent
from tests.mcp.test_tools import tools
from tests.support.workspaces import QuietEditor

WORDS = "eins\nzwei \N{GRINNING FACE} drei\nvier\n"


class Telling(QuietEditor):
    def __init__(self, path: Path, *problems: Problem) -> None:
        super().__init__(context=True)
        self.uri = DocumentUri(from_path(str(path)))
        self.selection: Range | None = Range(Position(1, 8), Position(2, 0))
        self.problems = problems
        self.asked: list[Sequence[str] | None] = []
        self.refuses = False

    async def context(self, uris: Sequence[str] | None) -> list[Mention]:
        self.asked.append(uris)
        if self.refuses:
            raise EditorRefused("no")
        return [Mention(self.uri, self.selection, self.problems)]


async def test_the_selection_with_columns_in_code_points(tmp_path: Path) -> None:
    """The editor counts UTF-16 units."""
    editor = Telling(tmp_path / "a.txt")
    async with tools(tmp_path, editor) as call:
        (tmp_path / "a.txt").write_text("saved\n")
        call.bench.open("a.txt", WORDS)
        told = await call.told("Selection")
        assert told == {
            "file_path": str(tmp_path / "a.txt"),
            "firstLine": 2,
            "firstColumn": 8,
            "lastLine": 3,
            "lastColumn": 1,
            "text": "drei\n",
            "unsaved": True,
        }
        assert editor.asked == [None]


async def test_the_selection_of_a_file_that_is_not_the_agents_to_read(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    for path in (tmp_path / "a.txt", folder / ".env", folder / "a.txt"):
        path.write_text(WORDS)
    editor = Telling(tmp_path / "a.txt")
    async with tools(folder, editor) as call:
        assert "not in a text file of this session's folders" in await call.no("Selection")
        editor.uri = DocumentUri(from_path(str(folder / ".env")))
        call.bench.open(".env", WORDS)
        assert "drei" not in await call.no("Selection")
        assert editor.questions, "the user is asked, and says no"
        editor.uri = DocumentUri("untitled:1")
        assert "not in a text file" in await call.no("Selection")
        editor.uri = DocumentUri(from_path(str(folder / "a.txt")))
        assert "not in a text file" in await call.no("Selection"), "nobody has told its text"
        editor.refuses = True
        assert "the editor did not tell: no" in await call.no("Selection")


async def test_diagnostics(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(WORDS)
    (tmp_path / ".env").write_text(WORDS)
    editor = Telling(
        tmp_path / "a.txt",
        Problem(Position(1, 8), "spelt wrongly", 2, "speller", "W1"),
        Problem(Position(0, 0), "no", None),
        Problem(Position(0, 0), "an agent's change", 4, "acp-sidecar"),
    )
    async with tools(tmp_path, editor) as call:
        call.bench.open("a.txt", WORDS)
        call.bench.open(".env", WORDS)
        at = {"file_path": str(tmp_path / "a.txt")}
        rows = [
            {**at, "line": 1, "column": 1, "severity": "error", "message": "no"},
            {
                **at,
                "line": 2,
                "column": 8,
                "severity": "warning",
                "message": "spelt wrongly",
                "source": "speller",
                "code": "W1",
            },
        ]
        assert await call.told("Diagnostics") == {"diagnostics": rows}
        assert editor.asked == [[call.bench.uri("a.txt")]], "not of a file that needs the user's permission"
        assert await call.told("Diagnostics", file_path="a.txt") == {"diagnostics": rows}
        await call.no("Diagnostics", file_path="../a.txt")
        await call.no("Diagnostics", file_path=".env")


async def test_an_editor_that_tells_nothing(tmp_path: Path) -> None:
    async with tools(tmp_path, QuietEditor()) as call:
        call.bench.open("a.txt", WORDS)
        for tool in ("Selection", "Diagnostics"):
            assert "Ask the user" in await call.no(tool)


async def test_watch(tmp_path: Path) -> None:
    """Typing, the disk, a file that comes and goes; the same text is the same version, open or not."""
    path = tmp_path / "a.txt"
    path.write_text(WORDS)
    async with tools(tmp_path) as call:
        first = await call.told("Watch", file_path="a.txt")
        assert first == {"file_path": str(path), "version": first["version"], "changed": False}
        call.bench.open("a.txt", WORDS)
        again = await call.told("Watch", file_path="a.txt", since=first["version"], seconds=1)
        assert again == first, "it is the same text"

        waiting = asyncio.ensure_future(call.told("Watch", file_path="a.txt", since=first["version"]))
        call.bench.type("a.txt", 2, 0, 0, "typed ")
        typed = await waiting
        assert typed["changed"]
        assert typed["version"] != first["version"]

        gone = await call.told("Watch", file_path="none.txt")
        assert gone["version"] == "missing"
        waiting = asyncio.ensure_future(call.told("Watch", file_path="none.txt", since="missing"))
        (tmp_path / "none.txt").write_text(WORDS)
        assert (await waiting)["version"] == first["version"]


async def test_watch_tells_nothing_of_what_may_not_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    (tmp_path / "a.txt").write_text(WORDS)
    (folder / ".env").write_text(WORDS)
    async with tools(folder) as call:
        await call.no("Watch", file_path="../a.txt")
        await call.no("Watch", file_path=".env")
        assert "at most 55" in await call.no("Watch", file_path="a.txt", seconds=600)


class TellingProduct(Product):
    def handle(self, method: str, params: Any) -> object:
        if method != "sidecar/context":
            return super().handle(method, params)
        at = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 4}}
        uris = params.get("uris", [Path(self.folder, "a.txt").as_uri()])
        return [{"uri": uri, "range": at, "diagnostics": [{"range": at, "message": "bad"}]} for uri in uris]


async def test_over_the_wire(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    path = folder / "a.txt"
    path.write_text(WORDS)
    client = ("sessionUpdates", "context")
    async with a_live_agent(folder, tmp_path / "traces", client=client, make=TellingProduct) as live:
        live.product.open(path)
        assert (await live.told("Selection"))["text"] == "eins"
        (row,) = (await live.told("Diagnostics"))["diagnostics"]
        assert (row["line"], row["message"]) == (1, "bad")
        version = (await live.told("Watch", file_path="a.txt"))["version"]
        waiting = asyncio.ensure_future(live.told("Watch", file_path="a.txt", since=version))
        live.product.type(path, "typed ", at=0)
        assert (await waiting)["changed"]
