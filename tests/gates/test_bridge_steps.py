"""bridge_steps: for how long one message over the bridge, of up to 64 MiB and whatever is in it, keeps everybody else from the event loop.

An agent is given the bridge's address, so a process of its own can send there. Measured as in gate `loop_steps`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.bridge.entry import SidecarEntry
from sidecar.bridge.finding import containing
from sidecar.bridge.limits import BridgeLimits
from tests.bridge.conftest import tmp_path
from tests.bridge.serving import Raw, raw, shaken
from tests.gates.loop_bound import bound, least
from tests.gates.product import Product, a_product
from tests.gates.size import size
from tests.gates.test_loop_steps import QUOTED, slowest
from tests.gates.test_write_bytes import TEXTS, assert_says, word
from tests.support.waiting import eventually

__all__ = ["tmp_path"]  # sockets need short paths

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.name == "nt", reason="there is no bridge on Windows yet"),
]
MB = 1024 * 1024
TEXT = BridgeLimits().text
SIZES = size((4,), (8, 32, 63))
"""MiB."""
KINDS = size(("code", "quotes", "values", "an emoji at the end"), ())
"""Of the messages below; () is all."""
WRITTEN = size(("code", "an emoji in code"), tuple(TEXTS))
"""Of the texts of gate `write_bytes`."""


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
        "an emoji at the end": b'"%b\xf0\x9f\x98\x80"' % (b"x" * (bytes_ - 400)),
        # what Python keeps in as many bytes as a text may have
        "an emoji behind 2.5 MiB": b'"%b\xf0\x9f\x98\x80"' % (b"x" * min(bytes_, TEXT // 4 - 9)),
        "a dash behind 5 MiB": b'"%b\xe2\x80\x94"' % (b"x" * min(bytes_, TEXT // 2 - 9)),
    }
    return {name: request % value for name, value in found.items() if not KINDS or name in KINDS}


def sent(entry: SidecarEntry, line: bytes) -> None:
    """Returns when it is answered, or the connection ended."""
    with raw(entry.socket) as client:
        shaken(client, entry)
        client.socket.settimeout(120)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.socket.sendall(line)
            client.socket.shutdown(socket.SHUT_WR)
            while client.socket.recv(65536):
                pass


@asynccontextmanager
async def measured(
    base: Path, monkeypatch: pytest.MonkeyPatch, planted: str = "stopwatch"
) -> AsyncGenerator[tuple[Product, SidecarEntry, Callable[[], float]]]:
    """A product, where to reach it, and what tells ms of its longest step since it was last asked."""
    folder, clock = base / "ws", base / "clock"
    folder.mkdir()
    runtime = base / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("LONGEST_STEP", str(clock))

    def longest() -> float:
        found = float(clock.read_text()) if clock.exists() else 0.0
        clock.unlink(missing_ok=True)
        return found

    script = {"fake": {"prompted": True}}
    async with a_product(folder, script, planted=planted, answer=allowed) as product:
        entries = await asyncio.to_thread(
            eventually, lambda: containing(str(folder), os.environ), "the bridge can be found"
        )
        yield product, entries[0], longest


def allowed(question: str, choices: Sequence[str]) -> str | None:
    return next((choice for choice in choices if choice.startswith("Allow")), None)


async def table(
    base: Path, monkeypatch: pytest.MonkeyPatch, planted: str = "stopwatch", most: float = 0.0
) -> dict[str, float]:
    """ms of the longest step, by message. What is above `most` is measured again."""
    found: dict[str, float] = {}
    async with measured(base, monkeypatch, planted) as (product, entry, longest):

        async def taken(line: bytes) -> float:
            longest()
            await asyncio.to_thread(sent, entry, line)
            await product.tried("sidecar.status")
            return longest()

        for megabytes in SIZES:
            for name, line in messages(megabytes * MB).items():
                found[f"{megabytes} MiB, {name}"] = await least(lambda line=line: taken(line), most)
    return found


class Guest:
    """One that was let in, and has a turn."""

    def __init__(self, client: Raw, entry: SidecarEntry, folder: Path) -> None:
        shaken(client, entry)
        client.socket.settimeout(120)
        self._client = client
        self._token = secrets.token_hex(32)
        self.called("join", {"agent": "robot", "folder": str(folder), "tools": self._token})
        self.called("beginTurn", {})

    def called(self, method: str, params: Mapping[str, object]) -> Any:
        request = {"id": 1, "method": method, "params": params}
        self._client.socket.sendall(json.dumps(request, ensure_ascii=False).encode() + b"\n")
        answer = self._client.line()
        assert answer is not None, "it hung up"
        assert "result" in answer, answer
        return answer["result"]

    def writes(self, path: Path, content: str) -> None:
        """As the proxy does."""
        answer = self.called("writeFile", {"path": str(path), "content": content})
        assert "refused" not in answer, answer

    def calls_write(self, path: Path, content: str) -> None:
        """As the agent's tools do."""
        arguments = {"file_path": str(path), "content": content}
        answer = self.called("tool", {"token": self._token, "name": "Write", "arguments": arguments})
        assert not answer.get("isError"), answer


async def writes(
    base: Path, monkeypatch: pytest.MonkeyPatch, planted: str = "stopwatch", most: float = 0.0
) -> dict[str, float]:
    """ms of the longest step of each write, of a new file and over one that is there. What is above `most` is measured again."""
    found: dict[str, float] = {}
    numbers = iter(range(10_000))
    async with measured(base, monkeypatch, planted) as (_, entry, longest):
        with raw(entry.socket) as client:
            guest = await asyncio.to_thread(Guest, client, entry, base / "ws")
            await asyncio.to_thread(
                guest.writes, base / "ws" / "first.txt", "x"
            )  # what is loaded at the first use

            async def taken(write: Callable[[Path, str], None], before: str | None, content: str) -> float:
                file = base / "ws" / f"{next(numbers)}.txt"
                if before is not None:
                    file.write_bytes(before.encode())
                longest()
                await asyncio.to_thread(write, file, content)
                took = longest()
                assert_says(file.read_bytes().decode(), content)
                return took

            for name in WRITTEN:
                text = TEXTS[name]()
                for how, write in (("the proxy", guest.writes), ("a tool", guest.calls_write)):
                    for before, content in ((None, text), (text, word(text))):
                        found[f"{name} by {how}{'' if before is None else ', over a file'}"] = await least(
                            lambda write=write, before=before, content=content: taken(write, before, content),
                            most,
                        )
    return found


async def test_no_step_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    most = bound(ms=20.0, yardsticks=4.0)
    found = await table(tmp_path, monkeypatch, most=most)
    record_property("messages", len(found))
    record_property("step ms", round(max(found.values()), 1))
    assert max(found.values()) < most, slowest(found)


async def test_no_step_of_a_write_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    most = bound(ms=20.0, yardsticks=4.0)
    found = await writes(tmp_path, monkeypatch, most=most)
    record_property("writes", len(found))
    record_property("write step ms", round(max(found.values()), 1))
    assert max(found.values()) < most, slowest(found)


async def test_the_gate_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gates.test_bridge_steps.SIZES", (63,))
    monkeypatch.setattr("tests.gates.test_bridge_steps.KINDS", ("quotes",))
    found = await table(tmp_path, monkeypatch, "the_bridge_reads_lines_at_once")
    assert max(found.values()) > 60, found
