"""Guests: agents that somebody else started. Nothing is done for them before the user's yes; after that they are agents like others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.approvals import Approvals
from sidecar.config import AgentCommand
from sidecar.mcp.calls import McpCalls
from sidecar.mcp.tokens import Tokens
from sidecar.mcp.visits import Visit
from sidecar.workspace.ports.ports import AgentFailed, Question
from sidecar.workspace.review.review import Selector
from sidecar.workspace.sessions import guests as guests_module
from tests.support.workspaces import Bench, QuietEditor, a_workspace

NAME = "claude (terminal)"


class Person(QuietEditor):
    """Answers each question when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: asyncio.Queue[str | None] = asyncio.Queue()
        self.asked = asyncio.Event()

    async def ask(self, question: Question) -> str | None:
        self.questions.append(question)
        self.asked.set()
        return await self.answers.get()


class Guest:
    def __init__(self, bench: Bench, tokens: Tokens) -> None:
        self.bench = bench
        self._calls = McpCalls(bench.workspace, tokens)
        self.visit = Visit(bench.workspace.guests, tokens)
        self.token = ""

    async def arrive(self, agent: object = "claude", folder: object = None) -> Any:
        told: Any = await self.visit.visit({"agent": agent, "folder": folder or str(self.bench.folder)})
        self.token = told.get("token", "")
        return told

    async def call(self, name: str, **arguments: Any) -> Any:
        return await self._calls.call({"token": self.token, "name": name, "arguments": arguments})

    async def text(self, name: str, **arguments: Any) -> str:
        answer = await self.call(name, **arguments)
        assert not answer.get("isError"), answer
        return answer["content"][0]["text"]

    async def no(self, name: str, **arguments: Any) -> str:
        answer = await self.call(name, **arguments)
        assert answer.get("isError"), answer
        assert answer["structuredContent"]["errorKind"] == "denied_by_user"
        return answer["content"][0]["text"]


@asynccontextmanager
async def a_guest(folder: Path, person: QuietEditor, **more: Any) -> AsyncGenerator[Guest]:
    (folder / "a.txt").write_text("one\n")
    approvals = Approvals(folder.parent / "state")
    approvals.remember(AgentCommand("none"))  # the bench's own agent
    async with a_workspace(folder, person, approvals=approvals, **more) as bench:
        guest = Guest(bench, Tokens())
        await guest.arrive()
        yield guest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


async def test_nothing_before_the_yes(folder: Path) -> None:
    """Every tool waits for one and the same question, and what waits is done in the order in which it came."""
    person = Person()
    async with a_guest(folder, person) as guest:
        waiting = [
            asyncio.ensure_future(guest.call(name, **arguments))
            for name, arguments in (
                ("Write", {"file_path": "b.txt", "content": "b"}),
                ("Read", {"file_path": "b.txt"}),
                ("ListFolder", {}),
                ("OpenDocuments", {}),
                ("Changes", {}),
            )
        ]
        await person.asked.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        assert not any(one.done() for one in waiting)
        assert not (folder / "b.txt").exists()
        (question,) = person.questions
        assert question.text.startswith(f"{NAME} wants to read and change files in {folder}. ")
        assert [option.id for option in question.options] == ["reject", "allow", "always"]
        person.answers.put_nowait("allow")
        answers = await asyncio.gather(*waiting)
        assert [answer.get("isError", False) for answer in answers] == [False] * 5
        assert answers[1]["content"][0]["text"] == "b"
        assert len(person.questions) == 1


async def test_no_is_no_until_it_comes_again(folder: Path) -> None:
    person = Person()
    async with a_guest(folder, person) as guest:
        person.answers.put_nowait("reject")
        assert "did not allow" in await guest.no("Read", file_path="a.txt")
        assert "did not allow" in await guest.no("Write", file_path="a.txt", content="x")
        assert len(person.questions) == 1
        assert (folder / "a.txt").read_text() == "one\n"
        guest.visit.gone()
        await guest.arrive()
        person.answers.put_nowait("allow")
        assert await guest.text("Read", file_path="a.txt") == "one\n"


async def test_a_question_that_is_closed_unanswered_is_asked_again(folder: Path) -> None:
    person = Person()
    async with a_guest(folder, person) as guest:
        person.answers.put_nowait(None)
        assert "no answer" in await guest.no("Read", file_path="a.txt")
        person.answers.put_nowait("allow")
        assert await guest.text("Read", file_path="a.txt") == "one\n"


async def test_a_call_does_not_outlive_its_clients_patience(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused in time and not done later; the question stays, and its answer counts for the next call."""
    monkeypatch.setattr(guests_module, "PATIENCE_SECONDS", 0.0)
    person = Person()
    async with a_guest(folder, person) as guest:
        assert "not answered yet" in await guest.no("Write", file_path="a.txt", content="x")
        assert "not answered yet" in await guest.no("Read", file_path="a.txt")
        await person.asked.wait()
        assert len(person.questions) == 1
        monkeypatch.undo()
        person.answers.put_nowait("allow")
        assert await guest.text("Read", file_path="a.txt") == "one\n"


async def test_always_is_kept_for_this_agent_and_these_folders(folder: Path, tmp_path: Path) -> None:
    approvals = Approvals(tmp_path / "state")
    person = Person()
    async with a_guest(folder, person) as guest:
        person.answers.put_nowait("always")
        await guest.text("Read", file_path="a.txt")
    async with a_guest(folder, person) as guest:
        await guest.text("Read", file_path="a.txt")
        assert len(person.questions) == 1
        await guest.arrive("codex")
        person.answers.put_nowait("reject")
        await guest.no("Read", file_path="a.txt")
        assert person.questions[-1].text.startswith("codex (terminal)")
        (tmp_path / "more").mkdir()
        guest.bench.workspace.roots_changed([str(folder), str(tmp_path / "more")])
        await guest.arrive()
        person.answers.put_nowait("reject")
        await guest.no("Read", file_path="a.txt")
        assert str(tmp_path / "more") in person.questions[-1].text
    for command in ("guest", NAME, "guest\\0"):
        assert not approvals.knows(AgentCommand(command, (NAME, str(folder)))), "a yes never starts a program"


async def test_its_changes_are_under_review_by_its_name(folder: Path) -> None:
    editor = QuietEditor()
    editor.answer = "allow"
    async with a_guest(folder, editor) as guest:
        await guest.text("Edit", file_path="a.txt", old_string="one", new_string="ONE")
        (row,) = await guest.bench.workspace.review.listed(Selector(everything=True))
        assert (row["agent"], row["oldText"], row["newText"], row["turn"]) == (NAME, "one", "ONE", 1)
        await guest.bench.workspace.review.revert_turn(str(row["sessionId"]), 1)
        assert (folder / "a.txt").read_text() == "one\n"


async def test_a_turn_is_what_it_does_until_it_is_quiet(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = QuietEditor()
    editor.answer = "allow"
    async with a_guest(folder, editor) as guest:
        for number in range(2):
            await guest.text("Write", file_path=f"{number}.txt", content="x")
        monkeypatch.setattr(guests_module, "QUIET_SECONDS", -1.0)
        await guest.text("Write", file_path="2.txt", content="x")
        rows = await guest.bench.workspace.review.listed(Selector(everything=True))
        assert sorted((str(row["uri"])[-5:], row["turn"]) for row in rows) == [
            ("0.txt", 1),
            ("1.txt", 1),
            ("2.txt", 2),
        ]


@pytest.mark.parametrize("whom", ["it", "everybody"])
async def test_a_stop_holds_until_the_user_says_so(folder: Path, whom: str) -> None:
    """Also against a yes for good, and against a question that is open."""
    person = Person()
    async with a_guest(folder, person) as guest:
        workspace = guest.bench.workspace
        person.answers.put_nowait("always")
        await guest.text("Read", file_path="a.txt")
        (session,) = [s for s in workspace.state.sessions if s.guest]
        workspace.cancel(session.id if whom == "it" else None)
        person.asked.clear()
        waiting = asyncio.ensure_future(guest.call("Write", file_path="a.txt", content="x"))
        await person.asked.wait()
        assert [option.id for option in person.questions[-1].options] == ["reject", "allow"]
        assert person.questions[-1].reason == "you stopped it"
        workspace.cancel(session.id)
        assert (await waiting)["isError"]
        person.answers.put_nowait("allow")
        assert await guest.text("Read", file_path="a.txt") == "one\n"
        await guest.text("Write", file_path="a.txt", content="x\n")


async def test_a_stop_ends_what_waits(folder: Path) -> None:
    """A write that was let in and waits for the user is not made after the stop."""
    person = Person()
    async with a_guest(folder, person) as guest:
        person.answers.put_nowait("allow")
        await guest.text("Read", file_path="a.txt")
        person.asked.clear()
        waiting = asyncio.ensure_future(guest.call("Write", file_path=".env", content="KEY=1"))
        await person.asked.wait()
        guest.bench.workspace.cancel()
        assert (await waiting)["isError"]
        assert not (folder / ".env").exists()


async def test_the_settings_hold(folder: Path) -> None:
    editor = QuietEditor()
    editor.answer = "allow"
    async with a_guest(folder, editor, settings={"writes": "deny"}) as guest:
        assert await guest.text("Read", file_path="a.txt") == "one\n"
        assert "wants to read files in" in editor.questions[0].text
        answer = await guest.call("Write", file_path="a.txt", content="x")
        assert answer["structuredContent"]["errorKind"] == "denied_by_policy"
        editor.answer = "reject"
        assert "did not allow" in await guest.no("Read", file_path=".env")


async def test_a_client_that_hangs_up_leaves_nothing(folder: Path) -> None:
    person = Person()
    async with a_guest(folder, person) as guest:
        waiting = asyncio.ensure_future(guest.call("Read", file_path="a.txt"))
        await person.asked.wait()
        guest.visit.gone()
        assert (await waiting)["isError"]
        assert not [s for s in guest.bench.workspace.state.sessions if s.guest]
        assert set(await guest.call("Read", file_path="a.txt")) == {"refused"}


async def test_it_takes_no_prompts_and_is_no_conversation(folder: Path) -> None:
    editor = QuietEditor()
    editor.answer = "allow"
    async with a_guest(folder, editor) as guest:
        workspace = guest.bench.workspace
        await guest.text("Read", file_path="a.txt")
        (session,) = [s for s in workspace.state.sessions if s.guest]
        with pytest.raises(AgentFailed, match="not started from here"):
            workspace.start_prompt(session.id, [])
        with pytest.raises(AgentFailed, match="not started from here"):
            await workspace.conversations.load(session.id)
        assert workspace.state.sessions.newest(NAME) is None
        assert session.id not in [
            row["sessionId"] for row in await workspace.conversations.list(everywhere=True)
        ]
        (row,) = [row for row in workspace.status()["sessions"] if "guest" in row]
        assert (row["agent"], row["running"]) == (NAME, False)
        await workspace.close_session(session.id)
        assert set(await guest.call("Read", file_path="a.txt")) == {"refused"}


@pytest.mark.parametrize(
    ("agent", "where"),
    [("root", None), ("claude (terminal)", None), (None, None), (["claude"], None), ("claude", "relative")],
)
async def test_who_cannot_come(folder: Path, agent: object, where: object) -> None:
    async with a_guest(folder, QuietEditor()) as guest:
        assert set(await guest.arrive(agent, where)) == {"refused"}


async def test_where_it_works(folder: Path, tmp_path: Path) -> None:
    """In its own folder if that is one of the editor's or in one; else in the first. Never outside of them."""
    (folder / "in").mkdir()
    (folder / "in/b.txt").write_text("b\n")
    (tmp_path / "b.txt").write_text("outside\n")
    editor = QuietEditor()
    editor.answer = "allow"
    async with a_guest(folder, editor) as guest:
        await guest.arrive(folder=str(folder / "in"))
        assert await guest.text("Read", file_path="b.txt") == "b\n"
        await guest.arrive(folder=str(tmp_path))
        assert await guest.text("Read", file_path="a.txt") == "one\n"
        answer = await guest.call("Read", file_path=str(tmp_path / "b.txt"))
        assert answer["structuredContent"]["errorKind"] == "path_outside_workspace"
