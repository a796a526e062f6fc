"""The early answer to `initialize`: given only in the plain case, and the same that the registered features come to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from sidecar.lsp.announcement import announce
from sidecar.lsp.framing import Fault
from sidecar.lsp.greeting import greet, position_encoding
from tests.support.raw_lsp import INITIALIZE, as_process, framed, message

PLAIN = message(id=1, method="initialize", params=INITIALIZE)


def greeted(data: bytes) -> tuple[Any, bytes | Fault | None, bytes]:
    """(the answer, the first item, what is left to read) when `data` and then the end is read."""
    stdin, to_stdin = os.pipe()
    from_stdout, stdout = os.pipe()
    os.write(to_stdin, data)
    os.close(to_stdin)
    try:
        greeting = greet(stdin, stdout, announce)
        os.close(stdout)
        written = os.read(from_stdout, 2**16)
        rest = greeting.framing.next()
    finally:
        os.close(stdin)
        os.close(from_stdout)
    answer = json.loads(written.partition(b"\r\n\r\n")[2]) if written else None
    assert (answer is None) == (greeting.announced is None)
    return answer, greeting.first, rest if isinstance(rest, bytes) else b""


@pytest.mark.parametrize("msg_id", [1, 0, -5, "a", ""])
def test_a_plain_initialize_is_answered(msg_id: object) -> None:
    data = message(id=msg_id, method="initialize", params=INITIALIZE)
    answer, first, rest = greeted(data + framed(b"next"))
    assert answer == {"jsonrpc": "2.0", "id": msg_id, "result": announce(INITIALIZE)}
    assert first == data.partition(b"\r\n\r\n")[2]
    assert rest == b"next"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        PLAIN[:-1],
        framed(b""),
        framed(b"42"),
        framed(b"[" * 200_00),
        framed(b"\xff"),
        framed(PLAIN.partition(b"\r\n\r\n")[2] + b"{}"),
        message(method="initialize", params=INITIALIZE),
        message(id=None, method="initialize", params=INITIALIZE),
        message(id=True, method="initialize", params=INITIALIZE),
        message(id=1.5, method="initialize", params=INITIALIZE),
        message(id=1, method="initialize"),
        message(id=1, method="initialize", params=[]),
        message(id=1, method="shutdown"),
        message(id=1, method=["initialize"], params=INITIALIZE),
        b"Content-Length: x\r\n\r\n" + PLAIN,
    ],
)
def test_everything_else_is_left_to_the_protocol(data: bytes) -> None:
    assert greeted(data)[0] is None


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({}, "utf-16"),
        ({"general": {}}, "utf-16"),
        ({"general": {"positionEncodings": []}}, "utf-16"),
        ({"general": {"positionEncodings": ["utf-8", "utf-16"]}}, "utf-8"),
        ({"general": {"positionEncodings": ["utf-32", "utf-8"]}}, "utf-32"),
        ({"general": {"positionEncodings": ["utf-7", 8, None, ["utf-8"], {}, "utf-32"]}}, "utf-32"),
        ({"general": {"positionEncodings": "utf-8"}}, "utf-16"),
        ({"general": None}, "utf-16"),
        (None, "utf-16"),
        ([], "utf-16"),
    ],
)
def test_the_first_encoding_that_both_know(capabilities: object, expected: str) -> None:
    assert position_encoding({"capabilities": capabilities}) == expected


EVERYTHING: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8"]},
    "textDocument": {"rename": {"prepareSupport": True}, "codeLens": {"dynamicRegistration": True}},
    "workspace": {"fileOperations": {"didRename": True, "didCreate": True, "didDelete": True}},
    "notebookDocument": {"synchronization": {}},
}


@pytest.mark.parametrize("capabilities", [{}, EVERYTHING], ids=["least", "everything"])
async def test_what_is_announced_is_what_is_registered(capabilities: dict[str, Any]) -> None:
    async with as_process(sys.executable, "-m", "sidecar", "lsp") as client:
        assert await client.initialize(capabilities=capabilities) == announce({"capabilities": capabilities})
        assert "result" in await client.request("shutdown")
        client.notify("exit")
        code, errors = await client.exit_code()
        assert (code, errors) == (0, "")


def test_little_is_imported_before_the_answer() -> None:
    """Editors wait for it. Each of these takes a twentieth of the time or more, and what it imports in turn."""
    script = """
import sys
import sidecar.lsp.greeting as greeting
answered, answer = [], greeting.os.write
def write(fd, data):
    answered[:] = answered or [*sys.modules]
    return answer(fd, data)
greeting.os.write = write
from sidecar.cli import main
try:
    main(["lsp"])
finally:
    sys.stderr.write("\\n" + " ".join(answered))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=PLAIN + message(id=2, method="shutdown") + message(method="exit"),
        capture_output=True,
        timeout=60,
        check=False,
    )
    names = set(done.stderr.decode().rpartition("\n")[2].split())
    assert "sidecar.lsp.announcement" in names, done.stderr
    assert names & HEAVY == set()


HEAVY = {
    "argparse",
    "asyncio",
    "dataclasses",
    "inspect",
    "msgspec",
    "pathlib",
    "shutil",
    "subprocess",
    "urllib.parse",
    "sidecar.lsp.ext",
}
