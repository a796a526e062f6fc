"""How long a process was ready to run but had to wait, from /proc (Linux)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def run_delays(pid: int) -> dict[int, float]:
    """By thread: the seconds that it has waited for a processor since it started."""
    found: dict[int, float] = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that just ended
            found[int(task.name)] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return found
