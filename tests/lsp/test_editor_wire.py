"""Hostile input from the editor's side, against the real process over real pipes: every request is answered, nothing
crashes, nothing pops up.

A new hostile input is one line of SURVIVED (sent after `initialize` to a process that must live on) or of FIRST (sent as
the first thing to a new connection). `answers` maps ids to error codes, or to OK; the id None is JSON-RPC's null.
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
from tests.support import lsp_only
from tests.support.raw_lsp import INITIALIZE, RawClient, as_process, framed, in_process, message

OK = 0
PARSE, INVALID, UNKNOWN, PARAMS, INTERNAL, EARLY = -32700, -32600, -32601, -32602, -32603, -32002
Answers = dict[Any, int]

URI = "file:///hostile.txt"


def command(msg_id: Any, name: str = "test.echo", *arguments: Any) -> bytes:
    return message(
        id=msg_id, method="workspace/executeCommand", params={"command": name, "arguments": list(arguments)}
    )


def raw(body: str | bytes) -> bytes:
    return framed(body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body)


def change(**fields: Any) -> bytes:
    return message(method="textDocument/didChange", params=fields)


DEEP = b"[" * 200_000 + b"]" * 200_000
RELAYED = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"jsonrpc": "2.0"}}

SURVIVED: list[tuple[str, bytes, Answers]] = [
    # not messages
    ("not JSON", raw("{nonsense"), {None: PARSE}),
    ("empty body", raw(""), {None: PARSE}),
    ("a NUL", raw(b"\0"), {None: PARSE}),
    ("cut JSON", raw('{"jsonrpc":"2.0","id":"a","method":"shut'), {None: PARSE}),
    ("UTF-16", raw('{"jsonrpc":"2.0","id":"a","method":"x"}'.encode("utf-16")), {None: PARSE}),
    ("byte order mark", raw(b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":"a","method":"x"}'), {None: PARSE}),
    ("a number", raw("42"), {None: INVALID}),
    ("null", raw("null"), {None: INVALID}),
    ("a string", raw('"initialize"'), {None: INVALID}),
    ("an array", raw("[]"), {None: INVALID}),
    ("a batch", raw('[{"jsonrpc":"2.0","id":"a","method":"shutdown"}]'), {None: INVALID}),
    ("an empty object", raw("{}"), {None: INVALID}),
    ("deep nesting", raw(b'{"jsonrpc":"2.0","id":"a","method":"x","params":' + DEEP + b"}"), {None: PARSE}),
    ("a number of 5000 digits", raw('{"jsonrpc":"2.0","id":"a","method":"x","params":' + "9" * 5000 + "}"), {None: PARSE}),
    ("two messages in one frame", framed(b'{"id":"a","method":"x"}{"id":"b","method":"y"}'), {"a": UNKNOWN, "b": UNKNOWN}),
    ("a message and noise in one frame", framed(b'{"id":"a","method":"x"}{"id":"b","meth') + command("c"), {"a": UNKNOWN, None: PARSE, "c": OK}),
    ("10,000 messages in one frame", framed(b'{"method":"x"}' * 10_000 + b'{"id":"b","method":"y"}'), {"b": UNKNOWN}),
    # ids
    ("id null", raw('{"jsonrpc":"2.0","id":null,"method":"test"}'), {None: INVALID}),
    ("id true", raw('{"jsonrpc":"2.0","id":true,"method":"test"}'), {None: INVALID}),
    ("id 1.5", raw('{"jsonrpc":"2.0","id":1.5,"method":"test"}'), {None: INVALID}),
    ("id an object", raw('{"jsonrpc":"2.0","id":{},"method":"test"}'), {None: INVALID}),
    ("id empty", raw('{"jsonrpc":"2.0","id":"","method":"test"}'), {"": UNKNOWN}),
    ("id of 4096 characters", command("x" * 4096), {"x" * 4096: OK}),
    ("id beyond 64 bits", command(2**80), {2**80: OK}),
    ("id negative", command(-1), {-1: OK}),
    ("id given twice", raw('{"id":1,"id":2,"method":"no/such"}'), {2: UNKNOWN}),
    ("the same id twice at once", command("w", "test.wait") + command("w", "test.wait") + message(method="$/cancelRequest", params={"id": "w"}), {"w": INVALID}),
    ("ids that look like ours", command("s1") + command("s2"), {"s1": OK, "s2": OK}),
    # methods
    ("no method", raw('{"jsonrpc":"2.0","id":"a"}'), {"a": INVALID}),
    ("method null", raw('{"jsonrpc":"2.0","id":"a","method":null}'), {"a": INVALID}),
    ("method a number", raw('{"jsonrpc":"2.0","id":"a","method":5}'), {"a": INVALID}),
    ("method a list", raw('{"jsonrpc":"2.0","id":"a","method":[]}'), {"a": INVALID}),
    ("unknown request", message(id="a", method="no/such", params={}), {"a": UNKNOWN}),
    ("unknown request that may be ignored", message(id="a", method="$/no/such"), {"a": UNKNOWN}),
    ("unknown notification", message(method="no/such") + message(method="$/no/such"), {}),
    ("a method of ours sent to us", message(id="a", method="workspace/applyEdit", params={}), {"a": UNKNOWN}),
    ("a python name", message(id="a", method="__class__"), {"a": UNKNOWN}),
    ("lone surrogates in a method", raw('{"id":"a","method":"\\ud800"}'), {"a": UNKNOWN}),
    ("initialize again", message(id="a", method="initialize", params=INITIALIZE), {"a": INVALID}),
    ("a notification as a request", message(id="a", method="textDocument/didSave", params={}), {"a": OK}),
    ("exit as a request", message(id="a", method="exit"), {"a": UNKNOWN}),
    # params
    ("jsonrpc missing", raw('{"id":"a","method":"no/such"}'), {"a": UNKNOWN}),
    ("jsonrpc 1.0", raw('{"jsonrpc":"1.0","id":"a","method":"no/such"}'), {"a": UNKNOWN}),
    ("params a number", message(id="a", method="workspace/executeCommand", params=5), {"a": PARAMS}),
    ("params a list", message(id="a", method="workspace/executeCommand", params=["test.echo"]), {"a": PARAMS}),
    ("params missing", message(id="a", method="workspace/executeCommand"), {"a": PARAMS}),
    ("unknown command", command("a", "no.such"), {"a": PARAMS}),
    ("command a number", message(id="a", method="workspace/executeCommand", params={"command": 5}), {"a": PARAMS}),
    ("command a python name", command("a", "__init__"), {"a": PARAMS}),
    ("arguments an object", message(id="a", method="workspace/executeCommand", params={"command": "test.echo", "arguments": {}}), {"a": PARAMS}),
    ("arguments null", message(id="a", method="workspace/executeCommand", params={"command": "test.echo", "arguments": None}), {"a": OK}),
    ("two arguments", command("a", "test.echo", 1, 2), {"a": PARAMS}),
    ("typed params of a wrong type", message(id="a", method="textDocument/hover", params={"textDocument": 5, "position": {}}), {"a": PARAMS}),
    ("typed params missing", message(id="a", method="textDocument/hover"), {"a": PARAMS}),
    ("bad UTF-8 in a request", raw(b'{"jsonrpc":"2.0","id":"a","method":"workspace/executeCommand","params":{"command":"\xff\xfe"}}'), {"a": PARAMS}),
    ("bad UTF-8 in a notification", raw(b'{"jsonrpc":"2.0","method":"\xff"}'), {}),
    ("raw surrogates", raw('{"jsonrpc":"2.0","id":"a","method":"x","params":"\ud800"}'), {"a": PARAMS}),
    ("escaped lone surrogates come back", command("a", "test.echo", "\ud800 \udfff"), {"a": OK}),
    ("a relayed message inside", command("a", "test.echo", RELAYED), {"a": OK}),
    ("a relayed message as an option", message(method="workspace/didChangeConfiguration", params={"settings": RELAYED}), {}),
    ("keys of python", command("a", "test.echo", {"__class__": 1, "_meta": {"x": 1}, "type_name": "X", "": 0}), {"a": OK}),
    ("shutdown of a handler", command("a", "test.fail", "exit"), {"a": INTERNAL}),
    ("a handler that fails", command("a", "test.fail", "other"), {"a": INTERNAL}),
    ("a result that is no JSON", command("a", "test.fail", "unserialisable"), {"a": INTERNAL}),
    # answers nobody asked for
    ("an answer to nothing", message(id="s1", result={}) + message(id=1, result=None), {}),
    ("an error to nothing", message(id="s1", error={"code": 1, "message": ""}), {}),
    ("an error that is a string", message(id=None, error="no"), {}),
    ("an answer whose id is an object", message(id={}, result=1), {}),
    ("an answer that is also a request", message(id="a", method="no/such", result=1), {"a": UNKNOWN}),
    ("an answer to a request of its own", command("w2", "test.wait") + message(id="w2", result=1) + message(method="$/cancelRequest", params={"id": "w2"}), {"w2": -32800}),
    # cancel, progress, folders, trace
    ("cancel without params", message(method="$/cancelRequest") + message(method="$/cancelRequest", params=[1]), {}),
    ("cancel of an object", message(method="$/cancelRequest", params={"id": {"a": []}}), {}),
    ("cancel of true", message(method="$/cancelRequest", params={"id": True}), {}),
    ("progress cancelled that never was", message(method="window/workDoneProgress/cancel", params={"token": "x"}), {}),
    ("progress cancelled without token", message(method="window/workDoneProgress/cancel", params={}), {}),
    ("trace of an unknown kind", message(method="$/setTrace", params={"value": "loud"}), {}),
    ("folders that never were", message(method="workspace/didChangeWorkspaceFolders", params={"event": {"added": [], "removed": [{"uri": "file:///x", "name": ""}]}}), {}),
    ("folders of a wrong type", message(method="workspace/didChangeWorkspaceFolders", params={"event": {"added": 5}}), {}),
    ("notebooks", message(method="notebookDocument/didChange", params={"notebookDocument": {"uri": "x", "version": 1}, "change": {}}), {}),
    # documents
    ("a change before it was opened", change(textDocument={"uri": "file:///n", "version": 2}, contentChanges=[]), {}),
    ("a close before it was opened", message(method="textDocument/didClose", params={"textDocument": {"uri": "file:///m"}}), {}),
    ("an open without text", message(method="textDocument/didOpen", params={"textDocument": {"uri": URI}}), {}),
    ("an open without params", message(method="textDocument/didOpen") + message(method="textDocument/didOpen", params=[]), {}),
    ("a URI that is a number", message(method="textDocument/didOpen", params={"textDocument": {"uri": 5, "text": ""}}), {}),
    ("a URI that is none", message(method="textDocument/didOpen", params={"textDocument": {"uri": "::%zz\0", "text": ""}}), {}),
    ("a URI of a megabyte", message(method="textDocument/didOpen", params={"textDocument": {"uri": "file:///" + "x" * 2**20, "text": ""}}), {}),
    ("positions beyond 64 bits", change(textDocument={"uri": URI, "version": 2**70}, contentChanges=[{"range": {"start": {"line": 2**70, "character": 2**70}, "end": {"line": 2**70, "character": 2**70}}, "text": "x"}]), {}),
    ("positions that are words", change(textDocument={"uri": URI, "version": 3}, contentChanges=[{"range": {"start": {"line": "a", "character": {}}}, "text": 5}]), {}),
    ("changes that are an object", change(textDocument={"uri": URI, "version": 3}, contentChanges={"text": "x"}), {}),
    ("changes deeply nested", raw(b'{"method":"textDocument/didChange","params":' + DEEP + b"}"), {None: PARSE}),
    # framing
    ("header in lower case", command("a").replace(b"Content-Length", b"content-length"), {"a": OK}),
    ("length of 99999999999", b"Content-Length: 99999999999\r\n\r\n" + command("a"), {None: PARSE, "a": OK}),
    ("length negative", b"Content-Length: -1\r\n\r\n" + command("a"), {None: PARSE, "a": OK}),
    ("length a word", b"Content-Length: x\r\n\r\n" + command("a"), {None: PARSE, "a": OK}),
    ("length too short by one", b"Content-Length: 1\r\n\r\n{}" + command("a"), {None: PARSE, "a": OK}),
    ("length too long by three", b"Content-Length: 28\r\n\r\n" + b'{"id":"b","method":"o/such"}'[:25] + b'"}' + command("a"), {"b": UNKNOWN, "a": OK}),
    ("an HTTP request", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n\r\n" + command("a"), {None: PARSE, "a": OK}),
    ("noise before a header", b"npm warn deprecated\n" + command("a"), {"a": OK}),
    ("a blank line between", b"\r\n\r\n" + command("a"), {None: PARSE, "a": OK}),
    ("a header of a megabyte", b"X" * 2**20 + command("a"), {None: PARSE, "a": OK}),
]  # fmt: skip

INIT = message(id="i", method="initialize", params=INITIALIZE)

FIRST: list[tuple[str, bytes, Answers]] = [
    ("a request before initialize", command("a"), {"a": EARLY}),
    ("shutdown before initialize", message(id="a", method="shutdown") + INIT, {"a": EARLY, "i": OK}),
    ("initialize without params", message(id="a", method="initialize") + INIT, {"a": PARAMS, "i": OK}),
    ("initialize with a list", message(id="a", method="initialize", params=[1]) + INIT, {"a": PARAMS, "i": OK}),
    ("initialize as a notification", message(method="initialize", params=INITIALIZE) + command("a") + INIT, {"a": EARLY, "i": OK}),
    ("initialize without capabilities", message(id="i", method="initialize", params={}), {"i": OK}),
    ("capabilities null", message(id="i", method="initialize", params={"capabilities": None}), {"i": OK}),
    ("capabilities odd", message(id="i", method="initialize", params={"capabilities": {"textDocument": 7, "general": {"positionEncodings": 7}}, "trace": "loud", "processId": "x", "rootUri": 5, "workspaceFolders": 3, "clientInfo": 9}), {"i": OK}),
    ("a root that is no URI", message(id="i", method="initialize", params={**INITIALIZE, "rootUri": "::%zz", "rootPath": "relative\0"}), {"i": OK}),
    ("a relayed message as options", message(id="i", method="initialize", params={**INITIALIZE, "initializationOptions": RELAYED}), {"i": OK}),
    ("noise first", b"hello\r\n" + INIT, {"i": OK}),
    ("requests after shutdown", INIT + message(id="s", method="shutdown") + command("a") + message(id="b", method="no/such"), {"i": OK, "s": OK, "a": INVALID, "b": INVALID}),
    ("everything at once", INIT + command("a", "test.wait") + message(id="s", method="shutdown") + message(id="t", method="shutdown"), {"i": OK, "a": -32800, "s": OK, "t": INVALID}),
]  # fmt: skip


def outcome(answer: dict[str, Any]) -> int:
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert answer["jsonrpc"] == "2.0"
    if "result" in answer:
        return OK
    assert isinstance(answer["error"]["message"], str)
    assert answer["error"]["message"]
    assert "Traceback" not in json.dumps(answer["error"])
    return answer["error"]["code"]


def check(seen: list[dict[str, Any]], expected: Answers) -> None:
    unasked = [m for m in seen if "method" in m]
    assert not unasked, "nothing but answers is sent, no message box above all"
    got: Answers = {}
    for answer in seen:
        got.setdefault(answer["id"], outcome(answer))
    assert got == expected


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
            server.protocol.attach(lambda body, key, sent=sent: sent.append(json.loads(body)))
            framing = Framing(max_body=10_000)
            data = INIT + mutilated(random) + b"".join(probes)
            while data:
                step = random.randrange(1, 3000)
                framing.feed(data[:step])
                data = data[step:]
                while (item := framing.next()) is not None:
                    if isinstance(item, Fault):
                        server.protocol.refuse(item.reason)
                    elif rest := server.protocol.receive(item):
                        framing.unread(rest)
            await server.protocol.disconnect(5)
        assert "method" not in {key for answer in sent for key in answer}, f"seed {seed}"
        assert sent[0]["id"] == "i"
        assert "probe199" in {answer["id"] for answer in sent}, f"seed {seed}"
        for answer in sent:
            outcome(answer)
