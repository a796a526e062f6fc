"""relayed: a hostile relay where an agent runs, and hostile clients of an honest one. Nobody gets what is another's, a call without a ticket does nothing, and
what breaks the protocol ends the relay, and nothing else.

The relay's side of the stream is a program of the test's; reach (relayed/reach.py) runs in this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.elsewhere.folders import Folders
from sidecar.relayed import reach as reach_module
from sidecar.relayed import relay_there
from sidecar.relayed.numbered_lines import LONGEST, MOST, VERSION, Hello, hello_of
from sidecar.relayed.reach import NO_TICKET, Reach
from tests.gates.product import COMMAND
from tests.support.waiting import connect

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet"),
]
TICKET, TOKEN = "t" * 64, "k" * 64
RELAY = """
import sys
said, got, answers = sys.argv[1:]
sys.stdout.buffer.write(open(said, "rb").read())
sys.stdout.buffer.flush()
with open(got, "wb", buffering=0) as file:
    for number in range(int(answers)):
        file.write(sys.stdin.buffer.readline())
"""
"""Says what a file holds, and ends after so many answers."""


class Editor:
    """In the sidecar's place: notes what it is asked, and answers with what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        self.asked.append((method, params))
        if method == "hello":
            return {}
        arguments: Any = params["arguments"]
        return {"content": [{"type": "text", "text": f"{params['name']} {arguments.get('file_path')}"}]}

    async def aclose(self) -> None:
        pass


def line(number: int, message: object) -> bytes:
    return b"%d %s\n" % (number, json.dumps(message).encode())


def call(
    number: int, message_id: object, path: object, token: object = TICKET, name: object = "Read"
) -> bytes:
    params = {"token": token, "session": "", "name": name, "arguments": {"file_path": path}}
    return line(number, {"id": message_id, "method": "tool", "params": params})


async def played(
    tmp_path: Path, said: bytes, answers: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Editor, list[tuple[int, Any]], int | None]:
    """What the sidecar was asked, what the relay was answered, by connection, and reach's exit code; None if it would have started it again."""
    hello = Hello(VERSION, "1", "/tmp/relay.sock", ("acp-sidecar",)).line()
    (tmp_path / "said").write_bytes(hello + said)
    argv = [sys.executable, "-c", RELAY, str(tmp_path / "said"), str(tmp_path / "got"), str(answers)]
    editor, told = Editor(), list[Any]()

    async def connect() -> Any:
        return editor

    reach = Reach("far", argv, Folders([("/there", "/here")]), connect, told.append)
    reach.session({"ticket": TICKET, "token": TOKEN, "cwd": "/there"})
    again = asyncio.Event()

    async def paused(seconds: float) -> None:
        again.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(reach_module, "pause", paused)
    running, restarts = asyncio.ensure_future(reach.until_ended()), asyncio.ensure_future(again.wait())
    async with asyncio.timeout(60):
        await asyncio.wait({running, restarts}, return_when=asyncio.FIRST_COMPLETED)
    code = running.result() if running.done() else None
    running.cancel()
    restarts.cancel()
    await asyncio.wait({running, restarts})
    got = (tmp_path / "got").read_bytes().splitlines() if (tmp_path / "got").exists() else []
    parts = (one.partition(b" ") for one in got)
    return editor, [(int(number), json.loads(rest) if rest else None) for number, _, rest in parts], code


ENDS: list[tuple[str, bytes]] = [
    ("no number", b"hello\n"),
    ("a number that is none", b"-1 {}\n"),
    ("a number too long", b"1234567890123 {}\n"),
    ("an empty line", b"\n"),
    ("a second beginning", Hello(VERSION, "1", "/x", ()).line()),
    ("an answer without a connection", b'{"id":1,"result":{}}\n'),
    ("more connections than there may be", b"".join(call(n, 1, "/there/a") for n in range(1, MOST + 2))),
    ("a line that is too long", b"1 " + b"x" * (1024 * 1024 + 100) + b"\n"),
    ("a line that never ends", b"1 " + b"x" * (2 * 1024 * 1024)),
]


@pytest.mark.parametrize(("what", "said"), ENDS, ids=[what for what, _ in ENDS])
async def test_a_relay_that_breaks_the_protocol_is_ended_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, said: bytes
) -> None:
    monkeypatch.setattr(reach_module, "LONGEST", 1024 * 1024)
    _, _, code = await played(tmp_path, said, 1000, monkeypatch)
    assert code == 1, what


DEEP = "[" * 5000 + "]" * 5000
NOTHING: list[tuple[str, bytes]] = [
    ("no ticket", call(1, 1, "/there/a", None)),
    ("the token itself, which it cannot know", call(1, 1, "/there/a", TOKEN)),
    ("an empty ticket", call(1, 1, "/there/a", "")),
    ("a list", call(1, 1, "/there/a", [TICKET])),
    ("a path that is mapped to nothing", call(1, 1, "/etc/passwd")),
    ("a path here", call(1, 1, "/here/a")),
    ("a path that leaves its folder", call(1, 1, "/there/../etc/passwd")),
    ("another name for it", line(1, {"id": 1, "method": "tool", "params": {"token": TICKET, "name": "EditMany", "arguments": {"edits": [{"file_path": "/etc/passwd"}]}}})),
    ("arguments that are none", line(1, {"id": 1, "method": "tool", "params": {"token": TICKET, "name": "Read", "arguments": []}})),
    ("no name", call(1, 1, "/there/a", name=None)),
    ("another method of the bridge", line(1, {"id": 1, "method": "apply", "params": {"token": TICKET}})),
    ("status", line(1, {"id": 1, "method": "status"})),
    ("a method that is none", line(1, {"id": 1, "method": ["tool"], "params": {}})),
    ("params that are none", line(1, {"id": 1, "method": "tool", "params": [TICKET]})),
    ("no JSON", b"1 {\n"),
    ("no object", b"1 [1]\n"),
    ("deeper than any message", f"1 {DEEP}\n".encode()),
]  # fmt: skip


@pytest.mark.parametrize(("what", "said"), NOTHING, ids=[what for what, _ in NOTHING])
async def test_a_call_that_may_not_be_is_refused_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, said: bytes
) -> None:
    editor, got, code = await played(tmp_path, said + call(2, 7, "/there/a"), 2, monkeypatch)
    assert [params["arguments"] for _, params in editor.asked] == [{"file_path": "/here/a"}], what
    assert all(params["token"] == TOKEN for _, params in editor.asked)
    answers: dict[int, Any] = {number: answer or {} for number, answer in got}
    assert answers[2] == {"id": 7, "result": {"content": [{"type": "text", "text": "Read /here/a"}]}}
    assert "content" not in answers.get(1, {}) or answers[1]["result"]["isError"], what
    assert "/here" not in json.dumps(answers.get(1)) or what == "a path here"
    assert code is None, "it ends by itself, and would be started again"


async def test_a_second_client_gets_no_answer_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same ids, without the ticket; and it says that the first has ended, which only the relay may say."""
    said = (
        call(1, 1, "/there/one") + call(2, 1, "/there/two", "x") + line(2, {"id": 1, "result": {"forged": 1}})
    )
    editor, got, _ = await played(tmp_path, said, 3, monkeypatch)
    assert [params["arguments"]["file_path"] for _, params in editor.asked] == ["/here/one"]
    mine = [answer for number, answer in got if number == 1]
    assert mine == [{"id": 1, "result": {"content": [{"type": "text", "text": "Read /here/one"}]}}]
    assert {"id": 1, "result": {"refused": NO_TICKET}} in [answer for number, answer in got if number == 2]


async def test_a_flood_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of calls whose answers take their time, only so many are taken in."""
    under_way: list[int] = []

    class Slow(Editor):
        async def call(self, method: str, params: Mapping[str, object]) -> Any:
            tasks = (str(task.get_coro()) for task in asyncio.all_tasks())
            under_way.append(sum("_Connections._answer" in task for task in tasks))
            await asyncio.sleep(0.001)
            return await super().call(method, params)

    monkeypatch.setattr(sys.modules[__name__], "Editor", Slow)
    monkeypatch.setattr(reach_module, "MOST_HELD", 20)
    said = b"".join(call(1 + n % 4, n, "/there/a") for n in range(300))
    editor, got, _ = await played(tmp_path, said, 300, monkeypatch)
    assert (len(editor.asked), len(got)) == (300, 300)
    assert 10 < max(under_way) <= 21


@pytest.fixture
def a_relay(tmp_path: Path) -> Any:
    """The real one, and its socket."""
    short = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    tmp_path.chmod(0o700)
    process = subprocess.Popen(
        [COMMAND[0], "relay", "--id", "0123456789abcdef"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=short,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    hello = json.loads(process.stdout.readline())
    yield process, hello["socket"]
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()
    assert not Path(hello["socket"]).exists()


def connected(path: str) -> socket.socket:
    """It may have to wait until those before it are let in."""
    connection = connect(Path(path), "the relay lets one more in")
    connection.settimeout(30)
    return connection


def test_a_client_that_is_there_first_is_carried_after_the_hello(tmp_path: Path) -> None:
    """One that waits for a relay that is started again: what it says before the hello would be taken for a login shell's noise, and never answered."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    client = connected(str(tmp_path / "s"))
    client.sendall(b'{"id": 1}\n')
    read, write = os.pipe()
    hello = Hello(VERSION, "1", "/x", ["acp-sidecar"])
    with os.fdopen(read, "rb") as said, os.fdopen(write, "wb", buffering=0) as out:
        relay = relay_there.Relay(listener, SlowAtFirst(out), hello)
        assert hello_of(said.readline()) == hello
        assert said.readline() == b'1 {"id": 1}\n'
        client.close()
        assert said.readline() == b"1\n"
        del relay


class SlowAtFirst:
    """Gives others the time to be first."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._first = True

    def write(self, data: Any) -> int:
        if self._first and b"acp-sidecar relay" in bytes(data):
            self._first = False
            time.sleep(0.2)
        return self._out.write(data)


def test_clients_of_a_relay(a_relay: Any) -> None:
    """One that sends a line that is too long is ended, one more than may be is turned away, and the others never notice."""
    process, path = a_relay
    good = connected(path)
    good.sendall(b'{"id": 1}\n')
    assert process.stdout.readline() == b'1 {"id": 1}\n'
    long = connected(path)
    with pytest.raises(OSError, match=r"Broken pipe|reset"):
        long.sendall(b"x" * (LONGEST + 16 * 1024 * 1024))
    assert process.stdout.readline() == b"2\n", "its end is all that is told of it"
    half = connected(path)
    half.sendall(b'\n\n{"half')
    half.close()
    assert process.stdout.readline() == b"3\n"
    many = [connected(path) for _ in range(MOST - 1)]
    extra = connected(path)
    assert extra.recv(1) == b""
    process.stdin.write(b'1 {"id": 1, "result": 2}\n99 {"nobody": 1}\n')
    process.stdin.flush()
    assert good.recv(100) == b'{"id": 1, "result": 2}\n'
    for one in (*many, good, extra, long):
        one.close()


def test_a_relay_is_there_once(a_relay: Any, tmp_path: Path) -> None:
    """Nobody takes the place of one that runs; what a killed one left is taken."""
    process, path = a_relay
    argv = [COMMAND[0], "relay", "--id", "0123456789abcdef"]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    second = subprocess.run(argv, env=env, input=b"", capture_output=True, timeout=60, check=False)
    assert (second.returncode, second.stdout) == (1, b"")
    assert b"there is no place for its socket" in second.stderr
    connected(path).close()
    assert process.poll() is None
