"""What an agent asks is put to the editor and to every attached client: the first answer counts, the others' question is withdrawn."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

from tests.attach.attached import Client, Waiting, an_editor, clients
from tests.proxy.talk import Message, processes

pytestmark = processes
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
CALL = {"toolCallId": "t1", "title": "remove it", "kind": "execute", "rawInput": {"command": "rm -r x"}}
ASKS: list[Message] = [
    {"ask": {"toolCall": CALL, "options": OPTIONS}, "as": "asked"},
    {"say": {"answer": "asked"}},
]
ASK = "session/request_permission"


def says_nothing(client: Client) -> None:
    answer = client.answer
    client.answer = lambda message: None if message["method"] == ASK else answer(message)


async def asked(client: Client, count: int = 1) -> Message:
    await client.until(lambda: len(client.requests(ASK)) >= count)
    return client.requests(ASK)[-1]


def choose(client: Client, question: Message, option: str) -> None:
    outcome = {"outcome": {"outcome": "selected", "optionId": option}}
    client.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": outcome}).encode() + b"\n")


async def withdrawn(client: Client, question: Message) -> None:
    await client.until(
        lambda: question["id"] in [m["params"]["requestId"] for m in client.requests("$/cancel_request")]
    )


async def test_the_first_answer_counts_and_the_others_are_withdrawn(tmp_path: Path) -> None:
    """Three turns: a client answers, the editor's user answers, and the turn is stopped. A late answer is nobody's."""
    async with (
        an_editor(tmp_path, ASKS, ASKS, ASKS, make=Waiting) as product,
        clients(tmp_path / "ws", 2) as (one, two),
    ):
        editor = cast("Waiting", product)
        for client in (one, two):
            says_nothing(client)
        session = await one.new()
        await two.load(session)

        turn = asyncio.ensure_future(one.prompt(session))
        first, second = await asked(one), await asked(two)
        assert first["params"]["sessionId"] == session
        assert "rm -r x" in first["params"]["toolCall"]["title"]
        assert first["params"]["toolCall"]["toolCallId"] == "t1"
        assert [option["optionId"] for option in first["params"]["options"]] == ["yes", "no"]
        choose(two, second, "no")
        await withdrawn(one, first)
        choose(one, first, "yes")
        assert (await turn)["result"] == {"stopReason": "end_turn"}
        assert '"no"' in one.texts()
        await product.wait_for(editor.asked[0].cancelled)  # it is told on a connection of its own
        assert not two.requests("$/cancel_request"), "its own is answered"

        turn = asyncio.ensure_future(one.prompt(session))
        first, second = await asked(one, 2), await asked(two, 2)
        await product.wait_for(lambda: len(editor.asked) == 2)
        editor.asked[1].set_result({"title": "Yes"})
        await withdrawn(one, first)
        await withdrawn(two, second)
        assert (await turn)["result"] == {"stopReason": "end_turn"}
        assert '"yes"' in one.texts()

        turn = asyncio.ensure_future(one.prompt(session))
        first, second = await asked(one, 3), await asked(two, 3)
        await product.execute("sidecar.cancel", {"sessionId": session})
        await withdrawn(one, first)
        await withdrawn(two, second)
        choose(one, first, "yes")
        await turn
        assert one.texts().count('"yes"') == 1


async def test_a_client_that_comes_later_is_asked_and_one_that_leaves_answers_nothing(tmp_path: Path) -> None:
    async with (
        an_editor(tmp_path, ASKS, make=Waiting) as product,
        clients(tmp_path / "ws", 2) as (one, two),
    ):
        for client in (one, two):
            says_nothing(client)
        session = await one.new()
        await product.execute("sidecar.prompt", {"sessionId": session, "prompt": "go"})
        await asked(one)
        await one.hang_up()
        await two.load(session)
        question = await asked(two)
        choose(two, question, "yes")
        await product.wait_for(lambda: product.turns)
        status: Any = await product.execute("sidecar.status")
        assert status["questions"] == []
