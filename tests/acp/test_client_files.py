"""An agent's `fs/*`: what the workspace is asked, what the agent is told, and when."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.text import Text
from tests.acp.side import LIMITS, READ, WRITE, opened
from tests.support.acp_wire import Done, FakeWorkspace, Ticket

# method · params beyond the session · code, errorKind, or what the workspace got
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
    (READ, {"path": "untitled:Untitled-1", "line": 3}, ("read", "untitled:Untitled-1", 3, None)),
    (WRITE, {"path": "untitled:Untitled-1", "content": "new"}, ("write", "untitled:Untitled-1", "new")),
    (READ, {"path": "git:/f"}, (-32602, "bad_path")),
    (READ, {"path": "/missing"}, (-32002, "not_found")),
    (READ, {"path": "/f", "sessionId": "a2"}, (-32602, "unknown_session")),
    (READ, {"path": "/f", "sessionId": "S1"}, (-32602, "unknown_session")),
    (READ, {"path": "/f", "sessionId": 5}, (-32602, "unknown_session")),
    (READ, {"path": "/f", "_meta": {"path": "/etc/passwd", "session_id": "x", "limit": 9}}, ("read", "/f", None, None)),
    (WRITE, {"path": "/f", "content": "new"}, ("write", "/f", "new")),
    (WRITE, {"path": "/f", "content": ""}, ("write", "/f", "")),
    (WRITE, {"path": "/f", "content": "\ud800"}, ("write", "/f", "\ud800")),
    (WRITE, {"path": "/f"}, (-32602, "bad_params")),
    (WRITE, {"path": "/f", "content": None}, (-32602, "bad_params")),
    (WRITE, {"path": "/f", "content": 5}, (-32602, "bad_params")),
    (WRITE, {"content": "new"}, (-32602, "bad_path")),
    (WRITE, {"path": "/f", "content": "x", "_meta": {"path": "/etc/passwd", "content": "EVIL"}}, ("write", "/f", "x")),
]  # fmt: skip


@pytest.mark.parametrize(("method", "params", "expected"), FILES, ids=lambda value: str(value)[:70])
async def test_files(method: str, params: dict[str, Any], expected: tuple[Any, ...]) -> None:
    async with opened() as side:
        side.workspace.files |= {"/f": "text", "untitled:Untitled-1": "text"}
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
    Kind.BAD_PARAMS: -32602,
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

        side.workspace.read = read
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
