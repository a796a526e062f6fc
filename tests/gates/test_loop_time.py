"""loop_time: what one message of an agent's costs the event loop, by its worst content.

Measured as the processor time of the sidecar's main thread, from /proc. The gauntlet asserts the bound; `make test` only that nothing is far
beyond it (tests/gates/loop_bound.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.gates.loop_bound import bound, least
from tests.gates.product import Product, a_product
from tests.gates.size import size

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processor time is read from /proc"),
]
TIMES = size(5, 20)
KB, MB = 1024, 1024 * 1024
AT_ONCE = MB
"""Bytes of the longest message that is read in one step."""
FILE = 4 * MB - 16
"""Bytes: the largest that is read when a tool call names it."""


def spelled(folder: str) -> list[str]:
    """32 spellings of one file."""
    return [f"{folder}/{'./' * n}sub/../large.txt" for n in range(32)]


def call(number: int | str, **more: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": f"c{number}", "status": "in_progress", **more}


def requests() -> Mapping[str, dict[str, Any]]:
    """What the user is asked, by what is bad about it."""
    options = [{"optionId": kind, "name": "x", "kind": kind} for kind in ("allow_always", "reject_once")]

    def ask(**call: Any) -> dict[str, Any]:
        params = {"sessionId": "s1", "options": options, "toolCall": {"toolCallId": "q", **call}}
        return {"id": "q", "method": "session/request_permission", "params": params}

    def said(text: str) -> list[dict[str, Any]]:
        return [{"type": "content", "content": {"type": "text", "text": text}}]

    def run(*args: str) -> dict[str, Any]:
        params = {"sessionId": "s1", "command": "true", "args": args}
        return {"id": "q", "method": "terminal/create", "params": params}

    def form(characters: int) -> dict[str, Any]:
        fields = {"a": {"type": "string", "description": "\u202e" * characters}}
        schema = {"type": "object", "properties": fields}
        params = {"sessionId": "s1", "mode": "form", "message": "x", "requestedSchema": schema}
        return {"id": "q", "method": "elicitation/create", "params": params}

    return {
        "a form of hidden characters": form(40 * KB),
        "a form that is too large": form(170 * KB),
        "a question that says what it runs": ask(kind="execute", content=said("run " * (MB // 4 - KB))),
        "a question of hidden characters": ask(kind="execute", content=said("\u202e" * (170 * KB))),
        "a question about a command of hidden characters": ask(rawInput={"command": "\u202e" * (170 * KB)}),
        "a question about a command of line ends": ask(rawInput={"command": "\n" * (500 * KB)}),
        "a question about many words": ask(rawInput={"command": ["é"] * 9_000}),
        "a question with a long title": ask(title="\u202e" * (170 * KB)),
        "a question about many files": ask(locations=[{"path": f"/x{n}"} for n in range(6_000)]),
        "a question about many names of a file": ask(
            locations=[{"path": f"{'./' * n}large.txt"} for n in range(900)]
        ),
        "a command of hidden characters": run("\u202e" * (80 * KB)),
        "a command of line ends": run("\n" * (250 * KB)),
        "a command of many words": run(*["é"] * 9_000),
    }


def messages(folder: str) -> Mapping[str, dict[str, Any]]:
    """Updates and requests, by what is bad about them."""
    diff = {"type": "diff", "path": f"{folder}/open.txt", "newText": "x", "oldText": "é\r\n" * (100 * KB)}
    return {
        "32 spellings of a large file, to read": call(
            1, kind="read", locations=[{"path": p} for p in spelled(folder)]
        ),
        "32 spellings of a large file, to edit": call(
            2, kind="edit", locations=[{"path": p} for p in spelled(folder)]
        ),
        "32 spellings in diffs": call(
            3, kind="edit", content=[{"type": "diff", "path": p, "newText": "x"} for p in spelled(folder)]
        ),
        "a diff of an open file": call(4, kind="edit", content=[diff]),
        "empty values, as many as go": call(5, content=[{}] * 9_900),
        "empty values, too many": call(6, content=[{}] * (MB // 4 - 100)),
        "wide objects": call(7, rawInput={f"k{n}": n for n in range(9_900)}),
        "deep ones": call(8, rawInput=json.loads("[" * 190 + "]" * 190)),
        "too deep": call(9, rawInput=json.loads("[" * 400 + "]" * 400)),
        "locations": call(10, locations=[{"path": f"/x{n}"} for n in range(6_000)]),
        "a long text": {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "é\r\n" * (100 * KB)},
        },
        "a long text with an emoji": call(11, rawOutput="x" * (MB - KB) + "\U0001f600"),
        "a long title": call(12, title="\u202e" * (170 * KB)),
        "a text that is not to be shown as it is": {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "x\u202e\ud800" * (75 * KB)},
        },
        "a plan": {"sessionUpdate": "plan", "entries": [{"content": "x", "status": "pending"}] * 4_000},
        **requests(),
    }


def loop_ms(pid: int) -> float:
    """Processor time of the main thread."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e6


async def cost(
    product: Product, session: Any, update: dict[str, Any] | None, folder: Path, number: int
) -> float:
    """ms of the loop for one of TIMES such updates, or requests."""
    steps: list[dict[str, Any]] = []
    if update is not None:
        file = folder / f"steps{number}.jsonl"
        told = {"method": "session/update", "params": {"sessionId": "s1", "update": update}}
        message = {"jsonrpc": "2.0", **(update if "method" in update else told)}
        line = json.dumps(message) + "\n"
        assert len(line) <= AT_ONCE, f"{len(line)} bytes are read in steps: that is gate loop_steps"
        file.write_text(line)
        steps.append({"lines": str(file), "times": TIMES})
    steps.append({"request": "nobody/knows", "as": f"done{number}"})
    before = loop_ms(product.pid)
    outcome = await product.prompt(session, json.dumps(steps))
    assert outcome.get("stopReason") == "end_turn", outcome
    return (loop_ms(product.pid) - before) / TIMES


async def table(
    base: Path, planted: str | None = None, most: float = 0.0, only: str | None = None
) -> dict[str, float]:
    """ms of the loop for one message that is read in one step, by message. What is above `most` is measured again."""
    folder = base / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder / "large.txt").write_text(("é" * 39 + "\r\n") * (FILE // 80))
    (folder / "open.txt").write_text("é\r\n" * (100 * KB))
    found: dict[str, float] = {}
    async with a_product(
        folder, {"fake": {"prompted": True}}, planted=planted, client=("elicitation",)
    ) as product:
        product.open(folder / "open.txt")
        product.type(folder / "open.txt", "unsaved\n", at=0)
        session = await product.session("fake")
        await cost(product, session, None, base, 0)
        nothing = await cost(product, session, None, base, 1)
        numbers = count(2)
        for name, update in messages(str(folder)).items():
            if only not in (None, name):
                continue

            async def measured(update: dict[str, Any] = update) -> float:
                return await cost(product, session, update, base, next(numbers)) - nothing

            found[name] = await least(measured, most)
    return found


async def test_no_message_takes_long(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    most = bound(ms=20.0, yardsticks=2.5)
    found = await table(tmp_path, most=most)
    worst = max(found, key=found.__getitem__)
    record_property("messages", len(found) * TIMES)
    record_property("loop ms", round(found[worst], 1))
    assert found[worst] < most, "\n".join(f"{ms:.1f} {name}" for name, ms in found.items())


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    spellings = "32 spellings of a large file, to read"
    found = await table(tmp_path, "what_is_named_is_read", only=spellings)
    assert found[spellings] > 100


async def test_the_gate_notices_what_is_escaped_at_once(tmp_path: Path) -> None:
    hidden = "a question of hidden characters"
    found = await table(tmp_path, "commands_are_escaped_at_once", only=hidden)
    assert found[hidden] > 60
