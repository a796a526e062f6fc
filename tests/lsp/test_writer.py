"""The writer: everything that must arrive does, in order; the newest state wins; a blocked editor costs bounded memory."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from sidecar.core.overlay import Modification
from sidecar.lsp.long_texts import LongText
from sidecar.lsp.server import SidecarServer
from sidecar.lsp.writer import OutputWriter
from tests.support.raw_lsp import in_process

TIMEOUT = 10.0


class Pipe:
    """A pipe whose reading end reads when told, and what the writer said of it."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.broken: list[str] = []
        self.broke = threading.Event()

    def on_broken(self, reason: str) -> None:
        self.broken.append(reason)
        self.broke.set()

    def block(self, writer: OutputWriter) -> None:
        """Fills the pipe, so that the writer's thread hangs in write."""
        writer.send(b"#" * 2**20)
        deadline = time.monotonic() + TIMEOUT
        while writer.unsent and time.monotonic() < deadline:
            os.sched_yield() if sys.platform != "win32" else time.sleep(0)

    def rest(self) -> list[bytes]:
        """Everything until the end, as bodies; without the filling of `block`."""
        data = b""
        while piece := os.read(self.reading, 2**20):
            data += piece
        bodies: list[bytes] = []
        while data:
            header, _, data = data.partition(b"\r\n\r\n")
            length = int(header.removeprefix(b"Content-Length: "))
            bodies.append(data[:length])
            data = data[length:]
        return [body for body in bodies if not body.startswith(b"#")]

    def finish(self, writer: OutputWriter) -> list[bytes]:
        writer.close()
        threading.Thread(target=self._end, args=(writer,)).start()
        return self.rest()

    def _end(self, writer: OutputWriter) -> None:
        writer.wait(TIMEOUT)
        # First forgotten, then closed: the number may be another file's as soon as it is free.
        descriptor, self.writing = self.writing, -1
        os.close(descriptor)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    others = set(threading.enumerate())
    pipe = Pipe()
    yield pipe
    if pipe.reading >= 0:
        os.close(pipe.reading)
    # Until its thread has noticed: what hung in the middle of a message goes on with the number, which may be the next test's pipe.
    for thread in set(threading.enumerate()) - others:
        thread.join(TIMEOUT)
        assert not thread.is_alive(), thread
    if pipe.writing >= 0:
        os.close(pipe.writing)


Step = tuple[str, str | None]
"""(body, key)"""

TABLE: list[tuple[str, list[Step], list[str]]] = [
    ("in order", [("a", None), ("b", None), ("c", None)], ["a", "b", "c"]),
    ("one of a key", [("1", "k")], ["1"]),
    ("the newest wins", [("1", "k"), ("2", "k"), ("3", "k")], ["3"]),
    ("keys apart", [("1", "k"), ("2", "l"), ("3", "k")], ["2", "3"]),
    ("the newest keeps its place among the others", [("1", "k"), ("a", None), ("2", "k"), ("b", None)], ["a", "2", "b"]),
    ("what must arrive is never replaced", [("a", None), ("a", None), ("a", None)], ["a", "a", "a"]),
    ("a key is no serial number", [("a", None), ("x", "1"), ("b", None)], ["a", "x", "b"]),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_a_blocked_editor_reads_later(pipe: Pipe, steps: list[Step], expected: list[str]) -> None:
    writer = OutputWriter(pipe.writing, pipe.on_broken)
    pipe.block(writer)
    for body, key in steps:
        writer.send(body.encode(), key)
    assert pipe.finish(writer) == [body.encode() for body in expected]


def test_many_messages_of_all_sizes_arrive_unharmed(pipe: Pipe) -> None:
    writer = OutputWriter(pipe.writing, pipe.on_broken)
    bodies = [bytes([65 + n % 26]) * (n * n % 70_000) for n in range(300)]
    for body in bodies:
        writer.send(body)
    assert pipe.finish(writer) == bodies


def test_a_long_text_is_escaped_by_the_thread_that_writes_it(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    escaped = LongText.escaped
    monkeypatch.setattr(
        LongText,
        "escaped",
        lambda self: (threads.append(threading.current_thread().name), escaped(self))[1],
    )
    writer = OutputWriter(pipe.writing, pipe.on_broken)
    text = "é\n" * 100_000
    writer.send([b'{"x":"', LongText(text), b'"}'])
    writer.send(b"next")
    assert pipe.finish(writer) == [json.dumps({"x": text}, separators=(",", ":")).encode(), b"next"]
    assert threads == ["lsp-writer"]


def test_what_is_written_is_let_go(pipe: Pipe) -> None:
    """Not only when the next message comes: an editor may have nothing to be told for hours."""
    writer = OutputWriter(pipe.writing, pipe.on_broken)
    piece = b"x" * 1_000_000
    held = sys.getrefcount(piece)
    writer.send([piece])
    left = len(piece) + len(b"Content-Length: 1000000\r\n\r\n")
    while left:
        left -= len(os.read(pipe.reading, 2**20))
    deadline = time.monotonic() + TIMEOUT
    while sys.getrefcount(piece) > held and time.monotonic() < deadline:
        time.sleep(0)
    assert sys.getrefcount(piece) == held
    assert pipe.finish(writer) == []


def test_the_oldest_coalescible_messages_are_dropped_at_the_limit_and_the_others_are_not(pipe: Pipe) -> None:
    writer = OutputWriter(pipe.writing, pipe.on_broken, soft_limit=10_000)
    pipe.block(writer)
    for number in range(1000):
        writer.send(b"%03d" % number + b"." * 100, key=number)
        writer.send(b"!%03d" % number)
        assert writer.unsent < 10_000 + 1000 * 30
    bodies = pipe.finish(writer)
    assert [body for body in bodies if body.startswith(b"!")] == [b"!%03d" % n for n in range(1000)]
    kept = [int(body[:3]) for body in bodies if not body.startswith(b"!")]
    assert kept == sorted(kept)
    assert kept[-1] == 999
    assert 0 < len(kept) < 100
    assert writer.dropped == 1000 - len(kept)


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([10, 20_000], [10, 20_000]),  # one large update does not push out the words before it
        ([10, 20_000, 20], [10, 20]),  # nor those behind it
        ([10, 20_000, 20, 20_000], [10, 20, 20_000]),
        ([4_000, 4_000, 4_000, 4_000], [4_000, 4_000]),
    ],
    ids=str,
)
def test_what_is_dropped(pipe: Pipe, sizes: list[int], kept: list[int]) -> None:
    writer = OutputWriter(pipe.writing, pipe.on_broken, soft_limit=10_000)
    pipe.block(writer)
    for number, size in enumerate(sizes):
        writer.send(b"x" * size, key=number)
    assert [len(body) for body in pipe.finish(writer)] == kept


def test_too_much_that_must_arrive_ends_the_connection(pipe: Pipe) -> None:
    writer = OutputWriter(pipe.writing, pipe.on_broken, hard_limit=10_000)
    pipe.block(writer)
    writer.send(b"x" * 1_000_000)
    assert not pipe.broken  # one message may be of any size
    writer.send(b"y")
    assert pipe.broken == ["the editor has not read 1000049 bytes"]
    assert writer.unsent == 0
    writer.send(b"z")
    assert writer.unsent == 0
    assert writer.wait(TIMEOUT)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGPIPE and its absence")
def test_an_editor_that_closes_its_end_is_noticed_once(pipe: Pipe) -> None:
    writer = OutputWriter(pipe.writing, pipe.on_broken)
    os.close(pipe.reading)
    pipe.reading = -1
    writer.send(b"a")
    assert pipe.broke.wait(TIMEOUT)
    writer.send(b"b")
    writer.close()
    assert writer.wait(TIMEOUT)
    assert pipe.broken == ["writing to the editor failed: Broken pipe"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes there have no such mode")
def test_a_descriptor_that_was_made_non_blocking_works(pipe: Pipe) -> None:
    os.set_blocking(pipe.writing, False)
    writer = OutputWriter(pipe.writing, pipe.on_broken)
    writer.send(b"x" * 500_000)
    writer.send(b"y")
    assert pipe.finish(writer) == [b"x" * 500_000, b"y"]


def test_waiting_for_a_blocked_editor_ends(pipe: Pipe) -> None:
    writer = OutputWriter(pipe.writing, pipe.on_broken)
    pipe.block(writer)
    writer.close()
    assert not writer.wait(0.01)
    pipe.finish(writer)


async def test_an_editor_that_does_not_read_blocks_nobody() -> None:
    """Agents and the mirror go on; the newest state and all answers are there when it reads again."""
    mirrored = asyncio.Event()
    servers: list[SidecarServer] = []

    def mirror(_: Modification) -> None:
        mirrored.set()

    @asynccontextmanager
    async def build() -> AsyncIterator[SidecarServer]:
        servers.append(SidecarServer(mirror))
        yield servers[0]

    async with in_process(build) as client:
        await client.initialize()
        client.reading.pause_reading()
        for number in range(20_000):
            servers[0].notify("sidecar/sessionUpdate", {"number": number, "text": "x" * 500}, number % 10)
        asked = client.ask("no/such")
        client.notify(
            "textDocument/didOpen", {"textDocument": {"uri": "file:///a", "version": 1, "text": ""}}
        )
        async with asyncio.timeout(TIMEOUT):
            await mirrored.wait()
        client.reading.resume_reading()
        await client.receive_until(lambda m: m.get("id") == f"c{asked}")
        numbers = [m["params"]["number"] for m in client.seen if "params" in m]
        assert numbers == sorted(numbers)
        assert numbers[-10:] == list(range(19_990, 20_000))
        assert len(numbers) < 10_000
