"""Two sizes of every gate: in `make test` a small one, by `make gauntlet` (which sets GATES_FULL) the whole one."""

from __future__ import annotations

import os
from typing import TypeVar

FULL = bool(os.environ.get("GATES_FULL"))
T = TypeVar("T")


def size(small: T, full: T) -> T:
    return full if FULL else small
