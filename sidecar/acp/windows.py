"""Starts an agent on Windows in a job object, which ends when its last handle, ours, is closed.

The process is created suspended and put into the job before it can start anything of its own.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import asyncio
import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from ctypes import wintypes

from sidecar.acp.process import AgentProcess, Exit, Tail, one_at_a_time

_CREATE_SUSPENDED = 0x00000004
_JOB_EXTENDED_LIMITS = 9
_JOB_PROCESS_IDS = 3
_KILL_ON_JOB_CLOSE = 0x00002000
_SET_QUOTA_TERMINATE_SUSPEND_RESUME = 0x0100 | 0x0001 | 0x0800
_ROOM = 1024 * 1024


async def start(argv: Sequence[str], env: Mapping[str, str], cwd: str, name: str) -> AgentProcess:
    """See `starting.start`."""
    job = _Job()
    async with one_at_a_time():
        child = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=dict(env),
            limit=_ROOM,
            creationflags=_CREATE_SUSPENDED
            | subprocess.CREATE_NO_WINDOW
            | subprocess.CREATE_NEW_PROCESS_GROUP,
        )
    try:
        job.take(child.pid)
    except OSError:
        child.kill()
        job.close()
        raise
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    process = AgentProcess(child.pid, _StreamSink(child.stdin), child.stdout, Tail(name))

    def hurry(how: str) -> None:
        if how:  # nothing gentler works without a console
            job.end()

    process.follow(child.stderr)
    process.on_stop(hurry, job.close)
    process.family = job.members

    async def watch() -> None:
        code = await child.wait()
        if not process.exited.done():
            process.exited.set_result(Exit(code))
        job.end()  # what the agent leaves behind has no master any more
        if not process.gone.done():
            process.gone.set_result(None)

    process.keep(asyncio.ensure_future(watch()))
    return process


class _StreamSink:
    """A `byte_streams.Sink` over asyncio's own writer."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream
        self._written = 0
        stream.transport.set_write_buffer_limits(high=_ROOM)

    @property
    def full(self) -> bool:
        return not self._stream.is_closing() and self._stream.transport.get_write_buffer_size() > _ROOM

    @property
    def waiting(self) -> int:
        return 0 if self._stream.is_closing() else self._stream.transport.get_write_buffer_size()

    @property
    def taken(self) -> int:
        return self._written - self.waiting

    def write(self, *parts: bytes) -> None:
        if not self._stream.is_closing():
            self._written += sum(map(len, parts))
            self._stream.writelines(parts)

    async def drain(self) -> None:
        await self._stream.drain()

    def close(self) -> None:
        if self._stream.transport.get_write_buffer_size():
            self._stream.transport.abort()
        else:
            self._stream.close()


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
        ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_ulonglong * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class _Members(ctypes.Structure):
    _fields_ = (
        ("assigned", wintypes.DWORD),
        ("listed", wintypes.DWORD),
        ("ids", ctypes.c_size_t * 4096),
    )


class _Job:
    """A job object whose processes end when it is closed."""

    def __init__(self) -> None:
        self._kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        self._kernel.CreateJobObjectW.restype = wintypes.HANDLE
        self._kernel.OpenProcess.restype = wintypes.HANDLE
        self._handle = wintypes.HANDLE(self._kernel.CreateJobObjectW(None, None))
        limits = _ExtendedLimits()
        limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE
        if not self._handle or not self._kernel.SetInformationJobObject(
            self._handle, _JOB_EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        ):
            raise ctypes.WinError(ctypes.get_last_error())

    def take(self, pid: int) -> None:
        """Put a suspended process into the job and let it run. Raises OSError."""
        process = wintypes.HANDLE(self._kernel.OpenProcess(_SET_QUOTA_TERMINATE_SUSPEND_RESUME, False, pid))
        if not process:
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            if not self._kernel.AssignProcessToJobObject(self._handle, process):
                raise ctypes.WinError(ctypes.get_last_error())
            if ctypes.WinDLL("ntdll").NtResumeProcess(process):
                raise OSError("the process could not be resumed")
        finally:
            self._kernel.CloseHandle(process)

    def members(self) -> set[int]:
        """The ids of the processes in the job, including those whose parents have ended."""
        found = _Members()
        if self._handle:  # if there are more than fit, it lists as many as fit
            size = ctypes.sizeof(found)
            self._kernel.QueryInformationJobObject(
                self._handle, _JOB_PROCESS_IDS, ctypes.byref(found), size, None
            )
        return set(found.ids[: found.listed])

    def end(self) -> None:
        if self._handle:
            self._kernel.TerminateJobObject(self._handle, 1)

    def close(self) -> None:
        handle, self._handle = self._handle, wintypes.HANDLE()
        if handle:
            self._kernel.CloseHandle(handle)
