"""The log: whoever writes it never waits for whoever reads it."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from pathlib import Path

import pytest

from sidecar.stderr_log import LINE_AT_MOST, WAITING_AT_MOST, StderrHandler
from tests.support.raw_lsp import as_process, framed
from tests.support.waiting import eventually


def record(text: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("name", logging.WARNING, "file", 1, text, arguments, None)


def read_until(fd: int, wanted: bytes) -> bytes:
    found = b""
    while wanted not in found:
        found += os.read(fd, 1 << 16)
    return found


@pytest.mark.timeout(20)
def test_nobody_reads() -> None:
    output, its_end = os.pipe()
    handler = StderrHandler(its_end)
    for number in range(20_000):
        handler.emit(record("line %d " + "x" * 200, number))
    assert handler._size <= WAITING_AT_MOST
    assert not handler.flush_within(0.01)
    assert b"line 0 " in os.read(output, 1 << 16)
    read_until(output, b"line 3000 ")
    handler.emit(record("after"))
    told = read_until(output, b"after\n")
    assert b"lines were left out here" in told
    assert handler.flush_within(5.0)
    os.close(its_end)
    os.close(output)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("room", [0, 1, 2])
def test_what_waits_is_within_the_bound_to_the_byte(room: int) -> None:
    output, its_end = os.pipe()
    os.set_blocking(its_end, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(its_end, b"." * 4096)
    os.set_blocking(its_end, True)
    handler = StderrHandler(its_end)
    handler.emit(record("being written"))
    eventually(lambda: handler._busy, "the pipe is full")
    while handler._size + LINE_AT_MOST < WAITING_AT_MOST:
        handler.emit(record("x" * (LINE_AT_MOST - 1)))
    before = handler._size
    handler.emit(record("y" * (WAITING_AT_MOST - before - room)))  # and a line end
    assert handler._size == (before if room == 0 else WAITING_AT_MOST - room + 1)
    os.close(output)
    assert handler.flush_within(5.0)
    os.close(its_end)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("%d words", (1, 2), "cannot be formatted"),
        ("%s", ("\ud800",), "\\ud800"),
        ("%s", ("x" * 10 * LINE_AT_MOST,), "[...]"),
        ("%s", ("\x1b" * 10 * LINE_AT_MOST,), "[...]"),
        ("%s is gone", ("\x1b[2Jx\u202e",), "\\x1b[2Jx\\u202e is gone"),
    ],
)
def test_odd_lines(text: str, arguments: tuple[object, ...], told: str) -> None:
    output, its_end = os.pipe()
    handler = StderrHandler(its_end)
    handler.emit(record(text, *arguments))
    line = read_until(output, b"\n").decode()
    assert told in line
    assert len(line) <= LINE_AT_MOST + 100
    os.close(its_end)
    assert handler.flush_within(5.0)
    handler.emit(record("into nothing"))
    assert handler.flush_within(5.0)
    os.close(output)


def test_nothing_looks_like_another_line_of_the_log() -> None:
    output, its_end = os.pipe()
    handler = StderrHandler(its_end)
    handler.emit(record("%s is gone", "x\n2026-01-01 ERROR all is lost\r"))
    handler.emit(record("after"))
    assert read_until(output, b"after\n") == b"x\n  2026-01-01 ERROR all is lost\\r is gone\nafter\n"
    os.close(its_end)
    os.close(output)


@pytest.mark.timeout(60)
async def test_an_editor_that_never_reads_stderr_is_served() -> None:
    """More is logged than a pipe holds."""
    command = str(Path(sys.executable).with_name("acp-sidecar"))
    async with as_process(command, "--verbose", "lsp", drained=False) as client:
        await client.initialize()
        for number in range(3000):
            client.send(framed(b'{"broken %d' % number + b"x" * 100))
        answer = await client.request("workspace/executeCommand", {"command": "sidecar.status"})
        assert "result" in answer
        client.close()
        assert (await client.exit_code())[0] is not None


PLAIN = "import logging, sidecar.cli as c; c.log_to_stderr = lambda level: logging.basicConfig(level=level); c.main(['-v', 'lsp'])"


@pytest.mark.timeout(60)
async def test_a_plain_handler_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.raw_lsp.WAIT", 4.0)
    async with as_process(sys.executable, "-c", PLAIN, drained=False) as client:
        await client.initialize()
        for number in range(3000):
            client.send(framed(b'{"broken %d' % number + b"x" * 100))
        with pytest.raises(TimeoutError):
            await client.request("workspace/executeCommand", {"command": "sidecar.status"})
        client.process.kill()
