"""Waiting for a condition in another process, with a bound: the only kind of waiting that tests of real parts do."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

FIRST, INTERVAL = 0.002, 0.02
"""Seconds between the first two checks, and between later ones: short compared with an editor's debounce (150 ms), long
compared with the cost of a check.
"""


class NeverHappened(AssertionError):
    pass


def eventually(
    look: Callable[[], T | None],
    what: str,
    *,
    within: float = 60.0,
    otherwise: Callable[[], str] = lambda: "",
) -> T:
    """The first true value that `look` gives; NeverHappened after `within` seconds, with the last value and `otherwise`."""
    deadline = time.monotonic() + within
    pause = FIRST
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise NeverHappened(f"within {within:g} s never: {what}; last seen: {seen!r}\n{otherwise()}")
        time.sleep(pause)
        pause = min(INTERVAL, pause * 2)


def written(path: Path, what: str, *, within: float = 60.0, otherwise: Callable[[], str] = lambda: "") -> str:
    """The text that another process writes into a file of its own: a shell makes the file first and fills it a moment later, so
    what counts is that the text ends with a line end.
    """

    def text() -> str | None:
        said = path.read_text() if path.exists() else ""
        return said if said.endswith("\n") else None

    return eventually(text, what, within=within, otherwise=otherwise)


def connect(
    path: Path, what: str, *, within: float = 60.0, otherwise: Callable[[], str] = lambda: ""
) -> socket.socket:
    """A connection to a unix socket that another process makes (its file is there a moment before it listens)."""

    def attempt() -> socket.socket | None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
        except OSError:
            connection.close()
            return None
        return connection

    return eventually(attempt, what, within=within, otherwise=otherwise)
