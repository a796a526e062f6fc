"""FolderWatch: the system's file watcher (inotify, FSEvents, ReadDirectoryChangesW) through watchfiles, in its own
thread.

It reports only that something changed; the listener finds out what, by stat. On Linux each watch covers one folder and
watches are scarce, so folders are watched one by one, without those below them. Elsewhere one watch covers a whole
tree. The thread ends shortly after `stop`, and `join` waits for that: a thread of a Rust library must not still run
when the interpreter shuts down.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

log = logging.getLogger(__name__)

MAX_FOLDERS = 4096
"""The number of folders in one watch where each folder counts separately. Old kernels allow 8,192 for each user."""
QUIET_MS = 50
"""A change is reported once there has been none for this many milliseconds."""
BATCH_MS = 250
"""A change is reported after this many milliseconds at the latest: four times a second during a build that writes without a pause."""
_TRIES = 3
"""How many times the watch is started, each time without folders that have disappeared."""

ONE_BY_ONE = sys.platform == "linux"


class FolderWatch:
    """Runs from creation until `stop`. Never raises: if the system has no watches left, `why_not` says so."""

    def __init__(
        self,
        roots: Sequence[str],
        folders: Iterable[str],
        changed: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        """Start the watch. `roots`: canonical paths; `folders`: the folders below them that matter, most important first. The thread calls `changed`
        when something changed, and `ended` when the watch has failed.
        """
        wanted = dict.fromkeys([*roots, *folders]) if ONE_BY_ONE else dict.fromkeys(roots)
        self._folders = list(wanted)[:MAX_FOLDERS]
        self._covered = frozenset(self._folders)
        self._changed = changed
        self._ended = ended
        self._stop = threading.Event()
        self.running = False
        """Whether changes are reported."""
        self.why_not = ""
        """Why it does not run, as a message; "" if it does."""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    @property
    def folders(self) -> list[str]:
        """Every folder that has a watch, or that a watch of a folder above covers."""
        return list(self._folders)

    def covers(self, path: str) -> bool:
        """Whether changes of this file (a canonical path) are reported."""
        if not self.running:
            return False
        if ONE_BY_ONE:
            return os.path.dirname(path) in self._covered
        return any(path.startswith(os.path.join(folder, "")) for folder in self._covered)

    def covers_folders(self, folders: Iterable[str]) -> bool:
        """Whether another watch would gain nothing for these folders. Also true while this one is starting."""
        return not self.why_not and (len(self._covered) >= MAX_FOLDERS or self._covered.issuperset(folders))

    def stop(self) -> None:
        """Return at once; the thread ends within a moment."""
        self.running = False
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Wait for the thread, at most `seconds`. Return whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._watch()
        except (
            OSError,
            RuntimeError,
            ImportError,
        ) as error:  # the system's limits, the library's limits, or a missing library
            self.why_not = reason(error)
            log.warning("files are not watched: %s; they are checked twice a second instead", self.why_not)
        finally:
            self.running = False
            if not self._stop.is_set():
                self._ended()

    def _watch(self) -> None:
        watcher = _begin(self._folders)
        try:
            self.running = True
            if not self._stop.is_set():
                self._changed()  # changes made before the watch started are reported too
            while not self._stop.is_set():
                found = watcher.watch(BATCH_MS, QUIET_MS, 0, self._stop)
                if found in ("stop", "signal"):
                    return
                if not self._stop.is_set():
                    self._changed()
        finally:
            watcher.close()


def _begin(folders: list[str]) -> RustNotify:
    from watchfiles._rust_notify import RustNotify  # takes 0.1 s, and only in this process's first turn

    for left in reversed(range(_TRIES)):
        there = [folder for folder in folders if os.path.isdir(folder)]
        try:
            return RustNotify(there, False, False, 0, not ONE_BY_ONE, True)
        except FileNotFoundError:
            if not left:
                raise
    raise AssertionError("unreachable")


def reason(error: Exception) -> str:
    """Return the reason as a message, without paths."""
    if isinstance(error, ImportError):
        return "watchfiles is not installed"
    words = str(error).partition(" about [")[0]
    if "limit" in words or "No space left" in words or "Too many open files" in words:
        return f"the system allows no more watches ({words})"
    return words or type(error).__name__


def probe(folder: str) -> str:
    """Return why files below a folder cannot be watched now, as a message; "" if they can."""
    told = threading.Event()
    watch = FolderWatch([folder], [], told.set, told.set)
    told.wait(5.0)
    watch.stop()
    watch.join(5.0)
    return watch.why_not
