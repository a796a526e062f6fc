"""AuditLog: one JSON line for each file operation, start, question and answer, in the user's state folder.

For a person who wants to know afterwards what agents did. Lines are collected and written by a thread, so that no read waits for the
disk; the last ones can be lost when the machine fails. Texts of files are never in it.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
import time
from pathlib import Path

from sidecar.state_folder import make_private, open_private, state_folder

log = logging.getLogger(__name__)

MOST_BYTES = 5 * 1024 * 1024
KEPT_FILES = 3
WAITING_LINES = 10_000
"""Lines that wait for the thread; beyond that they are counted and left out."""
_FILE = "audit.jsonl"


class AuditLog:
    """`record` never blocks and never raises; `close` writes what is left."""

    def __init__(self, folder: Path | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder if folder is not None else state_folder("audit")
        self._most = most_bytes
        self._lines: queue.Queue[dict[str, object] | None] = queue.Queue(WAITING_LINES)
        self._left_out = 0
        self._thread: threading.Thread | None = None

    def record(self, event: str, **fields: object) -> None:
        """`event` is one word (read, write, start, ask, answer …); fields are JSON values."""
        line: dict[str, object] = {"at": round(time.time(), 3), "pid": os.getpid(), "event": event, **fields}
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._left_out += 1
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
            self._thread.start()

    def close(self, seconds: float = 2.0) -> None:
        """Writes what is waiting, for at most that long."""
        if self._thread is not None:
            try:
                self._lines.put(None, timeout=seconds)
            except queue.Full:
                return
            self._thread.join(seconds)
            self._thread = None

    def _write_all(self) -> None:
        ended = False
        while not ended:
            batch = [self._lines.get()]
            while not self._lines.empty() and len(batch) < 1000:
                batch.append(self._lines.get())
            ended = None in batch
            lines = [line for line in batch if line is not None]
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
