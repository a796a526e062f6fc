"""A process's memory, from /proc (Linux)."""

from __future__ import annotations

from pathlib import Path


def resident(pid: int) -> float:
    """Its current size in MB."""
    return _field(pid, "VmRSS")


def peak(pid: int) -> float:
    """Its largest size since it started, in MB."""
    return _field(pid, "VmHWM")


def _field(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


def forget_peak(pid: int) -> None:
    """From now on `peak` is the largest size since now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
