"""Text synchronisation: both lanes give the same value, and after any changes the mirror is the editor's text."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from typing import Any

import msgspec
import pytest

from sidecar.core.overlay import ContentChange, Modification, Notified
from sidecar.core.text import Position, Range
from sidecar.core.uri import normalise
from sidecar.lsp import server, sync
from sidecar.lsp.protocol import read
from tests.support import oracle
from tests.support.raw_lsp import framed, in_process, message

URI = "file:///project/a%20b.txt"
HERE = normalise(URI)
DOCUMENT = {"uri": URI, "version": 7}


def at(line: int, character: int, end_line: int, end_character: int) -> dict[str, Any]:
    return {
        "start": {"line": line, "character": character},
        "end": {"line": end_line, "character": end_character},
    }


def changed(*changes: ContentChange, version: int | None = 7) -> Modification:
    return Modification(HERE, Notified.CHANGE, version, changes, client_uri=URI)


SPAN = Range(Position(1, 2), Position(3, 4))
INSERTED = ContentChange(SPAN, "x")

UNDERSTOOD: list[tuple[str, str, Any, Modification]] = [
    ("open", sync.DID_OPEN, {"textDocument": {**DOCUMENT, "languageId": "python", "text": "é\r\n"}}, Modification(HERE, Notified.OPEN, 7, (), "é\r\n", "python", URI)),
    ("open, the least", sync.DID_OPEN, {"textDocument": {"uri": URI, "text": ""}}, Modification(HERE, Notified.OPEN, None, (), "", "", URI)),
    ("open, fields of the future", sync.DID_OPEN, {"textDocument": {"uri": URI, "text": "", "encoding": "utf-7", "jsonrpc": "2.0"}, "id": 1, "method": "exit"}, Modification(HERE, Notified.OPEN, None, (), "", "", URI)),
    ("a change", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": [{"range": at(1, 2, 3, 4), "rangeLength": 9, "text": "x"}]}, changed(INSERTED)),
    ("several changes", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": [{"range": at(1, 2, 3, 4), "text": "x"}, {"text": "all"}]}, changed(INSERTED, ContentChange(None, "all"))),
    ("no change", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": []}, changed()),
    ("range null", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": [{"range": None, "text": "all"}]}, changed(ContentChange(None, "all"))),
    ("version null", sync.DID_CHANGE, {"textDocument": {"uri": URI, "version": None}, "contentChanges": []}, changed(version=None)),
    ("a negative place is for the overlay to judge", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": [{"range": at(-1, 0, 0, 0), "text": ""}]}, changed(ContentChange(Range(Position(-1, 0), Position(0, 0)), ""))),
    ("places beyond 64 bits", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": [{"range": at(2**70, 2**70, 2**70, 2**70), "text": ""}]}, changed(ContentChange(Range(Position(2**70, 2**70), Position(2**70, 2**70)), ""))),
    ("save", sync.DID_SAVE, {"textDocument": {"uri": URI}}, Modification(HERE, Notified.SAVE, client_uri=URI)),
    ("save with text", sync.DID_SAVE, {"textDocument": {"uri": URI}, "text": "t"}, Modification(HERE, Notified.SAVE, None, (), "t", "", URI)),
    ("close", sync.DID_CLOSE, {"textDocument": {"uri": URI}}, Modification(HERE, Notified.CLOSE, client_uri=URI)),
]  # fmt: skip

ONLY_SLOWLY: list[tuple[str, str, Any, Modification]] = [
    ("whole numbers written with a point", sync.DID_CHANGE, {"textDocument": {"uri": URI, "version": 7.0}, "contentChanges": [{"range": at(1.0, 2.0, 3, 4), "text": "x"}]}, changed(INSERTED)),
    ("lone surrogates", sync.DID_OPEN, {"textDocument": {"uri": URI, "text": "\ud800x\udc00"}}, Modification(HERE, Notified.OPEN, None, (), "\ud800x\udc00", "", URI)),
]  # fmt: skip

LOST: list[tuple[str, str, Any]] = [
    ("changes missing", sync.DID_CHANGE, {"textDocument": DOCUMENT}),
    ("text missing", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": [{"range": at(0, 0, 0, 0)}]}),
    ("half a range", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": [{"range": {"start": {"line": 0, "character": 0}}, "text": ""}]}),
    ("a place between characters", sync.DID_CHANGE, {"textDocument": DOCUMENT, "contentChanges": [{"range": at(0, 0, 0, 1.5), "text": ""}]}),
    ("text a number", sync.DID_OPEN, {"textDocument": {"uri": URI, "text": 5}}),
    ("saved text a list", sync.DID_SAVE, {"textDocument": {"uri": URI}, "text": []}),
]  # fmt: skip

NOBODYS: list[tuple[str, str, Any]] = [
    ("params null", sync.DID_CHANGE, None),
    ("params a list", sync.DID_CHANGE, [DOCUMENT]),
    ("URI missing", sync.DID_CHANGE, {"textDocument": {"version": 1}, "contentChanges": []}),
    ("URI a number", sync.DID_CLOSE, {"textDocument": {"uri": 5}}),
]


def rows(table: list[Any]) -> dict[str, Any]:
    return {"argvalues": [row[1:] for row in table], "ids": [row[0] for row in table]}


def body(method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


@pytest.mark.parametrize(("method", "params", "expected"), **rows(UNDERSTOOD))
def test_both_lanes_understand(method: str, params: Any, expected: Modification) -> None:
    assert sync.decode(body(method, params)) == expected
    assert sync.decode(json.dumps({"params": params, "method": method}, indent=1).encode()) == expected
    assert sync.from_json(method, params) == expected


@pytest.mark.parametrize(("method", "params", "expected"), **rows(ONLY_SLOWLY))
def test_the_slow_lane_understands_what_the_fast_one_leaves(
    method: str, params: Any, expected: Modification
) -> None:
    with pytest.raises(msgspec.MsgspecError):
        sync.decode(body(method, params))
    assert sync.from_json(method, params) == expected


@pytest.mark.parametrize(("method", "params"), **rows(LOST))
def test_what_cannot_be_understood_is_known_to_be_lost(method: str, params: Any) -> None:
    with pytest.raises(msgspec.MsgspecError):
        sync.decode(body(method, params))
    with pytest.raises(sync.InvalidNotification, match=method) as caught:
        sync.from_json(method, params)
    lost = caught.value.lost
    assert lost is not None
    assert (lost.uri, lost.action, lost.client_uri) == (HERE, Notified.CHANGE, URI)
    assert sync.lost_in(body(method, params).decode()[:-1]) == lost


@pytest.mark.parametrize(("method", "params"), **rows(NOBODYS))
def test_what_names_no_document_is_only_malformed(method: str, params: Any) -> None:
    with pytest.raises(sync.InvalidNotification) as caught:
        sync.from_json(method, params)
    assert caught.value.lost is None


def test_other_messages_are_not_for_the_fast_lane() -> None:
    assert (
        sync.decode(b'{"id":1,"method":"textDocument/didClose","params":{"textDocument":{"uri":"x"}}}')
        is None
    )
    for other in (b'{"method":"exit"}', b'{"id":1,"result":null}', b"[]", b"", b'{"method":5}'):
        with pytest.raises(msgspec.MsgspecError):
            sync.decode(other)
    assert sync.lost_in('{"method":"exit"}') is None
    assert sync.lost_in('{"method":"textDocument/didChange","params":{"textDocument":{"uri":"\\x"}}') is None


ALPHABET = ["a", "\n", "\r", "\r\n", "é", "€", "𝄞", "\x0b", "\x85", "\u2028", "\ufeff", "'", '"', "\\", "\0"]


class Editor:
    """Buffers as an editor of one encoding has them, and the messages it sends."""

    def __init__(self, encoding: str, seed: int) -> None:
        self.encoding = encoding
        self.random = random.Random(seed)
        self.text = self.some_text(200)
        self.version = 1

    def some_text(self, most: int) -> str:
        return "".join(self.random.choices(ALPHABET, k=self.random.randrange(most)))

    def place(self) -> oracle.Place:
        return oracle.position_at(self.text, self.random.randrange(len(self.text) + 1), self.encoding)

    def open(self) -> bytes:
        item = {"uri": URI, "languageId": "", "version": self.version, "text": self.text}
        return message(method=sync.DID_OPEN, params={"textDocument": item})

    def change(self) -> bytes:
        changes: list[Any] = []
        for _ in range(self.random.choice([1, 1, 1, 4])):
            if self.random.random() < 0.02:
                self.text = self.some_text(200)
                changes.append({"text": self.text})
                continue
            (start, end), new = sorted([self.place(), self.place()]), self.some_text(6)
            if self.random.random() < 0.7:
                end = start
            self.text = oracle.replace(self.text, start, end, new, self.encoding)
            changes.append({"range": at(*start, *end), "text": new})
        self.version += self.random.choice([1, 1, 3])
        document = {"uri": URI, "version": self.version}
        params = {"textDocument": document, "contentChanges": changes}
        ascii_only = self.random.random() < 0.5
        return framed(
            json.dumps({"method": sync.DID_CHANGE, "params": params}, ensure_ascii=ascii_only).encode()
        )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("large", [server.LARGE, 250, 0], ids=["none large", "some large", "all large"])
async def test_the_mirror_is_the_editors_text(
    monkeypatch: pytest.MonkeyPatch, encoding: str, large: int
) -> None:
    """In whatever order threads are done with the large messages."""
    monkeypatch.setattr(server, "LARGE", large)
    async with in_process() as client:
        await client.initialize(capabilities={"general": {"positionEncodings": ["utf-7", encoding]}})
        editor = Editor(encoding, seed=5)
        client.send(editor.open())
        for _ in range(60):
            burst = b"".join(editor.change() for _ in range(editor.random.randrange(12)))
            while burst:
                step = editor.random.randrange(1, 2000)
                client.send(burst[:step])
                burst = burst[step:]
            state = await client.command("test.text", {"uri": URI})
            assert state == {"text": editor.text, "version": editor.version, "desynchronised": None}


async def test_lone_surrogates_are_mirrored() -> None:
    async with in_process() as client:
        await client.initialize()
        client.notify(
            sync.DID_OPEN, {"textDocument": {"uri": URI, "version": 1, "text": "\ud834 and \udd1e\n"}}
        )
        change = {"range": at(0, 1, 0, 6), "text": ""}
        client.notify(
            sync.DID_CHANGE, {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [change]}
        )
        assert await client.text(URI) in ("\ud834\udd1e\n", "𝄞\n")


async def test_save_and_close() -> None:
    async with in_process() as client:
        await client.initialize()
        client.notify(sync.DID_OPEN, {"textDocument": {"uri": URI, "version": 1, "text": "mirrored"}})
        client.notify(sync.DID_SAVE, {"textDocument": {"uri": URI}, "text": "saved"})
        assert await client.text(URI) == "saved"
        client.notify(sync.DID_CLOSE, {"textDocument": {"uri": URI}})
        assert await client.command("test.text", {"uri": URI}) is None


async def test_a_large_message_is_read_by_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 MB would take the event loop longer than anybody should wait for it."""
    threads: list[int] = []
    monkeypatch.setattr(server, "read", lambda body: (threads.append(threading.get_ident()), read(body))[1])
    async with in_process() as client:
        await client.initialize()
        text = "x" * 2 * server.LARGE
        opened = message(
            method=sync.DID_OPEN, params={"textDocument": {"uri": URI, "version": 1, "text": text}}
        )
        change = {"range": at(0, 0, 0, 1), "text": "é"}
        told = {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [change]}
        await asyncio.to_thread(client.send, opened + message(method=sync.DID_CHANGE, params=told))
        assert await client.text(URI) == "é" + text[1:]
        assert [one for one in threads if one != threading.get_ident()] == [threads[-3]]
        await asyncio.to_thread(client.send, opened)
        client.close()  # the end of input comes while it is read
        assert await client.exit_code() == 1


async def test_a_large_message_that_cannot_be_read_makes_nobody_deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(body: bytes) -> object:
        if len(body) > server.LARGE:
            raise MemoryError
        return read(body)

    monkeypatch.setattr(server, "read", fails)
    async with in_process() as client:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
        told: list[dict[str, Any]] = []
        await client.initialize()
        text = "x" * 2 * server.LARGE
        large = message(
            method=sync.DID_OPEN, params={"textDocument": {"uri": URI, "version": 1, "text": text}}
        )
        await asyncio.to_thread(client.send, large)
        client.notify(sync.DID_OPEN, {"textDocument": {"uri": URI, "version": 1, "text": "small"}})
        assert await client.text(URI) == "small"
    assert isinstance(told[0]["exception"], MemoryError)


async def test_a_large_burst_leaves_room_for_answers() -> None:
    """Far more than one slice and one pipe: the order is kept and the end is right."""
    async with in_process() as client:
        await client.initialize()
        client.notify(sync.DID_OPEN, {"textDocument": {"uri": URI, "version": 1, "text": ""}})
        count = 20_000
        burst = b"".join(
            message(
                method=sync.DID_CHANGE,
                params={
                    "textDocument": {"uri": URI, "version": n},
                    "contentChanges": [{"range": at(0, n - 2, 0, n - 2), "text": str(n % 10)}],
                },
            )
            for n in range(2, count + 2)
        )
        await asyncio.get_running_loop().run_in_executor(None, client.send, burst)
        assert await client.text(URI) == "".join(str(n % 10) for n in range(2, count + 2))
