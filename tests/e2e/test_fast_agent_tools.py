"""Each tool of ours with fast-agent as the client (`"ownTools": "all"`): a real agent starts our MCP server, lists its tools and calls them, and what they
say and do is that of the text as the user sees it in the moment."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sidecar.demo.editor import ALL_CUSTOM
from sidecar.mcp.schemas import NAMES
from tests.e2e import fast_agent
from tests.e2e.test_own_tools import PNG
from tests.e2e.third_party import BASE, allow
from tests.gates.product import COMMAND
from tests.mcp.test_editor_tools import TellingProduct
from tests.support import tools

TYPED = "typed\n"


class Scene:
    def __init__(self, product: TellingProduct, session: Any, folder: Path) -> None:
        self.product = product
        self.session = session
        self.folder = folder

    async def call(self, tool: str, **arguments: Any) -> str:
        """What fast-agent says that the tool answered."""
        before = len(self.product.said(self.session))
        turn = await self.product.prompt(self.session, fast_agent.call(f"sidecar__{tool}", **arguments))
        assert turn.get("stopReason") == "end_turn", turn
        return self.product.said(self.session)[before:]

    @property
    def path(self) -> Path:
        return self.folder / "a.txt"

    @property
    def text(self) -> str:
        return self.product.document(self.path).text


@asynccontextmanager
async def a_scene(tmp_path: Path, workspace: Path) -> AsyncIterator[Scene]:
    """a.txt is open with an unsaved line; the user has selected "type" there."""
    agent = fast_agent.settings(tools.require("fast-agent"), tmp_path / "home", "--no-permissions")
    (workspace / "a.txt").write_text(BASE)
    (workspace / "src").mkdir()
    (workspace / "src" / "b.py").write_text("b = 1\n")
    (workspace / "pixel.png").write_bytes(PNG)
    (workspace / "bytes.bin").write_bytes(b"\0\1\2")
    options = {**agent, "ownTools": "all", "client": {**ALL_CUSTOM, "context": True}}
    async with TellingProduct(COMMAND, workspace, options=options, answer=allow) as product:
        session = await product.session(fast_agent.NAME)
        assert "error" not in session, session
        product.open(workspace / "a.txt")
        product.type(workspace / "a.txt", TYPED, at=0)
        yield Scene(product, session, workspace)
        assert await product.stop() == 0


# the tool · its arguments, where files are named relative to the folder · what it says
READS: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("Read", {"file_path": "a.txt", "limit": 2}, ("typed\none\n",)),
    ("ReadMany", {"files": [{"file_path": "a.txt"}, {"file_path": "src/b.py"}]}, ("typed\n", "b = 1\n")),
    ("ReadBytes", {"file_path": "bytes.bin"}, (base64.b64encode(b"\0\1\2").decode(), '"size":3')),
    ("ListFolder", {"depth": 2}, ('"a.txt"', '"src/b.py"', '"file"', '"size"', '"permissions"')),
    ("Glob", {"pattern": "**/*.py"}, ("src/b.py",)),
    ("Search", {"pattern": "^ty.ed$"}, ("a.txt", "typed")),
    ("OpenDocuments", {}, ("a.txt", "true")),
    ("Selection", {}, ("type",)),
    ("Diagnostics", {}, ("bad",)),
    ("Changes", {}, ("SIX", "six")),
)


async def test_reading(tmp_path: Path, workspace: Path) -> None:
    missing: list[str] = []
    async with a_scene(tmp_path, workspace) as it:
        await it.call("Edit", file_path="a.txt", old_string="six", new_string="SIX")
        for tool, arguments, wanted in READS:
            said = await it.call(tool, **arguments)
            missing += [f"{tool}: {words!r} is not in {said!r}" for words in wanted if words not in said]
        await it.call("Read", file_path="pixel.png")
        assert it.path.read_text() == BASE, "the user has unsaved text, so nothing is saved"
    assert missing == []


async def test_writing(tmp_path: Path, workspace: Path) -> None:
    """Each is one undo step; a file that is not open is made on the disk; of many edits all are made, or none."""
    edits = [
        {"file_path": "a.txt", "old_string": "typed", "new_string": "TYPED"},
        {"file_path": "a.txt", "old_string": "two", "new_string": "TWO"},
    ]
    acts: tuple[tuple[str, dict[str, Any], Callable[[str], str]], ...] = (
        (
            "Edit",
            {"file_path": "a.txt", "old_string": "typed", "new_string": "TYPED"},
            lambda text: text.replace("typed", "TYPED"),
        ),
        ("EditMany", {"edits": edits}, lambda text: text.replace("typed", "TYPED").replace("two", "TWO")),
        (
            "EditMany",
            {"edits": [*edits, {"file_path": "a.txt", "old_string": "gone", "new_string": ""}]},
            lambda text: text,
        ),
        ("Append", {"file_path": "a.txt", "content": "eight\n"}, lambda text: text + "eight\n"),
        ("Write", {"file_path": "a.txt", "content": "all new\n"}, lambda text: "all new\n"),
    )
    async with a_scene(tmp_path, workspace) as it:
        before = it.text
        for tool, arguments, changed in acts:
            wanted = changed(before)
            if tool == "Write":
                await it.call("Read", file_path="a.txt")
            await it.call(tool, **arguments)
            await it.product.wait_for(lambda wanted=wanted: it.text == wanted)
            if wanted != before:
                it.product.undo(it.path)
            assert it.text == before, tool
        await it.call("Write", file_path="src/new.py", content="new = 1\n")
        assert (workspace / "src" / "new.py").read_text() == "new = 1\n"


async def test_watching(tmp_path: Path, workspace: Path) -> None:
    async with a_scene(tmp_path, workspace) as it:
        said = await it.call("Watch", file_path="a.txt")
        version = re.search(r'"version":\s*"([^"]+)"', said)
        assert version is not None, said
        heard = len(it.product.updates)
        waiting = asyncio.ensure_future(it.call("Watch", file_path="a.txt", since=version[1], seconds=50))
        await it.product.wait_for(
            lambda: any(u["sessionUpdate"] == "tool_call" for _, u in it.product.updates[heard:])
        )
        assert not waiting.done()
        it.product.type(it.path, "more\n", at=0)
        assert re.search(r'"changed":\s*true', await waiting)


def test_none_is_left_out() -> None:
    """The tests above call each tool that there is."""
    source = Path(__file__).read_text()
    assert [name for name in NAMES if f'"{name}"' not in source] == []
