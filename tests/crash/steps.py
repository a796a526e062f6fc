"""Steps: every place where a process can die in the middle of a write, by name and number; and dying there.

Used in a process of its own (child.py). A step is reported before it is done; of writes to files there is one in the middle too.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

SQL = ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT", "ROLLBACK")
"""Statements that change something, or begin or end a change."""
SPLIT = 200
"""Bytes from which a write has a middle."""
CALLS = ("fsync", "rename", "link", "unlink", "ftruncate", "mkdir", "posix_fallocate")


class Steps:
    """Counts from `arm` on; dies at step `die_at`, as by kill -9, if that is not None."""

    def __init__(self, log: Path, die_at: int | None) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._die_at = die_at
        self._count = 0
        self._armed = False
        self._lock = threading.Lock()
        self._write = os.write

    def arm(self) -> None:
        self._armed = True

    def disarm(self) -> None:
        self._armed = False

    def step(self, name: str) -> None:
        if not self._armed:
            return
        with self._lock:
            if self._count == self._die_at:
                self.note("died before " + name)
                os.kill(os.getpid(), signal.SIGKILL)
            self._count += 1
            self.note(name)

    def note(self, words: str) -> None:
        self._write(self._log, words.encode() + b"\n")

    def hook(self) -> None:
        """Every call of the system that changes files, and every statement of sqlite that changes the journal."""
        for name in CALLS:
            self._hook_call(name)
        real_write = os.write

        def write(descriptor: int, data: Any) -> int:
            view = memoryview(data)
            if not self._armed or len(view) < SPLIT:
                return real_write(descriptor, view)
            self.step("write")
            written = real_write(descriptor, view[: len(view) // 2])
            self.step("write the rest")
            return written

        os.write = write
        steps = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                word = sql.split(None, 1)[0]
                if word in SQL:
                    steps.step(" ".join(sql.split()[:3]) if word in ("INSERT", "UPDATE") else word)
                return super().execute(sql, *values)

            def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
                steps.step(" ".join(sql.split()[:3]))
                return super().executemany(sql, *values)

        real_connect = sqlite3.connect

        def connect(*arguments: Any, **more: Any) -> sqlite3.Connection:
            return real_connect(*arguments, **more, factory=Connection)

        sqlite3.connect = connect

    def _hook_call(self, name: str) -> None:
        real = getattr(os, name, None)
        if real is None:
            return

        def call(*arguments: Any, **more: Any) -> Any:
            self.step(name)
            return real(*arguments, **more)

        setattr(os, name, call)
