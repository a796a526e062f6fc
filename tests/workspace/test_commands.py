"""Commands: which are asked about, what the question shows, where they may run, and what is saved before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import from_path
from sidecar.workspace.edits.write_task import WriteDone
from sidecar.workspace.ports.session_ports import CommandEnd
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run as in_virtual_time
from tests.support.workspaces import Bench, IdleAgents, QuietEditor, a_workspace


class BusyAgents(IdleAgents):
    """Knows when a prompt has arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.prompted = asyncio.Event()
        self.stops: list[asyncio.Future[str]] = []

    async def prompt(self, session_id: str, blocks: Sequence[Mapping[str, object]]) -> str:
        self.stops.append(asyncio.get_running_loop().create_future())
        self.prompted.set()
        return await self.stops[-1]


@asynccontextmanager
async def in_a_turn(
    folder: Path,
    editor: Any,
    settings: Mapping[str, object] | None = None,
    *,
    audit: Any = None,
    sessions: int = 1,
) -> AsyncIterator[Bench]:
    """With a turn in each of its sessions, of which `bench.session` is the first."""
    agents = BusyAgents()
    async with a_workspace(folder, editor, agents, settings, audit=audit) as bench:
        if hasattr(editor, "attach"):
            editor.attach(bench.workspace.apply)
        turns: list[Awaitable[object]] = []
        for number in range(sessions):
            session = await bench.another_session() if number else bench.session
            agents.prompted.clear()
            turns.append(bench.workspace.start_prompt(session, [])[2])
            await agents.prompted.wait()
        yield bench
        for stop in agents.stops:
            stop.set_result("end_turn")
        for turn in turns:
            await turn


async def run(
    bench: Bench, *argv: str, cwd: str | None = None, env: tuple[str, ...] = (), session: str | None = None
) -> str:
    """The folder to run it in, or the kind of the refusal."""
    found = await bench.workspace.run(session or bench.session, argv, cwd, env)
    return found.kind.value if isinstance(found, Refusal) else found


# answer · first time · asked again for the same · for another argument · in another folder · with a variable
ANSWERS: list[tuple[str | None, bool, tuple[bool, bool, bool, bool]]] = [
    (None, False, (True, True, True, True)),
    ("reject", False, (True, True, True, True)),
    ("no-such", False, (True, True, True, True)),
    ("allow", True, (True, True, True, True)),
    ("always", True, (False, True, True, True)),
]


@pytest.mark.parametrize(("answer", "allowed", "again"), ANSWERS)
@pytest.mark.parametrize("writes", ["review", "ask"])
async def test_asks(
    tmp_path: Path, writes: str, answer: str | None, allowed: bool, again: tuple[bool, ...]
) -> None:
    (tmp_path / "sub").mkdir()
    editor = QuietEditor()
    editor.answer = answer
    async with in_a_turn(tmp_path, editor, {"writes": writes}) as bench:
        found = await run(bench, "make", "test")
        assert found == (str(tmp_path.resolve()) if allowed else Kind.DENIED_BY_USER)
        assert len(editor.questions) == 1
        editor.answer = None
        asked: list[bool] = []
        for argv, cwd, env in (
            (("make", "test"), None, ()),
            (("make", "test x"), None, ()),
            (("make", "test"), str(tmp_path / "sub"), ()),
            (("make", "test"), None, ("PATH",)),
        ):
            before = len(editor.questions)
            await run(bench, *argv, cwd=cwd, env=env)
            asked.append(len(editor.questions) > before)
        assert tuple(asked) == again


async def test_always_is_for_one_session(tmp_path: Path) -> None:
    editor = QuietEditor()
    editor.answer = "always"
    async with in_a_turn(tmp_path, editor, sessions=2) as bench:
        sessions = [session.id for session in bench.workspace.state.sessions]
        for session in sessions * 2:
            await run(bench, "ls", session=session)
        assert [question.session_id for question in editor.questions] == sessions


async def test_always_is_not_offered_with_variables(tmp_path: Path) -> None:
    editor = QuietEditor()
    editor.answer = "always"
    async with in_a_turn(tmp_path, editor) as bench:
        assert await run(bench, "ls", env=("A",)) == Kind.DENIED_BY_USER
        assert await run(bench, "ls", env=("A",)) == Kind.DENIED_BY_USER
        assert [o.id for o in editor.questions[0].options] == ["reject", "allow"]


async def test_deny(tmp_path: Path) -> None:
    editor = QuietEditor()
    editor.answer = "allow"
    async with in_a_turn(tmp_path, editor, {"writes": "deny"}) as bench:
        assert await run(bench, "ls") == Kind.DENIED_BY_POLICY
        assert not editor.questions


# argv · env · what the text must have in it
SHOWN: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
    (("ls", "-l"), (), ": ls -l"),
    (("rm", "a b", ""), (), "rm 'a b'"),
    (("/bin/sh", "-c", "ls | wc; rm -r x"), (), "/bin/sh -c 'ls | wc; rm -r x'"),
    (("a\u202eb", "c\nd", "\x1b[0m"), (), "\\u202e"),
    (("a", "c\nd"), (), "c\\nd"),
    (("a", "\x1b[2J"), (), "\\x1b[2J"),
    (("x", " " * 5000, "rm -rf /"), (), "'rm -rf /'"),
    (("x", "y" * 5000, "rm -rf /"), (), "more characters"),
    (("ls",), ("LD_PRELOAD", "A\u202e"), "it sets LD_PRELOAD, 'A\\u202e'"),
]


@pytest.mark.parametrize(("argv", "env", "words"), SHOWN, ids=[row[2] for row in SHOWN])
async def test_the_question(tmp_path: Path, argv: tuple[str, ...], env: tuple[str, ...], words: str) -> None:
    editor = QuietEditor()
    async with in_a_turn(tmp_path, editor) as bench:
        await run(bench, *argv, env=env)
    (question,) = editor.questions
    assert words in question.text
    assert str(tmp_path.resolve()) in question.text
    assert question.text.isprintable(), "nothing in it moves a cursor or turns text around"
    assert len(question.text) < 2000
    assert question.action == "execute"
    assert question.options[0].kind == "reject_once"
    assert question.details == {"argv": list(argv), "cwd": str(tmp_path.resolve()), "env": list(env)}


# cwd (beneath the session's folder where relative) · folder beneath it, or why not
FOLDERS: list[tuple[str | None, str]] = [
    (None, ""),
    ("", ""),
    ("$folder", ""),
    ("$folder/", ""),
    ("$folder/sub", "sub"),
    ("$folder/sub/", "sub"),
    ("sub", "sub"),
    ("$folder/sub/..", ""),
    ("$folder/in", "sub"),
    ("$folder/out", Kind.SYMLINK_ESCAPE),
    ("$folder/out/..", Kind.SYMLINK_ESCAPE),
    ("$folder/..", Kind.SYMLINK_ESCAPE),
    ("$folder/../elsewhere", Kind.SYMLINK_ESCAPE),
    ("..", Kind.SYMLINK_ESCAPE),
    ("$folder-sibling", Kind.OUTSIDE),
    ("/", Kind.OUTSIDE),
    ("/proc/self/cwd", Kind.OUTSIDE),
    ("$folder/file", Kind.NOT_FOUND),
    ("$folder/missing", Kind.NOT_FOUND),
    ("$folder/missing/../sub", Kind.NOT_FOUND),
    ("$folder/loop", Kind.BAD_PATH),
    ("$folder/a\0b", Kind.BAD_PATH),
]


async def test_folders(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path.resolve() / "ws", tmp_path / "elsewhere"
    for made in (folder / "sub", elsewhere, tmp_path / "ws-sibling"):
        made.mkdir(parents=True)
    (folder / "file").write_text("")
    (folder / "in").symlink_to("sub")
    (folder / "out").symlink_to(elsewhere)
    (folder / "loop").symlink_to("loop")
    editor = QuietEditor()
    editor.answer = "allow"
    wrong: list[str] = []
    async with in_a_turn(folder, editor) as bench:
        for cwd, expected in FOLDERS:
            before = len(editor.questions)
            found = await run(bench, "ls", cwd=None if cwd is None else cwd.replace("$folder", str(folder)))
            asked = len(editor.questions) - before
            if isinstance(expected, Kind):
                if (found, asked) != (expected, 0):
                    wrong.append(f"{cwd!r}: {found} asked {asked}, not {expected!r}")
            elif (found, asked) != (str(folder / expected), 1):
                wrong.append(f"{cwd!r}: {found} asked {asked}, not {expected!r}")
    assert not wrong, "\n".join(wrong)


async def test_outside_of_a_turn_nothing_is_run_or_asked(tmp_path: Path) -> None:
    editor = QuietEditor()
    editor.answer = "allow"
    async with a_workspace(tmp_path, editor) as bench:
        session = bench.workspace.state.sessions.get(bench.session)
        assert session is not None
        session.stop()
        assert await run(bench, "ls") == Kind.WITHDRAWN
        assert editor.questions == []
        assert await run(bench, "ls", session="no-such") == Kind.UNKNOWN_SESSION


async def test_the_audit_log_knows(tmp_path: Path) -> None:
    class Audit:
        def __init__(self) -> None:
            self.rows: list[dict[str, object]] = []

        def record(self, event: str, **fields: object) -> None:
            self.rows.append({"event": event, **fields})

    audit = Audit()
    async with in_a_turn(tmp_path, QuietEditor(), audit=audit) as bench:
        await run(bench, "ls", "-l", env=("A",))
    (row,) = [row for row in audit.rows if row["event"] == "command"]
    assert (row["argv"], row["env"], row["outcome"]) == (["ls", "-l"], ["A"], "denied_by_user")


async def test_a_command_may_have_read_behind_us(tmp_path: Path) -> None:
    async with in_a_turn(tmp_path, QuietEditor()) as bench:
        session = bench.workspace.state.sessions.get(bench.session)
        assert session is not None
        uri = from_path(bench.path("a.txt"))
        assert not session.may_have_read_behind(uri, session.moment(), session.moment())
        bench.workspace.command_started(bench.session, "term-1")
        assert session.may_have_read_behind(uri, session.moment(), session.moment())
        since = session.moment()
        bench.workspace.command_ended(bench.session, "term-1", CommandEnd(0))
        assert session.may_have_read_behind(uri, since, session.moment())
        assert not session.may_have_read_behind(uri, session.moment(), session.moment())


# what saving is like · the user types into it as well · setting · saved before the command runs
SAVES: list[tuple[str, bool, str, bool]] = [
    ("fails once", False, "save-if-was-clean", True),
    ("fails once", False, "always", True),
    ("fails once", True, "save-if-was-clean", False),
    ("fails once", True, "always", False),
    ("fails always", False, "save-if-was-clean", False),
    ("works", False, "never", False),
]


@pytest.mark.parametrize(("saving", "typed", "policy", "saved"), SAVES, ids=str)
def test_what_could_not_be_saved_is_saved_before(
    tmp_path: Path, saving: str, typed: bool, policy: str, saved: bool
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")

    async def main() -> None:
        fails = replace(VSCODE, save_fails="always")
        editor = FakeEditor(VSCODE if saving == "works" else fails, tmp_path, answer=lambda question: "allow")
        async with in_a_turn(tmp_path, editor, {"afterWrite": policy}) as bench:
            editor.opens("a.txt")
            await bench.read("a.txt")
            written = await bench.write("a.txt", "one\nTWO\nthree\n")
            assert isinstance(written, WriteDone)
            assert written.saved is False
            if typed:
                editor.types("a.txt", "mine\n", at=0)
                await asyncio.sleep(1)
            if saving == "fails once":
                editor.model.habits = VSCODE
            assert await run(bench, "make") == str(tmp_path.resolve()), "it runs all the same"
            assert (tmp_path / "a.txt").read_text() == f"one\n{'TWO' if saved else 'two'}\nthree\n"

    in_virtual_time(main())
