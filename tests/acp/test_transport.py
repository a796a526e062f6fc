"""The transport below the SDK: whatever one line holds, the session lives or ends with a reason, and nothing hangs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from acp.connection import Connection
from acp.exceptions import RequestError

from sidecar.acp import transport
from sidecar.acp.flow import Params
from sidecar.acp.limits import WireLimits
from sidecar.acp.messages import encode
from sidecar.acp.transport import LineTransport
from tests.support.acp_wire import HANGS, Wire

LIMITS = WireLimits(line=10_000, unfinished=8, stalled=0.2)


class Side:
    """A connection over the transport that answers `ping` and notes notifications."""

    def __init__(self, wire: Wire, limits: WireLimits = LIMITS) -> None:
        self.wire = wire
        self.admitted: list[tuple[str, Any]] = []
        self.noted: list[Any] = []
        self.texts: list[dict[str, object]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.running = 0
        self.most = 0
        self.transport = LineTransport(wire.reader, wire, self.admit, name="fake", limits=limits)
        self.rpc = Connection(self.handle, self.transport)

    def admit(self, method: str, params: Params, request: bool) -> bool:
        self.admitted.append((method, params.get("n")))
        if "content" in params:
            self.texts.append(dict(params))
        params.large = method == "large"
        if method == "broken":
            raise RuntimeError("/home/me/.ssh/id_rsa")
        return method == "taken"

    async def handle(self, method: str, params: Any, is_notification: bool) -> Any:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if method == "park":
                params.park()
            if method in ("wait", "park"):
                await self.gate.wait()
            if is_notification:
                self.noted.append(dict(params))
            if method == "file":
                return {"content": "é\n" * params["n"]}
            if method == "unwritable":
                return {"content": object()}
            return {"pong": params.get("n")}
        finally:
            self.running -= 1
            params.finish()


@asynccontextmanager
async def side(limits: WireLimits = LIMITS) -> AsyncIterator[Side]:
    made = Side(Wire(), limits)
    try:
        async with asyncio.timeout(HANGS):
            yield made
    finally:
        made.gate.set()
        await made.rpc.close()


PENDING, ENDED = "still waiting", "ended"


def error(message: str, code: int = -32603) -> tuple[int, str]:
    return code, message


# the line · what becomes of a request of ours with id 0 that waits for its answer
HOSTILE: dict[str, tuple[bytes, object]] = {
    "words": (b"Loading the model ...\n", PENDING),
    "colours": (b"\x1b[32mready\x1b[0m\n", PENDING),
    "blank": (b"\n \r\n\t\n", PENDING),
    "a number": (b"42\n", PENDING),
    "null": (b"null\n", PENDING),
    "an array": (b"[]\n", PENDING),
    "a batch": (b'[{"jsonrpc":"2.0","id":0,"result":1}]\n', 1),
    "a string": (b'"x"\n', PENDING),
    "true": (b"true\n", PENDING),
    "an empty object": (b"{}\n", PENDING),
    "an object of its own": (b'{"level":"info","msg":"started"}\n', PENDING),
    "half a message": (b'{"jsonrpc":"2.0","id":0,"resu\n', PENDING),
    "half a request with that id": (b'{"jsonrpc":"2.0","id":0,"method":"x","params":{\n', PENDING),
    "half an answer": (b'{"jsonrpc":"2.0","id":0,"result":{"x":"\n', error("not JSON")),
    "half a message, its id no number": (b'{"jsonrpc":"2.0","id":01,"method":"x","params":{\n', PENDING),
    "half a message, its id no text": (b'{"jsonrpc":"2.0","id":"\x01","method":"x","params":{\n', PENDING),
    "half a message, its id no UTF-8": (b'{"jsonrpc":"2.0","id":"\xff","result":{"x":"\n', PENDING),
    "half an answer, its id lost": (b'{"jsonrpc":"2.0","result":{"x":"\n', PENDING),
    "half of another program's": (b'{"level":"info","id":0,"result":{"x":"\n', PENDING),
    "bad UTF-8": (b'{"jsonrpc":"2.0","id":0,"result":"\xff\xfe"}\n', error("not JSON")),
    "UTF-16": ('{"jsonrpc":"2.0"}'.encode("utf-16") + b"\n", PENDING),
    "NULs": (b"\0\0\0\0{}\0\n", PENDING),
    "very deep": (b'{"id":0,"result":' + b"[" * 4_000 + b"]" * 4_000 + b"}\n", error("nested too deeply")),
    "deep": (b'{"id":0,"result":' + b"[" * 300 + b"]" * 300 + b"}\n", error("nested too deeply")),
    "deep and a surrogate": (
        b'{"id":0,"result":["\\ud800",' + b"[" * 300 + b"]" * 300 + b"]}\n",
        error("nested too deeply"),
    ),
    "wide": (b'{"id":0,"result":[' + b"[]," * 3000 + b"[]]}\n", [[]] * 3001),
    "NaN": (b'{"jsonrpc":"2.0","id":0,"result":NaN}\n', error("not JSON")),
    "Infinity": (b'{"jsonrpc":"2.0","id":0,"result":-Infinity}\n', error("not JSON")),
    "a number of 5000 digits": (b'{"id":0,"result":' + b"9" * 5000 + b"}\n", error("not JSON")),
    "raw control characters": (b'{"jsonrpc":"2.0","id":0,"result":"\x01"}\n', error("not JSON")),
    "id: an object": (b'{"jsonrpc":"2.0","id":{},"result":1}\n', PENDING),
    "id: an array": (b'{"jsonrpc":"2.0","id":[0],"result":1}\n', PENDING),
    "id: false": (b'{"jsonrpc":"2.0","id":false,"result":1}\n', PENDING),
    "id: null": (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n', PENDING),
    "id: unknown": (b'{"jsonrpc":"2.0","id":7,"result":1}\n', PENDING),
    "id: negative": (b'{"jsonrpc":"2.0","id":-1,"result":1}\n', PENDING),
    "id: other words": (b'{"jsonrpc":"2.0","id":"zero","result":1}\n', PENDING),
    "id: NaN": (b'{"jsonrpc":"2.0","id":NaN,"result":1}\n', PENDING),
    "id: 1e999": (b'{"jsonrpc":"2.0","id":1e999,"result":1}\n', PENDING),
    "id: a string for a number": (b'{"jsonrpc":"2.0","id":"0","result":"ok"}\n', "ok"),
    "id: 0.0": (b'{"jsonrpc":"2.0","id":0.0,"result":"ok"}\n', "ok"),
    "twice": (b'{"jsonrpc":"2.0","id":0,"result":"ok"}\n{"jsonrpc":"2.0","id":0,"result":"no"}\n', "ok"),
    "CRLF": (b'{"jsonrpc":"2.0","id":0,"result":"ok"}\r\n', "ok"),
    "a byte order mark": (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":0,"result":"ok"}\n', "ok"),
    "noise before": (b'Loading...{"jsonrpc":"2.0","id":0,"result":"ok"}\n', "ok"),
    "noise behind": (b'{"jsonrpc":"2.0","id":0,"result":"ok"}done\n', "ok"),
    "two in one line": (b'{"jsonrpc":"2.0","method":"x"}{"jsonrpc":"2.0","id":0,"result":"ok"}\n', "ok"),
    "no version": (b'{"id":0,"result":"ok"}\n', "ok"),
    "method: null": (b'{"jsonrpc":"2.0","id":0,"method":null,"result":"ok"}\n', "ok"),
    "duplicate keys": (b'{"jsonrpc":"2.0","id":0,"result":"no","result":"ok"}\n', "ok"),
    "a lone surrogate": (b'{"jsonrpc":"2.0","id":0,"result":"\\ud800"}\n', "\ud800"),
    "neither result nor error": (b'{"jsonrpc":"2.0","id":0}\n', None),
    "error: null": (b'{"jsonrpc":"2.0","id":0,"error":null,"result":"ok"}\n', "ok"),
    "error: a string": (b'{"jsonrpc":"2.0","id":0,"error":"nope"}\n', error("nope")),
    "error: an array": (b'{"jsonrpc":"2.0","id":0,"error":[1]}\n', error("Error")),
    "error: empty": (b'{"jsonrpc":"2.0","id":0,"error":{}}\n', error("Error")),
    "error: code a string": (b'{"jsonrpc":"2.0","id":0,"error":{"code":"x","message":"m"}}\n', error("m")),
    "error: message a list": (
        b'{"jsonrpc":"2.0","id":0,"error":{"code":5,"message":[]}}\n',
        error("Error", 5),
    ),
    "error and result": (
        b'{"jsonrpc":"2.0","id":0,"result":null,"error":{"code":5,"message":"m"}}\n',
        error("m", 5),
    ),
    "the end": (b"", ENDED),
    "the end in a line": (b'{"jsonrpc":"2.0","id":0,"resu', ENDED),
    "a line without end": (b"x" * 10_001, ENDED),
    "a long line": (b"x" * 10_001 + b"\n", ENDED),
    "the longest line": (b'{"jsonrpc":"2.0","id":0,"result":"ok"}'.ljust(9_999) + b"\n", "ok"),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_hostile(what: str) -> None:
    line, expected = HOSTILE[what]
    async with side() as there:
        waiting = asyncio.ensure_future(there.rpc.send_request("question", {}))
        await there.wire.asked("question")
        there.wire.feed(line)
        if expected is ENDED:
            if "the end" in what:
                there.wire.reader.feed_eof()
            reason = "closed its output" if "the end" in what else "sent a line of more than 10000 bytes"
            assert await there.transport.ended == reason
            with pytest.raises(ConnectionError):
                await waiting
            return
        there.wire.request("probe", "ping", {"n": 1})
        assert (await there.wire.answered("probe"))["result"] == {"pong": 1}
        if expected is PENDING:
            assert not waiting.done()
            there.wire.feed({"jsonrpc": "2.0", "id": 0, "result": "late"})
            assert await waiting == "late"
        elif isinstance(expected, tuple):
            with pytest.raises(RequestError) as raised:
                await waiting
            assert (raised.value.code, str(raised.value)) == expected
        else:
            assert await waiting == expected
        assert not there.transport.ended.done()


# a request of the agent's · the error it gets, or None when it is answered
REQUESTS: dict[str, tuple[bytes, object, object]] = {
    "id: a number": (b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n', 3, None),
    "id: a string": (b'{"jsonrpc":"2.0","id":"3","method":"ping"}\n', "3", None),
    "id: null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', None, None),
    "id: an object": (b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', None, -32600),
    "id: true": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n', None, -32600),
    "id: too long": (b'{"jsonrpc":"2.0","id":"%b","method":"ping"}\n' % (b"x" * 5000), None, -32600),
    "method: a number": (b'{"jsonrpc":"2.0","id":3,"method":5}\n', 3, -32600),
    "method: too long": (b'{"jsonrpc":"2.0","id":3,"method":"%b"}\n' % (b"x" * 5000), 3, -32600),
    "params: an array": (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}\n', 3, -32602),
    "params: a string": (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":"x"}\n', 3, -32602),
    "params: too deep": (
        b'{"id":3,"method":"ping","params":{"x":' + b"[" * 300 + b"]" * 300 + b"}}\n",
        3,
        -32602,
    ),
    "params: much too deep": (
        b'{"id":"3", "method":"ping","params":{"x":' + b"[" * 4_000 + b"]" * 4_000 + b"}}\n",
        "3",
        -32602,
    ),
    "bad UTF-8": (b'{"method":"ping","params":{"x":"\xff"},"id":3}\n', 3, -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":NaN}}\n', 3, -32700),
    "cut in its params": (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":"te\n', 3, -32700),
    "cut, the id behind its params": (b'{"jsonrpc":"2.0","method":"ping","params":{"x":"te\n', None, -32700),
    "cut in its id": (b'{"jsonrpc":"2.0","method":"ping","id":3\n', None, -32700),
    "cut before its method": (b'{"jsonrpc":"2.0","id":3,"meth\n', None, -32700),
    "cut at once": (b'{"jsonrpc":"2.0"\n', None, -32700),
    "params: null": (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":null}\n', 3, None),
    "cannot be taken": (b'{"jsonrpc":"2.0","id":3,"method":"broken"}\n', 3, -32603),
    "cannot be written": (b'{"jsonrpc":"2.0","id":3,"method":"unwritable"}\n', 3, -32603),
}


@pytest.mark.parametrize("what", REQUESTS)
async def test_requests(what: str) -> None:
    line, number, code = REQUESTS[what]
    async with side() as there:
        there.wire.feed(line)
        answer = await there.wire.answered(number)
        assert answer.get("error", {}).get("code") == code
        assert "ssh" not in str(answer)


MANY = b"[{}" + b",{}" * 1_000_000 + b"]"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b'{"id":3,"method":"ping","params":{"x":' + MANY + b"}}", -32602),
        (b'{"id":3,"method":"ping","params":{"n":1,"x":"' + b'\\"{[,' * 1_000_000 + b'"}}', None),
        (b'{"id":3,"method":"ping","params":{"n":1,"x":"' + b"\\\\,,," * 1_000_000 + b'"}}', None),
    ],
    ids=["values", "a text of punctuation", "a text of backslashes"],
)
async def test_messages_of_very_many_values_are_refused(line: bytes, answer: int | None) -> None:
    async with side(WireLimits()) as there:
        there.wire.feed(line + b"\n")
        assert (await there.wire.answered(3)).get("error", {}).get("code") == answer


async def test_a_large_write_may_hold_any_text_and_few_values() -> None:
    text = "x, [1], {}" * 300_000
    write = {"sessionId": "s", "path": "/a", "content": text}
    line = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "fs/write_text_file", "params": write}).encode()
    async with side(WireLimits()) as there:
        for more in (b"", b'"_meta":{"x":' + MANY + b"},"):
            there.wire.feed(line.replace(b'"sessionId"', more + b'"sessionId"') + b"\n")
        there.wire.feed(line.replace(b'"path": "/a"', b'"path": 1, "x": ' + MANY) + b"\n")
        there.wire.request("probe", "ping")
        await there.wire.answered("probe")
        assert [method for method, _ in there.admitted] == ["fs/write_text_file", "ping"]
        assert there.texts == [write]
        refused = [
            message["error"]["message"]
            for message in there.wire.sent
            if message.get("id") == 3 and "error" in message
        ]
        assert refused[:2] == ["Invalid params: too many values"] * 2


async def test_a_long_text_without_an_end_is_looked_at_once() -> None:
    """What tries again at every quotation mark takes hours for it, and nobody is heard meanwhile."""
    async with side(WireLimits()) as there:
        there.wire.feed(b'{"method":"ping","params":{"x":"' + b"," * 600_000 + b'\\"' * 2_000_000 + b"\n")
        there.wire.request("probe", "ping")
        await there.wire.answered("probe")


async def test_an_answer_of_very_many_values_fails_what_asked() -> None:
    async with side(WireLimits()) as there:
        asked = asyncio.ensure_future(there.rpc.send_request("ping", {}))
        await there.wire.asked("ping")
        there.wire.feed(b'{"jsonrpc":"2.0","id":0,"result":' + MANY + b"}\n")
        with pytest.raises(RequestError, match="too many values"):
            await asked


async def test_a_line_holds_few_messages() -> None:
    """Millions of objects in one line would be in memory all at once, and nobody else be heard meanwhile."""
    async with side(WireLimits()) as there:
        there.wire.feed(b"{}" * 1_000_000 + b"\n" + b'{"method":"x","params":{"n":1}}' * 300 + b"\n")
        there.wire.request("probe", "ping")
        await there.wire.answered("probe")
        assert [method for method, _ in there.admitted] == ["x"] * 100 + ["ping"]


async def test_notifications_that_are_wrong_are_dropped() -> None:
    async with side() as there:
        for line in (
            b'{"jsonrpc":"2.0","method":5}\n',
            b'{"jsonrpc":"2.0","method":"note","params":[1]}\n',
            b'{"jsonrpc":"2.0","method":"broken"}\n',
            b'{"jsonrpc":"2.0","method":"note","params":{"n":1}}\n',
        ):
            there.wire.feed(line)
        there.wire.request(1, "ping")
        await there.wire.answered(1)
        assert there.noted == [{"n": 1}]
        assert [message for message in there.wire.sent if "error" in message] == []


async def test_admitted_in_order_however_bytes_arrive() -> None:
    async with side() as there:
        stream = b"".join(b'{"jsonrpc":"2.0","method":"taken","params":{"n":%d}}\n' % n for n in range(200))
        for start in range(0, len(stream), 7):
            there.wire.feed(stream[start : start + 7])
            await asyncio.sleep(0)
        there.wire.request(1, "ping")
        await there.wire.answered(1)
        assert [n for method, n in there.admitted if method == "taken"] == list(range(200))
        assert there.noted == []  # no handler ran


async def test_no_more_than_so_many_at_once() -> None:
    async with side() as there:
        there.gate.clear()
        for n in range(50):
            there.wire.request(n, "wait", {"n": n})
        for _ in range(300):  # many rounds of the loop, and nothing more begins
            await asyncio.sleep(0)
        assert there.running == LIMITS.unfinished
        assert len(there.admitted) == LIMITS.unfinished
        there.gate.set()
        for n in range(50):
            await there.wire.answered(n)
        assert there.most == LIMITS.unfinished


async def test_those_that_wait_for_a_person_do_not_count() -> None:
    async with side() as there:
        there.gate.clear()
        for n in range(50):
            there.wire.request(n, "park")
        there.wire.request("probe", "ping")
        await there.wire.answered("probe")


async def test_an_agent_that_does_not_read_is_given_up() -> None:
    async with side() as there:
        there.wire.room.clear()
        for n in range(50):
            there.wire.request(n, "ping")
        assert "has not read its input" in await there.transport.ended
        assert len(there.admitted) <= LIMITS.unfinished + 1
        there.wire.room.set()


async def test_an_agent_that_leaves_little_unread_is_given_up_too() -> None:
    async with side() as there:
        there.wire.left = 1
        there.wire.request(1, "ping")
        assert "has not read its input" in await there.transport.ended


async def test_an_agent_that_reads_slowly_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Callable[[], None]] = []

    class Clock:
        """Time passes when the test says so."""

        now = 0.0

        def time(self) -> float:
            return self.now

        def call_later(self, seconds: float, look: Callable[..., None], *state: Any) -> asyncio.Handle:
            def later() -> None:
                self.now += seconds
                look(*state)

            looks.append(later)
            return asyncio.get_running_loop().call_soon(lambda: None)

        def __getattr__(self, name: str) -> Any:
            return getattr(asyncio.get_running_loop(), name)

    async with side() as there:
        clock = Clock()
        monkeypatch.setattr(there.transport._watchdog, "_loop", clock)
        there.wire.room.clear()
        there.wire.request(1, "ping")
        for _ in range(1000):
            await asyncio.sleep(0)
        for _ in range(20):
            assert len(looks) == 1
            there.wire.taken += 1
            looks.pop()()
        assert clock.now > 3 * LIMITS.stalled
        while not there.transport.ended.done():
            looks.pop()()
        assert "has not read its input" in there.transport.ended.result()
        assert looks == []
        there.wire.room.set()


async def test_large_answers_are_few_at_once_and_wait_until_there_is_room() -> None:
    """An agent that asks for many files and reads nothing has them all in memory otherwise, each several times."""
    async with side(replace(LIMITS, unfinished=100, large=3, stalled=HANGS)) as there:
        there.wire.room.clear()
        for n in range(50):
            there.wire.request(n % 5, "large", {"n": n})  # the same ids again and again
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(there.admitted) == 3
        assert there.wire.sent == []
        there.wire.room.set()
        there.wire.request("probe", "ping")
        await there.wire.answered("probe")
        assert [message["result"]["pong"] for message in there.wire.sent[:50]] == list(range(50))


async def test_a_large_answer_is_written_by_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 MB would take the event loop longer than anybody should wait for it."""
    threads: list[int] = []
    monkeypatch.setattr(
        transport, "encode", lambda of: (threads.append(threading.get_ident()), encode(of))[1]
    )
    async with side() as there:
        there.wire.request("small", "file", {"n": 1})
        await there.wire.answered("small")
        assert threads == [threading.get_ident()]
        there.wire.request("large", "file", {"n": 200_000})
        assert (await there.wire.answered("large"))["result"] == {"content": "é\n" * 200_000}
        assert threads[-1] != threading.get_ident()


async def test_one_large_answer_is_made_ready_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """While there is no room for the first, the others are not bytes yet."""
    async with side(replace(LIMITS, stalled=HANGS)) as there:

        def write(*parts: bytes) -> None:
            there.wire.room.clear()
            written(*parts)
            one_is_written.set()

        written, one_is_written = there.wire.write, asyncio.Event()
        monkeypatch.setattr(there.wire, "write", write)
        for n in range(4):
            there.wire.request(n, "file", {"n": 200_000})
        for read in range(4):
            async with asyncio.timeout(HANGS):
                await one_is_written.wait()
            one_is_written.clear()
            await asyncio.sleep(0.2)  # what is made ready in threads would be written now
            assert len(there.wire.sent) == read + 1
            there.wire.room.set()


async def test_what_waits_for_room_ends_with_the_connection() -> None:
    async with side(replace(LIMITS, stalled=HANGS)) as there:
        there.wire.room.clear()
        waiting = asyncio.ensure_future(there.transport.room())
        await asyncio.sleep(0)
        assert not waiting.done()
        there.wire.reader.feed_eof()
        async with asyncio.timeout(HANGS):
            await waiting
            assert "closed its output" in await there.transport.ended


async def test_what_was_decided_is_given_back_at_the_end() -> None:
    released: list[object] = []

    class Decided:
        def release(self) -> None:
            released.append(self)

    wire = Wire()

    def admit(method: str, params: Params, request: bool) -> bool:
        params.decided = Decided()
        return False

    async def handle(method: str, params: Any, is_notification: bool) -> Any:
        raise AssertionError("never starts")

    transport = LineTransport(wire.reader, wire, admit, name="fake")
    wire.request(1, "ping")
    assert await transport.receive() is not None
    await transport.close()
    assert len(released) == 1
    assert await transport.receive() is None


async def test_after_the_end_answers_are_dropped_and_questions_refused() -> None:
    async with side() as there:
        await there.transport.close()
        await there.transport.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        with pytest.raises(ConnectionError):
            await there.transport.send({"jsonrpc": "2.0", "id": 1, "method": "x"})
        assert there.wire.sent == []


# text · what it is on the wire
ENCODED = [
    ("ä😀", '"ä😀"'.encode()),
    ("a\u2028b\u2029c\x85", b'"a\\u2028b\\u2029c\\u0085"'),
    ("\ud800", b'"\\ud800"'),
    ("\n\r\t\x0b\x0c\x1c\0", b'"\\n\\r\\t\\u000b\\f\\u001c\\u0000"'),
]


@pytest.mark.parametrize(("text", "expected"), ENCODED)
def test_encoded(text: str, expected: bytes) -> None:
    assert encode({"x": text}).replace(b" ", b"") == b'{"x":' + expected + b"}"
