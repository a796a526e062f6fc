"""Starts a program without blocking the event loop. Unix only.

A process that starts another one waits until that one runs its program. `subprocess` and `os.posix_spawn` keep the interpreter's lock meanwhile,
even in a thread: with 50 agents on two busy cores, nothing else ran for three seconds. C's own posix_spawn, called through ctypes, makes only its
thread wait. Where it lacks what is needed (glibc before 2.29, macOS), `subprocess` is used.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

_SETSID = 0x80
"""POSIX_SPAWN_SETSID of glibc and musl."""
_ROOM = 1024
"""The bytes for posix_spawnattr_t and posix_spawn_file_actions_t each: three times the larger one, in glibc and musl on 64 bits."""


class Program(NamedTuple):
    argv: Sequence[str]
    """The first is an absolute path."""
    env: Mapping[str, str]
    cwd: str
    streams: tuple[int, int, int]
    """The descriptors that become its standard streams."""
    kept: Sequence[int]
    """The descriptors that it inherits under the same numbers. It gets no others."""


class Child:
    """A process that was started here. Create it on the event loop."""

    def __init__(self, pid: int, wait: Callable[[], object]) -> None:
        """`wait`: blocks until the process has ended, and collects it."""
        self.pid = pid
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wait = wait
        try:
            watched = os.pidfd_open(pid)
        except (AttributeError, OSError):  # not Linux, or too old
            threading.Thread(target=self._waits, name=f"end of {pid}", daemon=True).start()
        else:
            self.ended.get_loop().add_reader(watched, self._ends, watched)

    def _ends(self, watched: int) -> None:
        self.ended.get_loop().remove_reader(watched)
        os.close(watched)
        self._collect()
        self._has_ended()

    def _waits(self) -> None:
        self._collect()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.ended.get_loop().call_soon_threadsafe(self._has_ended)

    def _collect(self) -> None:
        with suppress(ChildProcessError):
            self._wait()

    def _has_ended(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


async def started(program: Program) -> Child:
    """Start a program in a session of its own. Raises OSError if it cannot be executed."""
    work = asyncio.ensure_future(asyncio.to_thread(spawn, program))
    cancelled = False
    while not work.done():  # even if the caller is cancelled: its descriptors are in use until then
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            cancelled = True
    child = Child(*work.result())
    if cancelled:
        raise asyncio.CancelledError
    return child


def spawn(program: Program) -> tuple[int, Callable[[], object]]:
    """Start a program. Returns its pid, and the function with which `Child` waits. Callable from any thread; blocks until the program runs."""
    libc = _libc()
    if libc is None or min(*program.streams, *program.kept) < 3:  # a low number is needed for another one
        child = subprocess.Popen(
            program.argv,
            stdin=program.streams[0],
            stdout=program.streams[1],
            stderr=program.streams[2],
            cwd=program.cwd,
            env=program.env,
            pass_fds=program.kept,
            start_new_session=True,
        )
        return child.pid, child.wait
    pid = _posix_spawn(libc, program)
    return pid, partial(os.waitpid, pid, 0)


@cache
def _libc() -> Any:
    """The C library, if it has all that is needed here. Otherwise None."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        libc = ctypes.CDLL(None)
        libc.posix_spawn_file_actions_addchdir_np  # noqa: B018
        _inherited()
    except (OSError, AttributeError):
        return None
    return libc


def _posix_spawn(libc: Any, program: Program) -> int:
    actions, attributes = ctypes.create_string_buffer(_ROOM), ctypes.create_string_buffer(_ROOM)
    path, cwd = os.fsencode(program.argv[0]), os.fsencode(program.cwd)
    if any(b"\0" in text for text in (path, cwd)):
        raise ValueError("embedded null byte")
    pid = ctypes.c_int()
    libc.posix_spawn_file_actions_init(actions)
    libc.posix_spawnattr_init(attributes)
    try:
        libc.posix_spawnattr_setflags(attributes, ctypes.c_short(_SETSID))
        for fd in _inherited() - set(program.kept):
            _check(libc.posix_spawn_file_actions_addclose(actions, fd), program)
        # a descriptor that is duplicated onto itself stays open in the program
        for number, fd in (*enumerate(program.streams), *((fd, fd) for fd in program.kept)):
            _check(libc.posix_spawn_file_actions_adddup2(actions, fd, number), program)
        _check(libc.posix_spawn_file_actions_addchdir_np(actions, cwd), program)
        environment = [os.fsencode(f"{name}={value}") for name, value in program.env.items()]
        argv = _array([os.fsencode(word) for word in program.argv])
        error = libc.posix_spawn(ctypes.byref(pid), path, actions, attributes, argv, _array(environment))
        _check(error, program)
    finally:
        libc.posix_spawn_file_actions_destroy(actions)
        libc.posix_spawnattr_destroy(attributes)
    return pid.value


def _inherited() -> set[int]:
    """The descriptors that we inherited from our parent. Our own ones close by themselves when a program is run (PEP 446)."""
    found: set[int] = set()
    for fd in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):  # the descriptor of the listing, or closed meanwhile
            if fd > 2 and os.get_inheritable(fd):
                found.add(fd)
    return found


def _array(texts: Sequence[bytes]) -> ctypes.Array[Any]:
    """The texts in the form for execve(2). Raises ValueError for a text with a NUL byte."""
    if any(b"\0" in text for text in texts):
        raise ValueError("embedded null byte")
    return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)


def _check(error: int, program: Program) -> None:
    if error:
        raise OSError(
            error, os.strerror(error), program.argv[0] if os.path.isdir(program.cwd) else program.cwd
        )
