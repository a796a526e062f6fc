"""Whether another process still runs, and which program it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def runs(pid: int) -> bool | None:
    """Whether there is a process with this id that has not ended; None where that cannot be told.

    A zombie has ended. In containers whose first process never collects its children, which is usual, a zombie stays for as
    long as the container runs. Raises OverflowError for a number that is no process id."""
    if sys.platform == "win32":
        return None  # there, os.kill ends it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs as another user
    try:
        # pid (name) state …; the name may hold blanks and brackets. Linux only: elsewhere init collects zombies
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return True


def program_of(pid: int) -> str | None:
    """The path of the program that this process runs; None where that cannot be told."""
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
