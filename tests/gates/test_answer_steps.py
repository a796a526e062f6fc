"""answer_steps: for how long an agent's answer to a request of ours keeps everybody else from the event loop, as large as it may be and whatever is in it;
and so do the updates that say what there is to choose from.

Measured as in gate `loop_steps`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.gates.loop_bound import bound, least
from tests.gates.product import Product, a_product
from tests.gates.size import size

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        sys.platform == "win32", reason="the clock of a thread's processor time is too coarse there"
    ),
]
TEXTS = 9_900_000
"""Bytes of the texts in one message that may have 10 MiB of them."""
MANY = 2_000
"""Things with a few values each: a message may have 10,000 values."""
ABLE = {"loadSession": True, "sessionCapabilities": {"list": {}, "fork": {}}}


def texts() -> Mapping[str, str]:
    """One of MANY."""
    each = TEXTS // MANY
    return {
        "short": "x",
        "words": "x " * (each // 2),
        "accents": "é\u202e" * (each // 5),
        "emoji": "\U0001f600 " * (each // 5),
        "escapes": '"\\\n' * (each // 3),
    }


def modes(text: str) -> dict[str, Any]:
    every = [{"id": f"m{n}", "name": "mode", "description": text} for n in range(MANY)]
    return {"modes": {"currentModeId": "m0", "availableModes": every}}


def models(text: str) -> dict[str, Any]:
    every = [{"modelId": f"m{n}", "name": "model", "description": text} for n in range(MANY)]
    return {"models": {"currentModelId": "m0", "availableModels": every}}


def options(text: str) -> dict[str, Any]:
    every = [{"value": f"v{n}", "name": "value", "description": text} for n in range(MANY)]
    one = {
        "id": "o",
        "name": "option",
        "category": "mode",
        "type": "select",
        "currentValue": "v0",
        "options": every,
    }
    return {"configOptions": [one]}


def listed(folder: str, text: str) -> dict[str, Any]:
    return {"sessions": [{"sessionId": f"r{n}", "cwd": folder, "title": text} for n in range(MANY)]}


def methods(text: str) -> dict[str, Any]:
    every = [{"id": f"a{n}", "name": "method", "description": text} for n in range(MANY)]
    return {"protocolVersion": 1, "authMethods": every, "agentCapabilities": ABLE}


def updates(folder: str, text: str) -> Mapping[str, dict[str, Any]]:
    commands = [{"name": f"c{n}", "description": text} for n in range(MANY)]
    steps = [{"content": text, "status": "pending", "priority": "low"} for _ in range(MANY)]
    diffs = [
        {"type": "diff", "path": f"{folder}/open.txt", "oldText": text, "newText": "x"} for _ in range(MANY)
    ]
    return {
        "commands": {"sessionUpdate": "available_commands_update", "availableCommands": commands},
        "a plan": {"sessionUpdate": "plan", "entries": steps},
        "options": {"sessionUpdate": "config_option_update", **options(text)},
        "diffs": {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "t",
            "kind": "edit",
            "content": diffs,
        },
        "large diffs": {
            "sessionUpdate": "tool_call",
            "toolCallId": "u",
            "title": "t",
            "kind": "edit",
            "status": "completed",
            "content": [{**diff, "oldText": text * (MANY // 10)} for diff in diffs[:9]],
        },
    }


def answers(folder: str) -> Mapping[str, tuple[str, dict[str, Any]]]:
    """By what is bad about it: the method, and the answer."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, text in texts().items():
        found[f"list: {name}"] = "session/list", listed(folder, text)
        found[f"initialize: {name}"] = "initialize", methods(text)
        for what, made in (("modes", modes), ("models", models), ("options", options)):
            found[f"new, {what}: {name}"] = "session/new", {"sessionId": "s1", **made(text)}
            found[f"load, {what}: {name}"] = "session/load", made(text)
    found["list: folders"] = (
        "session/list",
        {
            "sessions": [
                {
                    "sessionId": "r",
                    "cwd": folder,
                    "additionalDirectories": [f"{folder}/{n}" for n in range(9_000)],
                }
            ]
        },
    )
    found["list: a long name"] = "session/list", {"sessions": [{"sessionId": "r" * TEXTS, "cwd": folder}]}
    return found


async def ask(product: Product, agent: str, method: str) -> None:
    if method not in ("session/list", "session/load"):
        await product.session(agent)
        return
    rows = (await product.tried("sidecar.listSessions", {"agent": agent}),)
    if method == "session/load":
        (listed,) = rows[0]
        opened = await product.tried("sidecar.loadSession", {"sessionId": listed["sessionId"]})
        assert opened.get("history") == "agent", opened


async def longest(
    base: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    answer: dict[str, Any],
    *,
    planted: str = "stopwatch",
) -> float:
    """ms of the longest step while an agent answers so."""
    folder, clock = base / "ws", base / "clock"
    folder.mkdir()
    monkeypatch.setenv("LONGEST_STEP", str(clock))
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(base / "state"))
    small = {
        "initialize": [{"reply": {"protocolVersion": 1, "agentCapabilities": ABLE}}],
        "session/list": [{"reply": {"sessions": [{"sessionId": "earlier", "cwd": str(folder)}]}}],
    }
    scripts = {"small": small, "bad": {**small, method: [{"reply": answer}]}}
    async with a_product(folder, scripts, planted=planted, scripts_in=base) as product:
        await ask(product, "small", method)  # what is loaded at the first use is not the answer's
        clock.unlink(missing_ok=True)
        await ask(product, "bad", method)
        return float(clock.read_text()) if clock.exists() else 0.0


ANSWERS = tuple(answers("/ws"))
SMALL = ("list: words", "new, options: emoji")


@pytest.mark.parametrize("name", size(SMALL, ANSWERS))
async def test_no_step_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, record_property: Callable[[str, object], None]
) -> None:
    most = bound(ms=20.0, yardsticks=4.0)
    count = 0

    async def once() -> float:
        nonlocal count
        count += 1
        base = tmp_path / str(count)
        base.mkdir()
        method, answer = answers(str(base / "ws"))[name]
        return await longest(base, monkeypatch, method, answer)

    found = await least(once, most)
    record_property("answers", 1)
    record_property("step ms", round(found, 1))
    assert found < most


UPDATES = tuple(f"{what}: {text}" for text in texts() for what in updates("/ws", ""))


@pytest.mark.parametrize("name", size(("a plan: words", "large diffs: words"), UPDATES))
async def test_no_step_of_an_update_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, record_property: Callable[[str, object], None]
) -> None:
    most = bound(ms=20.0, yardsticks=4.0)
    what, _, text = name.partition(": ")
    folder, clock, line = tmp_path / "ws", tmp_path / "clock", tmp_path / "line"
    folder.mkdir()
    (folder / "open.txt").write_text(texts()[text] * (MANY // 10), "utf-8", newline="")
    monkeypatch.setenv("LONGEST_STEP", str(clock))
    async with a_product(folder, {"fake": {"prompted": True}}, planted="stopwatch") as product:
        product.open(folder / "open.txt")
        session = await product.session("fake")

        async def told(text: str) -> float:
            update = updates(str(folder), text)[what]
            params = {"sessionId": "s1", "update": update}
            message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
            line.write_bytes(json.dumps(message, ensure_ascii=False).encode() + b"\n")
            clock.unlink(missing_ok=True)
            steps = [{"lines": str(line)}, {"request": "nobody/knows", "as": "done"}]
            outcome = await product.prompt(session, json.dumps(steps))
            assert outcome.get("stopReason") == "end_turn", outcome
            return float(clock.read_text()) if clock.exists() else 0.0

        await told("x")
        found = await least(lambda: told(texts()[text]), most)
    record_property("updates", 1)
    record_property("step ms", round(found, 1))
    assert found < most


async def test_the_gate_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"sessionId": "s1", **options("\U0001f600 " * 900)}
    planted = "what_agents_say_is_encoded_at_once"
    assert await longest(tmp_path, monkeypatch, "session/new", answer, planted=planted) > 30
