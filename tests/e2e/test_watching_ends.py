"""The system's watcher in the real `acp-sidecar lsp`: there while an agent works, few in number, gone afterwards, and never in the way of an end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.json_types import JsonDict
from sidecar.disk.watching import probe
from tests.gates.product import Product, command, settings
from tests.support import tools

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")

HANGS = 60.0
AFTERWARDS = 45.0
"""Seconds within which a watch has to end after a turn: ten of them a change still counts as the turn's."""
FOLDERS = 30


def inotify(pid: int) -> list[int]:
    """How many folders each of the process's watchers has."""
    found: list[int] = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{number}") == "anon_inode:inotify":
                rows = Path(f"/proc/{pid}/fdinfo/{number}").read_text().splitlines()
                found.append(sum(row.startswith("inotify ") for row in rows))
        except OSError:
            continue
    return found


async def until(pid: int, wanted: list[int], within: float = HANGS) -> None:
    async with asyncio.timeout(within):
        while True:
            if inotify(pid) == wanted:
                return
            await asyncio.sleep(0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if why_not := probe(str(tmp_path)):
        tools.lacking("watches", f"nothing can be watched here: {why_not}")
    for name in [
        *(f"src/{n}" for n in range(FOLDERS)),
        *(f"node_modules/{n}" for n in range(100)),
        ".git/refs",
    ]:
        (tmp_path / "w" / name).mkdir(parents=True)
        (tmp_path / "w" / name / "a.txt").write_text("a")
    return tmp_path / "w"


class Watches(Product):
    """An editor that watches its folders' files."""

    def capabilities(self) -> JsonDict:
        announced = super().capabilities()
        announced["workspace"] |= {"didChangeWatchedFiles": {"dynamicRegistration": True}}
        return announced


def product(folder: Path, steps: list[dict[str, Any]], make: type[Product] = Product) -> Product:
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "make", "kind": "execute"}
    agents = settings({"a": {"turns": [[{"update": call}, *steps]]}})
    return make(command(None), folder, options={"agents": agents, "client": {"sessionUpdates": True}})


async def test_while_an_agent_works(folder: Path) -> None:
    editor = product(folder, [{"wait_for": "session/cancel"}, {"stop": "cancelled"}])
    try:
        await editor.start()
        await editor.initialize()
        session = await editor.session("a")
        assert inotify(editor.pid) == [], "nobody works"
        turn = asyncio.create_task(editor.prompt(session))
        await until(editor.pid, [1 + FOLDERS])
        await editor.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
        assert (await turn)["stopReason"] == "cancelled"
        await until(editor.pid, [], AFTERWARDS)
        assert await editor.stop(HANGS) == 0
    finally:
        await editor.kill()


async def test_an_editor_that_watches_is_enough(folder: Path) -> None:
    """It is asked once it is there, nothing is watched twice, and what it tells is looked at."""
    path = folder / "src" / "0" / "a.txt"
    editor = product(
        folder, [{"put": str(path), "text": "X"}, {"say": "put"}, {"wait_for": "session/cancel"}], Watches
    )
    try:
        await editor.start()
        await editor.initialize()
        await editor.wait_for(lambda: editor.registered)
        (watched,) = [r for r in editor.registered if r["method"] == "workspace/didChangeWatchedFiles"]
        assert watched["registerOptions"]["watchers"] == [{"globPattern": "**/*"}]
        editor.open(path)
        session = await editor.session("a")
        turn = asyncio.create_task(editor.prompt(session))
        await editor.wait_for(lambda: editor.said(session))
        assert inotify(editor.pid) == []
        change = {"uri": path.as_uri(), "type": 2}
        editor.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
        await editor.wait_for(lambda: editor.document(path).text == "X")
        assert inotify(editor.pid) == []
        await editor.execute("sidecar.cancel", {"sessionId": session["sessionId"]})
        await turn
        rows: Any = await editor.execute("sidecar.listChanges")
        assert [(row["oldText"], row["newText"]) for row in rows] == [("a", "X")]
        assert await editor.stop(HANGS) == 0
    finally:
        await editor.kill()


@pytest.mark.parametrize("end", ["shutdown", "end of input", "SIGTERM"])
async def test_never_in_the_way_of_an_end(folder: Path, end: str) -> None:
    editor = product(folder, [{"never": True}])
    turn = None
    try:
        await editor.start()
        await editor.initialize()
        turn = asyncio.create_task(editor.prompt(await editor.session("a")))
        await until(editor.pid, [1 + FOLDERS])
        assert editor._process is not None
        for n in range(20):  # it is told of something all the while
            (folder / "src" / str(n) / "b.txt").write_text("b")
        match end:
            case "shutdown":
                code = await editor.stop(HANGS)
            case "end of input":
                code = await editor.kill(HANGS)
            case _:
                os.kill(editor.pid, signal.SIGTERM)
                async with asyncio.timeout(HANGS):
                    code = await editor._process.wait()
        assert code == {"shutdown": 0}.get(end, code)
        assert code not in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV)
        last_words = "\n".join(editor.stderr)
        assert "Traceback" not in last_words
        assert "did not end in time" not in last_words
        assert "FATAL" not in last_words
    finally:
        if turn is not None:
            turn.cancel()
        await editor.kill()
