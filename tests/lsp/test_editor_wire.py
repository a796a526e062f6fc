"""Hostile input from the editor's side, against the real process over real pipes: every request is answered, nothing
crashes, nothing pops up. The tables are in support/hostile_editor.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from sidecar.lsp.framing import Fault, Framing
from sidecar.lsp.protocol import read
from tests.support import lsp_only
from tests.support.hostile_editor import (
    INIT,
    RELAYED,
    URI,
    Answers,
    change,
    check,
    command,
    first,
    outcome,
    raw,
    survived,
)
from tests.support.raw_lsp import RawClient, as_process, in_process, message

SURVIVED = survived("test.echo")
FIRST = first("test.echo", "test.wait")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def process() -> AsyncIterator[RawClient]:
    async with as_process() as client:
        await client.initialize()
        yield client
        client.send(message(id="end", method="shutdown") + message(method="exit"))
        code, errors = await client.exit_code()
        assert code == 0
        assert "could not be" not in errors, "the last resorts of the protocol were not needed"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("data", "answers"), [row[1:] for row in SURVIVED], ids=[row[0] for row in SURVIVED])
async def test_the_process_survives(process: RawClient, data: bytes, answers: Answers) -> None:
    start = len(process.seen)
    process.send(data)
    assert await process.command("test.echo", "alive") == "alive"
    check(process.seen[start:-1], answers)


@pytest.mark.parametrize(("data", "answers"), [row[1:] for row in FIRST], ids=[row[0] for row in FIRST])
async def test_a_new_connection(data: bytes, answers: Answers) -> None:
    async with in_process() as client:
        client.send(data)
        while len(client.seen) < len(answers):
            await client.receive()
        client.notify("exit")
        while await client.receive() is not None:
            pass
        check(client.seen, answers)


async def test_what_was_lost_is_known_to_be_lost() -> None:
    """An edit that could not be understood: the document is desynchronised until the editor sends all of it."""
    async with in_process() as client:
        await client.initialize()
        broken: list[bytes] = [
            change(textDocument={"uri": URI, "version": 2}, contentChanges=[{"text": 5}]),
            change(textDocument={"uri": URI}, contentChanges="x"),
            raw(b'{"method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///hostile.txt","version":2},"contentChanges":[{"text":"\xff"}]}}'),
            raw('{"method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///hostile.txt","version":2},"contentChanges":[{"te'),
            message(id=1, method="textDocument/didChange", params={"textDocument": {"uri": URI, "version": 2}}),
        ]  # fmt: skip
        for data in broken:
            client.notify("textDocument/didOpen", {"textDocument": {"uri": URI, "version": 1, "text": "a"}})
            assert (await client.command("test.text", {"uri": URI}))["desynchronised"] is None
            client.send(data)
            assert (await client.command("test.text", {"uri": URI}))["desynchronised"] is not None


async def test_a_flood_of_requests_is_answered_in_full() -> None:
    async with in_process() as client:
        await client.initialize()
        data = b"".join(command(f"f{number}", "test.wait") for number in range(1200))
        sending = asyncio.get_running_loop().run_in_executor(None, client.send, data)
        await client.receive_until(lambda m: m.get("id") == "f1199")
        await sending
        await client.request("shutdown")
        client.notify("exit")
        while await client.receive() is not None:
            pass
        codes = [outcome(m) for m in client.seen if str(m["id"]).startswith("f")]
        assert sorted(codes) == [-32803] * 200 + [-32800] * 1000


SESSION = [
    message(method="textDocument/didOpen", params={"textDocument": {"uri": URI, "version": 1, "text": "é𝄞\r\nx"}}),
    change(textDocument={"uri": URI, "version": 2}, contentChanges=[{"range": {"start": {"line": 0, "character": 1}, "end": {"line": 1, "character": 0}}, "text": "\ud800"}]),
    command("q1", "test.text", {"uri": URI}),
    message(id="q2", method="textDocument/hover", params={"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}),
    message(method="$/cancelRequest", params={"id": "q2"}),
    message(method="sidecar/opaque", params={"uri": URI, "dirty": True}),
    message(id="s1", result=None),
    command("q3", "test.echo", RELAYED),
]  # fmt: skip


def mutilated(random: Random) -> bytes:
    """The session with some bytes changed, cut out, doubled or brought in."""
    data = bytearray(b"".join(random.sample(SESSION, len(SESSION))))
    for _ in range(random.randrange(1, 6)):
        at = random.randrange(len(data))
        match random.randrange(4):
            case 0:
                data[at] = random.choice([data[at] ^ 1 << random.randrange(8), *b'"{}[]:,0\r\n\\'])
            case 1:
                del data[at : at + random.choice([1, 2, 30])]
            case 2:
                data[at:at] = data[at : at + random.choice([1, 10, 100])]
            case _:
                data[at:at] = random.randbytes(random.choice([1, 4, 50]))
    return bytes(data)


async def test_mutilated_sessions() -> None:
    """Whatever arrives: the connection lives, nothing pops up, and what is sound afterwards is answered."""
    probes = [command(f"probe{number}", "test.text", {"uri": URI}) for number in range(200)]
    for seed in range(60):
        random = Random(seed)
        sent: list[dict[str, Any]] = []
        async with lsp_only.build() as server:
            server.protocol.attach(
                lambda body, key, sent=sent: sent.append(
                    json.loads(body if isinstance(body, bytes) else b"".join(body))
                )
            )
            framing = Framing(max_body=10_000)
            data = INIT + mutilated(random) + b"".join(probes)
            while data:
                step = random.randrange(1, 3000)
                framing.feed(data[:step])
                data = data[step:]
                while (item := framing.next()) is not None:
                    if isinstance(item, Fault):
                        server.protocol.refuse(item.reason)
                    elif rest := server.protocol.take(read(item)):
                        framing.unread(rest)
            await server.protocol.disconnect(5)
        assert "method" not in {key for answer in sent for key in answer}, f"seed {seed}"
        assert sent[0]["id"] == "i"
        assert "probe199" in {answer["id"] for answer in sent}, f"seed {seed}"
        for answer in sent:
            outcome(answer)
