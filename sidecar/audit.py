"""AuditLog: one JSON line for each file operation, start, question and answer, in the user's state folder. `read_back` reads it.

It is for users who want to know afterwards what agents did (`acp-sidecar audit`). Lines are collected and written by a thread, so that no read waits
for the disk; the lines of the last moment can be lost when the machine fails. The log never contains texts of files.

An agent decides how often it reads, but not how long the rest is kept: starts and questions have files of their own, in which only they displace
older lines, and lines that differ only in their time are collapsed (`Repeats`).
"""

from __future__ import annotations

import heapq
import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from sidecar.state_folder import make_private, open_private, state_folder

log = logging.getLogger(__name__)

MOST_BYTES = 5 * 1024 * 1024
KEPT_FILES = 3
WAITING_LINES = 10_000
"""The number of lines that may wait for the thread; further ones are counted and left out."""
COLLECT_SECONDS = 0.1
"""Seconds for which lines are collected. A thread that wakes for every line takes the interpreter from the event loop, and a read of 0.1 ms then takes 0.4."""
REPEAT_SECONDS = 60.0
"""Seconds for which the repeats of a line are counted before their number is written."""
MOST_COUNTED = 256
"""The number of different lines whose repeats are counted at a time."""
_FILE = "audit.jsonl"
_STARTS, _QUESTIONS = "starts.jsonl", "questions.jsonl"
_FILE_OF = {
    **dict.fromkeys(("start", "offer", "sign in", "folder"), _STARTS),
    **dict.fromkeys(("question", "elicitation"), _QUESTIONS),
}
"""The file of an event, if it is not `_FILE`."""
_FILES = (_STARTS, _QUESTIONS, _FILE)


def default_folder() -> Path:
    """Return the default folder of the log, which may not exist yet."""
    return state_folder("audit")


def files(folder: Path) -> list[Path]:
    """Return the files of the log that exist: starts, questions, the rest; of each the oldest first."""
    return [path for name in _FILES for path in _rotated(folder, name) if path.exists()]


def _rotated(folder: Path, name: str) -> list[Path]:
    return [*(folder / f"{name}.{number}" for number in range(KEPT_FILES, 0, -1)), folder / name]


def read_back(folder: Path) -> Iterator[dict[str, object]]:
    """Yield every line of every file, the oldest first. Raises OSError. Lines that are not a JSON object are left out: a sidecar that was killed may
    have written half of one."""
    return heapq.merge(*(_read(_rotated(folder, name)) for name in _FILES), key=_time)


def _read(paths: Iterable[Path]) -> Iterator[dict[str, object]]:
    for path in paths:
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


def _time(line: Mapping[str, object]) -> float:
    at = line.get("at")
    return at if isinstance(at, int | float) else 0.0


class Repeats:
    """Collapses lines that differ only in their time. The first is written; after a while follows one line with `repeats`, the number of the others,
    and the time of the last of them."""

    def __init__(self, seconds: float = REPEAT_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._counted: dict[str, tuple[float, dict[str, object], int]] = {}
        """By a line's content without its time: until when it is counted, the last such line, the number of lines after the first."""

    def new(self, lines: Iterable[dict[str, object]]) -> Iterator[dict[str, object]]:
        """Yield the lines to write now."""
        for line in lines:
            yield from self.due()
            says = json.dumps({name: value for name, value in line.items() if name != "at"}, default=str)
            known = self._counted.get(says)
            if known is not None:
                self._counted[says] = known[0], line, known[2] + 1
                continue
            if len(self._counted) >= MOST_COUNTED:
                yield from self._end(next(iter(self._counted)))
            self._counted[says] = self._clock() + self._seconds, line, 0
            yield line

    def due(self, *, all_of_them: bool = False) -> Iterator[dict[str, object]]:
        """Yield the counts that are due."""
        while self._counted:
            first = next(iter(self._counted))
            if not all_of_them and self._counted[first][0] > self._clock():
                return
            yield from self._end(first)

    def wait(self) -> float | None:
        """Return the seconds until a count is due, or None if there is none."""
        ends = [until for until, _, more in self._counted.values() if more]
        return max(0.0, min(ends) - self._clock()) if ends else None

    def _end(self, says: str) -> Iterator[dict[str, object]]:
        _, last, more = self._counted.pop(says)
        if more:
            yield {**last, "repeats": more}


class AuditLog:
    """`record` never blocks and never raises. `close` writes what is left."""

    def __init__(self, folder: Path | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder if folder is not None else default_folder()
        self._most = most_bytes
        self._lines: deque[dict[str, object]] = deque()
        self._left_out = 0
        self._last = 0.0
        """The time of the last line. Each line gets a later one, so that lines of several files can be sorted."""
        self._some = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def record(self, event: str, **fields: object) -> None:
        """Record an event. `event` is one word (read, write, start, ask, answer …); fields are JSON values."""
        if len(self._lines) >= WAITING_LINES and event not in _FILE_OF:
            self._left_out += 1
            return
        self._last = max(time.time(), self._last + 1e-6)
        self._lines.append({"at": round(self._last, 6), "pid": os.getpid(), "event": event, **fields})
        if self._thread is None:
            self._ending.clear()
            self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
            self._thread.start()
        if not self._some.is_set():
            self._some.set()

    def close(self, seconds: float = 2.0) -> None:
        """Write the waiting lines, for at most `seconds`."""
        if self._thread is not None:
            self._ending.set()
            self._some.set()
            self._thread.join(seconds)
            self._thread = None

    def _write_all(self) -> None:
        ended = False
        repeats = Repeats()
        while not ended:
            self._some.wait(repeats.wait())
            ended = self._ending.wait(COLLECT_SECONDS)
            self._some.clear()  # before taking lines: a line that arrives now sets it again
            lines = [
                *repeats.new(self._lines.popleft() for _ in range(len(self._lines))),
                *repeats.due(all_of_them=ended),
            ]
            if self._left_out:
                lines.append({"at": round(time.time(), 6), "event": "left_out", "lines": self._left_out})
                self._left_out = 0
            for name in _FILES:
                of_file = [line for line in lines if _FILE_OF.get(str(line["event"]), _FILE) == name]
                if not of_file:
                    continue
                try:
                    self._append(name, "".join(json.dumps(line, default=str) + "\n" for line in of_file))
                except OSError as error:
                    log.warning("the audit log in %s cannot be written: %s", self._folder, error)

    def _append(self, name: str, text: str) -> None:
        path = os.path.join(make_private(self._folder), name)
        if os.path.exists(path) and os.path.getsize(path) > self._most:
            for number in range(KEPT_FILES - 1, 0, -1):
                if os.path.exists(f"{path}.{number}"):
                    os.replace(f"{path}.{number}", f"{path}.{number + 1}")
            os.replace(path, f"{path}.1")
        descriptor = open_private(path, os.O_WRONLY | os.O_APPEND)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
