"""stderr_log: writes the log to stderr through its own thread, because an editor may never read it.

The pipe is then full after 64 KiB, and anyone who writes to it blocks. The queue is bounded: when it is full, the newest lines are dropped, and their
number is logged when there is room again.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import deque

from sidecar.core.escape import escape

WAITING_AT_MOST = 1024 * 1024
"""The limit for waiting lines, in bytes."""
LINE_AT_MOST = 16 * 1024
"""The limit for one record, including a traceback, in bytes; the middle of a longer one is left out."""
_LAST_WORDS = 0.3
"""Seconds that the end of the process waits for lines that are not written yet."""


class StderrHandler(logging.Handler):
    """Writes to the descriptor `fd`, which it never closes. Logging never blocks."""

    def __init__(self, fd: int = 2) -> None:
        super().__init__()
        self._fd = fd
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._left_out = 0
        self._changed = threading.Condition()
        self._busy = False
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = _shown(self.format(record)).encode("utf-8", "backslashreplace")
        except Exception:  # noqa: BLE001 - a bad log call must not harm the work that it logs
            line = f"{record.name}: a line that cannot be formatted: {record.msg!r}".encode(
                "utf-8", "replace"
            )
        if len(line) > LINE_AT_MOST:
            line = line[: LINE_AT_MOST // 2] + b" [...] " + line[-LINE_AT_MOST // 2 :]
        with self._changed:
            told = b"(%d lines were left out here: nobody read stderr)\n" % self._left_out
            line = b"%b%b\n" % (told if self._left_out else b"", line)
            if self._size + len(line) > WAITING_AT_MOST:
                self._left_out += 1
                return
            self._left_out = 0
            self._waiting.append(line)
            self._size += len(line)
            if self._thread is None:  # not before it is needed: a start without log lines costs nothing
                self._thread = threading.Thread(target=self._run, name="stderr", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush_within(self, seconds: float = _LAST_WORDS) -> bool:
        """Wait until everything is written, at most `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                while not self._waiting:
                    self._changed.wait()
                data = b"".join(self._waiting)
                self._waiting.clear()
                self._size = 0
                self._busy = True
            try:
                while data:
                    data = data[os.write(self._fd, data) :]
            except OSError:  # nobody will ever read it
                pass


def _shown(text: str) -> str:
    """Escape the text. It contains names and messages of others: none may move a terminal's cursor, or look like a line of the log's own."""
    if len(text) > LINE_AT_MOST:
        text = f"{text[: LINE_AT_MOST // 2]} [...] {text[-LINE_AT_MOST // 2 :]}"
    return escape(text, keep_newlines=True).replace("\n", "\n  ")


def log_to_stderr(level: int) -> None:
    """Send everything that is logged from now on to stderr."""
    handler = StderrHandler()
    logging.basicConfig(
        level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=[handler]
    )
    atexit.register(handler.flush_within)
