"""Alone: the tools of an agent in a terminal where no editor runs. What it does is in the journal and under review later; what others did in the
meantime stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.alone import Alone, alone
from sidecar.core.kept_hunks import AsJson
from sidecar.core.text import Text
from sidecar.journal import SqliteJournal
from sidecar.workspace.review.review import Selector
from tests.support.workspaces import a_workspace

BASE = "".join(f"{number}\n" for number in range(1, 10))


class Tools:
    def __init__(self, at: Alone, token: str) -> None:
        self._at = at
        self._token = token

    async def __call__(self, name: str, **arguments: Any) -> str:
        params = {"token": self._token, "name": name, "arguments": arguments}
        answer = await self._at.call("tool", params)
        return answer["content"][0]["text"]

    async def edit(self, old: str, new: str) -> None:
        assert "updated" in await self("Edit", file_path="a.txt", old_string=old, new_string=new)


@asynccontextmanager
async def an_agent(folder: Path) -> AsyncGenerator[Tools]:
    async with alone(str(folder)) as at:
        visited = await at.call("visit", {"agent": "claude", "folder": str(folder)})
        yield Tools(at, visited["token"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text(BASE)
    return tmp_path / "ws"


async def reviewed(folder: Path, *, keep: bool = False) -> list[tuple[object, object]]:
    """What an editor that is opened now lists, and by whom; `keep`: where the user keeps all of it."""
    async with SqliteJournal.opened() as journal, a_workspace(folder, journal=journal) as bench:
        await bench.workspace.restore_reviews()
        rows = await bench.workspace.review.listed(Selector(everything=True))
        assert {row["agent"] for row in rows} <= {"claude (terminal)"}
        if keep:
            bench.workspace.review.keep(Selector(everything=True))
        await bench.workspace.reviews_stored()
        return [(row["oldText"], row["newText"]) for row in rows]


async def test_its_changes_are_listed_when_an_editor_is_opened(folder: Path) -> None:
    async with an_agent(folder) as agent:
        await agent.edit("2", "two")
        await agent("Write", file_path="new/b.txt", content="b\n")
    assert sorted(await reviewed(folder)) == [("", "b\n"), ("2", "two")]


@pytest.mark.parametrize("seconds", [0.0, 0.3], ids=["", "slow journal"])
async def test_earlier_changes_stay_under_review(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Of another agent's process, and of one that works at the same time."""
    save = SqliteJournal.save_ledger

    async def saved(
        self: SqliteJournal,
        uri: str,
        text: str | Text,
        hunks: bytes | AsJson,
        in_file: tuple[Text, AsJson] | None = None,
    ) -> None:
        await asyncio.sleep(seconds)
        await save(self, uri, text, hunks, in_file)

    monkeypatch.setattr(SqliteJournal, "save_ledger", saved)
    async with an_agent(folder) as first:
        await first.edit("2", "two")
    async with an_agent(folder) as second, an_agent(folder) as third:
        await second.edit("4", "four")
        await third.edit("6", "six")
        await second.edit("8", "eight")
    assert await reviewed(folder) == [("2", "two"), ("4", "four"), ("6", "six"), ("8", "eight")]


async def test_what_was_kept_in_an_editor_meanwhile_does_not_come_back(folder: Path) -> None:
    async with an_agent(folder) as agent:
        await agent.edit("2", "two")
        assert await reviewed(folder, keep=True) == [("2", "two")]
        await agent.edit("4", "four")
    assert await reviewed(folder) == [("4", "four")]


async def test_calls_at_once_take_effect_in_order(folder: Path) -> None:
    async with an_agent(folder) as agent:
        appended = [agent("Append", file_path="a.txt", content=f"{number}\n") for number in range(20)]
        *_, read = await asyncio.gather(*appended, agent("Read", file_path="a.txt"))
        assert read == BASE + "".join(f"{number}\n" for number in range(20))


async def test_nobody_can_be_asked(folder: Path) -> None:
    (folder / ".env").write_text("KEY=secret\n")
    async with an_agent(folder) as agent:
        for name in ("Read", "ReadBytes", "Changes"):
            assert "secret\n" not in await agent(name, file_path=".env")
        await agent("Write", file_path=".env", content="x")
        assert (folder / ".env").read_text() == "KEY=secret\n"
        assert '"documents": []' in await agent("OpenDocuments")
        await agent("Selection")
        await agent("Diagnostics")
