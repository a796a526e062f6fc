"""message_bytes: how much memory one message of an agent's takes while it is read and dealt with, of up to 64 MiB and whatever is in it.

A write that is carried out makes a new file here (others: gate `write_bytes`). A process of its own for each message, so that nothing is hidden
by what an earlier one left free. The messages are those of gate `loop_steps`.
What is sent on to an editor that shows updates comes on top; the editor's wire is ASCII, so an emoji has 12 bytes there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gates.product import a_product
from tests.gates.size import size
from tests.gates.test_loop_steps import OPEN, is_written, messages, slowest
from tests.support.memory import forget_peak, peak, resident

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
MB = 1024 * 1024
SIZES = size((8,), (8, 63))
"""MiB."""
KINDS = size(("write: emoji", "update: an emoji in each line", "values"), tuple(messages("/x", 4096)))
TIMES = 5
"""What a message may take, of its own bytes."""
REFUSED = {"write: lone surrogates", "write: an emoji at the end", "write: an emoji in each line"}
"""After the text was read: no file can say it, or it takes too much as it is kept."""
READING = 4
"""MB beside that: the pieces in which it is read."""


async def taken(base: Path, megabytes: int, kind: str, planted: str | None = None) -> float:
    """MB more than before, at the most, without READING."""
    folder = base / "ws"
    folder.mkdir(parents=True)
    (folder / "open.txt").write_text(OPEN, newline="")
    line = base / "line"
    line.write_bytes(messages(str(folder), megabytes * MB)[kind]())
    first = base / "first"
    first.write_bytes(messages(str(folder), 4096)[kind]().replace(b'"id":"w"', b'"id":"first"'))
    async with a_product(folder, {"fake": {"prompted": True}}, client=(), planted=planted) as product:
        product.open(folder / "open.txt")
        session = await product.session("fake")

        async def send(file: Path, answer: str) -> None:
            read = {"sessionId": "$session", "path": str(folder / "no such file"), "limit": 1}
            asked = {"request": "fs/read_text_file", "params": read, "as": "read"}
            wait = {"await": answer} if kind.startswith("write") else asked
            outcome = await product.prompt(session, json.dumps([{"lines": str(file)}, wait]))
            assert outcome.get("stopReason") == "end_turn", outcome

        await send(first, "first")  # what is loaded at the first use is not the message's
        before = resident(product.pid)
        forget_peak(product.pid)
        await send(line, "w")
        if is_written(megabytes, kind) and kind not in REFUSED:
            assert (folder / "new.txt").stat().st_size > megabytes * MB // 20, product.said(session)
        return peak(product.pid) - before - READING


@pytest.fixture(autouse=True)
def what_is_free_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, to the system: glibc keeps up to 64 MB of it, which would hide as much of what a message takes."""
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", str(128 * 1024))
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", str(128 * 1024))


async def test_a_message_takes_a_few_times_its_bytes(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    found = {
        f"{megabytes} MiB, {kind}": await taken(tmp_path / f"{megabytes} {number}", megabytes, kind)
        / megabytes
        for megabytes in SIZES
        for number, kind in enumerate(KINDS)
    }
    written = [found[name] for name in found if is_written(int(name.split()[0]), name.split(", ")[1])]
    record_property("messages", len(found))
    record_property("times its bytes", round(max(set(found.values()).difference(written)), 2))
    record_property("times a write's bytes", round(max(written), 2))
    assert max(found.values()) < TIMES, slowest(found)


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    assert await taken(tmp_path, 8, "values", "any_number_of_values") > TIMES * 8
