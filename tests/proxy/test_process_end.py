"""The end of a process with pipes, whatever it does with them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from sidecar.proxy.process_end import ended
from tests.proxy.talk import processes
from tests.support.agents import until_written

pytestmark = processes
SOON = 0.5
FLOODS = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
LEAVES = (
    "import os, pathlib, subprocess, sys\n"
    "left = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'], stdin=subprocess.DEVNULL)\n"
    "path = pathlib.Path(sys.argv[1]); path.write_text(f'{left.pid}\\n')\n"
    "sys.stdin.read()"
)
"""Leaves a process that holds its output."""


async def started(program: str, *arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", program, *arguments, stdin=pipe, stdout=pipe, limit=1024
    )


@pytest.mark.parametrize(
    ("program", "code"),
    [("import sys; sys.stdin.read()", 0), (FLOODS, -signal.SIGTERM)],
    ids=["ends with its input", "does not, and nobody reads what it says"],
)
async def test_it_ends_and_nothing_of_it_stays_open(program: str, code: int) -> None:
    process = await started(program)
    if code:
        assert process.stdout is not None
        await process.stdout.readexactly(1)
    async with asyncio.timeout(60):
        await ended(process, SOON if code else 60, process.terminate, process.kill)
    assert process.returncode == code
    assert process._transport.is_closing()


async def test_although_another_one_holds_its_output(tmp_path: Path) -> None:
    process = await started(LEAVES, str(tmp_path / "pid"))
    (left,) = await until_written(tmp_path / "pid", 1)
    try:
        async with asyncio.timeout(60):
            await ended(process, SOON, process.terminate, process.kill)
        assert process.returncode is not None
        assert process._transport.is_closing()
    finally:
        os.kill(left, signal.SIGKILL)
