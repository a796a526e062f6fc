"""AuditLog: one JSON line for each file operation, start, question and answer, in the user's state folder. `read_back` reads it.

For a person who wants to know afterwards what agents did (`acp-sidecar audit`). Lines are collected and written by a thread, so that
no read waits for the disk; those of the last moment can be lost when the machine fails. Texts of files are never in it.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from sidecar.state_folder import make_private, open_private, state_folder

log = logging.getLogger(__name__)

MOST_BYTES = 5 * 1024 * 1024
KEPT_FILES = 3
WAITING_LINES = 10_000
"""Lines that wait for the thread; beyond that they are counted and left out."""
COLLECT_SECONDS = 0.1
"""How long lines are collected: a thread that wakes for every line takes the interpreter from the loop, and a read of 0.1 ms then
takes 0.4."""
_FILE = "audit.jsonl"


def default_folder() -> Path:
    """Where the log is, unless told otherwise; not made yet."""
    return state_folder("audit")


def files(folder: Path) -> list[Path]:
    """The files of the log that exist, the oldest first."""
    names = [*(f"{_FILE}.{number}" for number in range(KEPT_FILES, 0, -1)), _FILE]
    return [path for name in names if (path := folder / name).exists()]


def read_back(folder: Path) -> Iterator[dict[str, object]]:
    """Every line, the oldest first. Raises OSError.

    Lines that are no JSON object are left out: a sidecar that was killed may have written half of one."""
    for path in files(folder):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue  # rotated away meanwhile
        for raw in data.splitlines():
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield cast("dict[str, object]", line)


class AuditLog:
    """`record` never blocks and never raises; `close` writes what is left."""

    def __init__(self, folder: Path | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder if folder is not None else default_folder()
        self._most = most_bytes
        self._lines: deque[dict[str, object]] = deque()
        self._left_out = 0
        self._some = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def record(self, event: str, **fields: object) -> None:
        """`event` is one word (read, write, start, ask, answer …); fields are JSON values."""
        if len(self._lines) >= WAITING_LINES:
            self._left_out += 1
            return
        self._lines.append({"at": round(time.time(), 3), "pid": os.getpid(), "event": event, **fields})
        if self._thread is None:
            self._ending.clear()
            self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
            self._thread.start()
        if not self._some.is_set():
            self._some.set()

    def close(self, seconds: float = 2.0) -> None:
        """Writes what is waiting, for at most that long."""
        if self._thread is not None:
            self._ending.set()
            self._some.set()
            self._thread.join(seconds)
            self._thread = None

    def _write_all(self) -> None:
        ended = False
        while not ended:
            self._some.wait()
            ended = self._ending.wait(COLLECT_SECONDS)
            self._some.clear()  # before they are taken: what comes now sets it again
            lines = [self._lines.popleft() for _ in range(len(self._lines))]
            if self._left_out:
                lines.append({"event": "left_out", "lines": self._left_out})
                self._left_out = 0
            if not lines:
                continue
            try:
                self._append("".join(json.dumps(line, default=str) + "\n" for line in lines))
            except OSError as error:
                log.warning("the audit log in %s cannot be written: %s", self._folder, error)

    def _append(self, text: str) -> None:
        path = make_private(self._folder) / _FILE
        if path.exists() and path.stat().st_size > self._most:
            for number in range(KEPT_FILES - 1, 0, -1):
                older = path.with_name(f"{_FILE}.{number}")
                if older.exists():
                    older.replace(path.with_name(f"{_FILE}.{number + 1}"))
            path.replace(path.with_name(f"{_FILE}.1"))
        descriptor = open_private(path, os.O_WRONLY | os.O_APPEND)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
