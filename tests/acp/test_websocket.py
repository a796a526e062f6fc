"""`acp-sidecar websocket`: lines are frames and frames are lines, and each end says why it ended."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from websockets.sync.server import ServerConnection

from sidecar.acp.elsewhere import headers, websocket
from tests.support.websocket_agents import Handler, served

pytestmark = pytest.mark.timeout(60)


@dataclass
class Ended:
    code: int
    out: bytes
    said: str


def carried(url: str, lines: bytes = b"", given: Mapping[str, str] | None = None) -> Ended:
    out, said = io.BytesIO(), io.StringIO()
    with held_open(lines) as stdin:
        code = websocket.carry(url, given or {}, stdin, out, said)
    return Ended(code, out.getvalue(), said.getvalue())


@contextmanager
def held_open(lines: bytes) -> Generator[io.BufferedReader]:
    """Input with these lines, and no end before the block's."""
    read, write = os.pipe()
    with open(read, "rb") as stdin, open(write, "wb") as more:  # closed in the other order
        threading.Thread(target=lambda: (more.write(lines), more.flush()), daemon=True).start()
        yield stdin


def answering(*frames: str | bytes, code: int = 1000, reason: str = "") -> Handler:
    def handle(connection: ServerConnection) -> None:
        for frame in frames:
            connection.send(frame)
        connection.close(code, reason)

    return handle


def echo(count: int) -> Handler:
    def handle(connection: ServerConnection) -> None:
        for _ in range(count):
            connection.send(connection.recv())

    return handle


LINES = [
    b'{"id":1,"text":"\xc3\xa9 \xf0\x9f\x8c\xa7 \\u0000 \\r\\n"}',
    b'  {"id": 1.0, "twice": 1, "twice": 2}  ',
    b'{"long":"' + b"x" * 5_000_000 + b'"}',
]


def test_a_line_is_a_frame_and_a_frame_is_a_line_unchanged() -> None:
    with served(echo(len(LINES))) as url:
        ended = carried(url, b"\n".join([*LINES[:1], b"", b"  ", *LINES[1:]]) + b"\n")
    assert ended == Ended(0, b"\n".join(LINES) + b"\n", "")


def test_a_frame_with_line_ends_between_its_tokens_is_one_line() -> None:
    with served(answering('{\r\n  "id": 1,\n  "text": "a\\nb"\n}')) as url:
        ended = carried(url)
    assert ended.out.count(b"\n") == 1
    assert json.loads(ended.out) == {"id": 1, "text": "a\nb"}


def test_binary_frames_are_left_out_and_told_once() -> None:
    with served(answering(b"\x00", '{"id":1}', b"\x01")) as url:
        ended = carried(url)
    assert ended.out == b'{"id":1}\n'
    assert ended.said.count("binary frames") == 1


def test_the_end_of_the_input_ends_the_connection() -> None:
    codes: list[int | None] = []

    def handle(connection: ServerConnection) -> None:
        codes.append(len(list(connection)))
        codes.append(connection.close_code)

    with served(handle) as url:
        code = websocket.carry(url, {}, io.BytesIO(b"{}\n"), io.BytesIO(), io.StringIO())
    assert (code, codes) == (0, [1, 1000])


@pytest.mark.parametrize(("code", "reason"), [(1011, "out of memory"), (4000, "")])
def test_an_end_that_has_a_reason(code: int, reason: str) -> None:
    with served(answering("{}", code=code, reason=reason)) as url:
        ended = carried(url)
    assert (ended.code, ended.out) == (1, b"{}\n")
    assert ended.said == f"{url} ended the connection: {reason or 'no reason given'} ({code})\n"


def test_a_connection_that_breaks() -> None:
    def handle(connection: ServerConnection) -> None:
        connection.send("{}")
        connection.socket.shutdown(socket.SHUT_RDWR)

    with served(handle) as url:
        ended = carried(url)
    assert (ended.code, ended.out) == (1, b"{}\n")
    assert ended.said == f"the connection to {url} broke\n"


def test_a_message_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "LONGEST", 1000)
    with served(answering("{}", '"' + "x" * 1000 + '"')) as url:
        ended = carried(url)
    assert (ended.code, ended.out) == (1, b"{}\n")
    assert "sent a message of more than 1000 bytes" in ended.said


def test_nothing_answers_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ended = carried(f"ws://127.0.0.1:{port}")
    assert (ended.code, ended.out) == (1, b"")
    assert "cannot be reached: Connection refused" in ended.said


def test_another_server_answers_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with server.accept()[0] as one:
                one.recv(65536)
                one.sendall(b"SSH-2.0-server\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        ended = carried(f"ws://127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert ended.code == 1
    assert "does not answer as a WebSocket does" in ended.said


def test_what_is_no_address() -> None:
    ended = carried("http://127.0.0.1:1/")
    assert (ended.code, ended.said) == (
        1,
        "http://127.0.0.1:1/ is not a WebSocket address: it must begin with ws:// or wss://\n",
    )


def test_headers_are_sent() -> None:
    with served(answering("{}"), token="let me in") as url:
        refused = carried(url)
        ended = carried(url, given={"Authorization": "Bearer let me in"})
    assert refused.code == 1
    assert "answered 401 Unauthorized instead of opening a WebSocket. Check the headers" in refused.said
    assert (ended.code, ended.out) == (0, b"{}\n")


def an_own(url: str) -> list[str]:
    return [sys.executable, "-m", "sidecar", "websocket", url]


def test_the_command() -> None:
    env = {**os.environ, **headers.given({"Authorization": "Bearer é"})}
    assert headers.taken(env) == {"Authorization": "Bearer é"}
    env = {**os.environ, **headers.given({"Authorization": "Bearer t"})}
    with (
        served(echo(1), token="t") as url,
        subprocess.Popen(an_own(url), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as command,
    ):
        assert command.stdin is not None
        assert command.stdout is not None
        command.stdin.write(b"{}\n")
        command.stdin.flush()
        assert command.stdout.readline() == b"{}\n"
        assert command.wait(50) == 0


def test_the_command_ends_while_its_input_is_open() -> None:
    with (
        served(answering("{}", code=1011, reason="out of memory")) as url,
        subprocess.Popen(
            an_own(url), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as command,
    ):
        assert command.stdout is not None
        assert command.stderr is not None
        assert command.wait(50) == 1
        assert command.stdout.read() == b"{}\n"
        assert command.stderr.read().endswith(b"ended the connection: out of memory (1011)\n")
