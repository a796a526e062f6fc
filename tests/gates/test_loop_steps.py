"""loop_steps: for how long one message of an agent's, of up to 64 MiB and whatever is in it, keeps everybody else from the event loop.

Measured inside the real process, as processor time of each step of its loop. The gauntlet asserts the bound; `make test` only that nothing
is far beyond it (tests/gates/loop_bound.py). (What a message of up to 1 MiB costs in all: gate `loop_time`.) Writes that are
carried out are told apart, as `write step ms`: what compares and journals their texts runs in threads (tests/workspace/test_aside.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.limits import WireLimits
from sidecar.acp.v2.diffs import MOST_LINES
from tests.gates.loop_bound import bound, least
from tests.gates.product import Product, a_product
from tests.gates.size import size

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        sys.platform == "win32", reason="the clock of a thread's processor time is too coarse there"
    ),
]
MB = 1024 * 1024
SIZES = size((4,), (8, 32, 63))
"""MiB."""
KINDS = size(("write: code", "update: escapes", "update: lone surrogates", "values", "half a message"), ())
"""Of the messages below; () is all."""
OPEN = "é\r\n" * 1_000_000
"""What a file in the editor says."""
FILE = 10
"""MiB: larger texts are refused (acp/limits.py)."""
TEXTS = WireLimits().texts
QUOTED = {
    "ascii": "x",
    "code": "    return value\\n",
    "accents and line ends": "é\\r\\n",
    "emoji": "\U0001f600",
    "an emoji in each line": "    return value \U0001f600\\n",
    "escapes": "\\u4e2d",
    "pairs of escapes": "\\ud83d\\ude00",
    "lone surrogates": "x\\ud800",
    "quotes": '\\"{[,',
    "backslashes": "\\\\",
}
"""What a text consists of, as JSON."""


def messages(folder: str, bytes_: int) -> Mapping[str, Callable[[], bytes]]:
    """Lines, by what is bad about them, each made when it is wanted."""
    write = f'{{"jsonrpc":"2.0","id":"w","method":"fs/write_text_file","params":{{"sessionId":"s1","path":"{folder}/new.txt","content":"%s"}}}}'
    update = (
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":'
        '"agent_message_chunk","content":{"type":"text","text":%s}}}}'
    )
    call = (
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update",'
        '"toolCallId":"c1","kind":"edit","status":"in_progress",%s}}}'
    )
    diff = call % f'"content":[{{"type":"diff","path":"{folder}/open.txt","newText":"x","oldText":"%s"}}]'
    ask = (
        '{"jsonrpc":"2.0","id":"a","method":"session/request_permission","params":{"sessionId":"s1","options":[{"optionId":"y","name":"Yes",'
        '"kind":"allow_once"}],"toolCall":{"toolCallId":"c2","content":[{"type":"diff","path":"/x","newText":"y","oldText":"%s"}]}}}'
    )
    unknown = '{"jsonrpc":"2.0","method":"nobody/cares","params":%s}'
    room = bytes_ - 400
    last = "x" * room + "\U0001f600"
    found: dict[str, Callable[[], str]] = {}
    for name, text in QUOTED.items():
        times = room // len(text.encode())
        found[f"write: {name}"] = lambda text=text, times=times: write % (text * times)
        found[f"update: {name}"] = lambda text=text, times=times: update % f'"{text * times}"'
    found |= {
        "write: an emoji at the end": lambda: write % last,
        "write: half of it emoji": lambda: write % ("x" * (room // 2) + "\U0001f600" * (room // 8)),
        # what Python keeps in as many bytes as a message's texts may have
        "update: an emoji behind 2.5 MiB": lambda: update % f'"{"x" * min(room, TEXTS // 4 - 9)}\U0001f600"',
        "update: a dash behind 5 MiB": lambda: update % f'"{"x" * min(room, TEXTS // 2 - 9)}—"',
        "update: an emoji at the end": lambda: update % f'"{last}"',
        "a diff of an open file": lambda: diff % ("é\\r\\n" * (room // 6)),
        "a title": lambda: call % ('"title":"' + "\u202e" * (room // 3) + '"'),
        "an input": lambda: call % ('"rawInput":{"x":"' + "x" * room + '"}'),
        "a question about a diff": lambda: ask % ("é\\r\\n" * (room // 6)),
        "values": lambda: unknown % f"[{'{},' * (bytes_ // 3)}{{}}]",
        "short strings": lambda: unknown % f'[{QUOTE * (bytes_ // len(QUOTE))}""]',
        "empty strings without commas": lambda: unknown % f"[{DOUBLE * (bytes_ // 2)}",
        "numbers": lambda: unknown % ("9" * room),
        "blanks": lambda: unknown % (" " * room + "1"),
        "brackets": lambda: "{" * bytes_,
        "no JSON": lambda: "x" * bytes_,
        "half a message": lambda: (update % f'"{last}"')[:-9],
    }
    return {name: lambda made=made: made().encode("utf-8")[:bytes_] + b"\n" for name, made in found.items()}


def messages_of_two(folder: str, bytes_: int) -> Mapping[str, Callable[[], bytes]]:
    """Those of ACP version 2, each in the shape that costs its translation most."""
    room = bytes_ - 400
    place = "@@ -1 +1 @@\\n"

    def told(kind: str, fields: str) -> str:
        update = f'{{"sessionUpdate":"{kind}",{fields}}}'
        return (
            f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{update}}}}}'
        )

    def many(one: str) -> str:
        return ",".join([one] * (room // len(one.encode())))

    def call(content: str) -> str:
        return told("tool_call_update", f'"toolCallId":"c1","kind":"edit","content":[{content}]')

    def diff(patch: str, files: int = 1) -> str:
        """`files`: that it names."""
        paths = (f"{folder}/open.txt", *(f"{folder}/{n}" for n in range(1, files)))
        named = ",".join(f'{{"operation":"modify","path":"{path}"}}' for path in paths)
        return f'{{"type":"diff","changes":[{named}],"patch":{{"format":"git_patch","text":"diff --git /x /x\\n{patch}"}}}}'

    changes = ",".join(
        f'{{"operation":"add","path":"{folder}/{n}"}}' for n in range(room // (len(folder) + 40))
    )
    emoji = "\U0001f600" * (room // 4)
    piece = f'{{"type":"content","content":{{"type":"text","text":"{"é" * (room // 2)}"}}}}'
    found: dict[str, Callable[[], str]] = {
        "a whole message": lambda: told(
            "agent_message", f'"messageId":"m","content":[{{"type":"text","text":"{emoji}"}}]'
        ),
        "a message of pieces": lambda: told("agent_message", f'"messageId":"n","content":[{many(TEXT)}]'),
        "a large patch": lambda: call(diff(place + "-é\\n+é\\n" * (room // 10))),
        "many patches": lambda: call(many(diff(place + "-é\\n+é\\n" * (LINES // 8)))),
        "places of a patch": lambda: call(diff((place + "+\\n") * (LINES // 2))),
        "lines of nothing": lambda: call(diff(place + "\\n" * LINES)),
        "names in a patch": lambda: call(diff("+++ x\\n" * LINES, 1000) + "," + many(diff(place))),
        "changes": lambda: call(f'{{"type":"diff","changes":[{changes}]}}'),
        "a piece of content": lambda: told("tool_call_content_chunk", f'"toolCallId":"c2","content":{piece}'),
        "all output": lambda: told(
            "terminal_update", f'"terminalId":"t","output":{{"data":"{"QUFB" * (room // 4)}"}}'
        ),
        "output": lambda: told(
            "terminal_output_chunk", f'"terminalId":"t","data":"{"8J+YgA==" * (room // 8)}"'
        ),
        "a plan": lambda: told(
            "plan_update", f'"plan":{{"type":"items","planId":"p","entries":[{many(TEXT)}]}}'
        ),
    }
    return {name: lambda made=made: made().encode("utf-8")[:bytes_] + b"\n" for name, made in found.items()}


TEXT = '{"type":"text","text":"é"}'
LINES = MOST_LINES - 5
"""Of patches: as many as are looked at."""
QUOTE, DOUBLE = '"xxxxxxxx",', '""'


async def longest(product: Product, session: Any, line: bytes, base: Path) -> float:
    """ms of the longest step while such a line arrives and is dealt with."""
    file, clock = base / "line", base / "clock"
    file.write_bytes(line)
    clock.unlink(missing_ok=True)
    steps = [{"lines": str(file)}, {"request": "nobody/knows", "as": "done"}]
    outcome = await product.prompt(session, json.dumps(steps))
    assert outcome.get("stopReason") == "end_turn", outcome
    return float(clock.read_text()) if clock.exists() else 0.0


async def table(
    base: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    planted: str = "stopwatch",
    only: tuple[str, ...] = (),
    most: float = 0.0,
    speaks: int = 1,
) -> dict[str, float]:
    """ms of the longest step, by message. What is above `most` is measured again."""
    folder = base / "ws"
    folder.mkdir()
    (folder / "open.txt").write_text(OPEN, newline="")
    monkeypatch.setenv("LONGEST_STEP", str(base / "clock"))
    found: dict[str, float] = {}
    made = messages if speaks == 1 else messages_of_two
    script = {"prompted": True, "speaks": speaks}
    async with a_product(folder, {"fake": script}, planted=planted, client=()) as product:
        product.open(folder / "open.txt")
        session = await product.session("fake")
        warm = made(str(folder), 4096)
        for name in (
            ("write: ascii", "update: ascii") if speaks == 1 else warm
        ):  # what is loaded at the first use is not the message's
            await longest(product, session, warm[name](), base)
        rows = [(size_, *row) for size_ in sizes for row in made(str(folder), size_ * MB).items()]
        # writes last: what they leave to do goes on after the turn
        for megabytes, name, line in sorted(rows, key=lambda row: is_written(row[0], row[1])):
            if only and name not in only:
                continue
            message = line()
            found[f"{megabytes} MiB, {name}"] = await least(
                lambda message=message: longest(product, session, message, base), most
            )
    return found


def is_written(megabytes: int, name: str) -> bool:
    """Whether it is a write that is carried out."""
    return name.startswith("write") and megabytes <= FILE


async def test_no_step_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    most = bound(ms=20.0, yardsticks=4.0)
    every = await table(tmp_path, monkeypatch, SIZES, only=KINDS, most=most)
    written = {
        name: ms for name, ms in every.items() if is_written(int(name.split()[0]), name.split(", ")[1])
    }
    others = {name: ms for name, ms in every.items() if name not in written}
    record_property("messages", len(every))
    record_property("step ms", round(max(others.values()), 1))
    record_property("write step ms", round(max(written.values()), 1))
    assert max(others.values()) < most, slowest(others)
    assert max(written.values()) < most, slowest(written)


async def test_no_step_takes_long_in_version_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    most = bound(ms=20.0, yardsticks=4.0)
    found = await table(tmp_path, monkeypatch, SIZES, most=most, speaks=2)
    record_property("messages of version 2", len(found))
    record_property("step ms, version 2", round(max(found.values()), 1))
    assert max(found.values()) < most, slowest(found)


def slowest(found: Mapping[str, float]) -> str:
    return "\n".join(f"{ms:.1f} {name}" for name, ms in sorted(found.items(), key=lambda row: -row[1])[:10])


async def test_the_gate_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await table(tmp_path, monkeypatch, (32,), "lines_are_read_at_once", ("update: escapes",))
    assert max(found.values()) > 60, found
