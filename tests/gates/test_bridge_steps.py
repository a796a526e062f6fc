"""bridge_steps: for how long one message over the bridge, of up to 64 MiB and whatever is in it, keeps everybody else from the event loop.

An agent is given the bridge's address, so a process of its own can send there. Measured as in gate `loop_steps`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from sidecar.bridge.entry import Entry
from sidecar.bridge.finding import containing
from tests.bridge.conftest import tmp_path
from tests.bridge.serving import raw, shaken
from tests.gates.loop_bound import bound, least
from tests.gates.product import a_product
from tests.gates.size import size
from tests.gates.test_loop_steps import QUOTED, slowest
from tests.support.waiting import eventually

__all__ = ["tmp_path"]  # sockets need short paths

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet"),
]
MB = 1024 * 1024
SIZES = size((4,), (8, 32, 63))
"""MiB."""
KINDS = size(("code", "quotes", "values"), ())
"""Of the messages below; () is all."""


def messages(bytes_: int) -> Mapping[str, bytes]:
    request = b'{"id":1,"method":"nobody knows","params":{"x":%s}}\n'
    found = {
        name: b'"%b"' % (text.encode() * (bytes_ // len(text.encode()))) for name, text in QUOTED.items()
    }
    found |= {
        "values": b"[" + b"{}," * (bytes_ // 3) + b"{}]",
        "numbers": b"9" * bytes_,
        "blanks": b" " * bytes_ + b"1",
        "brackets": b"[" * bytes_,
    }
    return {name: request % value for name, value in found.items() if not KINDS or name in KINDS}


def sent(entry: Entry, line: bytes) -> None:
    """Returns when it is answered, or the connection ended."""
    with raw(entry.socket) as client:
        shaken(client, entry)
        client.socket.settimeout(120)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.socket.sendall(line)
            client.socket.shutdown(socket.SHUT_WR)
            while client.socket.recv(65536):
                pass


async def table(
    base: Path, monkeypatch: pytest.MonkeyPatch, planted: str = "stopwatch", most: float = 0.0
) -> dict[str, float]:
    """ms of the longest step, by message. What is above `most` is measured again."""
    folder, clock = base / "ws", base / "clock"
    folder.mkdir()
    runtime = base / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("LONGEST_STEP", str(clock))
    found: dict[str, float] = {}
    async with a_product(folder, {"fake": {"prompted": True}}, planted=planted) as product:
        entries = await asyncio.to_thread(
            eventually, lambda: containing(str(folder), os.environ), "the bridge can be found"
        )

        async def longest(line: bytes) -> float:
            clock.unlink(missing_ok=True)
            await asyncio.to_thread(sent, entries[0], line)
            await product.tried("sidecar.status")
            return float(clock.read_text()) if clock.exists() else 0.0

        for megabytes in SIZES:
            for name, line in messages(megabytes * MB).items():
                found[f"{megabytes} MiB, {name}"] = await least(lambda line=line: longest(line), most)
    return found


async def test_no_step_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    most = bound(ms=20.0, yardsticks=4.0)
    found = await table(tmp_path, monkeypatch, most=most)
    record_property("messages", len(found))
    record_property("step ms", round(max(found.values()), 1))
    assert max(found.values()) < most, slowest(found)


async def test_the_gate_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gates.test_bridge_steps.SIZES", (63,))
    monkeypatch.setattr("tests.gates.test_bridge_steps.KINDS", ("quotes",))
    found = await table(tmp_path, monkeypatch, "the_bridge_reads_lines_at_once")
    assert max(found.values()) > 60, found
