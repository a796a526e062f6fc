"""Large texts are compared and noted in threads, never in a step of the event loop. Counted in characters, not in time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.core import diff, hunks, merge, writes
from sidecar.core.normal import normal
from sidecar.journal import writing
from sidecar.workspace.files import agent_edit
from sidecar.workspace.ports.aside import LARGE
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import WELL_BEHAVED
from tests.support.workspaces import Bench, MemoryJournal, a_workspace
from tests.workspace.test_writes import done, play

KINDS = {
    "code": "    return value\n",
    "one line": "x",
    "line ends": "é\r\n",
    "emoji": "\U0001f600\n",
}


@pytest.fixture
def on_the_loop(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Work on large texts that the loop's thread did itself: what, and its characters."""
    main, found = threading.get_ident(), list[tuple[str, int]]()

    def watched(name: str, work: Any, size: Any) -> Any:
        def noted(*args: Any, **more: Any) -> Any:
            if threading.get_ident() == main and size(*args) > LARGE:
                found.append((name, size(*args)))
            return work(*args, **more)

        return noted

    both = lambda old, new: len(old) + len(new)
    for module in (diff, merge, writes, writing):
        monkeypatch.setattr(module, "line_hunks", watched("diff", hunks.line_hunks, both))
    return found


def texts(kind: str) -> tuple[str, str, str]:
    """A text, and two that agents make of it: all of it, and a little."""
    unit = KINDS[kind]
    old = unit * (2 * LARGE // len(unit))
    middle = len(old) // 2
    return old, ("y" + unit) * (2 * LARGE // (len(unit) + 1)), f"{old[:middle]}new{old[middle:]}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_document(tmp_path: Path, on_the_loop: list[tuple[str, int]], kind: str) -> None:
    old, *wanted = texts(kind)
    (tmp_path / "a.txt").write_text(old, newline="")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        for new in wanted:
            on_the_loop.clear()
            done(await bench.write("a.txt", new))
            assert normal(bench.text("a.txt")) == normal(new)
            await asyncio.sleep(1)  # virtual: what changed is noted
            assert on_the_loop == []

    play(tmp_path, WELL_BEHAVED, case)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_large_file(tmp_path: Path, on_the_loop: list[tuple[str, int]], kind: str) -> None:
    old, *wanted = texts(kind)
    (tmp_path / "a.txt").write_text(old, newline="")
    journal = MemoryJournal()
    async with a_workspace(tmp_path, journal=journal) as bench:
        for new in wanted:
            done(await bench.write("a.txt", new))
            assert normal((tmp_path / "a.txt").read_bytes().decode()) == normal(new)
        async with asyncio.timeout(30):
            while not journal.ledgers:  # noqa: ASYNC110  # a dict tells nobody
                await asyncio.sleep(0)
    assert on_the_loop == []


def test_what_is_typed_while_it_is_planned_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user goes on while a thread compares: the plan is made again."""
    old = "line\n" * LARGE
    (tmp_path / "a.txt").write_text(old, newline="")
    times: list[int] = []

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")

        async def typed_meanwhile(size: int, work: Callable[[], Any]) -> Any:
            found = work()
            if len(times) < 3:
                times.append(size)
                editor.types("a.txt", "user ", 0)
                await asyncio.sleep(1)  # virtual: the sidecar was told
            return found

        monkeypatch.setattr(agent_edit, "aside", typed_meanwhile)
        done(await bench.write("a.txt", old + "agent\n"))
        assert bench.text("a.txt") == "user " * len(times) + old + "agent\n"

    play(tmp_path, WELL_BEHAVED, case)
    assert times
