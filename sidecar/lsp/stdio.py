"""Stdio: reserves the two protocol streams, so that nothing else in the process can use them.

stdout belongs to the protocol, and anything may print: a dependency, a C library, a child process. So the real streams get other numbers; descriptor
1 then leads to stderr and descriptor 0 to the null device.
"""

from __future__ import annotations

import os
import sys


def at_a_terminal() -> bool:
    """True if a person has probably started this process, and not a program that speaks the protocol."""
    return sys.stdin is not None and sys.stdin.isatty()  # None if it was closed before the process started


def claim(to_a_person: str) -> tuple[int, int]:
    """Return (stdin, stdout) as descriptors that children do not inherit. Call this once, before anything is read or written.

    `to_a_person`: says on stderr what this process is for, if it was started at a terminal, where it would only wait."""
    if at_a_terminal():
        sys.stderr.write(to_a_person)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(nothing, 2)  # started without stderr: the number must not go to one of the streams
    stdin, stdout = os.dup(0), os.dup(1)  # not inheritable (PEP 446)
    if sys.platform == "win32":
        import msvcrt

        for fd in (stdin, stdout):
            msvcrt.setmode(fd, os.O_BINARY)
    if sys.stdout is not None:  # None without a console on Windows
        sys.stdout.flush()
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if nothing > 2:
        os.close(nothing)
    return stdin, stdout
