"""What an agent may try with the tools: to see what it may not, to act when it may not, to cost more than it sends."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest

from sidecar.disk.searching import lines_with
from tests.mcp.test_tools import Tools, tools
from tests.support.workspaces import QuietEditor


async def test_changes_of_a_file_that_must_not_be_read_are_not_told(tmp_path: Path) -> None:
    """One agent was allowed to write it; its text is no business of the other's."""
    (tmp_path / ".env").write_text("KEY=secret\n")
    (tmp_path / "a.txt").write_text("one\n")
    editor = QuietEditor()
    async with tools(tmp_path, editor) as call:
        editor.answer = "allow"
        await call.text("Write", file_path=".env", content="KEY=other\n")
        await call.text("Write", file_path="a.txt", content="two\n")
        editor.answer, editor.questions = None, []
        told = await call.told("Changes")
        assert [os.path.basename(row["file_path"]) for row in told["changes"]] == ["a.txt"]
        assert told["needPermission"].startswith("1 ")
        assert not editor.questions
        assert "did not allow" in await call.no("Changes", file_path=".env")
        editor.answer = "allow"
        told = await call.told("Changes", file_path=".env")
        assert [row["before"] for row in told["changes"]] == ["secret"]


@pytest.mark.parametrize("number", [2**31 - 1, 2**31, 2**63, 2**64, 10**30])
async def test_numbers_beyond_every_file(tmp_path: Path, number: int) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with tools(tmp_path) as call:
        answer = await call("ReadBytes", {"file_path": "a.txt", "offset": number})
        assert answer.get("isError", False) == (number >= 2**31)
        assert await call.no("Read", file_path="a.txt", offset=number)
        for name, argument in (("ReadBytes", "length"), ("ListFolder", "depth"), ("Search", "max_matches")):
            where = (
                {"file_path": "a.txt"}
                if name == "ReadBytes"
                else {"pattern": "x"}
                if name == "Search"
                else {}
            )
            assert "at most" in await call.no(name, **where, **{argument: number})


@pytest.mark.parametrize("text", ["x", "\u202e", "\0", "\U000e0001"])
async def test_what_is_wrong_is_named_in_few_words(tmp_path: Path, text: str) -> None:
    """An answer is not larger for a larger mistake."""
    huge = text * 100_000
    async with tools(tmp_path) as call:
        for tool, arguments in ((huge, {}), ("Read", {huge: 1}), ("Edit", {"file_path": "a", huge: 1})):
            assert len(str(await call(tool, arguments))) < 3000, tool[:10]


async def test_many_reads_answer_no_more_than_one_may(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 900 + "\n")
    async with tools(tmp_path, maxFileBytes=2000) as call:
        answer = await call("ReadMany", {"files": [{"file_path": "a.txt"}] * 50})
        texts = [block["text"] for block in answer["content"]]
        assert sum(len(text) for text in texts if text.startswith("xxx")) <= 2000
        assert "left out" in texts[-1]
        assert "48 " in texts[-1]


async def test_a_folder_that_was_replaced_by_a_link_is_not_searched(tmp_path: Path) -> None:
    folder, outside = tmp_path / "ws", tmp_path / "outside"
    for one in (folder, outside):
        one.mkdir()
        (one / "a.txt").write_text(f"in {one.name}\n")
    names = ["a.txt"]
    found = lambda: [line.text for line in lines_with(re.compile("in"), str(folder), names, {})]
    assert found() == ["in ws"]
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(outside / "a.txt")
    assert found() == []
    folder.rename(tmp_path / "gone")
    folder.symlink_to(outside)
    assert found() == []


class Undecided(QuietEditor):
    """Its user does not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def ask(self, question: Any) -> str | None:
        self.questions.append(question)
        self.asked.set()
        return await asyncio.get_running_loop().create_future()


def stop(call: Tools) -> None:
    """The user's, at the end of the turn that `agent_may_act` began."""
    session = call.bench.workspace.state.sessions.get(call.session)
    assert session is not None
    session.stop()
    session.withdraw_questions()


@pytest.mark.parametrize("tool", ["Write", "Edit", "Append", "EditMany"])
async def test_a_call_that_waits_for_an_answer_ends_with_stop(tmp_path: Path, tool: str) -> None:
    (tmp_path / ".envrc").write_text("one\n")
    editor = Undecided()
    step = {"file_path": ".envrc", "old_string": "one", "new_string": "two"}
    arguments: dict[str, dict[str, Any]] = {
        "Write": {"file_path": ".envrc", "content": "two\n"},
        "Edit": step,
        "Append": {"file_path": ".envrc", "content": "two\n"},
        "EditMany": {"edits": [step]},
    }
    async with tools(tmp_path, editor) as call:
        calls = [asyncio.ensure_future(call(tool, arguments[tool])) for _ in range(3)]
        async with asyncio.timeout(30):
            await editor.asked.wait()
            stop(call)
            for answer in await asyncio.gather(*calls):
                assert answer["isError"]
            assert (tmp_path / ".envrc").read_text() == "one\n"
            before = len(editor.questions)
            assert (await call(tool, arguments[tool]))["isError"]  # and none begins after it
            assert len(editor.questions) == before


async def test_texts_that_wait_are_counted_as_kept(tmp_path: Path) -> None:
    """Also those of callers that have hung up: a write that has begun goes on without them."""
    (tmp_path / ".envrc").write_text("one\n")
    editor = Undecided()
    async with tools(tmp_path, editor) as call, asyncio.timeout(30):
        emoji = "\U0001f600" * 2_000_000  # 8 MB as kept
        first = asyncio.ensure_future(call("Write", {"file_path": ".envrc", "content": "x"}))
        await editor.asked.wait()
        for _ in range(16):
            one = asyncio.ensure_future(call("Write", {"file_path": ".envrc", "content": emoji}))
            for _ in range(3):
                await asyncio.sleep(0)
            one.cancel()
            await asyncio.wait({one})
        assert "too much text" in await call.no("Write", file_path=".envrc", content=emoji)
        edits = [{"file_path": ".envrc", "old_string": emoji, "new_string": ""}]
        assert "too much text" in await call.no("EditMany", edits=edits)
        other = Tools(call.bench, await call.bench.another_session())
        assert await other.text("Write", file_path="b", content="x")
        stop(call)
        await first
        for _ in range(1000):  # until all of them have ended
            if "too much text" not in await call.no("Write", file_path=".envrc", content=emoji):
                return
            await asyncio.sleep(0)
        pytest.fail("what had ended still counts")


async def test_no_question_comes_after_stop(tmp_path: Path) -> None:
    """Reading goes on, but not what would have to be asked for."""
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "a.txt").write_text("one\n")
    editor = QuietEditor()
    editor.answer = "always"
    async with tools(tmp_path, editor) as call:
        stop(call)
        assert await call.text("Read", file_path="a.txt") == "one\n"
        for tool in ("Read", "ReadBytes", "Changes"):
            assert "only while a turn runs" in await call.no(tool, file_path=".env")
        answer = await call("ReadMany", {"files": [{"file_path": ".env"}]})
        assert "KEY" not in str(answer)
        assert not editor.questions
