"""kept_texts: what large files cost while they are open, while an agent's changes of them are under review, and once all that is over.

The disk, what an agent believes, the review and the document mostly say the same: what is equal is there once. What is no longer needed goes back to
the system.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gates.product import Product, a_product
from tests.gates.size import size
from tests.support.memory import resident

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
MB = 1024 * 1024
LINE = "    return value + 1234567890  # remark\n"
DOCUMENTS = size(2, 5)
OPEN = 10
"""MB of each document that is only open."""
REVIEWED = 5
"""MB of the file that an agent changes again and again."""
WRITES = size(4, 12)
WARM = 6
"""MB that a process takes for anything it does for the first time."""
A_CHARACTER = 1.2
"""Bytes, of text that is open and on the disk: about 0.8 is measured, and 1.5 or more where each copy is kept apart."""
AFTER = 20.0
"""Seconds after a turn, at the most: for ten of them, what files said is kept for telling whose a change is."""
TIMES = 3.0
"""What a file under review takes, of its text."""
LEFT = 1.5
"""What is left of it, of its text, once all is kept and closed: what the file says is known, for who reads it next."""


def text(megabytes: int) -> str:
    return LINE * (megabytes * MB // len(LINE))


async def run(product: Product, session: Any, *steps: dict[str, object]) -> None:
    outcome = await product.prompt(session, json.dumps([*steps, {"say": "done"}]))
    assert outcome.get("stopReason") == "end_turn", outcome


async def settled(measure: Callable[[], float], most: float, seconds: float) -> float:
    """The least that is measured within so many seconds; at once when it is less than `most`."""
    found = measure()
    for _ in range(int(seconds * 10)):
        if found < most:
            break
        await asyncio.sleep(0.1)
        found = min(found, measure())
    return found


def looks_at(file: Path) -> dict[str, object]:
    """A read that waits until the file was compared with its document."""
    return {
        "request": "fs/read_text_file",
        "params": {"sessionId": "$session", "path": str(file), "limit": 1},
        "as": file.name,
    }


async def of_open_documents(folder: Path, planted: str | None = None) -> float:
    """Bytes of each character, a process's first steps left out."""
    folder.mkdir()
    async with a_product(folder, {"fake": {"prompted": True}}, client=(), planted=planted) as product:
        session = await product.session("fake")
        await run(product, session)
        before = resident(product.pid)
        files = [folder / f"{number}.py" for number in range(DOCUMENTS)]
        for file in files:
            file.write_text(text(OPEN), newline="")
            product.open(file)
        await run(product, session, *map(looks_at, files))
        return await settled(
            lambda: (resident(product.pid) - before - WARM) / DOCUMENTS / OPEN, A_CHARACTER, 5.0
        )


async def of_a_review(
    folder: Path, planted: str | None = None, *, is_open: bool = True
) -> tuple[float, float]:
    """Times the text, a process's first steps left out: under review, and once all of it is kept and closed. `is_open`: in the editor, all the time; else
    the editor opens it for each write."""
    folder.mkdir()
    file = folder / "reviewed.py"
    file.write_text(text(REVIEWED), newline="")
    about = {"sessionId": "$session", "path": str(file)}
    client = ("save", "open", "close")
    async with a_product(folder, {"fake": {"prompted": True}}, client=client, planted=planted) as product:
        if is_open:
            product.open(file)
        session = await product.session("fake")
        await run(product, session)
        before = resident(product.pid)
        for number in range(1, WRITES + 1):
            content = text(REVIEWED).replace("1234567890", str(number), 40)
            await run(
                product,
                session,
                {"request": "fs/read_text_file", "params": about, "as": "read"},
                {"request": "fs/write_text_file", "params": {**about, "content": content}, "as": "written"},
            )
            assert file.read_text() == content

        def times() -> float:
            return (resident(product.pid) - before - WARM) / REVIEWED

        reviewed = await settled(times, TIMES, AFTER)
        assert "error" not in await product.tried("sidecar.keep", {"all": True})
        if is_open:
            product.close(file)
        return reviewed, await settled(times, LEFT, AFTER)


async def test_open_documents(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    found = await of_open_documents(tmp_path / "ws")
    record_property("bytes a character", round(found, 2))
    assert found < A_CHARACTER


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_file_under_review(
    tmp_path: Path, record_property: Callable[[str, object], None], *, is_open: bool
) -> None:
    reviewed, left = await of_a_review(tmp_path / "ws", is_open=is_open)
    record_property("times its text", round(reviewed, 2))
    record_property("times its text, left", round(left, 2))
    assert reviewed < TIMES
    assert left < LEFT


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    assert await of_open_documents(tmp_path / "open", "every_text_is_kept_apart") > A_CHARACTER
    found, _ = await of_a_review(tmp_path / "reviewed", "every_text_is_kept_apart")
    assert found > TIMES, found
