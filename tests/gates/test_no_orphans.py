"""no_orphans: whatever ends the real sidecar, nothing of what its agents started is left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gates.product import Product, Script, command, in_folder, settings
from tests.support.agents import alive, until_gone, until_written

pytestmark = [
    pytest.mark.timeout(200),
    pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX"),
]
Record = Callable[[str, object], None]

HANGS = 60.0
"""Seconds after which a process counts as left: generous, since a slow machine ends processes slowly."""

# name · what the agent does as it starts · how many processes write their pid
TREES: list[tuple[str, list[dict[str, object]], int]] = [
    ("ignores everything", [{"ignore": "SIGTERM"}, {"ignore": "eof"}], 0),
    (
        "child, session, daemon",
        [
            *({"spawn": kind, "pids": "$folder/pids"} for kind in ("child", "setsid", "daemon")),
            {"ignore": "eof"},
        ],
        3,
    ),
    (
        "stubborn",
        [{"spawn": "stubborn", "pids": "$folder/pids"}, {"ignore": "SIGTERM"}, {"ignore": "eof"}],
        1,
    ),
]
if sys.platform.startswith("linux"):
    stops: list[dict[str, object]] = [
        {"spawn": "daemon", "pids": "$folder/pids"},
        {"stop_reaper": True},
        {"ignore": "eof"},
    ]
    TREES.append(("stops its reaper", stops, 1))
DEATHS = ("shutdown", "end of input", "SIGTERM", "SIGKILL")


async def die(product: Product, death: str) -> None:
    if death == "shutdown":
        await product.stop(HANGS)
    elif death == "end of input":
        await product.kill(HANGS)
    else:
        os.kill(product.pid, getattr(signal, death))
        assert product._process is not None
        async with asyncio.timeout(HANGS):
            await product._process.wait()


async def survivors(base: Path, death: str, planted: str | None = None, within: float = HANGS) -> list[str]:
    """Processes that are left, by their agents."""
    scripts: dict[str, Script] = {}
    expected: dict[str, int] = {}
    for number, (name, steps, count) in enumerate(TREES):
        folder = base / str(number)
        folder.mkdir(parents=True)
        scripts[name] = {"start": in_folder([{"pid": "$folder/pids"}, *steps], folder)}
        expected[name] = count + 1
    product = Product(command(planted), base, options={"agents": settings(scripts), "client": {}})
    pids: dict[str, list[int]] = {}
    try:
        await product.start()
        await product.initialize()
        for number, name in enumerate(scripts):
            assert "sessionId" in await product.session(name)
            pids[name] = await until_written(base / str(number) / "pids", expected[name])
            assert all(map(alive, pids[name])), "a process that never lived proves nothing"
        await die(product, death)
        left = {name: await until_gone(found, within) for name, found in pids.items()}
    finally:
        await product.kill()
        for pid in [pid for found in pids.values() for pid in found if alive(pid)]:
            os.kill(pid, signal.SIGKILL)
    return [f"{death}, {name}: {len(found)} left" for name, found in left.items() if found]


async def test_nothing_is_left(tmp_path: Path, record_property: Record) -> None:
    found = await asyncio.gather(
        *(survivors(tmp_path / str(n), death) for n, death in enumerate(DEATHS)), return_exceptions=False
    )
    assert [wrong for one in found for wrong in one] == []
    record_property("deaths", len(DEATHS) * len(TREES))


async def test_the_gate_can_fail(tmp_path: Path) -> None:
    assert await survivors(tmp_path, "SIGKILL", "no_reaper", 1.0) != []
