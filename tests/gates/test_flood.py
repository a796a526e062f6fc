"""flood: an agent that says everything in pieces, as fast as it can. The sidecar stays small and answers its editor meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gates.product import Script, a_product, in_folder
from tests.gates.size import size
from tests.support.memory import peak, resident

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
Record = Callable[[str, object], None]

UPDATES = size(8_000, 100_000)
MEGABYTES = 100.0
HANGS = 10.0
"""Seconds: an answer that takes as long counts as none. (The figure is told; speed is the benchmarks' matter.)"""
LEFT_MEGABYTES = 500.0
"""For what an agent asks and does not read: a few files of ten megabytes, each several times; 300 would be three gigabytes."""

SCRIPT: Script = {"turns": [[{"repeat": UPDATES, "steps": [{"say": "word $n of very many\n"}]}]]}


DEAF: Script = {
    "turns": [
        [
            {"deaf": True},
            {
                "repeat": 300,
                "steps": [{"read": "$folder/large.txt", "line": 1, "as": "r$n", "wait": False}],
            },
            {"never": True},
        ]
    ]
}


async def flooded(
    folder: Path, client: tuple[str, ...], planted: str | None = None, hangs: float = HANGS
) -> tuple[float, float, list[str]]:
    """(MB more at the peak, p99 of an answer in seconds, what was wrong)."""
    loop = asyncio.get_running_loop()
    took: list[float] = []
    async with a_product(folder, {"flood": SCRIPT}, client=client, planted=planted) as product:
        session = await product.session("flood")
        before = resident(product.pid)
        turn = asyncio.ensure_future(product.prompt(session))
        while not turn.done():
            asked = loop.time()
            await product.tried("sidecar.status")
            took.append(loop.time() - asked)
            await asyncio.sleep(0.01)
        outcome = await turn
        more = peak(product.pid) - before
        wrong = [] if outcome.get("stopReason") == "end_turn" else [f"the turn ended with {outcome}"]
        if client and f"word {UPDATES - 1} of" not in product.said(session):
            wrong.append("the last word did not arrive")
    p99 = sorted(took)[len(took) * 99 // 100]
    if more > MEGABYTES:
        wrong.append(f"it grew by {more:.0f} MB")
    if took and max(took) > hangs:
        wrong.append(f"an answer took {max(took):.1f} s")
    return more, p99, wrong


@pytest.mark.parametrize("client", [("sessionUpdates",), ()], ids=["updates", "log"])
async def test_it_stays_small_and_answers(
    tmp_path: Path, client: tuple[str, ...], record_property: Record
) -> None:
    more, p99, wrong = await flooded(tmp_path, client)
    record_property("updates", UPDATES)
    record_property("MB more", round(more, 1))
    record_property("p99 ms", round(p99 * 1000, 1))
    assert wrong == []


@pytest.mark.parametrize("is_open", [True, False], ids=["buffer", "disk"])
async def test_what_is_not_read_is_not_made(tmp_path: Path, is_open: bool, record_property: Record) -> None:
    """An agent that asks for large files and reads no answer, until it is given up."""
    (tmp_path / "large.txt").write_text("x" * 9_900_000)
    async with a_product(tmp_path, {"deaf": in_folder(DEAF, tmp_path)}, planted="impatient") as product:
        if is_open:
            product.open(tmp_path / "large.txt")
        session = await product.session("deaf")
        before = resident(product.pid)
        outcome = await product.prompt(session)
        more = peak(product.pid) - before
    assert "has not read its input" in outcome["error"]
    record_property("MB left unread", round(more, 1))
    assert more < LEFT_MEGABYTES


@pytest.mark.parametrize(
    ("defect", "words"), [("everything_is_kept", "grew"), ("one_update_takes_long", "an answer took")]
)
async def test_the_gate_can_fail(tmp_path: Path, defect: str, words: str) -> None:
    _, _, wrong = await flooded(tmp_path, (), defect, 1.0)
    assert words in "".join(wrong)
