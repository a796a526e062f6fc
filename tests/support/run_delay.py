"""How long a process was ready to run and did not, from /proc (Linux)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def run_delays(pid: int) -> dict[int, float]:
    """Thread → seconds that it has waited for a processor since it started."""
    found: dict[int, float] = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found[int(task.name)] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return found
