"""TurnStarts: what the files of a session's folders were when its turn began, so that what its commands change can be found and put back.

An agent that runs a command says nothing about the files it changes. So when a turn begins the files of all its folders are noted by their
stat (what git tracks or does not ignore; without git, a small folder's all), and the contents of those that differ from the last
commit; the commit holds the rest. All of it is journalled before the prompt is sent: what a sidecar does not live to see is found by the
next one. When the turn ends, and something ran in it, what changed is found by stat. Bounded in files, bytes and time: what
lies beyond is told as not revertible, or, in a folder that is too large, not looked at.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from sidecar.core.file_state import FileState, link
from sidecar.core.refusal import Refusal
from sidecar.disk import Decoded, Resolved, Roots, Stat, decode, folder_files, git_head, resolve
from sidecar.disk.git_head import Blob
from sidecar.journal.turns import FolderStart, PreImage, TurnStart
from sidecar.workspace.acts import now as file_time
from sidecar.workspace.ports import Journal
from sidecar.workspace.sessions import Session

log = logging.getLogger(__name__)

MAX_FOLDERS = 16
"""Of one session."""
MAX_TEXT = 4 * 1024 * 1024
"""Bytes of one file's contents."""
MAX_TEXTS = 32 * 1024 * 1024
"""Bytes of all contents kept for one turn."""
MAX_KEPT = 2_000
"""Files whose contents are kept for one turn."""
MAX_COMPARED = 64 * 1024 * 1024
"""Bytes read at one turn's start to compare them with the last commit; what was compared once is known while its stat stays."""
MAX_WITH_FOLDERS = 5_000
"""Files of a folder up to which it is noted which folders are in it, empty ones as well."""
MAX_AT_ONCE = 1_000
"""Files that are looked at when an act begins or ends, without letting others run: about two milliseconds."""
WAIT_SECONDS = 5.0
"""How long a turn waits for this before it begins without; it takes a tenth of a second where nothing else runs."""


@dataclass(frozen=True, slots=True)
class Before:
    """What was under a name when the turn began."""

    state: FileState | None
    """None: there was nothing, or `why` it is not known."""
    stat: Stat | None = None
    """Of the file; None: there was none, or a link."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """Something that is not what it was when the turn began."""

    path: str
    before: Before
    mode: int | None
    """Its permission bits now; None: there is no file."""
    link: str | None
    """Where it leads now; None: it is no link."""

    @property
    def data(self) -> bytes | None:
        """What the file held when the turn began."""
        return None if self.before.state is None else self.before.state.data


@dataclass(slots=True)
class _Start:
    folder: str
    commit: str
    stats: dict[str, Stat]
    head: dict[str, Blob]
    modes: dict[str, int]
    links: dict[str, str]
    began: int
    """See acts.py."""
    kept: dict[str, bytes] = field(default_factory=dict[str, bytes])
    folders: set[str] | None = None
    """Names of the folders; None: too many to know."""
    seen: dict[str, Stat | None] = field(default_factory=dict[str, "Stat | None"])
    """What files were when they were last asked for; only of those that changed."""
    same: set[str] = field(default_factory=set[str])
    """Names of files that are as in the last commit."""


@dataclass(slots=True)
class _Left:
    """What one turn may still read and keep, of all its folders together."""

    compared: int
    texts: int
    kept: int


class TurnStarts:
    """Of all sessions of one workspace. The work is done in threads; nothing of a session is touched there."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._starts: dict[str, list[_Start]] = {}
        self._compared: dict[str, tuple[Stat, str]] = {}
        """By path: the object id of what it held when its stat was this."""
        self._too_large: set[str] = set()
        """Folders that were, or took git too long: once is enough."""
        self._unseen: dict[str, list[str]] = {}
        """By session: its folders in which nobody looks for what changes in the running turn."""

    async def take(self, session: Session) -> None:
        """The session's turn is about to begin."""
        self.forget(session.id)
        began = time.time()
        starts: list[_Start] = []
        left = _Left(MAX_COMPARED, MAX_TEXTS, MAX_KEPT)
        with anyio.move_on_after(WAIT_SECONDS) as wait:
            for root in session.roots.roots[:MAX_FOLDERS]:
                start = await anyio.to_thread.run_sync(self._take, root.path, left, abandon_on_cancel=True)
                if start is not None:
                    starts.append(start)
        seen = {start.folder for start in starts}
        self._unseen[session.id] = [root.path for root in session.roots.roots if root.path not in seen]
        if wait.cancelled_caught:
            log.warning(
                "checking the files of a session took too long; some changes by commands will not be found"
            )
        if not starts:
            return
        folders = await anyio.to_thread.run_sync(lambda: [_for_journal(start) for start in starts])
        await self._journal.turn_began(
            TurnStart(session.id, session.agent, session.turn, session.cwd, began, folders)
        )
        self._starts[session.id] = starts

    async def saved(self, session: Session, path: str, data: bytes, stat: Stat) -> None:
        """The user saved a file (canonical path) while the session's turn runs: what an agent's commands do to it begins from there."""
        image = decode(data)
        if not self.has(session) or not isinstance(image, Decoded) or len(data) > MAX_TEXT:
            return
        for start in self._starts.get(session.id, ()):
            name = _name(start.folder, path)
            if name is not None:
                start.stats[name], start.kept[name] = stat, data
                start.modes.setdefault(name, 0o644)
                start.same.discard(name)
                start.links.pop(name, None)
        await self._journal.turn_saved(session.id, path, PreImage(image.text, image.encoding, image.bom))

    async def changed(self, session_id: str) -> list[Changed]:
        """What is not as it was when the turn began."""
        starts = self._starts.get(session_id, [])
        return await anyio.to_thread.run_sync(self._changed, starts) if starts else []

    async def before(self, session_id: str, path: str) -> Before | None:
        """What was under this name (canonical) when the turn began; None where nobody looked: in no folder of the session's, or ignored."""
        for start in self._starts.get(session_id, []):
            name = _name(start.folder, path)
            if name is None:
                continue
            if name in start.stats or name in start.links:
                return await anyio.to_thread.run_sync(self._before_now, start, name)
            if await anyio.to_thread.run_sync(folder_files.is_left_out, start.folder, name):
                return None
            return Before(None)
        return None

    def made_folders(self, session_id: str, path: str) -> set[str]:
        """The folders above a file that were not there when the session's turn began, as far as that is known."""
        found: set[str] = set()
        for start in self._starts.get(session_id, []):
            folder = os.path.dirname(path)
            while start.folders is not None and _name(start.folder, folder) is not None:
                if _name(start.folder, folder) not in start.folders:
                    found.add(folder)
                folder = os.path.dirname(folder)
        return found

    def moved_now(self, session_id: str) -> list[tuple[str, Stat | None]]:
        """The files of its turn's start that are not as they were when this was asked last, with their stat. Synchronous, so only of few
        files; of more of them nothing is told."""
        starts = self._starts.get(session_id, [])
        if sum(len(start.stats) for start in starts) > MAX_AT_ONCE:
            return []
        found: list[tuple[str, Stat | None]] = []
        for start in starts:
            now = folder_files.stats(start.folder, start.stats)
            for name, was in start.stats.items():
                stat = now.get(name)
                if stat != start.seen.get(name, was):
                    start.seen[name] = stat
                    found.append((os.path.join(start.folder, name), stat))
        return found

    def links_moved_now(self, session_id: str) -> list[str]:
        """The links of its turn's start that lead elsewhere or are gone, each once. Synchronous and bounded as `moved_now`."""
        found: list[str] = []
        for start in self._starts.get(session_id, []):
            names = (
                [name for name in start.links if name not in start.seen]
                if len(start.links) <= MAX_AT_ONCE
                else []
            )
            now = folder_files.entries(start.folder, names).links
            for name in names:
                if now.get(name) != start.links[name]:
                    start.seen[name] = None
                    found.append(os.path.join(start.folder, name))
        return found

    def began(self, session_id: str) -> int:
        """When the files of its turn were looked at first; see acts.py. 0: they were not."""
        return min((start.began for start in self._starts.get(session_id, [])), default=0)

    def unseen(self, session: Session) -> list[str]:
        """Folders of the session that are not looked at in this turn: too large, too many, or there was no time."""
        return self._unseen.get(session.id, [])

    async def over(self, session: Session) -> None:
        """The session's turn has ended, and what it changed is known. What its files were is known for as long as something of it may
        come late."""
        await self._journal.turn_ended(session.id)

    def folders(self, session: Session) -> dict[str, None]:
        """The folders (canonical) in which the session's files are, shallow ones first; without those that are ignored."""
        found = {
            os.path.join(start.folder, below) if below else start.folder: None
            for start in self._starts.get(session.id, ())
            for below in sorted(
                {os.path.dirname(name) for name in start.stats}, key=lambda n: n.count(os.sep)
            )
        }
        return found

    def has(self, session: Session) -> bool:
        return session.id in self._starts

    def forget_all(self) -> None:
        """No turn runs any more, nor ended just now."""
        self._starts.clear()
        self._unseen.clear()

    def forget(self, session_id: str) -> None:
        self._starts.pop(session_id, None)
        self._unseen.pop(session_id, None)

    def _take(self, folder: str, left: _Left) -> _Start | None:
        names = None if folder in self._too_large else folder_files.names(folder)
        if names is None:
            if folder not in self._too_large:
                self._too_large.add(folder)
                log.warning(
                    "%s has too many files to find changes by commands; changes to files that tool calls name are found",
                    folder,
                )
            return None
        commit = git_head.commit(folder)
        head = git_head.head(folder, commit) if commit else {}
        began = file_time()
        there = folder_files.entries(folder, names)
        start = _Start(folder, commit, there.stats, head, there.modes, there.links, began)
        start.folders = folder_files.folders(folder) if len(names) <= MAX_WITH_FOLDERS else None
        with Roots([folder]) as roots:
            for name, stat in start.stats.items():
                path = os.path.join(folder, name)
                blob = start.head.get(name)
                known = self._compared.get(path)
                data: bytes | None = None
                if blob is not None and blob.size == stat.size:
                    if (known is None or known[0] != stat) and stat.size <= min(left.compared, MAX_TEXT):
                        left.compared -= stat.size
                        data = _read(roots, path, stat)
                        if data is not None:
                            known = self._compared[path] = stat, git_head.object_id(data, blob.object_id)
                    if known == (stat, blob.object_id):
                        start.same.add(name)
                        continue
                    if known is None or known[0] != stat:
                        continue  # not compared: nobody can say what it held
                if stat.size > min(MAX_TEXT, left.texts) or not left.kept:
                    continue
                if data is None:
                    data = _read(roots, path, stat)
                if data is not None:
                    start.kept[name] = data
                    left.texts -= len(data)
                    left.kept -= 1
        return start

    def _changed(self, starts: Sequence[_Start]) -> list[Changed]:
        rows: dict[str, Changed] = {}
        for start in starts:
            names = folder_files.names(start.folder)
            if names is None:
                continue
            now = folder_files.entries(start.folder, dict.fromkeys([*names, *start.stats, *start.links]))
            moved = [
                name
                for name in dict.fromkeys([*start.stats, *start.links, *now.stats, *now.links])
                if (
                    now.stats.get(name) != start.stats.get(name)
                    or now.links.get(name) != start.links.get(name)
                )
                and os.path.join(start.folder, name) not in rows
            ]
            needed = {start.head[name].object_id for name in moved if name in start.same}
            held = git_head.contents(start.folder, needed)
            for name in moved:
                path = os.path.join(start.folder, name)
                before = _before(start, name, held)
                rows[path] = Changed(path, before, now.modes.get(name), now.links.get(name))
        return list(rows.values())

    @staticmethod
    def _before_now(start: _Start, name: str) -> Before:
        needed = {start.head[name].object_id} if name in start.same else set[str]()
        return _before(start, name, git_head.contents(start.folder, needed))


def _before(start: _Start, name: str, held: dict[str, bytes]) -> Before:
    target, stat = start.links.get(name), start.stats.get(name)
    if target is not None:
        return Before(link(target))
    if stat is None:
        return Before(None)
    data = held.get(start.head[name].object_id) if name in start.same else start.kept.get(name)
    if data is not None:
        return Before(FileState(data, start.modes.get(name, 0o644)), stat)
    return Before(None, stat, "it was too large to keep, or too many files differed from the last commit")


def _name(folder: str, path: str) -> str | None:
    """Relative to the folder, when it is beneath it."""
    prefix = os.path.join(folder, "")
    return path[len(prefix) :] if path.startswith(prefix) else None


def _for_journal(start: _Start) -> FolderStart:
    texts: dict[str, PreImage] = {}
    unknown: list[str] = []
    for name, data in _all_kept(start):
        image = None if data is None else decode(data)
        if isinstance(image, Decoded):
            texts[name] = PreImage(image.text, image.encoding, image.bom)
        else:
            unknown.append(name)
    absent = [name for name in start.head if name not in start.stats]
    return FolderStart(start.folder, start.commit, texts, absent, unknown)


def _all_kept(start: _Start) -> Iterable[tuple[str, bytes | None]]:
    return ((name, start.kept.get(name)) for name in start.stats if name not in start.same)


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
