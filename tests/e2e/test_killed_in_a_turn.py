"""kill -9 of the real `acp-sidecar lsp` in the middle of a turn: what the agent had changed on the disk by then is found by the next one.

The agent says that it runs something, overwrites files, and never ends its turn; nothing of it was noticed when the sidecar died."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.gates.product import COMMAND, Product, command, settings
from tests.support.agents import alive, until_gone, until_written

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

HANGS = 60.0
MINE = "mine, nowhere else\ntwo\n"
COMMITTED = "one\ntwo\n"


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@localhost", *words], cwd=folder, check=True
    )


def cli(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [COMMAND[0], *words], cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def until(look: Callable[[], object]) -> None:
    async with asyncio.timeout(HANGS):
        while True:
            if look():
                return
            await asyncio.sleep(0.05)


def acted(state: Path) -> bool:
    """Whether the journal knows that the agent said that it does something."""
    (path,) = state.rglob("journal.sqlite3")
    with closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("SELECT count(*) FROM turns WHERE acted").fetchone()[0])


async def all_listed(editor: Product, count: int) -> list[Any]:
    """What is under review, once it is so many."""
    rows: list[Any] = []
    try:
        async with asyncio.timeout(HANGS):
            while len(rows) < count:
                await asyncio.sleep(0.05)
                rows = await editor.execute("sidecar.listChanges", {})
    except TimeoutError:
        pytest.fail(f"of {count} only {rows}; {editor.messages}")
    return rows


def presses(label: str) -> Callable[[str, Sequence[str]], str | None]:
    return lambda message, labels: label if label in labels else None


def script(base: Path, folder: Path) -> dict[str, Any]:
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "make", "kind": "execute"}
    names = ("mine.txt", "committed.txt", "sub/beside.txt")
    puts = [{"put": str(folder / name), "text": "AGENT\n"} for name in (*names, "new.txt")]
    return {
        "start": [{"pid": str(base / "pids")}],
        "turns": [[{"update": call}, *puts, {"say": "done"}, {"never": True}]],
    }


@pytest.mark.parametrize("by", ["the next sidecar", "the button of its message", "the command line"])
async def test_the_texts_before_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    folder = tmp_path / "w"
    (folder / "sub").mkdir(parents=True)
    (folder / "committed.txt").write_text(COMMITTED)
    (folder / "mine.txt").write_text(COMMITTED)
    (folder / "sub" / "beside.txt").write_text(COMMITTED)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "m")
    (folder / "mine.txt").write_text(MINE)
    options = {"agents": settings({"a": script(tmp_path, folder)}), "client": {"sessionUpdates": True}}
    first = Product(command(None), folder, options=options)
    try:
        await first.start()
        await first.initialize()
        session = await first.session("a")
        prompt = asyncio.create_task(first.prompt(session))
        await until(lambda: first.said(session))  # it has written by then
        await until(lambda: acted(tmp_path / "state"))
        (agent,) = await until_written(tmp_path / "pids", 1)
        os.kill(first.pid, signal.SIGKILL)
        await until_gone([agent], HANGS)
        prompt.cancel()
        assert not alive(agent)
    finally:
        await first.kill()
    names = ["committed.txt", "mine.txt", "new.txt", "sub/beside.txt"]
    assert {(folder / name).read_text() for name in names} == {"AGENT\n"}
    assert [p for p in (tmp_path / "state").rglob("*") if p.stat().st_mode & 0o077] == []

    if by == "the next sidecar":
        second = Product(command(None), folder, options=options)
        try:
            await second.start()
            await second.initialize()
            rows = await all_listed(second, len(names))
            assert sorted(row["uri"].rpartition("/w/")[2] for row in rows) == names
            assert {(row["sessionId"], row["turn"]) for row in rows} == {(session["sessionId"], 1)}
            result = await second.execute("sidecar.reject", {"all": True})
            assert result["impossible"] == []
            await second.stop(HANGS)
        finally:
            await second.kill()
    elif by == "the button of its message":
        options["client"] = {"messageButtons": True}
        pressed = Product(command(None), folder, options=options, answer=presses("Undo this turn"))
        try:
            await pressed.start()
            await pressed.initialize()
            await until(lambda: "The turn was undone (4 changes)." in pressed.boxes)
            await pressed.stop(HANGS)
        finally:
            await pressed.kill()
    else:
        listed = json.loads(cli(folder, "changes", "--json"))
        assert sorted(os.path.relpath(row["path"], folder) for row in listed) == names
        cli(folder, "revert", "--turn", f"{session['sessionId']}:1")
    assert (folder / "mine.txt").read_text() == MINE, "what was in no commit"
    assert (folder / "committed.txt").read_text() == COMMITTED
    assert (folder / "sub" / "beside.txt").read_text() == COMMITTED
    assert not (folder / "new.txt").exists()


async def test_while_a_large_folder_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt did not wait for that. What the agent had changed is listed, or it is said that it cannot be taken back: nothing is silent."""
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    folder = tmp_path / "w"
    for name in ("sub", "many"):
        (folder / name).mkdir(parents=True)
    for number in range(4_000):
        (folder / "many" / f"{number}.txt").touch()
    names = ["committed.txt", "mine.txt", "sub/beside.txt"]
    for name in names:
        (folder / name).write_text(COMMITTED)
    options = {"agents": settings({"a": script(tmp_path, folder)}), "client": {"sessionUpdates": True}}
    first = Product(command(None), folder, options=options)
    try:
        await first.start()
        await first.initialize()
        session = await first.session("a")
        prompt = asyncio.create_task(first.prompt(session))
        await until(lambda: first.said(session))
        await until(lambda: acted(tmp_path / "state"))
        (agent,) = await until_written(tmp_path / "pids", 1)
        os.kill(first.pid, signal.SIGKILL)
        await until_gone([agent], HANGS)
        prompt.cancel()
    finally:
        await first.kill()
    assert {(folder / name).read_text() for name in names} == {"AGENT\n"}
    done = subprocess.run(
        [COMMAND[0], "changes"], cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False
    )
    for name in [*names, "new.txt"]:
        assert os.path.basename(name) in done.stdout + done.stderr, done
