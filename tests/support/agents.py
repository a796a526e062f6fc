"""The scripted agent (fake_agent.py) as a command, and checks of what happened to its processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from sidecar.config import AgentCommand

FAKE_AGENT = Path(__file__).with_name("fake_agent.py")


def argv(script: dict, trace: Path | None = None, file: Path | None = None) -> list[str]:
    """The command line. With `file`, the script goes there, because a command line has limits."""
    text = json.dumps(script)
    if file is not None:
        file.write_text(text)
        text = f"@{file}"
    return [sys.executable, "-S", str(FAKE_AGENT), text, *([str(trace)] if trace else [])]


def command(
    script: dict, trace: Path | None = None, env: dict[str, str] | None = None, *, file: Path | None = None
) -> AgentCommand:
    program, *args = argv(script, trace, file)
    return AgentCommand(program, tuple(args), env or {})


def received(trace: Path) -> list[dict]:
    """What was sent to the agent, in order."""
    return [json.loads(line) for line in trace.read_bytes().splitlines()] if trace.exists() else []


def alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except ProcessLookupError:
        return False
    except OSError:  # no /proc on this system, or the process ended meanwhile
        return not Path("/proc/self").exists()


async def until_gone(pids: Iterable[int], within: float) -> set[int]:
    """Waits at most `within` seconds until none of the processes is alive. Returns those that still are."""
    left = set(pids)
    deadline = asyncio.get_running_loop().time() + within
    while left := {pid for pid in left if alive(pid)}:
        if asyncio.get_running_loop().time() > deadline:
            break
        await asyncio.sleep(0.02)
    return left


async def until_written(path: Path, lines: int, within: float = 30.0) -> list[int]:
    """The numbers in a file to which processes append their pids, once there are that many."""
    deadline = asyncio.get_running_loop().time() + within
    while not path.exists() or len(path.read_text().split()) < lines:
        assert asyncio.get_running_loop().time() < deadline, f"{path.name} has too few lines"
        await asyncio.sleep(0.01)
    return [int(word) for word in path.read_text().split()]
