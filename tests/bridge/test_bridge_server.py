"""The server puts up with everything that its own user's processes may do, and goes on serving the others."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.bridge import server, wire
from sidecar.bridge.client import Client, Failed, Lost, Unreachable
from sidecar.bridge.limits import BridgeLimits
from sidecar.bridge.server import Method
from sidecar.bridge.wire import decode, encode, pieces
from sidecar.core.narrow import FROM
from tests.bridge.serving import METHODS, WAIT, Serving, raw, serving, shaken

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet")


def still_serves(running: Serving) -> None:
    with Client.connect(running.entry) as client:
        assert client.call("echo", {"still": "there"}) == {"still": "there"}


BEFORE_THE_HANDSHAKE: dict[str, bytes] = {
    "nothing": b"",
    "an empty line": b"\n",
    "bytes": b"\x00\xff\xfe\n",
    "a number": b"42\n",
    "a list": b'["v", 1]\n',
    "half an object": b'{"v": 1\n',
    "no nonce": b'{"v": 1}\n',
    "a short nonce": b'{"v": 1, "nonce": "00"}\n',
    "a nonce that is a list": b'{"v": 1, "nonce": ["0"]}\n',
    "another version": b'{"v": 2, "nonce": "%s"}\n' % (b"0" * 64),
    "nested": b"[" * 4000 + b"\n",
    "HTTP": b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
    "a long line": b"x" * 5000 + b"\n",
    "a long line without end": b"x" * 5000,
}


@pytest.mark.parametrize("name", BEFORE_THE_HANDSHAKE)
def test_garbage_is_not_answered(tmp_path: Path, name: str) -> None:
    with serving(tmp_path) as running:
        with raw(running.entry.socket) as client:
            client.send(BEFORE_THE_HANDSHAKE[name])
            client.socket.shutdown(socket.SHUT_WR)
            assert client.rest_of_one() == ""
        still_serves(running)


AFTER_THE_HANDSHAKE: dict[str, bytes] = {
    "bytes": b"\x00\xff\xfe\n",
    "a list": b"[]\n",
    "nested": b"[" * 100_000 + b"\n",
    "a long line": b'{"id": 1, "method": "echo", "params": {"text": "%s"}}\n' % (b"x" * 300_000),
    "a long line without end": b"x" * 300_000,
}


@pytest.mark.parametrize("name", AFTER_THE_HANDSHAKE)
def test_garbage_after_the_handshake_ends_the_connection(tmp_path: Path, name: str) -> None:
    with serving(tmp_path, limits=BridgeLimits(message_bytes=200_000)) as running:
        with raw(running.entry.socket) as client:
            shaken(client, running.entry)
            client.send(AFTER_THE_HANDSHAKE[name])
            assert client.rest_of_one() == ""
        still_serves(running)


def test_requests_that_cannot_be_served_have_words(tmp_path: Path) -> None:
    with serving(tmp_path) as running, Client.connect(running.entry) as client:
        for method, words in (
            ("refuse", "because of the weather"),
            ("nothing of the kind", "no such method"),
            ("fail", "see its log"),
        ):
            with pytest.raises(Failed, match=words) as raised:
                client.call(method)
            assert "inside" not in str(raised.value)
        with raw(running.entry.socket) as other:
            shaken(other, running.entry)
            for request in ({"id": 1, "method": ["x"]}, {"id": 2, "method": "echo", "params": []}, {"id": 3}):
                other.send(request)
                answer = other.line()
                assert answer is not None
                assert answer["id"] == request["id"]
                assert answer["error"]["message"]
        assert client.call("echo") == {}


def test_a_client_that_does_not_finish_its_handshake_is_dropped(tmp_path: Path) -> None:
    with (
        serving(tmp_path, limits=BridgeLimits(handshake=0.1)) as running,
        raw(running.entry.socket) as silent,
        raw(running.entry.socket) as halfway,
    ):
        halfway.send(b'{"v": 1, "nonce"')
        assert silent.rest_of_one() == ""
        assert halfway.rest_of_one() == ""


def test_a_client_that_does_not_finish_its_line_is_dropped(tmp_path: Path) -> None:
    with serving(tmp_path, limits=BridgeLimits(line=0.1)) as running, raw(running.entry.socket) as client:
        shaken(client, running.entry)
        client.send(b'{"id": 1, "me')
        assert client.rest_of_one() == ""
        still_serves(running)


def test_a_client_that_takes_no_answers_is_dropped_and_holds_up_nobody(tmp_path: Path) -> None:
    limits = BridgeLimits(send=0.2, requests=2)
    with serving(tmp_path, limits=limits) as running, raw(running.entry.socket) as client:
        shaken(client, running.entry)
        request = encode({"id": 1, "method": "echo", "params": {"text": "x" * 1_000_000}})
        client.socket.settimeout(WAIT)
        refused = False
        while not refused:
            try:
                client.socket.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                refused = True
        still_serves(running)


def test_answers_that_nobody_reads_are_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may be a whole file: only the one that is being sent is kept as bytes."""
    called, made = threading.Semaphore(0), list[object]()

    async def large(params: object) -> object:
        called.release()
        return "x" * 8_000_000  # far more than a socket takes unread

    def made_now(message: dict[str, Any]) -> Generator[bytes]:
        made.append(message.get("id"))
        return pieces(message)

    with serving(tmp_path, {"large": large}) as running, raw(running.entry.socket) as client:
        shaken(client, running.entry)
        monkeypatch.setattr(server, "pieces", made_now)
        client.socket.sendall(b"".join(encode({"id": n, "method": "large"}) for n in range(8)))
        for _ in range(8):
            assert called.acquire(timeout=WAIT)
        running.do(lambda: asyncio.sleep(0))
        assert len(made) <= 1


@pytest.mark.parametrize("text", ["x" * 700_000, "\U0001f600\ud800é" * 200_000, '"\\\n' * 200_000])
def test_long_texts_there_and_back(tmp_path: Path, text: str) -> None:
    asked = {"a": text, "rows": [{"t": text, "n": None}, [1.5, text]], "e": {}, "l": []}
    with serving(tmp_path) as running, Client.connect(running.entry) as client:
        assert client.call("echo", asked) == asked


def test_a_text_that_is_too_long_is_refused_in_words(tmp_path: Path) -> None:
    limits = BridgeLimits(text=1_000_000)
    with serving(tmp_path, limits=limits) as running, Client.connect(running.entry) as client:
        with pytest.raises(Failed, match="texts of more than 1000000 bytes"):
            client.call("echo", {"a": "x" * 1_000_001})
        two = {"a": "x" * 1_000_000, "b": "é" * 500_000}
        assert client.call("echo", two) == two, "an edit has two texts"


def test_a_text_that_takes_too_much_memory_is_refused_in_words(tmp_path: Path) -> None:
    with (
        serving(tmp_path, limits=BridgeLimits(text=1_000_000)) as running,
        Client.connect(running.entry) as client,
        pytest.raises(Failed, match="a text that takes more than 1000000 bytes in memory"),
    ):
        client.call("echo", {"a": "x" * 300_000 + "\U0001f600"})


WIDE = "x" * (FROM + 1) + "\U0001f600"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("writeFile", {"path": "/a", "content": WIDE}),
        ("tool", {"token": "t", "session": "", "name": "Write", "arguments": {"content": WIDE}}),
        ("apply", {"path": "/a", "steps": [{"base": WIDE, "wanted": "x"}, {"base": "y", "wanted": WIDE}]}),
    ],
)
def test_what_is_put_into_a_file_is_no_string_where_that_takes_much(
    tmp_path: Path, method: str, params: Mapping[str, Any]
) -> None:
    came: list[Mapping[str, Any]] = []

    async def called(params: Mapping[str, Any]) -> object:
        came.append(params)
        return {}

    limits, methods = BridgeLimits(text=2_000_000), {method: called}
    with (
        serving(tmp_path, methods, limits=limits) as running,
        Client.connect(running.entry) as client,
    ):
        client.call(method, params)
    assert came == [params]
    assert "Text.of(" in repr(came)


def test_such_a_text_anywhere_else_is_refused_in_words(tmp_path: Path) -> None:
    """A name that a write would have does not make it one."""
    with (
        serving(tmp_path, limits=BridgeLimits(text=2_000_000)) as running,
        Client.connect(running.entry) as client,
        pytest.raises(Failed, match="a long text that is not what a write puts into a file"),
    ):
        client.call("echo", {"name": "Write", "arguments": {"content": WIDE}})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.text("x\ud800\U0001f600", min_size=6),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_pieces_are_the_message(value: object) -> None:
    message: dict[str, Any] = {"id": 1, "result": value}
    short, wire._PIECE = wire._PIECE, 5
    try:
        assert decode(b"".join(pieces(message))) == message
    finally:
        wire._PIECE = short


def test_too_many_clients_are_turned_away(tmp_path: Path) -> None:
    with (
        serving(tmp_path, limits=BridgeLimits(clients=2)) as running,
        Client.connect(running.entry) as first,
        Client.connect(running.entry) as second,
    ):
        with pytest.raises(Unreachable):
            Client.connect(running.entry)
        assert first.call("echo") == second.call("echo") == {}


def test_and_once_they_are_gone_there_is_room_again(tmp_path: Path) -> None:
    with serving(tmp_path, limits=BridgeLimits(clients=1)) as running:
        for _ in range(3):
            with Client.connect(running.entry) as client:
                client.call("echo")
                client._connection.shutdown(socket.SHUT_WR)
                assert client._connection.recv(1) == b""


class Gate:
    """Methods that wait, and say what became of them."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.began: list[object] = []
        self.ended: list[object] = []

    async def wait(self, params: Mapping[str, Any]) -> object:
        self.began.append(params.get("n"))
        try:
            await self.open.wait()
            self.ended.append("done")
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        return params

    async def release(self, params: Mapping[str, Any]) -> object:
        self.open.set()
        return dict(params)

    async def seen(self, params: Mapping[str, Any]) -> object:
        return {"began": list(self.began), "ended": list(self.ended)}

    @property
    def methods(self) -> dict[str, Method]:
        return {**METHODS, "wait": self.wait, "release": self.release, "seen": self.seen}


def test_requests_begin_in_order_and_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with serving(tmp_path, Gate().methods) as running, raw(running.entry.socket) as client:
        shaken(client, running.entry)
        for n in range(4):
            client.send({"id": n, "method": "wait", "params": {"n": n}})
        client.send({"id": 4, "method": "seen"})
        assert client.line() == {"id": 4, "result": {"began": [0, 1, 2, 3], "ended": []}}
        client.send({"id": 5, "method": "release"})
        assert sorted(answer["id"] for _ in range(5) if (answer := client.line())) == [0, 1, 2, 3, 5]


def test_so_many_requests_at_once_and_no_more(tmp_path: Path) -> None:
    gate = Gate()
    with (
        serving(tmp_path, gate.methods, limits=BridgeLimits(requests=3)) as running,
        raw(running.entry.socket) as client,
        Client.connect(running.entry) as other,
    ):
        shaken(client, running.entry)
        for n in range(6):
            client.send({"id": n, "method": "wait", "params": {"n": n}})
        seen = until(other, lambda seen: len(seen["began"]) == 3)
        assert seen["began"] == [0, 1, 2]
        other.call("release")
        assert sorted(answer["id"] for _ in range(6) if (answer := client.line())) == [0, 1, 2, 3, 4, 5]


def test_a_client_that_goes_away_takes_its_requests_with_it(tmp_path: Path) -> None:
    with serving(tmp_path, Gate().methods) as running, Client.connect(running.entry) as other:
        with raw(running.entry.socket) as client:
            shaken(client, running.entry)
            client.send({"id": 1, "method": "wait"})
            until(other, lambda seen: seen["began"])
        assert until(other, lambda seen: seen["ended"])["ended"] == ["cancelled"]


def test_a_request_has_its_time(tmp_path: Path) -> None:
    limits = BridgeLimits(request=0.05)
    with serving(tmp_path, Gate().methods, limits=limits) as running, Client.connect(running.entry) as client:
        with pytest.raises(Failed, match="in time"):
            client.call("wait")
        assert client.call("seen")["ended"] == ["cancelled"]


def test_the_client_does_not_wait_for_ever_either(tmp_path: Path) -> None:
    with (
        serving(tmp_path, Gate().methods) as running,
        Client.connect(running.entry) as client,
        pytest.raises(Lost, match="in time"),
    ):
        client.call("wait", timeout=0.05)


def test_the_end_of_the_server_ends_its_connections(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        entry = running.entry
        client = Client.connect(entry)
    with client, pytest.raises(Lost):
        client.call("echo")
    with pytest.raises(Unreachable):
        Client.connect(entry)
    assert os.listdir(running.folder) == []


def test_what_is_too_large_is_said_before_it_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.bridge.client.MESSAGE_BYTES", 1000)
    with serving(tmp_path) as running, Client.connect(running.entry) as client:
        with pytest.raises(Failed, match="more than 1000 bytes"):
            client.call("echo", {"text": "x" * 1000})
        assert client.call("echo") == {}


def test_large_messages_go_through(tmp_path: Path) -> None:
    text = "é\n\ud800" * 300_000
    with serving(tmp_path) as running, Client.connect(running.entry) as client:
        assert client.call("echo", {"text": text}) == {"text": text}


def until(client: Client, wanted: Any) -> Any:
    """Asks again until it is so; each question is a round trip, and the whole is bounded by pytest's timeout."""
    while not wanted(seen := client.call("seen")):
        pass
    return seen
