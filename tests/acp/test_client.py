"""One connection to an agent, the agent's half played by the test in raw messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from sidecar.acp.client import AgentConnection, Gone
from sidecar.acp.limits import Limits
from sidecar.acp.permission import ToolCalls, options_of
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.text import Text
from sidecar.workspace.ports import AgentFailed, SessionRequest
from tests.support.acp_wire import HANGS, Done, FakeWorkspace, Ticket, Wire, chunk

LIMITS = Limits(initialize=HANGS, silence=HANGS, close=HANGS)
"""Where they must not be reached, however busy the machine is."""
QUICK = 0.3
"""Seconds; where one is waited for."""
INITIALIZED: dict[str, Any] = {"protocolVersion": 1}


class Side:
    def __init__(
        self, *, fs: bool = True, workspace: FakeWorkspace | None = None, limits: Limits = LIMITS
    ) -> None:
        self.wire = Wire()
        self.workspace = workspace or FakeWorkspace()
        self.agent = AgentConnection(
            "fake", self.wire.reader, self.wire, self.workspace, fs=fs, limits=limits
        )

    async def ready(self, capabilities: object = None) -> Side:
        task = asyncio.ensure_future(self.agent.initialize())
        await self.wire.reply("initialize", {**INITIALIZED, "agentCapabilities": capabilities or {}})
        await task
        return self

    async def open(self, name: str = "a1", ours: str = "S1", **request: Any) -> Any:
        self.wire.sent.clear()
        task = asyncio.ensure_future(self.agent.new_session(SessionRequest(ours, "fake", "/w", **request)))
        await self.wire.reply("session/new", {"sessionId": name})
        return await task


@asynccontextmanager
async def opened(**how: Any) -> AsyncIterator[Side]:
    """Connected, with the agent's session a1 being S1."""
    side = Side(**how)
    try:
        async with asyncio.timeout(HANGS):
            await (await side.ready()).open()
            yield side
    finally:
        await side.agent.close()


# initialize


async def test_initialize_says_both_or_neither() -> None:
    for fs in (True, False):
        async with opened(fs=fs) as side:
            side.wire.sent.clear()
            asyncio.ensure_future(side.agent.initialize()).add_done_callback(lambda task: task.exception())
            params = (await side.wire.asked("initialize"))["params"]
            assert params["protocolVersion"] == 1
            assert params["clientCapabilities"] == {
                "fs": {"readTextFile": fs, "writeTextFile": fs},
                "terminal": fs,
                "session": {"configOptions": {"boolean": {}}},
            }
            assert params["clientInfo"]["name"] == "acp-sidecar"


# what the agent answers · kind of failure · words in it
HANDSHAKES: list[tuple[object, str, str]] = [
    ({"protocolVersion": 2}, "protocol_version", "version 2"),
    ({"protocolVersion": 0}, "protocol_version", "version 0"),
    ({"protocolVersion": "x"}, "protocol_version", "not ACP"),
    ({}, "protocol_version", "not ACP"),
    (None, "protocol_version", "not ACP"),
    ([1], "protocol_version", "not ACP"),
    ("hello", "protocol_version", "not ACP"),
]


@pytest.mark.parametrize(("answer", "kind", "words"), HANDSHAKES)
async def test_handshake_fails(answer: object, kind: str, words: str) -> None:
    side = Side()
    task = asyncio.ensure_future(side.agent.initialize())
    await side.wire.reply("initialize", answer)
    with pytest.raises(AgentFailed, match=words) as raised:
        await task
    assert raised.value.kind == kind
    await side.agent.close()


async def test_handshake_never_answered() -> None:
    side = Side(limits=replace(LIMITS, initialize=QUICK))
    with pytest.raises(AgentFailed, match="has not answered `initialize`") as raised:
        await side.agent.initialize()
    assert raised.value.kind == "timeout"
    await side.agent.close()


# oddities of capabilities that must not matter
CAPABILITIES: list[object] = [
    {},
    {"promptCapabilities": None, "sessionCapabilities": None},
    {"promptCapabilities": "yes", "sessionCapabilities": [], "mcpCapabilities": 3},
    {"loadSession": "true", "models": {"current": "x"}, "auth": 5},
]


@pytest.mark.parametrize("capabilities", CAPABILITIES, ids=str)
async def test_odd_capabilities(capabilities: object) -> None:
    side = await Side().ready(capabilities)
    assert not side.agent.facts.embedded_context
    assert not side.agent.facts.images
    await side.agent.close()


async def test_capabilities() -> None:
    side = await Side().ready(
        {
            "promptCapabilities": {"embeddedContext": True, "image": True},
            "sessionCapabilities": {"close": {}, "additionalDirectories": {}},
        }
    )
    assert side.agent.facts.embedded_context
    assert side.agent.facts.images
    assert side.agent.facts.close
    servers = (
        {"name": "a", "command": "/a", "args": [], "env": []},
        {"type": "http", "name": "b", "url": "http://x"},
    )
    await side.open(additional_directories=("/more",), mcp_servers=servers)
    params = (await side.wire.asked("session/new"))["params"]
    assert params == {"cwd": "/w", "additionalDirectories": ["/more"], "mcpServers": [servers[0]]}
    await side.agent.close()


# sessions


async def test_answers_to_session_new_that_are_none() -> None:
    side = await Side().ready()
    for answer in (None, {}, {"sessionId": 5}, {"sessionId": None}, "a1"):
        side.wire.sent.clear()
        task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
        await side.wire.reply("session/new", answer)
        with pytest.raises(AgentFailed, match="no session id"):
            await task
    await side.open("a1")
    with pytest.raises(AgentFailed, match="session that is open"):
        await side.open("a1", "S2")
    await side.agent.close()


async def test_session_new_may_take_as_long_as_the_agent_lives() -> None:
    side = await Side(limits=replace(LIMITS, silence=QUICK)).ready()
    side.agent.transport.heard_at += HANGS  # as one that never stops talking
    task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
    await asyncio.sleep(2 * QUICK)
    assert not task.done()
    await side.wire.reply("session/new", {"sessionId": "a1"})
    assert (await task).agent_session_id == "a1"
    with pytest.raises(AgentFailed, match="has not answered `session/new`"):
        await side.agent.new_session(SessionRequest("S2", "fake", "/w"))
    await side.agent.close()


async def test_updates_before_the_session_is_known_are_kept_in_order() -> None:
    side = await Side().ready()
    task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
    request = await side.wire.asked("session/new")
    for n in range(3):
        side.wire.update("a1", f"{n} ")
        side.wire.update("other", "not ours ")
    side.wire.feed({"jsonrpc": "2.0", "id": request["id"], "result": {"sessionId": "a1"}})
    side.wire.update("a1", "3 ")
    await task
    side.wire.request(1, "ping")
    await side.wire.answered(1)
    assert side.workspace.said() == "0 1 2 3 "
    await side.agent.close()


async def test_large_updates_before_the_session_is_known_are_few() -> None:
    side = await Side().ready()
    task = asyncio.ensure_future(side.agent.new_session(SessionRequest("S1", "fake", "/w")))
    await side.wire.asked("session/new")
    for number in range(100):
        side.wire.update("a1", f"{number} " + "x" * 10**6)
    await side.wire.reply("session/new", {"sessionId": "a1"})
    await task
    assert 0 < len(side.workspace.updates) < 40
    await side.agent.close()


async def test_login_wanted() -> None:
    side = Side()
    task = asyncio.ensure_future(side.agent.initialize())
    methods = [
        {"id": "key", "name": "API key\u202e"},
        {"id": "browser", "name": "Browser"},
        "odd",
        {"name": "no id"},
    ]
    await side.wire.reply("initialize", {**INITIALIZED, "authMethods": methods})
    await task
    opening = asyncio.ensure_future(side.agent.new_session(SessionRequest("S", "fake", "/w")))
    request = await side.wire.asked("session/new")
    side.wire.feed(
        {
            "jsonrpc": "2.0",
            "id": request["id"],
            "error": {"code": -32000, "message": "Authentication required"},
        }
    )
    with pytest.raises(AgentFailed, match=r"API key\\u202e, Browser") as raised:
        await opening
    assert raised.value.kind == "auth_required"
    assert [method["id"] for method in raised.value.data["methods"]] == ["key", "browser"]
    await side.agent.close()


async def test_the_end_in_the_middle() -> None:
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", []))
        await side.wire.asked("session/prompt")
        side.wire.reader.feed_eof()
        with pytest.raises(Gone):
            await turn


# turns


async def test_a_turn_ends_after_its_updates() -> None:
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", [{"type": "text", "text": "hi", "extra": 1}]))
        request = await side.wire.asked("session/prompt")
        assert request["params"] == {
            "sessionId": "a1",
            "prompt": [{"type": "text", "text": "hi", "extra": 1}],
        }
        for n in range(100):
            side.wire.update("a1", f"{n} ")
        side.wire.feed(
            {"jsonrpc": "2.0", "id": request["id"], "result": {"stopReason": "end_turn", "usage": 5}}
        )
        assert await turn == "end_turn"
        assert side.workspace.said("S1") == "".join(f"{n} " for n in range(100))


UPDATES: list[object] = [
    None,
    {},
    {"sessionId": "a1"},
    {"sessionId": "a1", "update": None},
    {"sessionId": "a1", "update": []},
    {"sessionId": 5, "update": {"sessionUpdate": "x"}},
    {"sessionId": "unknown", "update": {"sessionUpdate": "x"}},
]


@pytest.mark.parametrize("params", UPDATES, ids=str)
async def test_updates_that_are_none(params: object) -> None:
    async with opened() as side:
        side.wire.notify("session/update", params)
        side.wire.update("a1", "fine")
        side.wire.request(1, "ping")
        await side.wire.answered(1)
        assert side.workspace.updates == [("S1", chunk("fine"))]


async def test_updates_are_handed_on_as_they_are() -> None:
    async with opened() as side:
        update = {"sessionUpdate": "no_such_thing", "x": [1, None, {"jsonrpc": "2.0"}], "_meta": {"y": 1}}
        side.wire.notify("session/update", {"sessionId": "a1", "update": update})
        side.wire.request(1, "ping")
        await side.wire.answered(1)
        assert side.workspace.updates == [("S1", update)]


async def test_unknown_requests_and_notifications() -> None:
    async with opened() as side:
        side.wire.notify("no/such/thing", {"x": 1})
        for number, method in enumerate(("terminal/resize", "no/such/thing", "_ext/x", "session/update")):
            side.wire.request(number, method, {"sessionId": "a1"})
            assert (await side.wire.answered(number))["error"]["code"] == -32601


# files: method · params beyond the session · code, errorKind, or what the workspace got

READ, WRITE = "fs/read_text_file", "fs/write_text_file"
FILES: list[tuple[str, dict[str, Any], object]] = [
    (READ, {"path": "/f"}, ("read", "/f", None, None)),
    (READ, {"path": "/f", "line": None, "limit": None}, ("read", "/f", None, None)),
    (READ, {"path": "/f", "line": 0, "limit": 0}, ("read", "/f", 0, 0)),
    (READ, {"path": "/f", "line": 3, "limit": 2**70}, ("read", "/f", 3, 2**70)),
    (READ, {"path": "/f", "line": -1}, (-32602, "bad_range")),
    (READ, {"path": "/f", "line": "3"}, (-32602, "bad_range")),
    (READ, {"path": "/f", "line": 1.0}, (-32602, "bad_range")),
    (READ, {"path": "/f", "line": True}, (-32602, "bad_range")),
    (READ, {"path": "/f", "limit": -5}, (-32602, "bad_range")),
    (READ, {"path": "/f", "limit": []}, (-32602, "bad_range")),
    (READ, {}, (-32602, "bad_path")),
    (READ, {"path": None}, (-32602, "bad_path")),
    (READ, {"path": ["/f"]}, (-32602, "bad_path")),
    (READ, {"path": ""}, (-32602, "bad_path")),
    (READ, {"path": "f"}, (-32602, "bad_path")),
    (READ, {"path": "./f"}, (-32602, "bad_path")),
    (READ, {"path": "~/f"}, (-32602, "bad_path")),
    (READ, {"path": "/f\0"}, (-32602, "bad_path")),
    (READ, {"path": "file:///f"}, (-32602, "bad_path")),
    (READ, {"path": "/" + "f" * 4096}, (-32602, "bad_path")),
    (READ, {"path": "/\ud800"}, (-32602, "bad_path")),
    (READ, {"path": "/missing"}, (-32002, "not_found")),
    (READ, {"path": "/f", "sessionId": "a2"}, (-32602, "unknown_session")),
    (READ, {"path": "/f", "sessionId": "S1"}, (-32602, "unknown_session")),
    (READ, {"path": "/f", "sessionId": 5}, (-32602, "unknown_session")),
    (READ, {"path": "/f", "_meta": {"path": "/etc/passwd", "session_id": "x", "limit": 9}}, ("read", "/f", None, None)),
    (WRITE, {"path": "/f", "content": "new"}, ("write", "/f", "new")),
    (WRITE, {"path": "/f", "content": ""}, ("write", "/f", "")),
    (WRITE, {"path": "/f", "content": "\ud800"}, ("write", "/f", "\ud800")),
    (WRITE, {"path": "/f"}, (-32602, "bad_range")),
    (WRITE, {"path": "/f", "content": None}, (-32602, "bad_range")),
    (WRITE, {"path": "/f", "content": 5}, (-32602, "bad_range")),
    (WRITE, {"content": "new"}, (-32602, "bad_path")),
    (WRITE, {"path": "/f", "content": "x", "_meta": {"path": "/etc/passwd", "content": "EVIL"}}, ("write", "/f", "x")),
]  # fmt: skip


@pytest.mark.parametrize(("method", "params", "expected"), FILES, ids=lambda value: str(value)[:70])
async def test_files(method: str, params: dict[str, Any], expected: tuple[Any, ...]) -> None:
    async with opened() as side:
        side.workspace.files["/f"] = "text"
        side.wire.request(1, method, {"sessionId": "a1", **params})
        answer = await side.wire.answered(1)
        if isinstance(expected[0], int):
            assert (answer["error"]["code"], answer["error"]["data"]["errorKind"]) == expected
        else:
            assert answer["result"] == ({"content": "text"} if method == READ else {})
            assert side.workspace.log[-1] == expected
            assert side.workspace.tickets[-1].session_id == "S1"
        assert all(ticket.released for ticket in side.workspace.tickets)


async def test_a_missing_file_in_acps_words() -> None:
    async with opened() as side:
        side.wire.request(1, READ, {"sessionId": "a1", "path": "/missing"})
        error = (await side.wire.answered(1))["error"]
        assert (error["message"], error["data"]["uri"]) == ("Resource not found", "/missing")


CODES = {
    Kind.NOT_FOUND: -32002,
    Kind.OUTSIDE: -32002,
    Kind.SYMLINK_ESCAPE: -32002,
    Kind.BAD_PATH: -32602,
    Kind.BAD_RANGE: -32602,
    Kind.NOT_A_FILE: -32602,
    Kind.BINARY: -32602,
    Kind.UNDECODABLE: -32602,
    Kind.TOO_LARGE: -32602,
    Kind.UNKNOWN_SESSION: -32602,
}


@pytest.mark.parametrize("method", [READ, WRITE])
@pytest.mark.parametrize("kind", Kind)
async def test_refusals(kind: Kind, method: str) -> None:
    async with opened() as side:
        side.workspace.refusal = Refusal(kind, "fixed words", {"more": [1]})
        side.workspace.files["/f"] = ""
        side.wire.request(1, method, {"sessionId": "a1", "path": "/f", "content": "x"})
        error = (await side.wire.answered(1))["error"]
        assert error["code"] == CODES.get(kind, -32010)
        assert error["data"]["errorKind"] == kind.value
        assert error["data"]["more"] == [1]
        assert error["message"] == ("Resource not found" if kind is Kind.NOT_FOUND else "fixed words")


async def test_what_goes_wrong_inside_stays_inside() -> None:
    async with opened() as side:

        async def read(*_: Any) -> str:
            raise RuntimeError("/home/me/.ssh/id_rsa")

        side.workspace.read = read  # type: ignore[method-assign]
        side.wire.request(1, READ, {"sessionId": "a1", "path": "/f"})
        answer = await side.wire.answered(1)
        assert answer["error"] == {
            "code": -32603,
            "message": "Internal error",
            "data": {"errorKind": "internal"},
        }
        assert side.workspace.tickets[0].released


async def test_what_became_of_a_write() -> None:
    async with opened() as side:
        for number, (done, meta) in enumerate(
            [
                (Done(), None),
                (Done(True), {"saved": True}),
                (
                    Done(False, "the user has unsaved changes"),
                    {"saved": False, "note": "the user has unsaved changes"},
                ),
            ]
        ):
            side.workspace.done = done
            side.wire.request(number, WRITE, {"sessionId": "a1", "path": "/f", "content": "x"})
            assert (await side.wire.answered(number))["result"] == ({} if meta is None else {"_meta": meta})


async def test_pipelined_write_write_read() -> None:
    async with opened() as side:
        gate = side.workspace.gates["/f"] = asyncio.Event()
        where = {"sessionId": "a1", "path": "/f"}
        side.wire.request(1, WRITE, {**where, "content": "one"})
        side.wire.request(2, WRITE, {**where, "content": "two"})
        side.wire.request(3, READ, where)
        side.wire.request(4, READ, {**where, "path": "/g"})
        side.workspace.files["/g"] = "other files do not wait"
        assert (await side.wire.answered(4))["result"]["content"].startswith("other")
        gate.set()
        assert (await side.wire.answered(3))["result"] == {"content": "two"}
        assert [entry[:2] for entry in side.workspace.log if entry[0] == "ticket"][:3] == [
            ("ticket", "write"),
            ("ticket", "write"),
            ("ticket", "read"),
        ]


class ReadsNow(FakeWorkspace):
    """Answers reads at once unless the file's queue is not empty."""

    def read_now(self, ticket: Ticket, line: int | None, limit: int | None) -> Text | str | Refusal | None:
        if any(
            not other.released for other in self.tickets if other is not ticket and other.path == ticket.path
        ):
            return None
        self.log.append(("read now", ticket.path))
        if ticket.path not in self.files:
            return Refusal(Kind.NOT_FOUND, "not there")
        text = self.files[ticket.path]
        return text if line else Text.of(text)


# odd characters must survive both ways of writing an answer
TEXTS = ["", "a\n", 'quo"te\\\t\x00\x1f\x7f', "äé😀\u2028\u2029\x85", "\ud800x", "long" * 100_000]


@pytest.mark.parametrize("line", [None, 1])
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:20]))
async def test_reads_answered_at_once(text: str, line: int | None) -> None:
    async with opened(workspace=ReadsNow()) as side:
        side.workspace.files["/f"] = text
        where = {"sessionId": "a1", "path": "/f", "line": line}
        for number in ("x\u2028", "\ud800", 2, None):
            side.wire.request(number, READ, where)
            assert (await side.wire.answered(number))["result"] == {"content": text}
        side.wire.request(3, READ, {**where, "path": "/g"})
        assert (await side.wire.answered(3))["error"]["code"] == -32002
        assert all(ticket.released for ticket in side.workspace.tickets)


async def test_reads_at_once_keep_their_place() -> None:
    async with opened(workspace=ReadsNow()) as side:
        gate = side.workspace.gates["/f"] = asyncio.Event()
        side.workspace.files = {"/f": "old", "/g": "g"}
        where = {"sessionId": "a1", "path": "/f"}
        side.wire.request(1, WRITE, {**where, "content": "new"})
        side.wire.request(2, READ, where)
        side.wire.request(3, READ, {**where, "path": "/g"})
        await side.wire.answered(3)
        gate.set()
        assert (await side.wire.answered(2))["result"] == {"content": "new"}
        assert [entry for entry in side.workspace.log if entry[0] == "read now"] == [("read now", "/g")]


async def test_reads_wait_for_an_agent_that_does_not_read() -> None:
    async with opened(workspace=ReadsNow()) as side:
        side.workspace.files["/f"] = "text"
        side.wire.room.clear()
        for number in range(300):
            side.wire.request(number, READ, {"sessionId": "a1", "path": "/f"})
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(side.workspace.tickets) <= LIMITS.wire.unfinished + 1
        side.wire.room.set()
        await side.wire.answered(299)


async def test_fs_that_was_not_offered() -> None:
    async with opened(fs=False) as side:
        for number, method in enumerate((READ, WRITE)):
            side.wire.request(number, method, {"sessionId": "a1", "path": "/f", "content": "x"})
            assert (await side.wire.answered(number))["error"]["code"] == -32601
        assert side.workspace.tickets == []


async def test_a_write_that_runs_goes_on_when_the_agent_is_gone() -> None:
    async with opened() as side:
        gate = side.workspace.gates["/f"] = asyncio.Event()
        side.wire.request(1, WRITE, {"sessionId": "a1", "path": "/f", "content": "x"})
        side.wire.request(2, "ping")
        await side.wire.answered(2)
        await side.agent.close()
        gate.set()
        await side.workspace.tickets[0].done.wait()
        assert side.workspace.files["/f"] == "x"


# questions

OPTIONS = [
    {"optionId": "y", "name": "Allow", "kind": "allow_once"},
    {"optionId": "n", "name": "Reject", "kind": "reject_once"},
]
CALL = {"toolCallId": "t1", "title": "Edit f", "kind": "edit"}


def ask(side: Side, number: object = 1, call: object = CALL, options: object = OPTIONS) -> None:
    params = {"sessionId": "a1", "toolCall": call, "options": options}
    side.wire.request(number, "session/request_permission", params)


# what the user's side says · what the agent is told
CHOICES: list[tuple[str | None, object]] = [
    ("y", {"outcome": "selected", "optionId": "y"}),
    ("n", {"outcome": "selected", "optionId": "n"}),
    (None, {"outcome": "cancelled"}),
    ("never offered", {"outcome": "cancelled"}),
]


@pytest.mark.parametrize(("choice", "outcome"), CHOICES)
async def test_choices(choice: str | None, outcome: object) -> None:
    async with opened() as side:
        side.workspace.choose = lambda question: choice
        ask(side)
        assert (await side.wire.answered(1))["result"] == {"outcome": outcome}
        assert side.workspace.questions[0].session_id == "S1"


# options as offered · ids that can be chosen; None: an error
OFFERS: list[tuple[object, list[str] | None]] = [
    (OPTIONS, ["y", "n"]),
    ([*OPTIONS, *OPTIONS], ["y", "n"]),
    ([*OPTIONS, {"optionId": "z", "name": "Z", "kind": "allow_once"}], ["y", "n", "z"]),
    ([*OPTIONS, {"optionId": "z", "name": "Z", "kind": "allow_for_ever"}, {"name": "no id"}, 5], ["y", "n"]),
    ([{"optionId": "y", "kind": "allow_once"}], ["y"]),
    ([], None),
    (None, None),
    ("y", None),
    ([{"optionId": {}, "name": "x", "kind": []}], None),
    ([{"optionId": "x" * 5000, "name": "x", "kind": "allow_once"}, *OPTIONS], ["y", "n"]),
    (
        [{"optionId": f"{n}", "name": "x", "kind": "allow_once"} for n in range(1000)],
        [f"{n}" for n in range(64)],
    ),
]


@pytest.mark.parametrize(("options", "ids"), OFFERS, ids=str)
async def test_offers(options: object, ids: list[str] | None) -> None:
    async with opened() as side:
        side.workspace.choose = lambda question: None
        ask(side, options=options)
        answer = await side.wire.answered(1)
        if ids is None:
            assert answer["error"]["code"] == -32602
        else:
            assert [option.id for option in side.workspace.questions[0].options] == ids


# the agent's word for an option · its kind · the button
BUTTONS: list[tuple[object, str, str]] = [
    ("Allow", "allow_once", "Allow"),
    ("Yes, proceed", "allow_once", "Yes, proceed"),
    ("Always Allow", "allow_always", "Always Allow"),
    ("Approve for this session", "allow_always", "Approve for this session"),
    ("Yes, and don't ask again", "allow_always", "Yes, and don't ask again (allows it from now on)"),
    ("Reject", "reject_once", "Reject"),
    ("No, tell it what to do", "reject_once", "No, tell it what to do"),
    ("Never", "reject_always", "Never"),
    ("Reject", "allow_once", "Reject (allows it)"),
    ("Cancel", "allow_always", "Cancel (allows it from now on)"),
    ("Yes, cancel it", "allow_once", "Yes, cancel it (allows it)"),
    ("ALLOW NOTHING", "allow_once", "ALLOW NOTHING (allows it)"),
    ("Dismiss", "allow_once", "Dismiss (allows it)"),
    ("Allow once", "allow_always", "Allow once (allows it from now on)"),
    ("Allow", "reject_once", "Allow (refuses it)"),
    ("Ablehnen", "allow_once", "Ablehnen (allows it)"),
    ("R\u200beject", "allow_once", r"R\u200beject (allows it)"),
    (" ", "allow_once", "allow once"),
    (5, "reject_always", "reject always"),
]


@pytest.mark.parametrize(("name", "kind", "label"), BUTTONS, ids=str)
def test_a_button_says_what_it_does(name: object, kind: str, label: str) -> None:
    offered = {"options": [{"optionId": "o", "name": name, "kind": kind}]}
    assert [option.label for option in options_of(offered)] == [label]


# tool call · action · what the text must hold · what it must not
QUESTIONS: list[tuple[dict[str, Any], str, list[str], list[str]]] = [
    ({"toolCallId": "t1"}, "other", ["Tool call t1"], []),
    ({"title": "ls", "rawInput": {"command": "rm -rf /x"}}, "execute", ["Command: rm -rf /x", "“ls”"], []),
    ({"title": "read it", "kind": "read", "rawInput": {"command": ["rm", "x"]}}, "execute", ["Command: rm x"], []),
    ({"kind": "read", "locations": [{"path": "/a", "line": 0}, {"path": "/b"}]}, "read", ["/a", "/b"], []),
    (
        {"kind": "read", "content": [{"type": "diff", "path": "/etc/x", "oldText": None, "newText": "n"}]},
        "write",
        ["File: /etc/x"],
        [],
    ),
    ({"kind": "delete", "locations": "odd", "content": 5, "rawInput": "odd"}, "write", ["change files"], []),
    ({"title": "\x1b[2J\u202egnp.exe\u200b\nYes?"}, "other", [r"\x1b[2J\u202egnp.exe\u200b\nYes?"], ["\x1b", "\u202e"]),
    ({"title": "a" + " " * 5000 + "rm"}, "other", ["more characters", "rm”"], [" " * 500]),
    ({"locations": [{"path": f"/{n}"} for n in range(20)]}, "other", ["/0", "/5", "… and 14 more files"], ["/6"]),
    ({"locations": [{"path": "/a\nFile: /b"}]}, "other", [r"File: /a\nFile: /b"], []),
]  # fmt: skip


# tool call · what goes to the editor beside the text
LARGE = "x" * 2_000_000
DETAILS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"content": [{"type": "diff", "path": "/a", "oldText": None, "newText": "n"}]}, {"target": "/a", "diff": [{"path": "/a", "oldText": None, "newText": "n"}]}),
    ({"content": [{"type": "diff", "path": "/a", "oldText": "", "newText": LARGE}]}, {"target": "/a"}),
    ({"content": [{"type": "diff", "path": "/a", "newText": ""}] * 50_000}, {"target": "/a"}),
    ({"rawInput": {"command": ["ls", "-l"]}}, {"argv": ["ls", "-l"]}),
    ({"rawInput": {"command": LARGE}}, {}),
    ({"rawInput": {"command": "ls", "args": ["x"] * 200_000}}, {}),
    ({"locations": [{"path": "/" + LARGE}, {"path": "/b"}]}, {}),
    ({"locations": [{"path": f"/{n}"} for n in range(20_000)]}, {"target": "/0"}),
]  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), DETAILS, ids=lambda value: str(value)[:50])
async def test_what_goes_along_with_a_question_is_bounded(
    call: dict[str, Any], expected: dict[str, Any]
) -> None:
    async with opened() as side:
        side.workspace.choose = lambda question: None
        ask(side, call=call)
        await side.wire.answered(1)
        (question,) = side.workspace.questions
        sent = {key: question.details[key] for key in ("target", "argv", "diff") if key in question.details}
        assert sent == expected
        assert len(json.dumps(question.details["paths"])) < 100_000


@pytest.mark.parametrize(("call", "action", "holds", "lacks"), QUESTIONS, ids=lambda value: str(value)[:60])
async def test_questions(call: dict[str, Any], action: str, holds: list[str], lacks: list[str]) -> None:
    async with opened() as side:
        side.workspace.choose = lambda question: "n"
        ask(side, call=call)
        assert (await side.wire.answered(1))["result"]
        question = side.workspace.questions[0]
        assert question.action == action
        assert question.text.startswith("fake ")
        for part in holds:
            assert part in question.text
        for part in lacks:
            assert part not in question.text
        json.dumps(dict(question.details))


async def test_a_question_with_only_an_id_shows_what_was_announced() -> None:
    async with opened() as side:
        side.workspace.choose = lambda question: "n"
        announced = {
            "sessionUpdate": "tool_call",
            "toolCallId": "t1",
            "title": "Run it",
            "kind": "execute",
            "rawInput": {"command": "make"},
        }
        later = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t1",
            "rawInput": {"command": "make clean"},
        }
        for update in (announced, later):
            side.wire.notify("session/update", {"sessionId": "a1", "update": update})
        ask(side, call={"toolCallId": "t1"})
        await side.wire.answered(1)
        assert "Command: make clean" in side.workspace.questions[0].text
        assert "“Run it”" in side.workspace.questions[0].text


async def test_cancel_withdraws_open_questions_and_further_ones() -> None:
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", []))
        await side.wire.asked("session/prompt")
        ask(side, 1)
        ask(side, 2)
        await side.workspace.until(lambda: len(side.workspace.questions) == 2)
        side.agent.cancel("a1")
        for number in (1, 2):
            assert (await side.wire.answered(number))["result"] == {"outcome": {"outcome": "cancelled"}}
        assert (await side.wire.asked("session/cancel"))["params"] == {"sessionId": "a1"}
        ask(side, 3)
        assert (await side.wire.answered(3))["result"] == {"outcome": {"outcome": "cancelled"}}
        assert len(side.workspace.questions) == 2
        await side.wire.reply("session/prompt", {"stopReason": "cancelled"})
        assert await turn == "cancelled"


async def test_what_is_remembered_of_tool_calls_is_bounded() -> None:
    calls = ToolCalls()
    for number in range(100):
        calls.heard(
            {"sessionUpdate": "tool_call", "toolCallId": f"c{number}", "rawInput": {"a": "x" * 10**6}}
        )
    calls.heard({"sessionUpdate": "tool_call", "toolCallId": "huge", "content": ["x" * 10**8]})
    calls.heard({"sessionUpdate": "tool_call_update", "toolCallId": "last", "title": "the last"})
    assert calls.merged({"toolCallId": "last"})["title"] == "the last"
    known = [n for n in range(100) if "rawInput" in calls.merged({"toolCallId": f"c{n}"})]
    assert len(known) <= 32


async def test_a_tool_call_with_an_endless_id_is_dropped() -> None:
    async with opened() as side:
        for length in (10, 10**6):
            update = {"sessionUpdate": "tool_call", "toolCallId": "x" * length, "title": "t"}
            side.wire.notify("session/update", {"sessionId": "a1", "update": update})
        side.wire.update("a1", "said")
        await side.workspace.until(lambda: side.workspace.said() == "said")
        assert len(side.workspace.updates) == 2


async def test_a_cancel_sent_as_a_request_is_answered() -> None:
    async with opened() as side:
        side.wire.request(1, "$/cancel_request", {"requestId": 5})
        assert (await side.wire.answered(1))["error"]["code"] == -32601


@pytest.mark.parametrize("later", range(4))
async def test_a_cancel_does_not_overtake_its_prompt(later: int) -> None:
    """An agent that is asked to stop before it has the prompt works on."""
    async with opened() as side:
        turn = asyncio.ensure_future(side.agent.prompt("a1", []))
        for _ in range(1 + later):  # the first lets `prompt` begin
            await asyncio.sleep(0)
        side.agent.cancel("a1")
        await side.wire.asked("session/cancel")
        methods = [message["method"] for message in side.wire.sent]
        assert methods == ["session/new", "session/prompt", "session/cancel"]
        await side.wire.reply("session/prompt", {"stopReason": "cancelled"})
        assert await turn == "cancelled"


async def test_a_question_can_be_taken_back_by_the_agent() -> None:
    async with opened() as side:
        ask(side, "q")
        await side.workspace.until(lambda: side.workspace.questions)
        side.wire.notify("$/cancel_request", {"requestId": "other"})
        side.wire.notify("$/cancel_request", {"requestId": "q"})
        assert (await side.wire.answered("q"))["error"]["code"] == -32800


async def test_questions_do_not_keep_others_waiting() -> None:
    async with opened() as side:
        for number in range(300):
            ask(side, number)
        side.wire.request("probe", "ping")
        await side.wire.answered("probe")


async def test_death_withdraws_questions() -> None:
    async with opened() as side:
        withdrawn = asyncio.Event()

        async def asked(question: object) -> str | None:
            side.workspace.changed.set()
            side.workspace.questions.append(question)  # type: ignore[arg-type]
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                withdrawn.set()
                raise
            return "y"

        side.workspace.ask = asked  # type: ignore[method-assign]
        ask(side)
        await side.workspace.until(lambda: side.workspace.questions)
        side.wire.sent.clear()
        await side.agent.close()
        await withdrawn.wait()
        assert side.wire.sent == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"sessionId": "a1"},
        {"sessionId": "a1", "toolCall": 5, "options": OPTIONS},
        {"sessionId": "x", "toolCall": CALL, "options": OPTIONS},
    ],
    ids=str,
)
async def test_questions_that_are_none(params: dict[str, Any]) -> None:
    async with opened() as side:
        side.wire.request(1, "session/request_permission", params)
        assert (await side.wire.answered(1))["error"]["code"] == -32602


async def test_closing_a_session() -> None:
    side = await Side(limits=replace(LIMITS, close=QUICK)).ready({"sessionCapabilities": {"close": {}}})
    await side.open()
    closing = asyncio.ensure_future(side.agent.close_session("a1"))
    await side.wire.reply("session/close", None)
    await closing
    side.wire.request(1, READ, {"sessionId": "a1", "path": "/f"})
    assert (await side.wire.answered(1))["error"]["data"]["errorKind"] == "unknown_session"
    await side.open("a2", "S2")
    side.wire.sent.clear()
    await side.agent.close_session("a2")  # never answered: the limit ends it
    assert [message["method"] for message in side.wire.sent] == ["session/close"]
    await side.agent.close()
