"""Starts an agent on Linux, macOS and other Unix systems: with its own pipes, and with a reaper between us and the
agent."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sidecar.acp import pipes, spawning
from sidecar.acp import reaper as reaper_module
from sidecar.acp.limits import Ladder
from sidecar.acp.process import AgentProcess, Exit, Tail, one_at_a_time
from sidecar.acp.spawning import Child, Program

REAPER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper.py")))
"""-I and -S: the open folder and PYTHON* variables cannot affect the reaper."""

_ANSWER = 10.0
_AT_ONCE = Ladder(0, 0, 1)


async def start(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    name: str,
    *,
    reaper: Sequence[str] = REAPER,
    stderr: int | None = None,
) -> AgentProcess:
    """See `starting.start`. `reaper` is the command line of the reaper."""
    fds: list[int] = []  # the read and write ends of stdin, stdout, stderr, control, status
    try:
        for _ in range(5):
            fds += os.pipe()
        stdin, to_agent, from_agent, stdout, errors, to_errors, control, to_reaper, from_reaper, status = fds
        pipes.enlarge(stdin)
        pipes.enlarge(stdout)
        async with one_at_a_time():
            child = await spawning.started(
                Program(
                    (
                        *reaper,
                        *(str(control), str(status), str(os.getpid())),
                        *("" if "LC_CTYPE" in env else "LC_CTYPE", "--", *argv),
                    ),
                    dict(env),
                    cwd,
                    (stdin, stdout, to_errors if stderr is None else stderr),
                    (control, status),
                )
            )
    except BaseException:
        for fd in fds:
            os.close(fd)
        raise
    for fd in (stdin, stdout, to_errors, control, status):
        os.close(fd)
    os.set_blocking(to_reaper, False)
    sink = await pipes.writer(to_agent)
    output = pipes.PipeReader(from_agent)
    stderr_reader, stderr_end = await pipes.reader(errors)
    reports, reports_end = await pipes.reader(from_reaper)
    process = AgentProcess(child.pid, sink, output, Tail(name))

    def hurry(how: str) -> None:
        if not how:
            output.ignore()
            return
        try:
            os.write(to_reaper, how.encode())
            if not child.ended.done():
                os.kill(child.pid, signal.SIGCONT)  # the agent may have stopped it
        except OSError:  # it is gone already
            pass

    def cleanup() -> None:
        os.close(to_reaper)  # a reaper that still runs takes this as our end
        for end in (output, stderr_end, reports_end):
            end.close()
        if not child.ended.done():  # the reaper does not work: the agent prevents it
            for pid in reaper_module.descendants(child.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
            for group in {process.pid, child.pid}:
                try:
                    os.killpg(group, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass

    process.follow(stderr_reader)
    process.on_stop(hurry, cleanup)
    try:
        async with asyncio.timeout(_ANSWER):
            first = (await reports.readline()).split()
    except BaseException:
        await asyncio.shield(process.stop(_AT_ONCE))
        raise
    process.keep(asyncio.ensure_future(_watch(process, reports, child)))
    if len(first) != 2 or first[0] != b"started":
        number = int(first[1]) if len(first) == 2 else errno.ECHILD
        words = (
            os.strerror(number) if first else "; ".join(["its reaper failed", *await process.last_lines()])
        )
        await process.stop(_AT_ONCE)
        raise OSError(number, words)
    process.pid = int(first[1])
    return process


async def _watch(process: AgentProcess, reports: asyncio.StreamReader, child: Child) -> None:
    while line := await reports.readline():
        how, _, value = line.decode().strip().partition(" ")
        if not process.exited.done():
            process.exited.set_result(Exit(int(value)) if how == "exited" else Exit(None, int(value)))
    await asyncio.shield(child.ended)  # only the reaper holds the other end of the reports
    if not process.exited.done():  # something ended the reaper, and the agent with it
        process.exited.set_result(Exit(None))
    if not process.gone.done():
        process.gone.set_result(None)
