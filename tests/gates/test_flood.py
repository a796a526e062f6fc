"""flood: an agent that says everything in pieces, as fast as it can. The sidecar stays small and answers its editor meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecar.core.json_types import JsonDict
from tests.gates.product import Product, Script, a_product, in_folder
from tests.gates.size import size
from tests.support.memory import peak, resident
from tests.support.run_delay import run_delays

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
Record = Callable[[str, object], None]

UPDATES = size(8_000, 100_000)
MEGABYTES = 100.0
HANGS = 10.0
"""Seconds: an answer that takes as long counts as none."""
SLOW = size(None, 0.05)
"""Seconds, p99 of an answer; looked at by the gauntlet only: in between the other tests the figure says nothing."""
TURNS = size(1, 3)
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


SAYS_MUCH: Script = {
    "turns": [
        [
            {
                "request": "terminal/create",
                "params": {
                    "sessionId": "$session",
                    "command": "yes \U0001f600 xxxxxxxx | head -c 16000000",
                    "outputByteLimit": 2**24,
                },
                "as": "made",
            },
            {"take": "made", "field": "terminalId"},
            {
                "request": "terminal/wait_for_exit",
                "params": {"sessionId": "$session", "terminalId": "$taken"},
            },
            {"deaf": True},
            {
                "repeat": 300,
                "steps": [
                    {
                        "raw": '{"jsonrpc":"2.0","id":"o$n","method":"terminal/output",'
                        '"params":{"sessionId":"$session","terminalId":"term-1"}}\n'
                    }
                ],
            },
            {"never": True},
        ]
    ]
}
"""The output of a command, asked for again and again and not read."""


REFUSED = {
    "ids as long as they may be": (4_000, 60_000),
    "longer ids": (1_000_000, 300),
}
"""Malformed requests, whose refusals are not read: characters of the id, how many."""
REFUSED_MEGABYTES = 40.0


def refused(length: int, times: int) -> Script:
    one = [
        {"raw": '{"jsonrpc":"2.0","id":"'},
        {"fill": length},
        {"raw": '","method":"nobody/knows","params":5}\n'},
    ]
    return {"turns": [[{"deaf": True}, {"repeat": times, "steps": one}, {"exit": 3}]]}


@dataclass(frozen=True)
class Answered:
    """How long answers to the editor took, in seconds."""

    took: Sequence[float]
    own: Sequence[float]
    """Without the time that the sidecar was ready to go on and the machine did not let it: the longest wait of one of its threads.
    An agent that says as much as it can, an editor that reads it and a sidecar between them want three processors."""

    def add(self, other: Answered) -> Answered:
        return Answered([*self.took, *other.took], [*self.own, *other.own])


def p99(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) * 99 // 100]


async def asked_meanwhile(product: Product, turn: asyncio.Future[JsonDict]) -> Answered:
    """A question every 10 ms whether or not the last one is answered: a stall is met by all that come in it."""
    loop = asyncio.get_running_loop()

    async def ask() -> tuple[float, float]:
        waited, asked = run_delays(product.pid), loop.time()
        await product.tried("sidecar.status")
        took, since = loop.time() - asked, run_delays(product.pid)
        return took, took - max(delay - waited.get(thread, 0) for thread, delay in since.items())

    asks: list[asyncio.Task[tuple[float, float]]] = []
    while not turn.done():
        asks.append(asyncio.create_task(ask()))
        await asyncio.sleep(0.01)
    answers = await asyncio.gather(*asks)
    return Answered([took for took, _ in answers], [own for _, own in answers])


async def flooded(
    folder: Path, client: tuple[str, ...], planted: str | None = None, slow: float | None = SLOW
) -> tuple[float, Answered, list[str]]:
    """(MB more at the peak, the answers meanwhile, what was wrong). `slow`: seconds that the p99 of the sidecar's own time may be."""
    answered, wrong = Answered([], []), list[str]()
    async with a_product(folder, {"flood": SCRIPT}, client=client, planted=planted) as product:
        session = await product.session("flood")
        before = resident(product.pid)
        for _ in range(TURNS):
            turn = asyncio.ensure_future(product.prompt(session))
            answered = answered.add(await asked_meanwhile(product, turn))
            outcome = await turn
            if outcome.get("stopReason") != "end_turn":
                wrong.append(f"the turn ended with {outcome}")
        more = peak(product.pid) - before
        if client and product.said(session).count(f"word {UPDATES - 1} of") != TURNS:
            wrong.append("the last word did not arrive")
    if more > MEGABYTES:
        wrong.append(f"it grew by {more:.0f} MB")
    if max(answered.took) > HANGS:
        wrong.append(f"an answer took {max(answered.took):.1f} s")
    if slow is not None and p99(answered.own) > slow:
        wrong.append(f"answers took {p99(answered.own) * 1000:.0f} ms of its own (p99)")
    return more, answered, wrong


@pytest.mark.parametrize("client", [("sessionUpdates",), ()], ids=["updates", "log"])
async def test_it_stays_small_and_answers(
    tmp_path: Path, client: tuple[str, ...], record_property: Record
) -> None:
    more, answered, wrong = await flooded(tmp_path, client)
    record_property("updates", UPDATES * TURNS)
    record_property("answers", len(answered.took))
    record_property("MB more", round(more, 1))
    record_property("p99 ms", round(p99(answered.took) * 1000, 1))
    record_property("own p99 ms", round(p99(answered.own) * 1000, 1))
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


async def test_output_that_is_not_read_is_not_made(tmp_path: Path, record_property: Record) -> None:
    more, outcome = await left_unread(tmp_path)
    assert "has not read its input" in outcome["error"]
    record_property("MB left unread", round(more, 1))
    assert more < LEFT_MEGABYTES


async def test_the_gate_notices_outputs_that_count_as_small(tmp_path: Path) -> None:
    more, _ = await left_unread(tmp_path, "outputs_are_small")
    assert more > LEFT_MEGABYTES


@pytest.mark.parametrize("ids", REFUSED)
async def test_refusals_that_are_not_read_are_not_made(
    tmp_path: Path, ids: str, record_property: Record
) -> None:
    more, outcome = await left_unread(tmp_path, script=refused(*REFUSED[ids]))
    record_property("MB left unread", round(more, 1))
    assert more < REFUSED_MEGABYTES, outcome


@pytest.mark.parametrize("ids", REFUSED)
async def test_the_gate_notices_refusals_that_nobody_reads(tmp_path: Path, ids: str) -> None:
    more, _ = await left_unread(tmp_path, "refusals_are_always_written", refused(*REFUSED[ids]))
    assert more > REFUSED_MEGABYTES


async def left_unread(
    folder: Path, planted: str = "impatient", script: Script = SAYS_MUCH
) -> tuple[float, JsonDict]:
    """(MB more, the turn's outcome)"""

    def allow(text: str, titles: Sequence[str]) -> str | None:
        return next((title for title in titles if "this once" in title), None)

    script = in_folder(script, folder)
    async with a_product(folder, {"deaf": script}, planted=planted, answer=allow) as product:
        session = await product.session("deaf")
        before = resident(product.pid)
        outcome = await product.prompt(session)
        return peak(product.pid) - before, outcome


@pytest.mark.parametrize(
    ("defect", "words"), [("everything_is_kept", "grew"), ("one_update_takes_long", "of its own (p99)")]
)
async def test_the_gate_can_fail(tmp_path: Path, defect: str, words: str) -> None:
    _, _, wrong = await flooded(tmp_path, (), defect, 0.5)
    assert words in "".join(wrong)
