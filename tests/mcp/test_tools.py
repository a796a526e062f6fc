"""Every tool, case by case, against a workspace: what it answers, and what it leaves alone. The way there is test_live.py's."""

from __future__ import annotations

import asyncio
import base64
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.uri import from_path
from sidecar.mcp.calls import McpCalls
from sidecar.mcp.local_tools import LOCAL
from sidecar.mcp.schemas import NAMES, TOOLS
from sidecar.mcp.tokens import Tokens
from sidecar.workspace.review.review import Selector
from tests.support.waiting import eventually
from tests.support.workspaces import Bench, QuietEditor, a_workspace

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Tools:
    def __init__(self, bench: Bench, session: str = "") -> None:
        self.bench = bench
        self.session = session or bench.session
        tokens = Tokens()
        self._calls = McpCalls(bench.workspace, tokens)
        self._token = tokens.make(self.session)

    async def __call__(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        local = LOCAL.get(name)
        if local is not None:
            return await local(self, arguments)
        answer: Any = await self._calls.call({"token": self._token, "name": name, "arguments": arguments})
        return answer

    async def text(self, tool: str, **arguments: Any) -> str:
        answer = await self(tool, arguments)
        text = "".join(block.get("text", "") for block in answer["content"])
        assert not answer.get("isError"), text
        return text

    async def told(self, tool: str, **arguments: Any) -> Any:
        answer = await self(tool, arguments)
        assert not answer.get("isError"), answer
        return answer["structuredContent"]

    async def no(self, tool: str, **arguments: Any) -> str:
        answer = await self(tool, arguments)
        assert answer.get("isError"), answer
        return answer["content"][0]["text"]


@asynccontextmanager
async def tools(folder: Path, editor: Any = None, **settings: Any) -> AsyncIterator[Tools]:
    async with a_workspace(folder, editor, settings=settings) as bench:
        yield Tools(bench)


def test_every_tool_says_what_it_is() -> None:
    for tool in TOOLS:
        schema = tool["inputSchema"]
        assert schema["additionalProperties"] is False
        assert {"title", "readOnlyHint", "openWorldHint"} <= set(tool["annotations"])
        assert set(schema.get("required", ())) <= set(schema["properties"])
        for name, value in schema["properties"].items():
            assert "type" in value, (tool["name"], name)
            if value["type"] == "integer":
                assert value["description"], f"{name} of {tool['name']} has a unit"


def test_the_reference_has_every_tool() -> None:
    page = (Path(__file__).parents[2] / "docs/reference.md").read_text(encoding="utf-8")
    part = page.partition("## Tools for agents")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", part, re.MULTILINE))
    assert tuple(rows) == NAMES
    for tool in TOOLS:
        required = tool["inputSchema"].get("required", [])
        named = [name if name in required else f"{name}?" for name in tool["inputSchema"]["properties"]]
        assert re.findall(r"`(\w+\??)`", rows[tool["name"]]) == named, tool["name"]


async def test_every_tool_of_the_list_is_there(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        for name in NAMES:
            assert "there is no tool" not in str(await call(name, {})), name
        assert "there is no tool 'Nothing'" in await call.no("Nothing")


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("Read", {}, "file_path must be a string"),
    ("Read", {"file_path": 1}, "file_path must be a string"),
    ("Read", {"file_path": "a.txt", "offset": "1"}, "offset must be a whole number from 0"),
    ("Read", {"file_path": "a.txt", "limit": True}, "limit must be a whole number from 0"),
    ("Read", {"file_path": "a.txt", "line": 1}, "there is no argument 'line'"),
    ("Read", {"file_path": "file:///a.txt"}, "not a URI"),
    ("Read", {"file_path": "a\0b"}, "must be a path"),
    ("Read", {"file_path": "x" * 5000}, "longer than"),
    ("Edit", {"file_path": "a.txt", "old_string": "a", "new_string": "b", "replace_all": 1}, "true or false"),
    ("EditMany", {"edits": []}, "not empty"),
    ("EditMany", {"edits": [{"file_path": "a.txt", "old_string": "a"}]}, "item 1 of edits: new_string"),
    ("EditMany", {"edits": [{}] * 101}, "100 items at most"),
    ("ReadBytes", {"file_path": "a.txt", "length": 2**30}, "at most"),
    ("ListFolder", {"depth": 0}, "from 1"),
    ("Search", {"pattern": "("}, "not a regular expression"),
    ("Search", {"pattern": ""}, "empty"),
    ("Glob", {"pattern": "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"}, "alternatives"),
]


@pytest.mark.parametrize(("tool", "arguments", "words"), WRONG)
async def test_wrong_arguments(tmp_path: Path, tool: str, arguments: dict[str, Any], words: str) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    async with tools(tmp_path) as call:
        assert words in await call.no(tool, **arguments)
        assert (tmp_path / "a.txt").read_text() == "a\n"


async def test_reading(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    (tmp_path / "b.bin").write_bytes(b"\0\1\2")
    (tmp_path / "c.png").write_bytes(PNG)
    (tmp_path / "d.png").write_bytes(b"\0not an image")
    async with tools(tmp_path) as call:
        assert await call.text("Read", file_path="a.txt") == "one\r\ntwo\nthree"
        assert await call.text("Read", file_path="a.txt", offset=2, limit=1) == "two\n"
        assert "past the end" in await call.no("Read", file_path="a.txt", offset=9)
        assert "Resource not found" in await call.no("Read", file_path="none.txt")
        assert "b.bin" in await call.no("Read", file_path="b.bin")
        (image,) = (await call("Read", {"file_path": "c.png"}))["content"]
        assert (image["type"], image["mimeType"], base64.b64decode(image["data"])) == (
            "image",
            "image/png",
            PNG,
        )
        assert "is none" in await call.no("Read", file_path="d.png")
        many = await call("ReadMany", {"files": [{"file_path": n} for n in ("a.txt", "none.txt", "c.png")]})
        kinds = [(b["type"], b.get("text", "").partition(":")[0]) for b in many["content"]]
        assert kinds[0] == ("text", "file")
        assert kinds[2] == ("text", "error")
        assert many["content"][-1]["type"] == "image"


async def test_bytes(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(bytes(range(256)))
    (tmp_path / "c.png").write_bytes(PNG)
    async with tools(tmp_path) as call:
        told = await call.told("ReadBytes", file_path="b.bin", offset=250)
        assert base64.b64decode(told.pop("base64")) == bytes(range(250, 256))
        assert told == {"size": 256, "offset": 250, "length": 6}
        assert (await call.told("ReadBytes", file_path="b.bin", offset=999))["length"] == 0
        (image,) = (await call("ReadBytes", {"file_path": "c.png"}))["content"]
        assert image["type"] == "image"


async def test_a_text_that_only_the_buffer_has(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("disk\n")
    async with tools(tmp_path) as call:
        call.bench.open("a.txt", "disk\n")
        call.bench.type("a.txt", 2, 0, 0, "typed ")
        assert await call.text("Read", file_path="a.txt") == "typed disk\n"
        assert (await call.told("Search", pattern="typed"))["matches"] == [
            {"file": "a.txt", "line": 1, "text": "typed disk"}
        ]
        assert (await call.told("Search", pattern="^disk"))["matches"] == [], "the disk's text does not count"
        (entry,) = (await call.told("ListFolder"))["entries"]
        assert entry["unsaved"] is True


async def test_writing(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        await call.text("Write", file_path="new/a.txt", content="one\ntwo\n")
        assert (tmp_path / "new/a.txt").read_text() == "one\ntwo\n"
        shown = await call.text("Edit", file_path="new/a.txt", old_string="two", new_string="TWO")
        assert "     2\tTWO" in shown
        await call.text("Append", file_path="new/a.txt", content="three")
        await call.text("Append", file_path="new/a.txt", content="four\n")
        assert (tmp_path / "new/a.txt").read_text() == "one\nTWO\nthree\nfour\n"
        await call.text("Append", file_path="other.txt", content="made\n")
        assert (tmp_path / "other.txt").read_text() == "made\n"
        await call.text("Edit", file_path="third.txt", old_string="", new_string="made by an edit\n")
        assert (tmp_path / "third.txt").read_text() == "made by an edit\n"
        assert "old_string is empty" in await call.no(
            "Edit", file_path="third.txt", old_string="", new_string="x"
        )
        assert "not found in file" in await call.no(
            "Edit", file_path="other.txt", old_string="x", new_string="y"
        )


async def test_many_edits_are_all_or_nothing(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("one\ntwo\n")

    def edits(*of: tuple[str, str, str]) -> list[dict[str, str]]:
        return [{"file_path": f, "old_string": old, "new_string": new} for f, old, new in of]

    async with tools(tmp_path) as call:
        words = await call.no("EditMany", edits=edits(("a.txt", "one", "ONE"), ("b.txt", "three", "x")))
        assert words.startswith("Nothing was changed in any file.")
        assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text() == "one\ntwo\n"
        await call.text(
            "EditMany", edits=edits(("a.txt", "one", "1"), ("b.txt", "two", "2"), ("a.txt", "two", "2"))
        )
        assert (tmp_path / "a.txt").read_text() == "1\n2\n"
        assert (tmp_path / "b.txt").read_text() == "one\n2\n"
        os.chmod(tmp_path / "b.txt", 0o444)
        words = await call.no("EditMany", edits=edits(("a.txt", "1", "eins"), ("b.txt", "one", "eins")))
        assert words.startswith("Nothing was changed in any file."), "the first is taken back"
        assert (tmp_path / "a.txt").read_text() == "1\n2\n"
        assert (await call.told("Changes"))["changes"]


async def test_listing(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("x = 1\n")
    (tmp_path / "link").symlink_to("/etc")
    os.chmod(tmp_path / "src/a.py", 0o640)
    os.utime(tmp_path / "src/a.py", (0, 1_000_000_000))
    async with tools(tmp_path) as call:
        told = await call.told("ListFolder", depth=2)
        assert told["path"] == str(tmp_path)
        assert [(e["name"], e["kind"]) for e in told["entries"]] == [
            ("link", "link"),
            ("src", "folder"),
            ("src/a.py", "file"),
        ]
        assert told["entries"][2] == {
            "name": "src/a.py",
            "kind": "file",
            "size": 6,
            "changed": "2001-09-09T01:46:40Z",
            "permissions": "rw-r-----",
        }
        await call.no("ListFolder", path="link")
        await call.no("ListFolder", path="/etc")
        await call.no("ListFolder", path="none")


GLOBS = [
    ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
    ("src/*.py", ["src/b.py"]),
    ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
    ("**/c.py", ["src/deep/c.py"]),
    ("*.{md,txt}", ["src/d.txt"]),
    ("[!a].py", ["src/b.py", "src/deep/c.py"]),
    ("src/?.txt", ["src/d.txt"]),
    ("none", []),
]


@pytest.mark.parametrize(("pattern", "expected"), GLOBS)
async def test_glob(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    async with tools(tmp_path) as call:
        assert (await call.told("Glob", pattern=pattern))["files"] == expected


async def test_search(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"One\r\ntwo.\r\none")
    (tmp_path / "b.txt").write_text("two+\n")
    (tmp_path / "c.bin").write_bytes(b"one\0")
    (tmp_path / ".env").write_text("one\n")
    (tmp_path / "out").symlink_to("/etc/passwd")
    async with tools(tmp_path) as call:

        async def lines(**arguments: Any) -> list[tuple[str, int, str]]:
            return [
                (m["file"], m["line"], m["text"]) for m in (await call.told("Search", **arguments))["matches"]
            ]

        assert await lines(pattern="one") == [("a.txt", 3, "one")]
        assert await lines(pattern="one", ignore_case=True) == [("a.txt", 1, "One"), ("a.txt", 3, "one")]
        assert await lines(pattern="two+", literal=True) == [("b.txt", 1, "two+")]
        assert await lines(pattern="two", glob="b*") == [("b.txt", 1, "two+")]
        assert await lines(pattern="two", path="a.txt") == [("a.txt", 2, "two.")]
        assert await lines(pattern="^o|\\.$") == [("a.txt", 2, "two."), ("a.txt", 3, "one")], "of each line"
        assert await lines(pattern="root") == [], "no link is followed"
        told = await call.told("Search", pattern="o", max_matches=1)
        assert len(told["matches"]) == 1
        assert "more matches" in told["leftOut"]
        assert told["needPermission"].startswith("1 ")


async def test_the_user_is_asked_before_a_secret_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    editor = QuietEditor()
    async with tools(tmp_path, editor) as call:
        for tool in ("Read", "ReadBytes"):
            assert "did not allow" in await call.no(tool, file_path=".env")
        await call.no("EditMany", edits=[{"file_path": ".env", "old_string": "KEY", "new_string": "x"}])
        assert len(editor.questions) == 3
        editor.answer = "always"
        assert await call.text("Read", file_path=".env") == "KEY=1\n"


async def test_edits_made_together_wait_for_the_users_decisions(tmp_path: Path) -> None:
    """`writes: "confirm"`: all are made, each is decided by itself, and what was kept is not taken back with what was rejected."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("one\n")
    async with tools(tmp_path, writes="confirm") as call:
        step = {"old_string": "one", "new_string": "two"}
        edits = [{"file_path": name, **step} for name in ("a.txt", "b.txt")]
        editing = asyncio.ensure_future(call.no("EditMany", edits=edits))
        workspace = call.bench.workspace
        made = asyncio.Event()
        both = Selector(everything=True)
        workspace.state.ledgers.on_moved.append(
            lambda reviewed: made.set() if len(workspace.review.changes(both)) == 2 else None
        )
        await asyncio.wait_for(made.wait(), 30)
        workspace.review.keep(Selector(uri=from_path(str(tmp_path / "b.txt"))))
        await workspace.review.reject(Selector(uri=from_path(str(tmp_path / "a.txt"))), "one is right")
        words = await editing
        assert "did not keep your change of a.txt" in words.replace(f"{tmp_path}/", "")
        assert '"one is right"' in words
        assert "b.txt" in words
        assert ((tmp_path / "a.txt").read_text(), (tmp_path / "b.txt").read_text()) == ("one\n", "two\n")


async def test_a_write_goes_on_when_its_caller_is_gone(tmp_path: Path) -> None:
    """Half a write is worse than one that nobody hears about."""
    (tmp_path / "a.txt").write_text("one\n")
    async with tools(tmp_path) as call:
        running = asyncio.ensure_future(
            call("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})
        )
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.to_thread(eventually, lambda: (tmp_path / "a.txt").read_text() == "two\n", "the write")


async def test_no_call_is_served_for_a_closed_session(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with tools(tmp_path) as call:
        other = Tools(call.bench, await call.bench.another_session())
        assert await other.text("Read", file_path="a.txt") == "one\n"
        await call.bench.workspace.close_session(other.session)
        assert set(await other("Read", {"file_path": "a.txt"})) == {"refused"}
        assert await call.text("Read", file_path="a.txt") == "one\n"
