"""An agent that reads files from the disk finds there what the user sees: unsaved files are saved for it, and for no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.workspace.ports.ports import OpenedSession, Option, Question, SessionRequest
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, Habits
from tests.support.editor_time import run
from tests.support.workspaces import Bench, IdleAgents, a_workspace
from tests.workspace.test_prompting import lines

ASKED = {"type": "text", "text": "do it"}


class Agents(IdleAgents):
    """Each turn is what `turn` does."""

    def __init__(self, turn: Any, **known: bool) -> None:
        super().__init__()
        self.turn = turn
        self.known = known
        self.heard: list[Sequence[Mapping[str, Any]]] = []

    async def open_session(self, request: SessionRequest) -> OpenedSession:
        return OpenedSession(request.session_id, request.agent, embedded_context=True, **self.known)

    async def prompt(self, session_id: str, blocks: Sequence[Mapping[str, Any]]) -> str:
        self.heard.append(blocks)
        await self.turn()
        return "end_turn"


def two_prompts(
    folder: Path,
    turn: Any,
    settings: dict[str, object] | None = None,
    *,
    name: str = "a.txt",
    habits: Habits = VSCODE,
    **known: bool,
) -> tuple[list[bool], FakeEditor]:
    """Whether the unsaved text went along with each, and the editor. Something is typed before each."""

    async def main() -> tuple[list[bool], FakeEditor]:
        fake = FakeEditor(habits, folder)
        agents = Agents(lambda: turn(bench, fake), **known)
        async with a_workspace(folder, fake, agents, settings) as bench:
            fake.attach(bench.workspace.apply)
            (folder / name).write_text("disk\n")
            fake.opens(name)
            await asyncio.sleep(1)
            for word in ("first ", "second "):
                fake.types(name, word, at=0)
                await bench.workspace.start_prompt(bench.session, [ASKED])[2]
                await asyncio.sleep(1)
        return [any(block["type"] == "resource" for block in heard) for heard in agents.heard], fake

    return run(main())


def tool(bench: Bench, **more: Any) -> None:
    bench.workspace.session_update(bench.session, {"sessionUpdate": "tool_call", "toolCallId": "c", **more})


async def reads_the_disk(bench: Bench, editor: FakeEditor) -> None:
    tool(bench, kind="read", status="pending", locations=[{"path": str(bench.folder / "a.txt")}])
    await asyncio.sleep(0.1)
    tool(bench, sessionUpdate="tool_call_update", status="completed")


async def asks_us(bench: Bench, editor: FakeEditor) -> None:
    tool(bench, kind="read", status="pending", locations=[{"path": str(bench.folder / "a.txt")}])
    assert isinstance(await bench.read("a.txt"), str)
    tool(bench, sessionUpdate="tool_call_update", status="completed")


async def fails(bench: Bench, editor: FakeEditor) -> None:
    tool(bench, kind="read", status="pending", locations=[{"path": str(bench.folder / "a.txt")}])
    tool(bench, sessionUpdate="tool_call_update", status="failed")


async def reads_another(bench: Bench, editor: FakeEditor) -> None:
    tool(bench, kind="read", status="pending", locations=[{"path": str(bench.folder / "none.txt")}])
    tool(bench, sessionUpdate="tool_call_update", status="completed")


async def nothing(bench: Bench, editor: FakeEditor) -> None: ...


def test_for_an_agent_that_is_known_to(tmp_path: Path) -> None:
    sent, editor = two_prompts(tmp_path, nothing, reads_disk=True)
    assert sent == [False, False]
    assert (tmp_path / "a.txt").read_text() == "second first disk\n"
    assert lines(editor) == ["a.txt: saved, because agent reads files from the disk."]


def test_for_an_agent_that_was_seen_to(tmp_path: Path) -> None:
    """Its first prompt went with the text."""
    sent, editor = two_prompts(tmp_path, reads_the_disk)
    assert sent == [True, False]
    assert (tmp_path / "a.txt").read_text() == "second first disk\n"
    assert len(lines(editor)) == 2


@pytest.mark.parametrize("turn", [asks_us, fails, reads_another, nothing])
def test_for_no_other(tmp_path: Path, turn: Any) -> None:
    sent, _ = two_prompts(tmp_path, turn)
    assert sent == [True, True]
    assert (tmp_path / "a.txt").read_text() == "disk\n"


def test_not_where_its_own_tools_are_live(tmp_path: Path) -> None:
    sent, _ = two_prompts(tmp_path, reads_the_disk, reads_disk=True, own_tools_live=True)
    assert sent == [True, True]
    assert (tmp_path / "a.txt").read_text() == "disk\n"


@pytest.mark.parametrize("policy", ["embed", "nothing"])
def test_not_where_the_user_decided_otherwise(tmp_path: Path, policy: str) -> None:
    sent, _ = two_prompts(tmp_path, reads_the_disk, {"beforePrompt": policy}, reads_disk=True)
    assert sent == [policy == "embed"] * 2
    assert (tmp_path / "a.txt").read_text() == "disk\n"


def test_not_a_file_that_it_would_have_to_ask_for(tmp_path: Path) -> None:
    sent, _ = two_prompts(tmp_path, nothing, name=".env", reads_disk=True)
    assert sent == [False, False]
    assert (tmp_path / ".env").read_text() == "disk\n"


@pytest.mark.parametrize("policy", ["auto", "save", "embed"])
def test_what_is_typed_after_the_prompt_is_saved_before_it_reads(tmp_path: Path, policy: str) -> None:
    """As far as it says so before it does."""
    found: list[str] = []

    async def turn(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "later ", at=0)
        await asyncio.sleep(0.5)
        tool(bench, kind="read", status="pending", locations=[{"path": "a.txt"}])
        await asyncio.sleep(0.5)
        found.append((tmp_path / "a.txt").read_text())
        tool(bench, sessionUpdate="tool_call_update", status="completed")

    two_prompts(tmp_path, turn, {"beforePrompt": policy}, reads_disk=True)
    assert ("later first" in found[0]) == (policy != "embed")


def trimmed(text: str) -> str:
    return text.replace(" \n", "\n")


@pytest.mark.parametrize("exact_behind", [False, True])
@pytest.mark.parametrize("asks", [False, True], ids=["", "asks"])
def test_what_the_user_is_typing_is_not_trimmed_by_that(
    tmp_path: Path, asks: bool, exact_behind: bool
) -> None:
    """They did not ask for the save: what runs at every save of theirs would change what they have just typed."""
    found: list[str] = []
    trims = replace(VSCODE, on_save=trimmed, exact_behind=exact_behind)

    async def turn(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(0.5)
        editor.types("a.txt", "typed: \n", at=0)
        await asyncio.sleep(0.5)
        if asks:
            about = {"toolCallId": "c", "paths": [str(bench.folder / "a.txt")]}
            options = (Option("y", "allow_once", "Yes"),)
            await bench.workspace.ask(
                Question("q", bench.session, "write", "?", options, "", about, behind=True)
            )
        else:
            tool(bench, kind="read", status="pending", locations=[{"path": "a.txt"}])
        await asyncio.sleep(3)
        found.extend([editor.text("a.txt"), (tmp_path / "a.txt").read_text()])

    two_prompts(tmp_path, turn, reads_disk=True, habits=trims)
    assert found[0].startswith("typed: \n")
    assert found[1] == found[0]


def test_nothing_is_saved_for_one_that_was_stopped(tmp_path: Path) -> None:
    found: list[str] = []

    async def turn(bench: Bench, editor: FakeEditor) -> None:
        editor.types("a.txt", "later ", at=0)
        await asyncio.sleep(0.5)
        bench.workspace.cancel(bench.session)
        tool(bench, kind="read", status="pending", locations=[{"path": "a.txt"}])
        await asyncio.sleep(0.5)
        found.append((tmp_path / "a.txt").read_text())

    two_prompts(tmp_path, turn, reads_disk=True)
    assert found[0] == "first disk\n"


@pytest.mark.parametrize("asks", [False, True], ids=["", "asks"])
@pytest.mark.parametrize("policy", ["auto", "save"])
def test_what_is_typed_in_its_turn_stays_though_it_writes_what_it_had_read(
    tmp_path: Path, policy: str, asks: bool
) -> None:
    """It is saved when the agent says that it reads, and when it asks, but the agent may have read before (Kilo: it reads, asks, and writes)."""
    on_disk: list[str] = []

    async def turn(bench: Bench, editor: FakeEditor) -> None:
        disk = tmp_path / "a.txt"
        read = disk.read_text()
        editor.types("a.txt", "later\n", at=0)
        await asyncio.sleep(0.5)
        tool(bench, kind="read", status="pending", locations=[{"path": "a.txt"}])
        tool(bench, sessionUpdate="tool_call_update", status="completed")
        tool(bench, toolCallId="e", kind="edit", status="pending", locations=[{"path": "a.txt"}])
        await asyncio.sleep(0.5)
        if asks:
            editor.types("a.txt", "last\n", at=0)
            await asyncio.sleep(0.5)
            option, about = Option("yes", "allow_once", "Yes"), {"paths": [str(disk)]}
            await bench.workspace.ask(
                Question("q", bench.session, "write", "?", (option,), "", about, behind=True)
            )
        on_disk.append(disk.read_text())
        disk.write_text(read + "of the agent\n")
        await asyncio.sleep(2)
        tool(bench, sessionUpdate="tool_call_update", toolCallId="e", status="completed")

    _, editor = two_prompts(tmp_path, turn, {"beforePrompt": policy}, reads_disk=True)
    typed = "last\nlater\n" if asks else "later\n"
    assert on_disk[0] == f"{typed}first disk\n"
    assert editor.text("a.txt") == f"{typed}second {typed}first disk\nof the agent\nof the agent\n"
