"""order_pipelined: write, write, read on one path in one burst of bytes, through the real process: the last write wins, the read
sees it. Whatever the file is to the editor, and whichever of its names is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gates.product import Script, a_product
from tests.gates.size import size
from tests.support.agents import received

pytestmark = pytest.mark.timeout(300)
Record = Callable[[str, object], None]

ROUNDS = size(10, 200)

# name · the path of the first write, of the second, of the read; what the last one is to the editor
ROWS: list[tuple[str, tuple[str, str, str], str]] = [
    ("a document with unsaved text", ("open.txt", "open.txt", "open.txt"), "open"),
    ("a document by other names", ("link.txt", "sub/../named.txt", "named.txt"), "open"),
    ("a file on the disk", ("disk.txt", "disk.txt", "disk.txt"), "disk"),
    ("a file by other names", ("sub/../far.txt", "sub/up/far.txt", "far.txt"), "disk"),
    ("a file that is made", ("new/made.txt", "new/made.txt", "new/made.txt"), "new"),
]


def burst(folder: Path, paths: tuple[str, str, str]) -> str:
    """Three requests as lines; `$n` is the round, `$session` the session."""
    first, second, third = (str(folder / path) for path in paths)
    messages: list[tuple[str, str, dict[str, Any]]] = [
        ("first$n", "fs/write_text_file", {"path": first, "content": "one $n\n"}),
        ("second$n", "fs/write_text_file", {"path": second, "content": "two $n\n"}),
        ("third$n", "fs/read_text_file", {"path": third}),
    ]
    return "".join(
        json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": {"sessionId": "$session", **p}}) + "\n"
        for i, m, p in messages
    )


def script(folder: Path, paths: tuple[str, str, str]) -> Script:
    rounds = [
        {"raw": burst(folder, paths)},
        {"await": "third$n"},
        {"await": "second$n"},
        {"await": "first$n"},
    ]
    known = {"read": str(folder / paths[2])}  # else what the user typed is kept beside what is written
    return {"turns": [[known, {"repeat": ROUNDS, "steps": rounds}]]}


def furnish(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "up").symlink_to("..")
    for _, (*_, name), kind in ROWS:
        if kind != "new":
            (folder / name).write_text("from the start\n")
    (folder / "link.txt").symlink_to("named.txt")


async def table(folder: Path, planted: str | None = None) -> list[str]:
    """What is wrong, in words."""
    furnish(folder)
    traces = folder.parent / "traces"
    traces.mkdir()
    wrong: list[str] = []
    scripts = {name: script(folder, paths) for name, paths, _ in ROWS}
    last = f"two {ROUNDS - 1}\n"
    async with a_product(folder, scripts, traces=traces, planted=planted) as product:
        for name, (*_, path), kind in ROWS:
            if kind == "open":
                product.open(folder / path)
                product.type(folder / path, "typed\n")
            outcome = await product.prompt(await product.session(name))
            if outcome.get("stopReason") != "end_turn":
                wrong.append(f"{name}: {outcome}")
            answers = {m["id"]: m for m in received(traces / name) if "method" not in m}
            for number in range(ROUNDS):
                read = answers.get(f"third{number}", {})
                if read.get("result", {}).get("content") != f"two {number}\n":
                    wrong.append(f"{name}, round {number}: the read saw {read}")
            now = product.document(folder / path).text if kind == "open" else (folder / path).read_text()
            if now != last:
                wrong.append(f"{name}: at the end it is {now!r}")
    return wrong


async def test_the_last_write_wins_and_the_read_sees_it(tmp_path: Path, record_property: Record) -> None:
    assert await table(folder_in(tmp_path)) == []
    record_property("bursts", ROUNDS * len(ROWS))


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    assert await table(folder_in(tmp_path), "nobody_waits") != []


def folder_in(base: Path) -> Path:
    folder = base / "ws"
    folder.mkdir()
    return folder
