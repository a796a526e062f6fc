"""The first answers are the library's, and come before it is imported."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from sidecar.mcp import library
from sidecar.mcp.front import STATELESS, VERSIONS, Front, serve
from tests.support.waiting import eventually

Json = dict[str, Any]


def request(method: str, number: int | str | None = 1, **params: object) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})


def opening(version: str) -> list[Json]:
    client = {"name": "test", "version": "1"}
    return [
        request("initialize", 1, protocolVersion=version, capabilities={}, clientInfo=client),
        request("notifications/initialized", None),
    ]


def lines(messages: list[Json]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Client(io.BytesIO):
    """Hangs up once it has what it wants: what is asked for when a client hangs up is not answered."""

    def __init__(self, data: bytes, has_all: Callable[[], bool]) -> None:
        super().__init__(data)
        self._has_all = has_all

    def readline(self, size: int | None = -1, /) -> bytes:
        return super().readline(size) or eventually(lambda: self._has_all() and b"\0", "the answers")[:0]


class Called:
    async def hello(self) -> None: ...

    async def call(self, name: str, arguments: Any, session: str) -> Json:
        return {"content": [{"type": "text", "text": f"{name} {json.dumps(arguments)}"}]}


def by_library(messages: list[Json], said: int = 0) -> list[Json]:
    """What the library answers; the first `said` messages were answered before."""
    given = [json.dumps(message).encode() + b"\n" for message in messages[:said]]
    answers: list[bytes] = []
    wanted = len([message for message in messages[said:] if "id" in message])
    client = Client(lines(messages[said:]), lambda: len(answers) == wanted)
    anyio.run(library.run, Called(), given, None, client, answers.append)
    # it answers in any order
    return sorted((json.loads(answer) for answer in answers), key=lambda answer: str(answer["id"]))


def by_front(messages: list[Json]) -> tuple[Front, list[Json]]:
    front, answers = Front(), list[bytes]()
    serve(front, io.BytesIO(lines(messages)), answers.append)
    return front, [json.loads(answer) for answer in answers]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_answers_as_the_library(version: str) -> None:
    messages = [*opening(version), request("ping", 2), request("tools/list", "three")]
    front, answers = by_front(messages)
    assert front.done
    assert len(answers) == 3
    assert answers == by_library(messages)


def test_the_same_answers_as_the_library_without_a_handshake() -> None:
    messages = [request("server/discover", 1, _meta=ENVELOPE), request("tools/list", 2, _meta=ENVELOPE)]
    front, answers = by_front(messages)
    assert front.done
    assert len(answers) == 2
    assert answers == by_library(messages)


def test_who_asks_for_the_newest_version_may_still_shake_hands() -> None:
    """As Claude does when the first answer is late: the library alone refuses the handshake then, and no tool of ours is ever there."""
    messages = [
        request("server/discover", "probe", _meta=ENVELOPE),
        *opening(VERSIONS[-1]),
        request("tools/list", 2),
    ]
    front, answers = by_front(messages)
    assert [answer["id"] for answer in answers] == ["probe", 1, 2]
    assert all("error" not in answer for answer in answers)
    call = request("tools/call", 3, name="Read", arguments={})
    (answer,) = by_library([*map(json.loads, front.said), call], said=2)
    assert "content" in answer["result"]


def test_every_version_with_a_handshake_is_known() -> None:
    assert VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert (STATELESS,) == MODERN_PROTOCOL_VERSIONS


OTHERS = [
    [
        request(
            "server/discover", 1, _meta=ENVELOPE | {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}
        )
    ],
    [request("server/discover", 1, _meta={"io.modelcontextprotocol/protocolVersion": STATELESS})],
    [request("server/discover", 1, _meta=ENVELOPE), request("tools/call", 2, name="Read", _meta=ENVELOPE)],
    [
        request(
            "initialize",
            1,
            protocolVersion="1999-01-01",
            capabilities={},
            clientInfo={"name": "t", "version": "1"},
        )
    ],
    [request("server/discover")],
    [request("tools/list")],
    [{"jsonrpc": "2.0"}],
    [*opening(VERSIONS[-1]), request("tools/call", 2, name="Read", arguments={})],
    [*opening(VERSIONS[-1]), request("tools/list", 2, cursor="next")],
]


@pytest.mark.parametrize("messages", OTHERS)
def test_everything_else_is_left_to_the_library(messages: list[Json]) -> None:
    front, answers = by_front(messages)
    assert front.left is not None
    assert json.loads(front.left) == messages[-1]
    assert len(answers) == len([m for m in messages[:-1] if "id" in m])


def test_the_library_goes_on_where_the_front_ended() -> None:
    call = request("tools/call", 7, name="Read", arguments={"file_path": "ä\ud800.txt".replace("\ud800", "")})
    answers = by_library([*opening(VERSIONS[-1]), call], said=2)
    assert [answer["id"] for answer in answers] == [7], "the handshake is not answered twice"
    assert answers[0]["result"]["content"][0]["text"] == 'Read {"file_path": "\\u00e4.txt"}'


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"\xff\xfe\n", None, -32700),
        (b"{}\n", None, -32600),
        (b'{"id": 5, "method": 7}\n', 5, -32600),
        (b"[1]\n", None, -32600),
    ],
)
def test_what_is_not_understood_is_answered(line: bytes, number: int | None, code: int) -> None:
    """The library says nothing then, and a client would wait for ever."""
    answers: list[bytes] = []
    anyio.run(library.run, Called(), [], line, io.BytesIO(b""), answers.append)
    (answer,) = [json.loads(answer) for answer in answers]
    assert (answer["id"], answer["error"]["code"]) == (number, code)


def test_the_list_of_tools_imports_no_library() -> None:
    """What makes it early: nothing of what takes long is imported before it is answered."""
    program = (
        "import sys; from sidecar.mcp import tool_process, front; import io, sidecar.cli; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'mcp', 'mcp_types', 'pydantic', 'anyio', 'asyncio'}))"
    )
    found = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]", found.stdout
