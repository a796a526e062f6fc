"""What became of an agent's changes is told to it with its next prompt: once, line by line, and only what it may know."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sidecar.workspace.review.review import Selector
from sidecar.workspace.sessions.afterwards import MAX_LINES, MAX_TEXT
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.workspaces import Bench, a_workspace, agent_may_act
from tests.workspace.test_behind import Turn
from tests.workspace.test_prompting import ASKED, Blocks, Listening

Case = Callable[[Bench, FakeEditor], Awaitable[None]]
WROTE = "def rain():\n    return 1\n\nprint(rain())\n"


def told(folder: Path, *cases: Case, policy: str = "save") -> list[str]:
    """The agent's notes of a prompt after each case, without the sentence at their top; "" where there is none."""
    agents = Listening(embedded=False)

    async def main() -> None:
        fake = FakeEditor(VSCODE, folder)
        async with a_workspace(folder, fake, agents, {"beforePrompt": policy}) as bench:
            fake.attach(bench.workspace.apply)
            for case in cases:
                agent_may_act(bench.workspace, bench.session)
                await case(bench, fake)
                await asyncio.sleep(1)
                await bench.workspace.start_prompt(bench.session, [ASKED])[2]

    run(main())
    notes = [[block["text"] for block in heard[1:]] for heard in agents.heard]
    assert all(len(one) <= 1 for one in notes)
    return [one[0].split("\n\n", 1)[1] if one else "" for one in notes]


async def opens_and_writes(bench: Bench, editor: FakeEditor) -> None:
    (bench.folder / "a.py").write_text("print()\n")
    editor.opens("a.py")
    await asyncio.sleep(1)
    await bench.read("a.py")
    await bench.write("a.py", WROTE)


async def nothing(bench: Bench, editor: FakeEditor) -> None:
    pass


async def types_in_it(bench: Bench, editor: FakeEditor) -> None:
    editor.types("a.py", "0", at=WROTE.index("1") + 1)


def test_what_the_user_changes_in_it_is_told_once(tmp_path: Path) -> None:
    notes = told(tmp_path, opens_and_writes, types_in_it, nothing)
    assert notes == ["", f"{tmp_path}/a.py:\nline 2:\n-     return 1\n+     return 10", ""]


def test_also_where_the_agent_read_it_after_its_write(tmp_path: Path) -> None:
    async def reads(bench: Bench, editor: FakeEditor) -> None:
        await bench.read("a.py")

    assert "+     return 10" in told(tmp_path, opens_and_writes, reads, types_in_it)[2]


def test_what_the_agent_has_read_since_is_not_told(tmp_path: Path) -> None:
    async def types_and_the_agent_reads(bench: Bench, editor: FakeEditor) -> None:
        await types_in_it(bench, editor)
        await asyncio.sleep(1)
        await bench.read("a.py")

    assert told(tmp_path, opens_and_writes, types_and_the_agent_reads) == ["", ""]


def test_what_the_user_rejects_is_told(tmp_path: Path) -> None:
    async def rejects(bench: Bench, editor: FakeEditor) -> None:
        await bench.workspace.review.reject(Selector(everything=True))

    lines = [*(f"- {line}" for line in WROTE.splitlines()), "+ print()"]
    assert told(tmp_path, opens_and_writes, rejects)[1] == "\n".join([f"{tmp_path}/a.py:", "line 1:", *lines])


async def writes_on_the_disk(bench: Bench, editor: FakeEditor) -> None:
    """Of a file that is not open."""
    (bench.folder / "a.py").write_text("print()\n")
    await bench.read("a.py")
    await bench.write("a.py", WROTE)


def test_a_file_that_is_not_open(tmp_path: Path) -> None:
    async def shell(bench: Bench, editor: FakeEditor) -> None:
        (bench.folder / "a.py").write_text(WROTE.replace("1", "7"))

    async def removes(bench: Bench, editor: FakeEditor) -> None:
        (bench.folder / "a.py").unlink()

    notes = told(tmp_path, writes_on_the_disk, shell, removes)
    assert notes[0] == ""
    assert "+     return 7" in notes[1]
    assert notes[2] == f"{tmp_path}/a.py:\nit is empty, or gone"


def test_what_comes_back_to_what_the_agent_wrote_is_nothing_to_tell_and_may_be_told_again(
    tmp_path: Path,
) -> None:
    def says(text: str) -> Case:
        async def case(bench: Bench, editor: FakeEditor) -> None:
            (bench.folder / "a.py").write_text(text)

        return case

    changed = WROTE.replace("1", "7")
    notes = told(tmp_path, writes_on_the_disk, says(changed), says(WROTE), says(changed))
    assert [bool(note) for note in notes] == [False, True, False, True]


def test_what_was_only_read_is_not_told(tmp_path: Path) -> None:
    async def reads(bench: Bench, editor: FakeEditor) -> None:
        (bench.folder / "a.py").write_text("one\n")
        await bench.read("a.py")

    async def shell(bench: Bench, editor: FakeEditor) -> None:
        (bench.folder / "a.py").write_text("two\n")

    assert told(tmp_path, reads, shell) == ["", ""]


def test_nothing_is_told_where_nothing_is_to_go_along(tmp_path: Path) -> None:
    assert told(tmp_path, opens_and_writes, types_in_it, policy="nothing") == ["", ""]


def test_what_the_agent_would_have_to_ask_for_is_not_told(tmp_path: Path) -> None:
    async def becomes_a_secret(bench: Bench, editor: FakeEditor) -> None:
        (bench.folder / "a.py").unlink()
        (bench.folder / ".env").write_text("KEY=1\n")
        (bench.folder / "a.py").symlink_to(".env")

    assert told(tmp_path, writes_on_the_disk, becomes_a_secret) == ["", ""]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("x\n" * MAX_LINES, "a.py: read it again; much of it has changed since you last knew it."),
        ("x" * (MAX_TEXT + 1), ""),
    ],
)
def test_long_notes_are_cut_short(tmp_path: Path, text: str, note: str) -> None:
    async def shell(bench: Bench, editor: FakeEditor) -> None:
        (bench.folder / "a.py").write_text(text)

    assert told(tmp_path, writes_on_the_disk, shell)[1] == (note and f"{tmp_path}/{note}")


# what its own tools write on the disk


class Working(Listening):
    """Changes a file with its own tools in its first turn."""

    bench: Bench | None = None

    async def prompt(self, session_id: str, blocks: Blocks) -> str:
        if not self.heard:
            assert self.bench is not None
            turn = Turn(self.bench, session_id)
            turn.says("edit", "a.py")
            await asyncio.sleep(1)
            turn.puts("a.py", WROTE)
            await asyncio.sleep(1)
            turn.says("edit", "a.py", status="completed")
        return await super().prompt(session_id, blocks)


async def is_opened(bench: Bench, editor: FakeEditor) -> None:
    editor.opens("a.py")
    await asyncio.sleep(1)


async def reads(bench: Bench, editor: FakeEditor) -> None:
    editor.types("a.py", "0", at=WROTE.index("1") + 1)
    agent_may_act(bench.workspace, bench.session)
    await bench.read("a.py")


async def rejects(bench: Bench, editor: FakeEditor) -> None:
    await bench.workspace.review.reject(Selector(everything=True))


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (is_opened, types_in_it, "line 2:\n-     return 1\n+     return 10"),
        (is_opened, nothing, ""),
        (is_opened, reads, ""),
        (nothing, rejects, "line 1:\n- def rain():\n-     return 1\n- \n- print(rain())\n+ print()"),
    ],
)
def test_what_becomes_of_what_it_wrote_on_the_disk_is_told(
    tmp_path: Path, before: Case, after: Case, note: str
) -> None:
    agents = Working(embedded=False)
    (tmp_path / "a.py").write_text("print()\n")

    async def main() -> None:
        fake = FakeEditor(VSCODE, tmp_path)
        async with a_workspace(tmp_path, fake, agents, {"beforePrompt": "save"}) as bench:
            agents.bench = bench
            fake.attach(bench.workspace.apply)
            await before(bench, fake)
            for case in (nothing, after, nothing):
                await case(bench, fake)
                await asyncio.sleep(1)
                await bench.workspace.start_prompt(bench.session, [ASKED])[2]
                await asyncio.sleep(5)

    run(main())
    first, second, third = ("".join(block["text"] for block in heard[1:]) for heard in agents.heard)
    assert first == ""
    assert second.partition(f"{tmp_path / 'a.py'}:\n")[2] == note
    assert bool(second) is bool(note)
    assert third == "", "told once"
