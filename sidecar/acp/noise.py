"""Noise: logs an agent's output outside the protocol, at a limited rate."""

from __future__ import annotations

import logging
import time

from sidecar.core.escape import plain

_LOOKED_AT = 1000


class Noise:
    """Logs at most `burst` lines in `period` seconds. Omitted lines are counted, and the next line reports the count."""

    def __init__(self, log: logging.Logger, name: str, *, burst: int = 20, period: float = 10.0) -> None:
        self._log = log
        self._name = name
        self._burst = burst
        self._period = period
        self._since = 0.0
        self._said = 0
        self._unsaid = 0

    def say(self, what: str, words: str | bytes = "", *, level: int = logging.WARNING) -> None:
        """Log a line. `what` is our text; `words` is the agent's, shown escaped and shortened."""
        now = time.monotonic()
        if now - self._since > self._period:
            self._since, self._said = now, 0
        self._said += 1
        if self._said > self._burst:
            self._unsaid += 1
            return
        words = words[:_LOOKED_AT]  # before anything else is done with what may be a whole file
        if isinstance(words, bytes):
            words = words.decode("utf-8", "backslashreplace")
        unsaid = f" ({self._unsaid} more were not logged)" if self._unsaid else ""
        self._unsaid = 0
        self._log.log(level, "%s %s%s%s", self._name, what, f": {plain(words)}" if words else "", unsaid)
