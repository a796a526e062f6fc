"""TurnStarts: what the files of a session's folders were when its turn began, so that what its commands change can be found and put back.

An agent that runs a command says nothing about the files it changes. So when a turn begins the files of its folder are noted by their
stat (what git tracks or does not ignore; without git, a small folder's all), and the contents of those that differ from the last
commit; the commit holds the rest. When the turn ends, and something ran in it, what changed is found by stat. Bounded in files, bytes and time: what
lies beyond is told as not revertible, or, in a folder that is too large, not looked at.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Iterator
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from sidecar.core.refusal import Refusal
from sidecar.disk import Resolved, Roots, Stat, git_head, resolve
from sidecar.disk.git_head import Blob

MAX_FILES = 50_000
"""Of one folder with git."""
MAX_FILES_WITHOUT_GIT = 2_000
MAX_TEXT = 4 * 1024 * 1024
"""Bytes of one file's contents."""
MAX_TEXTS = 32 * 1024 * 1024
"""Bytes of all contents kept for one turn."""
MAX_COMPARED = 64 * 1024 * 1024
"""Bytes read at one turn's start to compare them with the last commit; what was compared once is known while its stat stays."""
MAX_CHANGED = 500
"""Changed files of one turn that are looked at."""
WAIT_SECONDS = 2.0
"""How long a turn waits for this before it begins without."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "target", "venv", "dist", "build"})
"""Folders that are not walked where there is no git to say what is ignored; hidden ones neither."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that is not what it was when the turn began."""

    path: str
    stat: Stat | None
    """Then; None: there was no file."""
    data: bytes | None
    """What it held then; None: there was no file, or `why` it is not known."""
    why: str = ""


@dataclass(slots=True)
class _Start:
    folder: str
    stats: dict[str, Stat]
    head: dict[str, Blob]
    kept: dict[str, bytes] = field(default_factory=dict[str, bytes])
    same: set[str] = field(default_factory=set[str])
    """Names of files that are as in the last commit."""


class TurnStarts:
    """Of all sessions of one workspace. The work is done in threads; nothing of a session is touched there."""

    def __init__(self) -> None:
        self._starts: dict[str, _Start] = {}
        self._compared: dict[str, tuple[Stat, str]] = {}
        """By path: the object id of what it held when its stat was this."""
        self._too_large: set[str] = set()
        """Folders that were, or took git too long: once is enough."""

    async def take(self, session_id: str, folder: str) -> None:
        """The session's turn is about to begin in this folder (absolute)."""
        self._starts.pop(session_id, None)
        with anyio.move_on_after(WAIT_SECONDS):
            start = await anyio.to_thread.run_sync(self._take, folder, abandon_on_cancel=True)
            if start is not None:
                self._starts[session_id] = start

    async def changed(self, session_id: str) -> list[Changed]:
        """What changed since; it is told once."""
        start = self._starts.pop(session_id, None)
        if start is None:
            return []
        return await anyio.to_thread.run_sync(self._changed, start)

    def forget(self, session_id: str) -> None:
        self._starts.pop(session_id, None)

    def _take(self, folder: str) -> _Start | None:
        folder = os.path.realpath(folder)
        names = None if folder in self._too_large else _names(folder)
        if names is None:
            self._too_large.add(folder)
            return None
        start = _Start(folder, _stats(folder, names), git_head.head(folder))
        left, kept = MAX_COMPARED, 0
        with Roots([folder]) as roots:
            for name, stat in start.stats.items():
                path = os.path.join(folder, name)
                blob = start.head.get(name)
                known = self._compared.get(path)
                data: bytes | None = None
                if blob is not None and blob.size == stat.size:
                    if (known is None or known[0] != stat) and stat.size <= min(left, MAX_TEXT):
                        left -= stat.size
                        data = _read(roots, path, stat)
                        if data is not None:
                            known = self._compared[path] = stat, git_head.object_id(data, blob.object_id)
                    if known == (stat, blob.object_id):
                        start.same.add(name)
                        continue
                    if known is None or known[0] != stat:
                        continue  # not compared: nobody can say what it held
                if stat.size > MAX_TEXT or kept + stat.size > MAX_TEXTS:
                    continue
                if data is None:
                    data = _read(roots, path, stat)
                if data is not None:
                    start.kept[name] = data
                    kept += len(data)
        return start

    def _changed(self, start: _Start) -> list[Changed]:
        names = _names(start.folder)
        if names is None:
            return []
        now = _stats(start.folder, dict.fromkeys([*names, *start.stats]))
        moved = [
            name for name in dict.fromkeys([*start.stats, *now]) if now.get(name) != start.stats.get(name)
        ]
        moved = moved[:MAX_CHANGED]
        needed = {start.head[name].object_id for name in moved if name in start.same}
        held = git_head.contents(start.folder, needed)
        return [self._row(start, name, held) for name in moved]

    def _row(self, start: _Start, name: str, held: dict[str, bytes]) -> Changed:
        path, stat = os.path.join(start.folder, name), start.stats.get(name)
        if stat is None:
            return Changed(path, None, None)
        data = held.get(start.head[name].object_id) if name in start.same else start.kept.get(name)
        if data is not None:
            return Changed(path, stat, data)
        return Changed(
            path, stat, None, "it was too large to be kept, or too much differed from the last commit"
        )


def _names(folder: str) -> list[str] | None:
    """The files to look at; None when there are too many."""
    names = git_head.file_names(folder)
    if names is not None:
        return names if len(names) <= MAX_FILES else None
    found: list[str] = []
    for name in _walk(folder, ""):
        found.append(name)
        if len(found) > MAX_FILES_WITHOUT_GIT:
            return None
    return found


def _walk(folder: str, below: str) -> Iterator[str]:
    try:
        with os.scandir(os.path.join(folder, below)) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in listed:
        name = os.path.join(below, entry.name)
        if entry.is_file(follow_symlinks=False):
            yield name
        elif (
            entry.is_dir(follow_symlinks=False)
            and entry.name not in _SKIPPED
            and not entry.name.startswith(".")
        ):
            yield from _walk(folder, name)


def _stats(folder: str, names: list[str] | dict[str, None]) -> dict[str, Stat]:
    """Of those that are regular files."""
    found: dict[str, Stat] = {}
    for name in names:
        try:
            stat = os.lstat(os.path.join(folder, name))
        except OSError:
            continue
        if modes.S_ISREG(stat.st_mode):
            found[name] = Stat.of(stat)
    return found


def _read(roots: Roots, path: str, stat: Stat) -> bytes | None:
    """The file's bytes, if it still is what it was when its stat was taken."""
    found = resolve(roots, path, access="read")
    if not isinstance(found, Resolved):
        return None
    with found:
        if found.stat != stat:
            return None
        data = found.read_bytes(MAX_TEXT)
        return None if isinstance(data, Refusal) else bytes(data)
