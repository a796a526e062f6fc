"""Letting the times of files advance."""

from __future__ import annotations

import time

from sidecar.workspace.state import acts

PATIENCE = 10.0
"""Seconds."""


def tick() -> None:
    """What is done to a file after this is later, by the file's time, than all that is over by now. That clock runs behind the system's,
    by a few milliseconds as a rule, and by many when the machine is busy."""
    now, until = time.time_ns(), time.monotonic() + PATIENCE
    while not acts.is_before(now, acts.now()):
        assert time.monotonic() < until, "the clock that files have their times from stands still"
        time.sleep(0.001)
