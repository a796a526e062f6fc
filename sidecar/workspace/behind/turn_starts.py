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
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from sidecar.disk import Decoded, Stat, decode, folder_files
from sidecar.disk.folder_files import Trees
from sidecar.journal.turns import PreImage, TurnStart
from sidecar.workspace.behind.tree_starts import MAX_TEXT, Before, Known, Left, TreeStart
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.sessions import Session

log = logging.getLogger(__name__)

MAX_FOLDERS = 16
"""Of one session."""
MAX_AT_ONCE = 1_000
"""Files that are looked at when an act begins or ends, without letting others run: about two milliseconds."""
WAIT_SECONDS = 5.0
"""How long a turn waits for this before it begins without; it takes a tenth of a second where nothing else runs."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Something that is not what it was when the turn began."""

    path: str
    before: Before
    mode: int | None
    """Its permission bits now; None: there is no file."""
    link: str | None
    """Where it leads now; None: it is no link."""
    stat: Stat | None = None
    """Its stat now; None: there is no file."""

    @property
    def is_gone(self) -> bool:
        return self.mode is None and self.link is None

    @property
    def data(self) -> bytes | None:
        """What the file held when the turn began."""
        return None if self.before.state is None else self.before.state.data


class TurnStarts:
    """Of all sessions of one workspace. The work is done in threads; nothing of a session is touched there."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._starts: dict[str, list[TreeStart]] = {}
        self._tops: dict[str, list[str]] = {}
        """By session: its folders, as far as they are looked at."""
        self._known: dict[str, Known] = {}
        """By the folder of a tree."""
        self._scans: dict[str, anyio.Lock] = {}
        """By folder: sessions look at it one after the other, and the others find what the first one found out."""
        self._too_large: dict[str, list[str]] = {}
        """Folders that were, or took git too long: once is enough. And the folders of the trees that were found in them."""
        self._unseen: dict[str, list[str]] = {}
        """By session: folders of trees in which nobody looks for what changes in the running turn."""

    async def prepare(self, session: Session) -> None:
        """The session is being opened: its first turn then finds out less. Nothing is noted."""
        for root in session.roots.roots[:MAX_FOLDERS]:
            if root.path not in self._known:
                await self._scan(root.path, Left(), {}, {})

    async def take(self, session: Session) -> None:
        """The session's turn is about to begin."""
        self.forget(session.id)
        began = time.time()
        tops = [root.path for root in session.roots.roots]
        taken: dict[str, TreeStart] = {}
        unseen = dict.fromkeys(tops)
        left = Left()
        with anyio.move_on_after(WAIT_SECONDS) as wait:
            for top in tops[:MAX_FOLDERS]:
                await self._scan(top, left, taken, unseen)
        starts, self._unseen[session.id] = list(taken.values()), list(unseen)
        if wait.cancelled_caught:
            log.warning(
                "checking the files of a session took too long; some changes by commands will not be found"
            )
        if not starts:
            return
        folders = await anyio.to_thread.run_sync(lambda: [start.for_journal() for start in starts])
        await self._journal.turn_began(
            TurnStart(session.id, session.agent, session.turn, session.cwd, began, folders)
        )
        self._starts[session.id] = starts
        self._tops[session.id] = tops[:MAX_FOLDERS]

    async def saved(self, session: Session, path: str, data: bytes, stat: Stat, mode: int) -> None:
        """The user saved a file (canonical path), which has this mode, while the session's turn runs: what an agent's commands do to it begins
        from there. `stat`: the file's while it holds this."""
        image = decode(data)
        if not self.has(session) or not isinstance(image, Decoded) or len(data) > MAX_TEXT:
            return
        found = self._tree_of(session.id, path)
        if found is not None:
            start, name = found
            start.saved(name, data, stat, mode)
        await self._journal.turn_saved(session.id, path, PreImage(image.text, image.encoding, image.bom))

    async def changed(self, session_id: str) -> list[Changed]:
        """What is not as it was when the turn began."""
        starts, tops = self._starts.get(session_id, []), self._tops.get(session_id, [])
        return await anyio.to_thread.run_sync(self._changed, starts, tops) if starts else []

    async def before(self, session_id: str, path: str) -> Before | None:
        """What was under this name (canonical) when the turn began; None where nobody looked: in no folder of the session's, or ignored."""
        found = self._tree_of(session_id, path)
        if found is None:
            return None
        start, name = found
        if start.has(name):
            return await anyio.to_thread.run_sync(lambda: start.before(name, start.held([name])))
        left_out = await anyio.to_thread.run_sync(folder_files.is_left_out, start.folder, name)
        return None if left_out else Before(None)

    def _tree_of(self, session_id: str, path: str) -> tuple[TreeStart, str] | None:
        """The tree that had this file (canonical path), else the innermost one that it is in; and its name there. None: nobody looked there."""
        nearest: tuple[TreeStart, str] | None = None
        for start in self._starts.get(session_id, []):
            name = start.name(path)
            if name is None:
                continue
            if start.has(name):
                return start, name
            if nearest is None or len(start.folder) > len(nearest[0].folder):
                nearest = start, name
        for folder in self._unseen.get(session_id, []):
            if nearest is not None and len(folder) > len(nearest[0].folder) and _is_beneath(path, folder):
                return None
        return nearest

    def made_folders(self, session_id: str, path: str) -> set[str]:
        """The folders above a file that were not there when the session's turn began, as far as that is known."""
        found: set[str] = set()
        for start in self._starts.get(session_id, []):
            folder = os.path.dirname(path)
            while start.folders is not None and start.name(folder) is not None:
                if start.name(folder) not in start.folders:
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

    def mode(self, session_id: str, path: str) -> int | None:
        """The permission bits of this file (canonical path) when the turn began; None: it is not known that there was one."""
        found = self._tree_of(session_id, path)
        return None if found is None else found[0].modes.get(found[1])

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
        """Folders of the session's, and of trees in them, that are not looked at in this turn: too large, too many, or there was no time."""
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
        self._tops.clear()
        self._unseen.clear()

    def forget(self, session_id: str) -> None:
        self._starts.pop(session_id, None)
        self._tops.pop(session_id, None)
        self._unseen.pop(session_id, None)

    async def _scan(self, top: str, left: Left, taken: dict[str, TreeStart], unseen: dict[str, None]) -> None:
        async with self._scans.setdefault(top, anyio.Lock()):
            await anyio.to_thread.run_sync(self._take, top, left, taken, unseen, abandon_on_cancel=True)

    def _take(self, top: str, left: Left, taken: dict[str, TreeStart], unseen: dict[str, None]) -> None:
        """Adds what it finds to `taken`, by folder, and to `unseen` what is still to be looked at, or will not be."""
        trees = self._trees(top)
        unseen |= dict.fromkeys([*(tree.folder for tree in trees.found), *trees.too_large])
        for tree in trees.found:
            if tree.folder not in taken:
                taken[tree.folder] = TreeStart.take(tree, left, self._known.setdefault(tree.folder, Known()))
            unseen.pop(tree.folder, None)

    def _trees(self, top: str) -> Trees:
        inner = self._too_large.get(top)
        if inner is not None:
            own = (folder_files.own(folder, alone=True)[0] for folder in inner)
            return Trees([tree for tree in own if tree is not None], [top])
        found = folder_files.trees(top)
        for folder in found.too_large:
            if folder not in self._too_large:
                self._too_large[folder] = [tree.folder for tree in found.found] if folder == top else []
                log.warning(
                    "%s has too many files to find changes by commands; changes to files that tool calls name are found",
                    folder,
                )
        return found

    def _changed(self, starts: Sequence[TreeStart], tops: Sequence[str]) -> list[Changed]:
        known = {
            os.path.join(start.folder, name): (start, name)
            for start in reversed(starts)
            for name in [*start.stats, *start.links]
        }
        there = (tree for top in tops for tree in self._trees(top).found)
        new = (os.path.join(tree.folder, name) for tree in there for name in tree.names)
        now = folder_files.entries("", dict.fromkeys([*known, *new]))
        moved: dict[str, tuple[TreeStart, str] | None] = {}
        for path, found in known.items():
            start, name = found
            stat, target = now.stats.get(path), now.links.get(path)
            mode = start.modes.get(name) if stat is None else now.modes.get(path)
            if (stat, target, mode) != (start.stats.get(name), start.links.get(name), start.modes.get(name)):
                moved[path] = found
        moved |= dict.fromkeys(path for path in [*now.stats, *now.links] if path not in known)
        held: dict[str, bytes] = {}
        for start in starts:
            held |= start.held(one[1] for one in moved.values() if one is not None and one[0] is start)
        return [
            Changed(
                path,
                Before(None) if found is None else found[0].before(found[1], held),
                now.modes.get(path),
                now.links.get(path),
                now.stats.get(path),
            )
            for path, found in moved.items()
        ]


def _is_beneath(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))
