"""held_bytes: what an agent sends and does not wait for costs a bounded number of bytes, whatever is in it.

Writes behind one that waits for a person, in every kind of text; all other requests that wait for one; requests for the end of a terminal. (What an agent asks for and does not read: gate `flood`.)
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gates.product import Product, Script, a_product, in_folder
from tests.gates.size import size
from tests.support.memory import peak, resident

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc"),
]
Record = Callable[[str, object], None]
MB = 1024 * 1024
LINES = size((9,), (9, 30))
"""MB of one write."""
WRITES = size(12, 20)
WAITS = size(5_000, 200_000)
HELD = 128
"""MB that one agent's waiting requests may take (acp/limits.py)."""
TIMES = 5
"""What one message may take while it is read, of its own size."""
TEXTS = {"ascii": "", "emoji": "\U0001f600", "accent": "é", "line ends": "\\r\\n", "escapes": "\\u4e2d"}


class Absent(Product):
    """An editor whose user does not answer."""

    def handle(self, method: str, params: dict[str, Any]) -> object:
        if method in ("window/showMessageRequest", "sidecar/elicitation"):
            return asyncio.get_running_loop().create_future()
        return super().handle(method, params)


def writes(text: str, megabytes: int) -> Script:
    head = '{"jsonrpc":"2.0","id":"w$n","method":"fs/write_text_file","params":{"sessionId":"s1","path":"$folder/.vscode/x.json","content":"'
    one = [{"raw": head + text}, {"fill": megabytes * MB}, {"raw": '"}}\n'}]
    return {
        "turns": [
            [
                {"write": "$folder/.vscode/x.json", "content": "x", "wait": False},
                {"repeat": WRITES, "steps": one},
                {"request": "nobody/knows", "as": "last"},
                {"say": "sent"},
                {"wait_for": "session/cancel"},
                {"stop": "cancelled"},
            ]
        ]
    }


METHODS: dict[str, tuple[str, str, str]] = {
    "write": ("fs/write_text_file", '"path":"$folder/.vscode/x.json","content":"x"', '"_meta":{"x":"'),
    "read": ("fs/read_text_file", '"path":"$folder/.env"', '"_meta":{"x":"'),
    "command": ("terminal/create", '"command":"true"', '"_meta":{"x":"'),
    "question": (
        "session/request_permission",
        '"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]',
        '"toolCall":{"toolCallId":"t$n","kind":"edit","rawInput":{"x":"',
    ),
    "form": ("elicitation/create", '"mode":"form","message":"x","requestedSchema":{}', '"_meta":{"x":"'),
}
"""Requests that wait for the user: method · params · those that hold what nobody needs, as JSON up to the text."""
ASKED = size(("write", "question"), tuple(METHODS))
REQUESTS = 45
"""Fewer than may be open at once."""


def requests(kind: str, megabytes: int) -> Script:
    method, params, field = METHODS[kind]
    ends = '"' + "}" * (field.count("{") + 2) + "\n"
    head = f'{{"jsonrpc":"2.0","id":"q$n","method":"{method}","params":{{"sessionId":"s1",{params},{field}'
    return {
        "turns": [
            [
                {"repeat": REQUESTS, "steps": [{"raw": head}, {"fill": megabytes * MB}, {"raw": ends}]},
                {"request": "nobody/knows", "as": "last"},
                {"say": "sent"},
                {"wait_for": "session/cancel"},
                {"stop": "cancelled"},
            ]
        ]
    }


def waits(times: int = WAITS) -> Script:
    make = {"sessionId": "$session", "command": "sleep", "args": ["600"]}
    ask = '{"jsonrpc":"2.0","id":"e$n","method":"terminal/wait_for_exit","params":{"sessionId":"s1","terminalId":"term-1"}}\n'
    return {
        "turns": [
            [
                {"request": "terminal/create", "params": make, "as": "made"},
                {"repeat": times, "steps": [{"raw": ask}]},
                {"request": "nobody/knows", "as": "last"},
                {"say": "sent"},
                {"wait_for": "session/cancel"},
                {"stop": "cancelled"},
            ]
        ]
    }


async def grown(folder: Path, script: Script, make: type[Product], planted: str | None = None) -> float:
    """MB more at the peak, once the agent has sent all of it."""
    allow = lambda text, titles: next((title for title in titles if "this once" in title), None)
    options: dict[str, Any] = {"planted": planted, "make": make, "answer": allow, "scripts_in": folder.parent}
    options["client"] = ("sessionUpdates", "elicitation")
    async with a_product(folder, {"fake": in_folder(script, folder)}, **options) as product:
        session = await product.session("fake")
        before = resident(product.pid)
        turn = asyncio.ensure_future(product.prompt(session))
        await product.wait_for(lambda: "sent" in product.said(session), timeout=300)
        await product.tried("sidecar.status")
        more = peak(product.pid) - before
        await product.tried("sidecar.cancel", {"sessionId": session["sessionId"]})
        await turn
    return more


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("megabytes", LINES)
async def test_writes_that_wait(tmp_path: Path, text: str, megabytes: int, record_property: Record) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    more = await grown(folder, writes(TEXTS[text], megabytes), Absent)
    record_property("MB more", more)
    assert more < HELD + (TIMES + 1) * megabytes + 60, f"{more:.0f} MB for {WRITES} writes of {megabytes} MB"


@pytest.mark.parametrize("kind", ASKED)
async def test_requests_that_wait(tmp_path: Path, kind: str, record_property: Record) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / ".env").write_text("x")
    more = await grown(folder, requests(kind, 9), Absent)
    record_property("MB more", more)
    assert more < HELD + (TIMES + 1) * 9 + 60, f"{more:.0f} MB for {REQUESTS} requests of 9 MB"


async def test_the_gate_notices_requests_that_are_not_counted(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    more = await grown(folder, requests("question", 9), Absent, "only_writes_are_counted")
    assert more > HELD + (TIMES + 1) * 9 + 60, f"only {more:.0f} MB"


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals there")
async def test_requests_for_an_end(tmp_path: Path, record_property: Record) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    more = await grown(folder, waits(), Product)
    record_property("MB more", more)
    assert more < 60, f"{more:.0f} MB for {WAITS} requests"


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    more = await grown(folder, writes(TEXTS["emoji"], LINES[0]), Absent, "characters_are_counted")
    assert more > HELD + (TIMES + 1) * LINES[0] + 60, f"only {more:.0f} MB"


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals there")
async def test_the_gate_notices_waits_without_an_end(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    more = await grown(folder, waits(40_000), Product, "everybody_may_wait")
    assert more > 60, f"only {more:.0f} MB"
