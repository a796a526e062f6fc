"""write_steps: for how long a write that is carried out keeps everybody else from the event loop: of every kind of text, for a new file, over one that is
there, and in a document that is open, with what the editor tells back of it. And for how long a read of the text that is there does.

Measured as in gate `loop_steps`, for the writes of gate `write_bytes`. A process of its own for each.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.gates.loop_bound import bound, least
from tests.gates.product import a_product
from tests.gates.size import size
from tests.gates.test_write_bytes import CHANGES, ROWS, TEXTS, Row, assert_says, named

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        sys.platform == "win32", reason="the clock of a thread's processor time is too coarse there"
    ),
]
SMALL: list[Row] = [
    ("code", "all of it", True),
    ("CRLF", "all of it", False),
    ("an emoji in each line, CRLF", "a word", True),
]


class Longest(NamedTuple):
    """ms of the longest step while such a read, and such a write, arrives and is carried out."""

    read: float
    write: float


async def longest(
    base: Path, text: str, change: str, *, is_open: bool, planted: str = "stopwatch"
) -> Longest:
    folder, clock = base / "ws", base / "clock"
    folder.mkdir(parents=True)
    make, before = CHANGES[change], TEXTS[text]()
    content = before if make is None else make(before)
    file, small, line = folder / "large.txt", folder / "small.txt", base / "line"
    small.write_text("small\n")
    if make is not None:
        file.write_bytes(before.encode())
    params = {"sessionId": "s1", "path": str(file), "content": content}
    message = {"jsonrpc": "2.0", "id": "w", "method": "fs/write_text_file", "params": params}
    line.write_bytes(json.dumps(message, ensure_ascii=False).encode() + b"\n")
    async with a_product(folder, {"fake": {"prompted": True}}, client=(), planted=planted) as product:
        session = await product.session("fake")

        async def run(*steps: dict[str, object]) -> None:
            outcome = await product.prompt(session, json.dumps(steps))
            assert outcome.get("stopReason") == "end_turn", outcome

        for path in (small, file) if is_open else ():
            product.open(path)
        await run({"write": str(small), "content": "other\n" * 100})  # what is loaded at the first use
        clock.unlink(missing_ok=True)
        if make is not None:
            read = {"sessionId": "$session", "path": str(file)}
            await run({"request": "fs/read_text_file", "params": read, "as": "read"})
        reading = told(clock)
        clock.unlink(missing_ok=True)
        await run({"lines": str(line)}, {"await": "w"})
        assert_says(product.document(file).text if is_open else file.read_bytes().decode(), content)
    return Longest(reading, told(clock))


def told(clock: Path) -> float:
    return float(clock.read_text()) if clock.exists() else 0.0


@pytest.mark.parametrize(("text", "change", "is_open"), size(SMALL, ROWS), ids=map(named, size(SMALL, ROWS)))
async def test_no_step_takes_long(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    change: str,
    is_open: bool,
    record_property: Callable[[str, object], None],
) -> None:
    numbers, reads = iter(range(10_000)), list[float]()

    async def measured() -> float:
        base = tmp_path / str(next(numbers))
        monkeypatch.setenv("LONGEST_STEP", str(base / "clock"))
        monkeypatch.setenv("ACP_SIDECAR_STATE", str(base / "state"))
        reading, writing = await longest(base, text, change, is_open=is_open)
        shutil.rmtree(base)  # all of them take 10 GB
        reads.append(reading)
        return max(reading, writing)

    most = bound(ms=20.0, yardsticks=4.0)
    found = await least(measured, most)
    record_property("writes", 1)
    record_property("write step ms", round(found, 1))
    record_property("read step ms", round(min(reads), 1))
    assert found < most


@pytest.mark.parametrize(
    ("planted", "noticed"),
    [("the_editor_is_read_at_once", "write"), ("large_texts_are_worked_on_at_once", "read")],
)
async def test_the_gate_can_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str, noticed: str
) -> None:
    monkeypatch.setenv("LONGEST_STEP", str(tmp_path / "base" / "clock"))
    monkeypatch.setattr("tests.gates.test_write_bytes.MOST", 10 * 1024 * 1024 - 2000)
    found = await longest(tmp_path / "base", "Cyrillic", "all of it", is_open=True, planted=planted)
    assert getattr(found, noticed) > 30, found
