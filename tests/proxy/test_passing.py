"""The law of the proxy: what it does not answer passes through, byte for byte, whatever it is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.acp.messages import encode
from sidecar.acp.quirks import NONE
from sidecar.proxy.announcing import with_files
from sidecar.proxy.conversations import Conversations
from sidecar.proxy.file_requests import FileRequests
from sidecar.proxy.passing import Passing
from sidecar.proxy.relay import LineTooLong, relay
from tests.proxy.talk import Talk, agent, behind_proxy, processes


class Nobody:
    """Conversations and requests that do nothing but remember."""

    def __init__(self) -> None:
        self.taken: list[tuple[bytes, Any]] = []

    def asked(self, head: Any) -> None: ...
    def answered(self, head: Any) -> None: ...
    def told(self, line: bytes) -> None: ...
    async def room(self) -> None: ...
    def takes_back(self, params: object) -> bool:
        return False

    def take(self, request_id: bytes, message: Any) -> None:
        self.taken.append((request_id, message))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
METHODS = st.sampled_from(
    [
        "session/prompt",
        "session/update",
        "session/new",
        "_x/y",
        "fs/list",
        "$/cancel_request",
        "terminal/create",
    ]
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": JSON,
        "method": METHODS | JSON,
        "params": JSON,
        "result": JSON,
        "error": JSON,
        "_meta": JSON,
        "unknown": JSON,
    },
)
LINES = (
    st.binary(max_size=60).map(lambda data: data.replace(b"\n", b""))
    | MESSAGES.map(encode)
    | MESSAGES.map(
        lambda message: json.dumps(message, indent=None, separators=(" , ", " : ")).encode() + b"\r"
    )
    | st.lists(MESSAGES, max_size=3).map(encode)
)


@given(LINES)
def test_a_line_passes_as_it_is(line: bytes) -> None:
    nobody = Nobody()
    passing = Passing(nobody, nobody)
    assert asyncio.run(_both(passing, line)) == (line, line)
    assert nobody.taken == []


ODD_VALUES = st.sampled_from(
    [
        b"1e999",
        b"-1e999",
        b"9" * 4000,
        b"9" * 5000,
        b"1" + b"0" * 400 + b".5",
        b"1e-999",
        b"-0",
        b"1.0",
        b"null",
        b"[[]]",
        b'"\\ud800"',
        b'"\\u0000"',
        b"[" * 3000 + b"]" * 3000,
        b'{"a":1,"a":2}',
        b"NaN",
        b"01",
        b'"' + b"x" * 5000 + b'"',
    ]
)
ODD_LINES = st.tuples(
    st.sampled_from(
        [
            b"session/new",
            b"session/prompt",
            b"session/cancel",
            b"$/cancel_request",
            b"initialize",
            b"session/update",
        ]
    ),
    ODD_VALUES,
    ODD_VALUES,
    st.sampled_from([b"sessionId", b"requestId", b"protocolVersion", b"cwd", b"update"]),
)


@given(ODD_LINES)
def test_a_line_with_values_that_nobody_can_read_passes(parts: tuple[bytes, bytes, bytes, bytes]) -> None:
    """Also through what looks into it, and without a word in the log: nothing has failed."""
    method, number, value, name = parts
    line = b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":{"%b":%b,"tool_call":0}}' % (
        number,
        method,
        name,
        value,
    )

    async def passed() -> tuple[bytes | None, bytes | None]:
        conversations = Conversations(lambda place, *_: Guests())
        requests = FileRequests(conversations.guest, Kept(), NONE)
        passing = Passing(conversations, requests)
        answer = line.replace(b'"method"', b'"result"')
        assert await passing._from_agent(answer) == answer
        return await passing._from_client(line), await passing._from_agent(line)

    if method != b"initialize" or value != b"1.0":
        assert asyncio.run(passed()) == (line, line)


class Guests:
    """One that is never told of anything."""


async def _both(passing: Passing, line: bytes) -> tuple[bytes | None, bytes | None]:
    return await passing.from_client(line), await passing.from_agent(line)


class Pieces:
    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    async def read(self, most: int, /) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


class Kept:
    full = False
    waiting = taken = 0

    def __init__(self) -> None:
        self.data = b""

    def write(self, *parts: bytes) -> None:
        self.data += b"".join(parts)

    async def drain(self) -> None: ...
    def close(self) -> None: ...


async def _as_it_is(line: bytes) -> bytes:
    return line


@given(
    st.lists(st.binary(min_size=1, max_size=20) | st.sampled_from([b"\n", b"\n\n", b"{}\r\n"]), max_size=20)
)
def test_lines_arrive_as_they_were_whatever_the_pieces(pieces: list[bytes]) -> None:
    sink = Kept()
    asyncio.run(relay(Pieces(list(pieces)), sink, _as_it_is))
    assert sink.data == b"".join(pieces)


async def test_a_line_that_is_too_long_ends_it() -> None:
    sink = Kept()
    with pytest.raises(LineTooLong):
        await relay(Pieces([b"short\n", b"x" * 60, b"y" * 60, b"\n"]), sink, _as_it_is, 100)
    assert sink.data == b"short\n"


async def test_nothing_is_read_for_one_that_does_not_read() -> None:
    """Backpressure: what the sink does not take stays where it is."""

    class Full(Kept):
        def __init__(self) -> None:
            super().__init__()
            self.room = asyncio.Event()

        async def drain(self) -> None:
            await self.room.wait()

    source, sink = Pieces([b"%d\n" % number for number in range(100)]), Full()
    relaying = asyncio.ensure_future(relay(source, sink, _as_it_is))
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(source.pieces) == 99
    sink.room.set()
    await relaying
    assert sink.data == b"".join(b"%d\n" % number for number in range(100))


INITIALIZE = b'{"jsonrpc":"2.0", "id":"\\u0061","method":"initialize","extra":1.0,"params":%b}'


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        (
            b'{"protocolVersion":1,"_meta":{"n":1e5}}',
            b'{"protocolVersion":1,"_meta":{"n":1e5},"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}',
        ),
        (
            b'{"protocolVersion":1,"clientCapabilities":{"terminal":true,"fs":{"readTextFile":false,"_meta":{}},"x":[1.50]}}',
            b'{"protocolVersion":1,"clientCapabilities":{"terminal":true,"fs":{"readTextFile":true,"_meta":{},"writeTextFile":true},"x":[1.50]}}',
        ),
        (
            b'{"protocolVersion":1,"clientCapabilities":null}',
            b'{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}',
        ),
    ],
)
def test_initialize_says_that_there_are_files_and_nothing_else_changes(params: bytes, wanted: bytes) -> None:
    assert with_files(INITIALIZE % params) == (INITIALIZE % wanted).replace(b'"2.0", ', b'"2.0",')


@pytest.mark.parametrize("params", [b'{"protocolVersion":2,"capabilities":{}}', b"[]", b"null", b"{}"])
def test_initialize_of_another_version_passes(params: bytes) -> None:
    assert (
        with_files(INITIALIZE % params) is INITIALIZE % params
        or with_files(INITIALIZE % params) == INITIALIZE % params
    )


READ = b'{"id":%b,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}'


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (READ % b"1", b"1"),
        (READ % b'"a\\u0062"', b'"a\\u0062"'),
        (READ % b"-7", b"-7"),
        (READ.replace(b"fs/read", b"fs\\/read") % b"2", b"2"),
        (b'{"id":3,"method":"fs/write_text_file","params":{"content":"\\ud800"}}', b"3"),
        (b'{"id":4,"method":"fs/write_text_file","params":%b}' % (b"[" * 5000 + b"]" * 5000), b"4"),
    ],
)
async def test_requests_for_files_are_taken_with_their_ids(line: bytes, request_id: bytes) -> None:
    nobody = Nobody()
    passing = Passing(nobody, nobody)
    assert await passing.from_agent(line) is None
    assert [taken for taken, _ in nobody.taken] == [request_id]
    assert await passing.from_client(line) == line, "from a client it is none of ours"


@pytest.mark.parametrize("request_id", [b"null", b"{}", b"[1]", b"true", b"1.5"])
async def test_what_is_no_request_passes(request_id: bytes) -> None:
    nobody = Nobody()
    assert await Passing(nobody, nobody).from_agent(READ % request_id) == READ % request_id
    assert nobody.taken == []


ODD = (
    '{"jsonrpc": "2.0",  "method":"_vendor/told","params":{"n":1.0,"big":123456789012345678901234567890,"e":1E5,"_meta":{"a":"\\u00e9"}}}\n'
    "no JSON at all\n\n"
    '[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]\r\n'
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"later_kind","x":"\\ud83d"}}}\n'
    '{"jsonrpc":"2.0","id":9007199254740993,"result":{}}\n'
    '{"half":\n'
)
SCRIPT = {
    "turns": [
        [
            {"raw": ODD},
            {"ask": {"toolCall": {"toolCallId": "t"}, "options": []}, "as": "asked"},
            {"say": {"answer": "asked"}},
            {"request": "_vendor/asks", "params": {"deep": [[[[1]]]]}, "as": "vendor"},
            {
                "send": {
                    "jsonrpc": "2.0",
                    "id": "text-id",
                    "method": "terminal/create",
                    "params": {"command": "x"},
                }
            },
            {"await": "text-id"},
            {"stderr": "a word on stderr\n"},
        ],
        [{"wait_for": "session/cancel"}, {"stop": "cancelled"}],
    ],
    "_vendor/ask": [{"fail": {"code": -32099, "message": "no", "data": {"why": [1, None]}}}],
}
ASKED = (
    b'{"jsonrpc":"2.0","id":"one", "method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}}\n',
    b'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"CWD","mcpServers":[],"_meta":{"x":1.0}},"unknown":{}}\n',
    b'{"jsonrpc":"2.0","id":"\\u0033","method":"_vendor/ask","params":{"x":"\xc3\xa9 \\u00e9"}}\r\n',
    b'{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}],"_meta":{}}}\n',
)


async def recorded(argv: list[str], folder: Path) -> tuple[bytes, bytes, int]:
    """What the client got, what stderr says, and the exit code."""
    async with Talk(argv, folder) as talk:
        for line, number in zip(ASKED, ("one", 2, "3", 4), strict=True):
            await talk.ask_raw(line.replace(b"CWD", str(folder).encode()), number)
        answer = asyncio.ensure_future(talk.prompt("s1"))
        talk.tell("session/cancel", {"sessionId": "s1"})
        await answer
        code = await talk.hang_up()
    return talk.received, talk.errors, code


@processes
async def test_a_recording_with_the_proxy_is_one_without_it(tmp_path: Path) -> None:
    """Both directions of a whole session with odd lines: the client gets the same bytes, and so does the agent but for `initialize`, which here
    announces files anyhow."""
    script = tmp_path / "script"
    bare = await recorded(agent(SCRIPT, tmp_path / "bare", script), tmp_path)
    through = await recorded(behind_proxy(agent(SCRIPT, tmp_path / "through", script)), tmp_path)
    assert through[0] == bare[0]
    assert ODD.encode() in bare[0]
    assert bare[1] == b"a word on stderr\n"
    assert bare[1] in through[1]
    assert through[2] == bare[2] == 0
    first, *others = (tmp_path / "through").read_bytes().splitlines(keepends=True)
    wanted, *bare_others = (tmp_path / "bare").read_bytes().splitlines(keepends=True)
    assert others == bare_others
    assert len(others) == 8
    assert first == wanted.replace(b'"one", ', b'"one",')


@processes
async def test_the_client_is_told_what_can_be_chosen_as_the_agent_said_it(tmp_path: Path) -> None:
    """New, loaded and forked: its pickers are those that it has without the proxy."""
    able = {
        "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask"}]},
        "configOptions": [],
        "models": {"x": 1},
    }
    script = {f"session/{how}": [{"reply": {"sessionId": how, **able}}] for how in ("new", "load", "fork")}
    async with Talk(behind_proxy(agent(script)), tmp_path) as client:
        await client.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        for how in ("new", "load", "fork"):
            answer = await client.ask(
                f"session/{how}", {"sessionId": "s", "cwd": str(tmp_path), "mcpServers": []}
            )
            assert answer["result"] == {"sessionId": how, **able}
