"""Which stream of a client over HTTP a message goes to, and that none is lost or overtaken."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sidecar.attach import streams as streams_module
from sidecar.attach.streams import Streams


def line(**message: Any) -> bytes:
    return json.dumps(message).encode()


def update(session: str, text: str) -> bytes:
    return line(method="session/update", params={"sessionId": session, "text": text})


class Client:
    """Listens as the SDKs do: to the connection from the start, to a conversation when it is told of it (`early`: before it asks for it)."""

    def __init__(self) -> None:
        self.streams = Streams()
        self.told: dict[str | None, list[Any]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def listen(self, session: str | None = None) -> None:
        heard = self.told.setdefault(session, [])

        async def hear() -> None:
            async for event in self.streams.listen(session):
                if event.startswith(b"data: "):
                    message = json.loads(event[6:])
                    heard.append(message["params"]["text"] if "params" in message else message["id"])

        self._tasks.append(asyncio.ensure_future(hear()))
        await asyncio.sleep(0)

    async def done(self) -> dict[str | None, list[Any]]:
        self.streams.end()
        await asyncio.gather(*self._tasks)
        return self.told


async def test_a_new_conversation_is_told_on_the_connection_and_the_rest_on_its_own() -> None:
    client = Client()
    await client.listen()
    client.streams.asked(line(id=1, method="session/new", params={"cwd": "/"}))
    await client.streams.put(line(id=1, result={"sessionId": "s"}))
    client.streams.asked(line(id=2, method="session/prompt", params={"sessionId": "s"}))
    for text in "abc":
        await client.streams.put(update("s", text))
    await client.streams.put(line(id=2, result={"stopReason": "end_turn"}))
    await client.listen("s")  # what was said before is not lost
    await client.streams.put(update("s", "d"))
    assert await client.done() == {None: [1], "s": ["a", "b", "c", 2, "d"]}


@pytest.mark.parametrize("early", [True, False])
async def test_a_loaded_conversation_is_told_in_order(early: bool) -> None:
    """On its own stream if the client had opened that first; otherwise on the connection's, until the load is answered."""
    client = Client()
    await client.listen()
    if early:
        await client.listen("s")
    client.streams.asked(line(id="x", method="session/load", params={"sessionId": "s"}))
    await client.streams.put(update("s", "a"))
    if not early:
        await client.listen("s")  # as soon as it hears of it
    await client.streams.put(update("s", "b"))
    await client.streams.put(line(id="x", result={}))
    await client.streams.put(update("s", "c"))
    where = "s" if early else None
    told = await client.done()
    assert told[where] == (["a", "b", "x", "c"] if early else ["a", "b", "x"])
    assert told["s"][-1] == "c"


async def test_who_listens_last_is_told() -> None:
    client = Client()
    await client.listen()
    await client.streams.put(line(id=1, result={}))
    await asyncio.sleep(0)
    first = client.told[None]
    client.told = {}
    await client.listen()
    await client.streams.put(line(id=2, result={}))
    await client.done()
    assert (first, client.told[None]) == ([1], [2])


async def test_a_client_that_takes_nothing_stops_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "MOST_BYTES", 1000)
    client = Client()
    for _ in range(20):
        if (
            put := asyncio.ensure_future(client.streams.put(line(id=1, result="x" * 100)))
        ) and not await ends(put):
            break
    else:
        pytest.fail("all was taken")
    await client.listen()
    await put
    assert len((await client.done())[None]) > 5


async def ends(task: asyncio.Future[None]) -> bool:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task.done()


def test_only_so_many_conversations() -> None:
    streams = Streams()
    for number in range(streams_module.MOST_SESSIONS):
        streams.asked(b"")
        streams._sessions[str(number)] = streams_module.Box()
    assert not streams.has_room_for("one more")
    assert streams.has_room_for("0")
