"""soak: what grows while a person and agents go on working, all kinds of work mixed: memory, descriptors, threads, processes.

Everything that is opened is closed again, and all that agents write is kept or rejected, so a process that has warmed up has no reason to grow. The
slopes are medians of the slopes between any two samples (Theil and Sen), so single moments do not count. A sample is taken after each turn: what is open
for a moment while an agent works, a file or a command's pipes, is given back by then, and on a slow machine there are few moments.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

from sidecar.core.json_types import JsonDict
from tests.gates.product import Product, a_product
from tests.gates.size import size
from tests.support.memory import resident

pytestmark = [
    pytest.mark.timeout(0),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process has is read from /proc"),
]
MINUTES = float(os.environ.get("SOAK_MINUTES", size(0.5, 20)))
WARM = 0.3
"""The part of the time in which a process may still grow: caches fill, and every kind of work is done for the first time."""
LEAST = 20
"""The turns that it takes at least, however slow the machine is."""
KEYS_A_SECOND = 20
TURNS_WITH_ONE_AGENT = 10
SIZES = (10_000, 50_000, 200_000)
"""Characters of the documents that are open, and of files that are not."""
MOST = size(40.0, 2.0)
"""MB that memory may grow in the time after that, at its slope: less is the allocator's noise. In half a minute much of it is still warming up."""


class Sample(NamedTuple):
    minutes: float
    mb: float
    descriptors: float
    threads: float
    processes: float


def sample(pid: int, minutes: float) -> Sample:
    proc = Path(f"/proc/{pid}")
    threads = list((proc / "task").iterdir())
    children: list[int] = []
    for thread in threads:
        with suppress(OSError):  # a thread may end meanwhile
            children.append(len((thread / "children").read_text().split()))
    return Sample(minutes, resident(pid), len(os.listdir(proc / "fd")), len(threads), sum(children))


def slope(samples: Sequence[Sample], what: str) -> float:
    """By which it grows in a minute."""
    chosen = samples[:: max(1, len(samples) // 300)]
    pairs = itertools.combinations([(one.minutes, getattr(one, what)) for one in chosen], 2)
    return median((b - a) / (then - now) for (now, a), (then, b) in pairs)


def allow(text: str, options: Sequence[str]) -> str | None:
    """Each command, once."""
    return next((option for option in options if "once" in option), None)


class Work:
    """What one editor's user and one agent at a time do, again and again."""

    def __init__(self, product: Product, folder: Path) -> None:
        self._product = product
        self._random = random.Random(1)
        self._folder = folder
        self.keys = self.writes = self.turns = 0
        self._open = [self._file(f"open{number}.py", many) for number, many in enumerate(SIZES)]
        self._shut = [self._file(f"shut{number}.py", many) for number, many in enumerate(SIZES)]
        for file in self._open:
            product.open(file)

    def _file(self, name: str, many: int) -> Path:
        file = self._folder / name
        file.write_text("".join(f"    name = {number:08d}  # remark\n" for number in range(many // 32)))
        return file

    async def type(self) -> None:
        """Until it is cancelled."""
        while True:
            file = self._random.choice(self._open)
            buffer = self._product.document(file)
            self._product.type(file, "x" if self._random.random() < 0.9 else "\n", len(buffer.text) // 2)
            self.keys += 1
            await asyncio.sleep(1 / KEYS_A_SECOND)

    async def turn(self, session: JsonDict) -> None:
        number = self.turns
        steps: list[JsonDict] = [{"say": f"turn {number} "}] * 10
        for file in (*self._open, *self._shut):
            if self._random.random() < 0.3:
                continue
            steps += self._edit(file, number)
        made = self._folder / f"made{number % 20}.txt"
        call = {"toolCallId": f"t{number}", "kind": "edit", "locations": [{"path": str(made)}]}
        steps += [
            {
                "update": {
                    "sessionUpdate": "tool_call",
                    "title": "edit",
                    "status": "in_progress",
                    "rawInput": {"path": str(made)},
                    **call,
                }
            },
            {"put": str(made), "text": f"{number}\n" * 100},
            {"update": {"sessionUpdate": "tool_call_update", "status": "completed", **call}},
        ]
        steps += self._command(number)
        outcome = await self._product.prompt(session, json.dumps(steps))
        assert outcome.get("stopReason") == "end_turn", outcome
        self.turns += 1
        verb = "sidecar.reject" if number % 3 == 2 else "sidecar.keep"
        decided = await self._product.tried(verb, {"all": True})
        assert "error" not in decided, decided

    def _edit(self, file: Path, number: int) -> list[JsonDict]:
        about = {"sessionId": "$session", "path": str(file)}
        text = self._product.document(file).text if file in self._open else file.read_text()
        lines = text.splitlines(keepends=True)
        for at in self._random.sample(range(len(lines)), 5):
            lines[at] = f"    changed = {number}  # {at}\n"
        self.writes += 1
        return [
            {"request": "fs/read_text_file", "params": about, "as": "read"},
            {
                "request": "fs/write_text_file",
                "params": {**about, "content": "".join(lines)},
                "as": "written",
            },
        ]

    def _command(self, number: int) -> list[JsonDict]:
        about = {"sessionId": "$session", "terminalId": "$taken"}
        make = {"sessionId": "$session", "command": "echo", "args": [str(number)]}
        return [
            {"request": "terminal/create", "params": make, "as": "made"},
            {"take": "made", "field": "terminalId"},
            {"request": "terminal/wait_for_exit", "params": about, "as": "ended"},
            {"request": "terminal/output", "params": about, "as": "said"},
            {"request": "terminal/release", "params": about, "as": "released"},
        ]

    def opens_anew(self) -> None:
        file = self._random.choice(self._open)
        self._product.save(file)
        self._product.close(file)
        self._product.open(file)


async def soaked(
    folder: Path, minutes: float, planted: str | None = None
) -> tuple[dict[str, float], dict[str, int]]:
    """The slopes after it has warmed up, and what was done."""
    folder.mkdir()
    samples: list[Sample] = []
    client = ("save", "open", "close")
    async with a_product(
        folder, {"fake": {"prompted": True}}, client=client, planted=planted, answer=allow
    ) as product:
        work = Work(product, folder)
        loop = asyncio.get_running_loop()
        began = loop.time()
        typing = asyncio.create_task(work.type())
        session: Any = None
        while (loop.time() - began) / 60 < minutes or work.turns < LEAST:
            if work.turns % TURNS_WITH_ONE_AGENT == 0:
                if session is not None:
                    await product.tried("sidecar.closeSession", {"sessionId": session["sessionId"]})
                session = await product.session("fake")
                assert "error" not in session, session
            await work.turn(session)
            samples.append(sample(product.pid, (loop.time() - began) / 60))
            work.opens_anew()
            _forget(product)
        typing.cancel()
        with suppress(asyncio.CancelledError):
            await typing
        done = {"keys": work.keys, "writes": work.writes, "turns": work.turns}
    warm = [one for one in samples if one.minutes > minutes * WARM]
    return {what: slope(warm, what) for what in Sample._fields[1:]}, done


def _forget(product: Product) -> None:
    """What this editor remembers of what it heard is not to be measured, but takes the machine's memory."""
    for heard in (product.messages, product.updates, product.turns, product.progress, product.notifications):
        heard.clear()


async def test_nothing_grows(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    slopes, done = await soaked(tmp_path / "ws", MINUTES)
    for name, count in done.items():
        record_property(name, count)
    for name, by in slopes.items():
        record_property(f"{name} a minute", round(by, 3))
    assert slopes["mb"] * MINUTES * (1 - WARM) < MOST, slopes
    for name in ("descriptors", "threads", "processes"):
        assert slopes[name] * MINUTES * (1 - WARM) < 1, slopes  # threads that wait for work end by and by


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    slopes, done = await soaked(tmp_path / "ws", 0.3, "turns_leave_something")
    assert slopes["mb"] * 0.3 * (1 - WARM) > MOST, (slopes, done)
    assert slopes["descriptors"] * 0.3 * (1 - WARM) > 1, slopes
