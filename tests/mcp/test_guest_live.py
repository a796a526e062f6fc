"""An agent that somebody else started, from end to end: what `acp-sidecar connect` put into its settings is started as it would be, with the
official client, beside the real sidecar of an editor."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sidecar.cli import main
from tests.gates.product import COMMAND, Product, a_product
from tests.mcp.live import Calls, found
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet"),
]
BASE = "one\ntwo\nthree\n"
NAME = "claude (terminal)"


@asynccontextmanager
async def an_editor(folder: Path, *answers: str | None, **settings: Any) -> AsyncGenerator[Product]:
    """In which the user clicks the button that begins with this word, question after question."""
    left = list(answers)

    def answer(text: str, titles: Sequence[str]) -> str | None:
        begins = left.pop(0)
        return None if begins is None else next(title for title in titles if title.startswith(begins))

    async with a_product(folder, {}, answer=answer, **settings) as product:
        await asyncio.to_thread(eventually, lambda: found(folder), "the sidecar can be found")
        yield product


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where claude was connected."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setattr(sys, "argv", [COMMAND[0]])
    assert main(["connect", "claude", "--yes"]) == 0
    (tmp_path / "ws").mkdir()
    return home


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    return tmp_path / "ws"


@asynccontextmanager
async def claude(folder: Path, **env: str) -> AsyncGenerator[Calls]:
    """As a terminal's claude in this folder starts what its settings say; it gives servers all of its environment."""
    settings = json.loads((Path(os.environ["HOME"]) / ".claude.json").read_text())
    entry = settings["mcpServers"]["acp-sidecar"]
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env={**os.environ, **env}, cwd=str(folder)
    )
    async with Client(server) as client:
        yield Calls(client)


def ran(folder: Path, *words: str) -> str:
    done = subprocess.run([COMMAND[0], *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def changes(product: Product) -> list[dict[str, Any]]:
    return await product.execute("sidecar.listChanges", {})


async def test_the_first_call_asks_and_then_it_works_on_the_text_of_the_moment(folder: Path) -> None:
    """Unsaved text is read, a line that only the buffer has is edited, the edit is one undo step and is listed under the agent's name; the
    answer counts for the next time, and after a stop the user is asked again."""
    path = folder / "a.txt"
    path.write_text(BASE)
    async with an_editor(folder, "Always allow", "Deny") as product:
        product.open(path)
        async with claude(folder) as agent:
            product.type(path, "typed and not saved\n", at=0)
            typed = "typed and not saved\n" + BASE
            assert await agent.call("Read", file_path=str(path)) == typed
            (question,) = product.questions
            assert question.text.startswith(f"{NAME} wants to read and change files in {folder}.")
            await agent.call("Edit", file_path="a.txt", old_string="typed and", new_string="TYPED AND")
            assert product.document(path).text == typed.replace("typed and", "TYPED AND")
            assert path.read_text() == BASE
            assert [(row["agent"], row["newText"]) for row in await changes(product)] == [(NAME, "TYPED AND")]
            product.undo(path)
            assert product.document(path).text == typed
            edits = [agent.call("Append", file_path="a.txt", content=f"{number}\n") for number in range(9)]
            *_, read = await asyncio.gather(*edits, agent.call("Read", file_path="a.txt"))
            assert product.document(path).text == read == typed + "".join(f"{n}\n" for n in range(9)), (
                "in order"
            )
        async with claude(folder) as agent:
            assert await agent.call("Read", file_path="a.txt", limit=1) == "typed and not saved\n"
            assert len(product.questions) == 1
            await product.execute("sidecar.cancel")
            assert "did not allow" in await agent.refused("Write", file_path="b.txt", content="b")
            assert not (folder / "b.txt").exists()


@pytest.mark.parametrize(("settings", "saves"), [({}, True), ({"beforePrompt": "embed"}, False)])
async def test_a_hook_of_its_own_has_it_saved_what_it_is_about_to_read(
    folder: Path, settings: dict[str, Any], saves: bool
) -> None:
    """By a tool that no model is shown; only where the settings let it, and only what it may read without a question."""
    path, secret = folder / "a.txt", folder / ".env"
    for file in (path, secret):
        file.write_text(BASE)
    client = ("sessionUpdates", "save")
    async with (
        an_editor(folder, "Allow for now", client=client, **settings) as product,
        claude(folder) as agent,
    ):
        for file in (path, secret):
            product.open(file)
            product.type(file, "typed\n", at=0)
        listed = await agent.client.list_tools()
        assert "Save" not in [tool.name for tool in listed.tools]
        assert await agent.call("Save", file_path=str(path)) == ("saved" if saves else "")
        assert await agent.call("Save", file_path=str(secret)) == ""
        assert await agent.call("Save") == await agent.call("Save", file_path="none.txt") == ""
        assert path.read_text() == ("typed\n" if saves else "") + BASE
        assert secret.read_text() == BASE
        assert len(product.questions) == 1


async def test_a_no_is_told_in_words_and_nothing_is_given(folder: Path) -> None:
    (folder / "a.txt").write_text(BASE)
    async with an_editor(folder, "Deny") as product, claude(folder) as agent:
        for tool, arguments in (
            ("Read", {"file_path": "a.txt"}),
            ("Search", {"pattern": "two"}),
            ("Write", {"file_path": "a.txt", "content": "x"}),
        ):
            words = await agent.refused(tool, **arguments)
            assert "did not allow claude (terminal)" in words
            assert "two" not in words
        assert (folder / "a.txt").read_text() == BASE
        assert len(product.questions) == 1


async def test_without_a_sidecar_on_the_disk_with_the_journal(folder: Path, tmp_path: Path) -> None:
    """What it did can be taken back; what the user would be asked about is refused; and once an editor has the folder open, it counts."""
    path = folder / "a.txt"
    path.write_text(BASE)
    (folder / ".env").write_text("KEY=secret\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    async with claude(folder) as agent:
        assert await agent.call("Read", file_path="a.txt") == BASE
        await agent.call("Edit", file_path="a.txt", old_string="two", new_string="TWO")
        await agent.call("Write", file_path=str(folder / "new.txt"), content="new\n")
        assert path.read_text() == BASE.replace("two", "TWO")
        assert json.loads(await agent.call("Search", pattern="TWO"))["matches"][0]["line"] == 2
        words = await agent.refused("Read", file_path=".env")
        assert "secret\n" not in words
        assert "No editor with acp-sidecar has this folder open" in words
        await agent.refused("Read", file_path=str(tmp_path / "outside.txt"))
        await agent.refused("Write", file_path="../outside.txt", content="x")
        assert (tmp_path / "outside.txt").read_text() == "outside\n"
        async with an_editor(folder, "Allow for now") as product:
            product.open(path)
            product.type(path, "0\n", at=0)
            assert (await agent.call("Read", file_path="a.txt")).startswith("0\none\nTWO\n")
            assert len(product.questions) == 1
        assert await agent.call("Read", file_path="a.txt") == BASE.replace("two", "TWO"), "it is gone again"
    rows = json.loads(ran(folder, "changes", "--json"))
    assert {row["agent"] for row in rows} == {NAME}
    ran(folder, "revert", "--session", rows[0]["sessionId"])
    assert path.read_text() == BASE
    assert not (folder / "new.txt").exists()


async def test_of_several_windows_the_one_that_has_the_file_open(folder: Path) -> None:
    """Else the one with the innermost folder; another's file in another window is asked for there."""
    inner = folder / "inner"
    inner.mkdir()
    for path in (folder / "a.txt", inner / "b.txt", inner / "c.txt"):
        path.write_text("disk\n")
    allow = "Allow for now"
    async with (
        an_editor(folder, allow) as outer_window,
        an_editor(inner, allow) as inner_window,
        claude(folder) as agent,
    ):
        outer_window.open(inner / "b.txt")
        outer_window.type(inner / "b.txt", "outer ", at=0)
        assert await agent.call("Read", file_path="inner/b.txt") == "outer disk\n"
        assert (len(outer_window.questions), len(inner_window.questions)) == (1, 0)
        assert await agent.call("Read", file_path="inner/c.txt") == "disk\n"
        assert (len(outer_window.questions), len(inner_window.questions)) == (1, 1)
        assert await agent.call("Read", file_path="a.txt") == "disk\n"


async def test_an_agent_that_the_editor_started_has_its_own_tools_only(folder: Path) -> None:
    """It was connected, too; its calls are its session's, not a guest's."""
    async with claude(folder, ACP_SIDECAR_BRIDGE="0" * 16) as agent:
        assert (await agent.client.list_tools()).tools == []
