"""Hostile agents and hostile clients: what they send costs them their session at most, and never reaches a file that is none of theirs."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.quirks import NONE
from sidecar.bridge.finding import find
from sidecar.proxy.conversations import Conversations, SessionFolders
from sidecar.proxy.file_requests import FileRequests
from sidecar.proxy.guest import Guest
from sidecar.proxy.heads import head_of
from sidecar.proxy.passing import Passing
from tests.gates.product import a_product
from tests.proxy.talk import Message, Talk, agent, behind_proxy, processes
from tests.proxy.test_live import until_it_can_be_found, yes
from tests.proxy.test_passing import Kept

pytestmark = processes

DEEP = "[" * 5000 + "]" * 5000
"""Deeper than any message may be."""


def request(number: int, method: str, params: str) -> str:
    return f'{{"jsonrpc":"2.0","id":{number},"method":"fs/{method}_text_file","params":{params}}}\n'


# what the agent sends → the code of the answer it gets; None: it passes to the client
ROWS: list[tuple[str, int | None]] = [
    (request(1, "read", "[]"), -32602),
    (request(2, "read", "null"), -32602),
    (request(3, "read", '{"sessionId":"s1"}'), -32602),
    (request(4, "read", '{"sessionId":"s1","path":"relative"}'), -32602),
    (request(5, "read", '{"sessionId":"s1","path":"/a\\u0000b"}'), -32602),
    (request(6, "read", '{"sessionId":"other","path":"/etc/passwd"}'), -32602),
    (request(7, "read", '{"sessionId":"s1","path":"/etc/passwd"}'), -32002),
    (request(8, "read", '{"sessionId":"s1","path":"$folder/../../etc/passwd"}'), -32002),
    (request(9, "read", '{"sessionId":"s1","path":"$folder/a.txt","line":-1}'), -32602),
    (request(10, "read", '{"sessionId":"s1","path":"$folder/a.txt","line":true}'), -32602),
    (request(11, "read", '{"sessionId":["s1"],"path":"$folder/a.txt"}'), -32602),
    (request(12, "write", '{"sessionId":"s1","path":"/etc/cron.d/x","content":""}'), -32002),
    (request(13, "write", '{"sessionId":"s1","path":"$folder/a.txt","content":7}'), -32602),
    (request(14, "write", f'{{"sessionId":"s1","path":"$folder/b","content":"","_meta":{DEEP}}}'), -32602),
    (request(15, "write", '{"sessionId":"s1","path":"$folder/b","content":"\\ud800"}'), -32010),
    (request(16, "write", '{"sessionId":"s1","path":"$folder/.git/hooks/x","content":""}'), -32010),
    (request(17, "read", f'{{"sessionId":"s1","path":"/{"x" * 5000}"}}'), -32602),
    (f'{{"jsonrpc":"2.0","id":18,"method":"_deep","params":{DEEP}}}\n', None),
    ("[" * 100_000 + "\n", None),
    ('{"jsonrpc":"2.0","id":{"a":1},"method":"fs/read_text_file","params":{}}\n', None),
    ('{"jsonrpc":"2.0","method":"fs/write_text_file","params":{"sessionId":"s1"}}\n', None),
]


async def test_an_agents_worst_lines(tmp_path: Path) -> None:
    """Each is answered or passed on as it is; the session goes on."""
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.txt").write_text("fine\n")
    lines = [line.replace("$folder", str(folder)) for line, _ in ROWS]
    answered = [number for number, (_, code) in enumerate(ROWS, 1) if code is not None]
    steps: list[Message] = [
        {"raw": "".join(lines)},
        *({"await": str(number)} for number in answered),
        {"read": str(folder / "a.txt"), "as": "fine"},
        *({"say": {"answer": str(number)}} for number in answered),
        {"say": {"answer": "fine"}},
    ]
    async with Talk(behind_proxy(agent({"turns": [steps]}, file=tmp_path / "script")), folder) as talk:
        talk.answer = lambda message: None
        session = await talk.session()
        assert (await talk.prompt(session))["result"] == {"stopReason": "end_turn"}
        *answers, fine = talk.answers()
    codes = {answer["id"]: answer["error"]["code"] for answer in answers}
    assert codes == {number: code for number, (_, code) in enumerate(ROWS, 1) if code is not None}
    assert fine["result"] == {"content": "fine\n"}
    passed = [line.encode() for line, (_, code) in zip(lines, ROWS, strict=True) if code is None]
    assert all(line in talk.received for line in passed)
    assert sorted(p.name for p in folder.iterdir()) == ["a.txt"]


async def test_a_line_without_end_ends_it_with_words(tmp_path: Path) -> None:
    steps = [{"repeat": 70, "steps": [{"fill": 1024 * 1024, "with": "x"}]}, {"never": True}]
    async with Talk(behind_proxy(agent({"turns": [steps]})), tmp_path) as talk:
        session = await talk.session()
        asyncio.ensure_future(talk.prompt(session)).add_done_callback(lambda done: done.cancelled())
        assert await talk.ended() == 1
    assert "sent a line of more than 67108864 bytes" in talk.errors.decode()


class Unanswered(Guest):
    """A guest whose files are never served."""

    def __init__(self) -> None:
        self.asked = 0

    async def read(self, *_: Any) -> Any:
        self.asked += 1
        await asyncio.Event().wait()


async def test_requests_nobody_answers_have_a_bound(tmp_path: Path) -> None:
    """The agent is not read any more; the client's messages go on."""
    guest = Unanswered()
    conversations = Conversations(lambda place, *_: guest)
    requests = FileRequests(conversations.guest, Kept(), NONE, most=10)
    passing = Passing(conversations, requests)
    await passing.from_client(b'{"id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/"}}')

    async def flood() -> None:
        for number in range(100):
            line = request(number, "read", '{"sessionId":"s","path":"/a"}').encode()
            assert await passing.from_agent(line) is None

    flooding = asyncio.ensure_future(flood())
    for _ in range(100):
        await asyncio.sleep(0)
    assert guest.asked == 10
    assert await passing.from_client(b'{"method":"_x"}') == b'{"method":"_x"}'
    flooding.cancel()


async def test_a_client_that_never_answers_costs_a_bound(tmp_path: Path) -> None:
    opened: list[SessionFolders] = []
    conversations = Conversations(lambda place, *_: opened.append(place) or Unanswered())
    for number in range(20_000):
        line = b'{"id":%d,"method":"session/new","params":{"cwd":"/"}}' % number
        head = head_of(line)
        assert head is not None
        conversations.asked(head)
    assert len(conversations._asked) == 4096
    assert opened == []


class Counted:
    """A guest of a sidecar, or not."""

    def __init__(self) -> None:
        self.is_in = False
        self.turns = 0

    async def turn_begins(self) -> None:
        self.is_in = True
        self.turns += 1

    def turn_ends(self, reason: str) -> None:
        self.turns -= 1

    def rest(self) -> None:
        self.is_in = False


async def test_a_client_with_many_sessions_takes_few_connections() -> None:
    guests: list[Counted] = []

    def guest(place: SessionFolders, *_: str) -> Any:
        guests.append(Counted())
        return guests[-1]

    conversations = Conversations(guest)
    nobody = FileRequests(conversations.guest, Kept(), NONE)
    passing = Passing(conversations, nobody)
    for number in range(100):
        params = b'{"sessionId":"s%d","cwd":"/"}' % number
        await passing.from_client(b'{"id":1,"method":"session/load","params":%b}' % params)
        await passing.from_client(b'{"id":2,"method":"session/prompt","params":%b}' % params)
    assert [number for number, guest in enumerate(guests) if guest.is_in] == list(range(92, 100))
    await passing.from_client(b'{"id":2,"method":"session/prompt","params":{"sessionId":"s5"}}')
    assert sum(guest.is_in for guest in guests) == 8
    assert guests[5].is_in


async def test_a_prompt_whose_id_is_used_again_leaves_no_turn_open() -> None:
    guest = Counted()
    conversations = Conversations(lambda place, *_: guest)
    passing = Passing(conversations, FileRequests(conversations.guest, Kept(), NONE))
    await passing.from_client(b'{"id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/"}}')
    for _ in range(3):
        await passing.from_client(b'{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}')
    assert guest.turns == 1
    await passing.from_agent(b'{"id":2,"result":{"stopReason":"end_turn"}}')
    await passing.from_agent(b'{"id":2,"result":{"stopReason":"end_turn"}}')
    assert guest.turns == 0


async def test_only_the_connection_that_joined_speaks_for_its_session(tmp_path: Path) -> None:
    """Another process of the same user, over the same bridge: its calls have no session, and it cannot join as somebody's. When a connection
    ends, so does its session."""
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.txt").write_text("text\n")

    def calls() -> list[Any]:
        first, second = find(str(folder), os.environ), find(str(folder), os.environ)
        assert first is not None
        assert second is not None
        path = {"path": str(folder / "a.txt")}
        with first, second:
            found = [
                second.call("readFile", path),
                first.call("join", {"agent": "robot", "folder": str(folder)}),
                first.call("join", {"agent": "other", "folder": str(folder)}),
                first.call("readFile", path),
                second.call("readFile", {**path, "token": "0" * 64, "session": "robot"}),
                second.call("beginTurn"),
                second.call("writeFile", {**path, "content": "x"}),
                first.call("writeFile", {**path, "content": "x"}),
                first.call("join", {"agent": ["robot"], "folder": 7}),
            ]
        return found

    async with a_product(folder, {}, answer=yes) as product:
        await until_it_can_be_found(folder)
        answers = await asyncio.to_thread(calls)
        kinds = [a["refused"]["kind"] if "refused" in a else a for a in answers]
        nobody = "unknown_session"
        assert kinds == [
            nobody,
            {},
            "bad_params",
            {"content": "text\n"},
            nobody,
            nobody,
            nobody,
            "withdrawn",  # no turn runs
            "bad_params",
        ]
        async with asyncio.timeout(60):
            while (await product.execute("sidecar.status"))["sessions"]:
                pass
    assert (folder / "a.txt").read_text() == "text\n"


@pytest.mark.parametrize("content", ["x" * 11_000_000, "é" * 6_000_000])
async def test_a_text_beyond_the_limit_is_refused_and_the_session_goes_on(
    tmp_path: Path, content: str
) -> None:
    message = {"sessionId": "s1", "path": str(tmp_path / "big"), "content": content}
    (tmp_path / "line").write_text(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "fs/write_text_file", "params": message}) + "\n"
    )
    steps: list[Message] = [{"lines": str(tmp_path / "line")}, {"await": "1"}, {"say": {"answer": "1"}}]
    async with Talk(behind_proxy(agent({"turns": [steps]}, file=tmp_path / "script")), tmp_path) as talk:
        await talk.prompt(await talk.session())
        assert talk.answers()[0]["error"]["data"]["errorKind"] == "too_large"
    assert not (tmp_path / "big").exists()
