"""A file that is open with unsaved text is changed beside the editor, and then a command removes it: what comes back has the user's changes, and no agent's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import BASE, Turn, opened, play
from tests.workspace.test_whose import reject_all


@pytest.mark.parametrize("goes", ["removed", "moved", "bytes"])
@pytest.mark.parametrize("when_typed", ["first", "between", "last"])
@pytest.mark.parametrize(
    "changes", [("user",), ("agent", "user"), ("user", "agent"), ("user", "agent", "user")]
)
@pytest.mark.parametrize("pause", [0.2, 1.2])
def test_it_comes_back_with_what_the_user_changed(
    tmp_path: Path, pause: float, changes: tuple[str, ...], when_typed: str, goes: str
) -> None:
    """`pause`: after each change, in seconds. (turns seed 1885180356)"""
    file, lines = tmp_path / "a.txt", iter(("two", "three", "four"))
    wanted = BASE

    async def script(turn: Turn, editor: FakeEditor) -> None:
        nonlocal wanted

        def types(moment: str) -> None:
            if moment == when_typed:
                tick()
                editor.replaces("a.txt", "one", "mine")

        async def runs(call: str) -> None:
            turn.says("execute", call=call)
            tick()
            await asyncio.sleep(0.05)

        async def ran(call: str) -> None:
            tick()
            turn.says("execute", call=call, status="completed")
            await asyncio.sleep(pause)

        types("first")
        for number, who in enumerate(changes):
            line = next(lines)
            if who == "agent":
                await runs(f"c{number}")
            file.write_text(file.read_text().replace(line, f"{who}'s"))
            if who == "agent":
                await ran(f"c{number}")
            else:
                wanted = wanted.replace(line, "user's")
                tick()
                await asyncio.sleep(pause)
            types("between" if number == 0 else "")
        types("last")
        await runs("last")
        if goes == "removed":
            file.unlink()
        elif goes == "moved":
            file.rename(tmp_path / "b.txt")
        else:
            file.write_bytes(b"\0\1\2")
        await ran("last")
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await reject_all(bench)
        await asyncio.sleep(5)
        on_disk, in_editor = file.read_text(), editor.text("a.txt")
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
        assert in_editor.startswith("mine\n")
        assert "agent's" not in in_editor
        # A document that has the user's changes is saved over the file; otherwise the editor asks
        assert in_editor == wanted.replace("one", "mine") or on_disk == wanted

    play(tmp_path, VSCODE, script, before=opened, after=after)


USERS = BASE.replace("four", "user's")
AGENTS = BASE.replace("two", "agent's")
HISTORIES = {
    "the user takes the agent's change back": [
        ("user", USERS),
        ("agent", USERS.replace("two", "agent's")),
        ("user", USERS),
    ],
    "and changes another line in the same moment": [("agent", AGENTS), ("user", USERS)],
    "the user puts a line back": [("agent", BASE.replace("two\n", "")), ("user", USERS)],
    "the user puts everything back": [("agent", "gone\n"), ("user", USERS)],
    "another form of lines": [
        ("agent", BASE.replace("two", "  two").replace("five", "  five")),
        ("user", USERS),
    ],
    "the same line": [("agent", BASE.replace("four", "agent's")), ("user", USERS)],
    "more of the agent's": [
        ("agent", AGENTS),
        ("user", AGENTS.replace("four", "user's")),
        ("agent", BASE.replace("two", "again").replace("four", "user's")),
    ],
}
"""What the file says one after the other, and who wrote that. Then a command removes it."""


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("history", list(HISTORIES.values()), ids=list(HISTORIES))
def test_what_comes_back_was_there(tmp_path: Path, history: list[tuple[str, str]], end: str) -> None:
    """Nothing that was taken back is there twice, and the line ends are the file's."""
    file = tmp_path / "a.txt"

    async def before(bench: Bench, editor: FakeEditor) -> None:
        file.write_bytes(BASE.replace("\n", end).encode())
        editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        tick()
        editor.replaces("a.txt", "one", "mine")
        for number, (who, text) in enumerate([*history, ("agent", None)]):
            if who == "agent":
                turn.says("execute", call=f"c{number}")
                tick()
                await asyncio.sleep(0.05)
            if text is None:
                file.unlink()
            else:
                file.write_bytes(text.replace("\n", end).encode())
            tick()
            if who == "agent":
                turn.says("execute", call=f"c{number}", status="completed")
            await asyncio.sleep(0.2)
        await asyncio.sleep(4)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await asyncio.sleep(15)
        await reject_all(bench)
        await asyncio.sleep(5)
        assert file.read_bytes() == USERS.replace("\n", end).encode()

    play(tmp_path, VSCODE, script, before=before, after=after)
