"""An agent's model refuses (401, 429, 500): the user is told in the agent's own words, wherever it gives any."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.workspace.ports.ports import AgentFailed
from tests.acp.test_agents import TEXT, agents
from tests.gates.product import a_product

REASONS = {
    401: "invalid x-api-key",
    429: "Number of request tokens has exceeded your per-minute rate limit",
    500: "The server had an error while processing your request",
}


def body(status: int) -> dict[str, Any]:
    """As a model's service answers."""
    return {"type": "error", "error": {"type": "some_error", "message": REASONS[status]}}


def error(message: str, data: object = None) -> dict[str, Any]:
    return {"code": -32603, "message": message, **({} if data is None else {"data": data})}


def shapes(status: int) -> dict[str, list[dict[str, Any]]]:
    """The steps of a turn, by where its agent puts the words."""
    words = f"{status} {REASONS[status]}"
    return {
        "the message": [{"fail": error(f"API Error: {words}")}],
        "the data, a text": [{"fail": error("Internal error", words)}],
        "details": [{"fail": error("Internal error", {"details": words})}],
        "a message": [{"fail": error("Internal error", {"errorKind": "api", "message": words})}],
        "an error in it": [{"fail": error("Prompt failed", {"statusCode": status, **body(status)})}],
        "an error, a text": [{"fail": error("Internal error", {"error": words, "requestId": "r1"})}],
        "a list": [
            {"fail": error("Internal error", [{"status": status, "cause": {"message": REASONS[status]}}])}
        ],
        "the service's body": [{"fail": error("", {"code": status, "body": json.dumps(body(status))})}],
        "its error output": [
            {"stderr": f"ERROR stream error: {words}\n"},
            {"fail": error("Internal error")},
        ],
        "its error output, without an answer": [{"stderr": f"{words}\n"}, {"stop": "end_turn"}],
        "its error output, and a refusal": [{"stderr": f"{words}\n"}, {"stop": "refusal"}],
        "its answer": [{"say": f"API Error: {words}"}, {"stop": "end_turn"}],
        "its answer, and a refusal": [{"say": f"API Error: {words}"}, {"stop": "refusal"}],
        "a tool call": [
            {
                "update": {
                    "sessionUpdate": "tool_call",
                    "toolCallId": "c1",
                    "title": f"model: {words}",
                    "status": "failed",
                }
            },
            {"stop": "end_turn"},
        ],
    }


async def test_the_user_sees_them(tmp_path: Path) -> None:
    """In the conversation, or as the turn's error; each shape with one of the three, as they differ only in their words."""
    plays = list(zip(shapes(401), itertools.cycle(REASONS)))
    missing: list[str] = []
    async with a_product(
        tmp_path, {"fake": {"turns": [shapes(status)[shape] for shape, status in plays]}}
    ) as product:
        session = await product.session("fake")
        for shape, status in plays:
            heard = (product.notifications, product.updates, product.messages)
            before = [len(one) for one in heard]
            turn: Any = await product.prompt(session)
            seen = json.dumps(
                [turn.get("error", ""), *(one[n:] for one, n in zip(heard, before, strict=True))]
            )
            missing += [
                f"{shape}: {words} is not in {seen}"
                for words in (REASONS[status], str(status))
                if words not in seen
            ]
    assert missing == []


async def test_words_are_not_said_twice(tmp_path: Path) -> None:
    turns = [[{"fail": error("429 Too many requests", {"details": "429 Too many requests"})}]]
    async with agents(tmp_path, {"turns": turns}) as side:
        await side.open("S1")
        with pytest.raises(AgentFailed) as failed:
            await side.agents.prompt("S1", TEXT)
    assert failed.value.message == "fake refused `session/prompt`: 429 Too many requests"


async def test_what_stood_in_its_error_output_before_is_not_said(tmp_path: Path) -> None:
    script = {"start": [{"stderr": "listening\n"}], "turns": [[{"fail": error("Internal error")}]]}
    async with agents(tmp_path, script) as side:
        await side.open("S1")
        await side.workspace.until(lambda: side.agents.last_words("S1"))
        with pytest.raises(AgentFailed) as failed:
            await side.agents.prompt("S1", TEXT)
    assert failed.value.message == "fake refused `session/prompt`: Internal error"


@pytest.mark.parametrize("data", [{"code": 7, "status": True}, {"error": {}}, [[[[[["deep"]]]]]], 3, ["  "]])
async def test_data_without_words(tmp_path: Path, data: object) -> None:
    async with agents(tmp_path, {"turns": [[{"fail": error("Internal error", data)}]]}) as side:
        await side.open("S1")
        with pytest.raises(AgentFailed) as failed:
            await side.agents.prompt("S1", TEXT)
    assert failed.value.message == "fake refused `session/prompt`: Internal error"
