"""slow_editor: an editor that stops reading. Agents go on (they talk, read, run to their end), the sidecar stays small, and when the
editor reads again everything it asked is answered."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gates.product import Product, Script, a_product, in_folder
from tests.gates.size import size
from tests.support.agents import until_written
from tests.support.memory import peak, resident

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
Record = Callable[[str, object], None]

BLOCKED = size(0.0, 30.0)
"""Seconds the editor does not read at least; in CI until the agent is at its end."""
KILOBYTES = size(20_000, 200_000)
"""That the agent says meanwhile: many times what all pipes and queues on the way hold."""
LARGE = size(6, 20)
"""Questions with 30 MB each: more than may wait for an editor."""
MEGABYTES = 100.0
HANGS = 120.0

SAYS: Script = {
    "turns": [
        [
            {"repeat": KILOBYTES // 10, "steps": [{"say": "0123456789" * 1000 + "$n\n"}]},
            {"read": "$folder/a.txt", "as": "it"},
            {"pid": "$folder/done"},
            {"say": {"answer": "it"}},
        ]
    ]
}


def reading(product: Product, on: bool) -> None:
    assert product._process is not None
    pipe = product._process._transport.get_pipe_transport(1)
    (pipe.resume_reading if on else pipe.pause_reading)()


async def blocked(
    folder: Path, client: tuple[str, ...], planted: str | None = None, hangs: float = HANGS
) -> tuple[float, list[str]]:
    """(MB more at the peak, what was wrong)."""
    (folder / "a.txt").write_text("inside\n")
    loop = asyncio.get_running_loop()
    async with a_product(folder, {"it": in_folder(SAYS, folder)}, client=client, planted=planted) as product:
        session = await product.session("it")
        before = resident(product.pid)
        reading(product, False)
        until = loop.time() + BLOCKED
        turn = asyncio.ensure_future(product.prompt(session))
        asked = asyncio.ensure_future(product.tried("sidecar.status"))
        try:
            await until_written(folder / "done", 1, hangs)
            wrong: list[str] = []
        except AssertionError:
            wrong = ["the agent does not get on"]
        await asyncio.sleep(max(0.0, until - loop.time()))
        more = peak(product.pid) - before
        reading(product, True)
        if "sessions" not in await asked:
            wrong.append("the editor was not answered")
        outcome = await turn
        if outcome.get("stopReason") != "end_turn":
            wrong.append(f"the turn ended with {outcome}")
        if client and "inside" not in product.said(session):
            wrong.append("the newest words did not arrive")
    if more > MEGABYTES:
        wrong.append(f"it grew by {more:.0f} MB")
    return more, wrong


@pytest.mark.parametrize("client", [("sessionUpdates",), ()], ids=["updates", "log"])
async def test_agents_go_on(tmp_path: Path, client: tuple[str, ...], record_property: Record) -> None:
    more, wrong = await blocked(tmp_path, client)
    record_property("MB said", KILOBYTES // 1000)
    record_property("MB more", round(more, 1))
    assert wrong == []


async def test_large_questions_do_not_end_the_connection(tmp_path: Path) -> None:
    """Questions must arrive; of what an agent attaches to them no more than a person looks at."""
    steps: list[dict[str, object]] = []
    for n in range(LARGE):
        head = {
            "jsonrpc": "2.0",
            "id": f"q{n}",
            "method": "session/request_permission",
            "params": {
                "sessionId": "$session",
                "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
                "toolCall": {
                    "toolCallId": f"t{n}",
                    "content": [{"type": "diff", "path": "/x", "newText": ""}],
                },
            },
        }
        text = json.dumps(head)
        at = text.index('"newText": "') + len('"newText": "')
        steps += [{"raw": text[:at]}, {"fill": 30_000_000, "with": "x"}, {"raw": text[at:] + "\n"}]
    (tmp_path / "a.txt").write_text("inside\n")
    heard: list[dict[str, object]] = [{"read": "$folder/a.txt"}] * 3  # by then the questions are on their way
    script: Script = {"turns": [[*steps, *heard, {"pid": "$folder/done"}, {"await": f"q{LARGE - 1}"}]]}
    client = ("sessionUpdates", "permissions")
    async with a_product(tmp_path, {"it": in_folder(script, tmp_path)}, client=client) as product:
        session = await product.session("it")
        reading(product, False)
        turn = asyncio.ensure_future(product.prompt(session))
        await until_written(tmp_path / "done", 1, HANGS)
        reading(product, True)
        assert (await turn).get("stopReason") == "end_turn"


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    _, wrong = await blocked(tmp_path, ("sessionUpdates",), "the_writer_blocks", 3.0)
    assert "the agent does not get on" in wrong
