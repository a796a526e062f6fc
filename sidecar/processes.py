"""Whether another process still runs, which program it is, and all processes that run now."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path


def runs(pid: int) -> bool | None:
    """Whether there is a process with this id that has not ended. None if that cannot be determined.

    A zombie has ended. In containers whose first process never collects its children, which is common, a zombie stays for as long as the container
    runs. Raises OverflowError for a number that is no process id."""
    if sys.platform == "win32":
        return None  # there, os.kill would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs as another user
    try:
        # pid (name) state …; the name may contain blanks and brackets. Linux only: elsewhere init collects
        # zombies
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return True


def program_of(pid: int) -> str | None:
    """Return the path of the program that this process runs, or None if that cannot be determined."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        if sys.platform != "darwin":
            return None
    said = subprocess.run(
        ["/bin/ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    path = said.stdout.strip()
    return path if os.path.isabs(path) else None


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    began: float
    """The start time, on the clock of `now`."""
    line: str
    """Its command line, the words joined by blanks."""

    def is_same(self, other: Process | None) -> bool:
        """Whether it is the same process. The system reuses process ids, so the start times are compared."""
        return other is not None and self.pid == other.pid and abs(self.began - other.began) <= 2 * EXACT


_SINCE_1601 = 11_644_473_600
"""Seconds from the epoch of FILETIME, which counts 100 ns, to that of `time.time`."""


EXACT = 0.01 if sys.platform == "linux" else 1.0
"""The accuracy of a process's start time, in seconds."""


def now() -> float:
    """Return the seconds since some moment before all processes."""
    if sys.platform == "win32":
        return time.time()
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def running() -> dict[int, Process]:
    """Return every process that has not ended, by its id; on Windows only the user's own. Blocks for some milliseconds."""
    if sys.platform == "win32":
        from sidecar import windows_processes

        return of_windows(windows_processes.rows())
    return _by_proc() if os.path.isdir("/proc/self") else _by_ps()


def _by_proc() -> dict[int, Process]:
    found: dict[int, Process] = {}
    ticks = os.sysconf("SC_CLK_TCK") if sys.platform != "win32" else 1
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # pid (name) state ppid … starttime, the 22nd; the name may contain blanks and brackets
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            words = line.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
            found[int(folder.name)] = Process(
                int(folder.name), int(fields[1]), int(fields[19]) / ticks, words
            )
    return found


def of_windows(rows: Iterable[tuple[int, int, int, str]]) -> dict[int, Process]:
    """Return the processes from `rows`, as windows_processes.py yields them. Windows may reuse the id of a parent that has ended. So a process that
    began after its child is not its parent, and the child gets none (0)."""
    found = {
        pid: Process(pid, parent, began / 10_000_000 - _SINCE_1601, line) for pid, parent, began, line in rows
    }
    return {
        pid: one
        if (parent := found.get(one.parent)) is not None and parent.began <= one.began
        else replace(one, parent=0)
        for pid, one in found.items()
    }


def _by_ps() -> dict[int, Process]:
    asked = now()
    said = subprocess.run(
        ["/bin/ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,etime=,args="],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    rows = [row.split(None, 4) for row in said.stdout.splitlines()]
    return {
        int(row[0]): Process(int(row[0]), int(row[1]), asked - elapsed(row[3]), row[4])
        for row in rows
        if len(row) == 5 and not row[2].startswith("Z")
    }


def elapsed(time: str) -> float:
    """Return the seconds of what ps calls `etime`: [[dd-]hh:]mm:ss."""
    days, _, rest = time.rpartition("-")
    seconds = 0
    for part in rest.split(":"):
        seconds = 60 * seconds + int(part)
    return float(seconds + 86400 * int(days or 0))
