"""TurnStarts: the state of all files of a session when its turn began, so that what its commands change can be found and put back.

An agent that runs a command does not say which files it changes. So when a turn begins, all files of the session's
folders are noted by their stat (those that git tracks or does not ignore; without git, all). The contents of files that
differ from the last commit are kept; the commit holds the others. All of it is journalled: if this sidecar does not
live to see the changes, the next one finds them. When the turn ends, and something ran in it, the changed files are
found by their stat.

The prompt waits for that if it takes only a moment. If it takes longer, the prompt is sent at once, and the look goes
on while the agent thinks. The agent's commands in terminals of ours, and its questions to the user, wait for the look.
A file that has not changed since the prompt was sent, by the time that the file system gives it, is as it was when the
turn began, though it is read later. A file that changed before it was noted is reported as not revertible.

The look is bounded in files, bytes and time. What lies beyond is reported as not revertible. A folder that is too large
is not looked at.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from sidecar.core.file_state import FileState
from sidecar.disk import Decoded, Stat, decode, folder_files
from sidecar.disk.file_table import listed
from sidecar.journal.turns import FolderStart, PreImage, TurnStart
from sidecar.workspace.behind.tree_looks import TreeLooks
from sidecar.workspace.behind.tree_notes import MAX_TEXT, NOTHING, Touched, TreeNote
from sidecar.workspace.behind.tree_starts import Before, SavedFile, TreeStart
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.acts import now as file_time
from sidecar.workspace.state.sessions import Session

log = logging.getLogger(__name__)

MAX_FOLDERS = 16
"""Folders of one session that are looked at."""
MAX_AT_ONCE = 1_000
"""Files that are looked at, without letting other tasks run, when an act begins or ends: about two milliseconds."""
PROMPT_SECONDS = 2.0
"""How long a prompt waits for a look at a few files. On an idle machine, some hundredths of a second are enough."""
WAIT_SECONDS = 5.0
"""How long a request for a file's state at the turn's start waits for the look that is under way."""
LOOK_SECONDS = 60.0
"""How long a look may take."""
_NEVER = 2**63


@dataclass(frozen=True, slots=True)
class Changed:
    """Something under a name that is not what it was when the turn began."""

    path: str
    before: Before
    mode: int | None
    """A file's permission bits now; None: there is no file."""
    link: str | None
    """A link's target now; None: it is no link."""
    stat: Stat | None = None
    """Its stat now; None: there is no file."""

    @property
    def is_gone(self) -> bool:
        return self.mode is None and self.link is None

    @property
    def data(self) -> bytes | None:
        """What the file held when the turn began; None: there was none, or it is not known."""
        return None if self.before.state is None else self.before.state.data


def size_of(changed: Changed) -> int:
    """Bytes of what is there now."""
    return 0 if changed.stat is None else changed.stat.size


@dataclass(slots=True)
class _Look:
    """A look at the folders of one session whose turn begins."""

    tops: list[str]
    since: int
    """When it was asked for; see acts.py."""
    began: float
    """The same by the wall clock, in seconds since the epoch."""
    asked: int | None = None
    """When the agent got its prompt, if that was before the look was over."""
    waited: anyio.Event = field(default_factory=anyio.Event)
    """Set when the prompt need not wait any more: the look is over, or is known to take long."""
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    saves: dict[str, SavedFile] = field(default_factory=dict[str, SavedFile])
    """By path: what the user saved meanwhile."""
    journalling: anyio.Lock = field(default_factory=anyio.Lock)
    journalled: bool = False
    """The journal has what was found, or is about to get it."""


async def _at_once() -> None:
    pass


class TurnStarts:
    """One per workspace, for all its sessions. The work is done in threads, which touch nothing of a session."""

    def __init__(self, journal: Journal, noted: Callable[[], Awaitable[None]] = _at_once) -> None:
        """`noted`: waits until the journal has all that is under review. Only then does the journal mark the turn in
        which that came as over: if this process is ended before, its successor finds what is missing."""
        self._journal = journal
        self._noted = noted
        self.looks = TreeLooks()
        self._under_way: dict[str, _Look] = {}
        """By session."""
        self._starts: dict[str, list[TreeStart]] = {}
        self._tops: dict[str, list[str]] = {}
        """By session: its folders, as far as they are looked at."""
        self._unseen: dict[str, list[str]] = {}
        """By session: folders of trees in which changes of the running turn are not searched for."""
        self._new: dict[str, set[str]] = {}
        """By session: files (canonical) that are known not to have existed when the turn began, and not to be ignored.
        Git is asked once for each."""

    async def prepare(self, session: Session) -> None:
        """The session is being opened. Looks at its folders, so that its first turn has less to find out. Nothing is
        noted for the session."""
        for root in session.roots.roots[:MAX_FOLDERS]:
            if not self.looks.knows(root.path):
                await self.looks.look(root.path, _NEVER, NOTHING, lambda: None)

    def begin(self, session: Session) -> None:
        """The session's turn is about to begin. The caller then calls `take`; `settled` waits for it."""
        self.forget(session.id)
        tops = [root.path for root in session.roots.roots]
        self._under_way[session.id] = _Look(tops, file_time(), time.time())

    async def take(self, session: Session, touched: Touched) -> None:
        """Looks at the session's folders, and journals what it finds."""
        look = self._under_way[session.id]
        try:
            with look.scope, anyio.move_on_after(LOOK_SECONDS) as limit:
                await self._take(session, look, touched)
            if limit.cancelled_caught:
                log.warning(
                    "checking the files of a session took too long; some changes by commands will not be found"
                )
        finally:
            look.done.set()
            look.waited.set()
            if self._under_way.get(session.id) is look:
                del self._under_way[session.id]

    async def _take(self, session: Session, look: _Look, touched: Touched) -> None:
        notes: dict[str, TreeNote] = {}
        unseen = self._unseen[session.id] = list(look.tops)
        for top in look.tops[:MAX_FOLDERS]:
            found = await self.looks.look(top, look.since, touched, look.waited.set)
            for note in found.notes:
                notes.setdefault(note.folder, note)
            unseen += found.unseen
            self._unseen[session.id] = [folder for folder in dict.fromkeys(unseen) if folder not in notes]
        starts = [TreeStart(note, look.asked) for note in notes.values()]
        if not starts:
            return
        folders = await anyio.to_thread.run_sync(
            lambda: [start.for_journal(touched.made_folders) for start in starts]
        )
        async with look.journalling:
            look.journalled = True
            await self._noted()
            await self._journal.turn_began(_for_journal(session, look, folders))
        self._starts[session.id] = starts
        self._tops[session.id] = look.tops[:MAX_FOLDERS]
        while look.saves:  # the user may save more meanwhile
            path = next(iter(look.saves))
            await self._saved(session, path, look.saves.pop(path))

    async def waited(self, session: Session) -> bool:
        """Waits until the look at the session's folders is over, or is known to take long; at most PROMPT_SECONDS.
        Returns whether it is over."""
        look = self._under_way.get(session.id)
        if look is None:
            return True
        with anyio.move_on_after(PROMPT_SECONDS):
            await look.waited.wait()
        return look.done.is_set()

    def asked(self, session: Session) -> None:
        """The agent is about to get its prompt, although the look at the session's folders is not over."""
        look = self._under_way.get(session.id)
        if look is not None:
            look.asked = file_time()

    async def journal_unnoted(self, session: Session) -> None:
        """Journals that the turn has begun and that nothing more is known of it yet."""
        look = self._under_way.get(session.id)
        if look is None:
            return
        async with look.journalling:
            if not look.journalled:
                folders = [FolderStart(top, "", {}, noted=False) for top in look.tops]
                await self._noted()
                await self._journal.turn_began(_for_journal(session, look, folders))

    async def settled(self, session_id: str, seconds: float = WAIT_SECONDS) -> bool:
        """Waits for the look at the session's folders, at most that long. Returns whether it is over."""
        look = self._under_way.get(session_id)
        if look is not None:
            with anyio.move_on_after(seconds):
                await look.done.wait()
        return session_id not in self._under_way

    async def saved(self, session: Session, path: str, data: bytes, stat: Stat, mode: int) -> None:
        """The user saved a file (canonical path) while the session's turn runs: what the agent's commands change in it
        is measured from that. `mode`: the file's. `stat`: the file's while it holds `data`."""
        if not self.has(session) or len(data) > MAX_TEXT:
            return
        save, look = SavedFile(stat, data, mode), self._under_way.get(session.id)
        if look is not None:
            look.saves[path] = save
        else:
            await self._saved(session, path, save)

    def put_back(self, path: str, state: FileState | None, stat: Stat | None) -> None:
        """We put `state` (None: nothing) under a name (canonical path) for the user. Later changes of it, in any
        running turn, are measured from that. `stat`: of the file that is there. The journal already has this as a write."""
        save = (
            SavedFile(None, b"", 0, "none")
            if state is None
            else SavedFile(stat, state.data, state.mode, state.kind)
        )
        for look in self._under_way.values():
            look.saves[path] = save
        for session_id in self._starts:
            self._begins_with(session_id, path, save)

    def mode_put_back(self, path: str, mode: int) -> None:
        """We put back the mode of a file (canonical path) for the user. Its text is measured as before: an agent may have changed it by then."""
        save = SavedFile(None, b"", mode, "mode")
        for look in self._under_way.values():
            look.saves[path] = look.saves.get(path, save)._replace(mode=mode)
        for session_id in self._starts:
            self._begins_with(session_id, path, save)

    def _begins_with(self, session_id: str, path: str, save: SavedFile) -> None:
        found = self._tree_of(session_id, path)
        if found is not None:
            start, name = found
            start.saved(name, save)

    async def _saved(self, session: Session, path: str, save: SavedFile) -> None:
        self._begins_with(session.id, path, save)
        if save.put_back:
            return
        image = decode(save.data)
        if isinstance(image, Decoded):
            await self._journal.turn_saved(session.id, path, PreImage(image.text, image.encoding, image.bom))

    async def changed(self, session_id: str) -> list[Changed]:
        """Everything that is not as it was when the turn began."""
        await self.settled(session_id, LOOK_SECONDS)
        starts, tops = self._starts.get(session_id, []), self._tops.get(session_id, [])
        rows = await anyio.to_thread.run_sync(self._changed, starts, tops) if starts else []
        self._new.setdefault(session_id, set()).update(row.path for row in rows if row.before == Before(None))
        return rows

    async def before(self, session_id: str, path: str) -> Before | None:
        """What was under this name (canonical path) when the turn began. None if it was not looked at: it is in none of
        the session's folders, or it is ignored."""
        await self.settled(session_id)
        found = self._tree_of(session_id, path)
        if found is None:
            return None
        start, name = found
        if start.has(name):
            return await anyio.to_thread.run_sync(lambda: start.before(name, start.held([name])))
        new = self._new.setdefault(session_id, set())
        if path not in new:
            if await anyio.to_thread.run_sync(folder_files.is_left_out, start.folder, name):
                return None
            new.add(path)
        return Before(None)

    def asks_soon(self, session_id: str, path: str) -> None:
        """Note that `before` will be called for this name (canonical path). Of many names, git is asked about all together."""
        found = self._tree_of(session_id, path)
        if found is not None and found[0].has(found[1]):
            found[0].wants([found[1]])

    def is_large(self, session: Session) -> bool:
        """Whether nobody waits for a look at the session's folders."""
        return any(map(self.looks.is_large, self._tops.get(session.id, [])))

    def _tree_of(self, session_id: str, path: str) -> tuple[TreeStart, str] | None:
        """The tree that had this file (canonical path), else the innermost tree around it; and the file's name in it.
        None: nobody looked there."""
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
        """The folders above a file that did not exist when the session's turn began, as far as that is known."""
        found: set[str] = set()
        for start in self._starts.get(session_id, []):
            folder = os.path.dirname(path)
            while start.note.folders is not None and start.name(folder) is not None:
                if not start.had_folder(start.name(folder) or ""):
                    found.add(folder)
                folder = os.path.dirname(folder)
        return found

    def came(self, path: str, stat: Stat) -> None:
        """A file (canonical path), with this stat, was found that did not exist when the running turns began. `moved_now` returns it, too, from now
        on, unless there are too many."""
        for session_id, starts in self._starts.items():
            found = self._tree_of(session_id, path)
            if found is not None and not found[0].has(found[1]) and _are_few(starts, 1):
                found[0].comes(found[1], stat)

    def moved_now(self, session_id: str) -> list[tuple[str, Stat | str | None]]:
        """The files and links from the turn's start, and those that came since, that changed since this was last called, with a file's stat or a
        link's target; None: gone. Synchronous, and therefore only for a few: if there are more than MAX_AT_ONCE files, it is only about links, and
        the same the other way round."""
        starts = self._starts.get(session_id, [])
        few_files = _are_few(starts)
        found: list[tuple[str, Stat | str | None]] = []
        for start in starts:
            links = start.links()
            links = links if len(links) <= MAX_AT_ONCE else []
            files = [*start.note.files, *start.saves, *start.came] if few_files else []
            now = listed(start.folder, [*files, *links], _NEVER)
            moved = [*start.note.files.differing(now.files), *start.saves, *start.seen] if few_files else []
            for name in dict.fromkeys([*moved, *links]):
                entry = now.files.get(name)
                there = now.links.get(name) if entry is None else entry.stat
                if there != (
                    start.seen[name] if name in start.seen else start.link(name) or start.stat(name)
                ):
                    start.seen[name] = there
                    found.append((os.path.join(start.folder, name), there))
        return found

    def mode(self, session_id: str, path: str) -> int | None:
        """A file's permission bits (canonical path) when the turn began; None: no such file is known."""
        found = self._tree_of(session_id, path)
        return None if found is None else found[0].mode(found[1])

    def began(self, session_id: str) -> int:
        """When the first look at the files of the session's turn began; see acts.py. 0: there was none."""
        return min((start.note.began for start in self._starts.get(session_id, [])), default=0)

    def unseen(self, session: Session) -> list[str]:
        """The session's folders, and trees in them, that are not looked at in this turn: too large, too many, or there was no time."""
        return self._unseen.get(session.id, [])

    async def over(self, session: Session) -> None:
        """The session's turn has ended, and its changes are known. The state of its files is kept as long as changes of
        the turn may come late."""
        look = self._under_way.pop(session.id, None)
        if look is not None:
            look.scope.cancel()
        await self._noted()
        await self._journal.turn_ended(session.id)

    def folders(self, session: Session) -> dict[str, None]:
        """The folders (canonical) that contain the session's files, shallow ones first, without ignored ones."""
        return {folder: None for start in self._starts.get(session.id, ()) for folder in start.note.watched}

    def has(self, session: Session) -> bool:
        """Whether the state at the start of the session's turn is known, or will be."""
        return session.id in self._starts or session.id in self._under_way

    def forget_all(self) -> None:
        """No turn is running, and none ended a moment ago."""
        for look in self._under_way.values():
            look.scope.cancel()
        self._starts.clear()
        self._tops.clear()
        self._unseen.clear()
        self._new.clear()

    def forget(self, session_id: str) -> None:
        look = self._under_way.pop(session_id, None)
        if look is not None:
            look.scope.cancel()
        self._starts.pop(session_id, None)
        self._tops.pop(session_id, None)
        self._unseen.pop(session_id, None)
        self._new.pop(session_id, None)

    def _changed(self, starts: Sequence[TreeStart], tops: Sequence[str]) -> list[Changed]:
        found: dict[str, Changed] = {}
        for at, start in enumerate(starts):
            for row in _moved(start):
                if not _has(starts[:at], row.path):
                    found[row.path] = row
        by_folder = {start.folder: start for start in starts}
        for top in tops:
            for tree in self.looks.trees(top).found:
                start = by_folder.get(tree.folder)
                new = list(tree.names) if start is None else start.note.files.missing(tree.names)
                paths = (os.path.join(tree.folder, name) for name in new)
                new = [path for path in paths if path not in found and not _has(starts, path)]
                now = folder_files.entries("", new)
                for path in [*now.stats, *now.links]:
                    found[path] = Changed(
                        path, Before(None), now.modes.get(path), now.links.get(path), now.stats.get(path)
                    )
        return list(found.values())


def _are_few(starts: Sequence[TreeStart], more: int = 0) -> bool:
    """Whether these files, and so many more, can be looked at without letting other tasks run."""
    return sum(map(len, starts), more) + sum(len(start.came) for start in starts) <= MAX_AT_ONCE


def _for_journal(session: Session, look: _Look, folders: Sequence[FolderStart]) -> TurnStart:
    return TurnStart(session.id, session.agent, session.turn, session.cwd, look.began, folders)


def _moved(start: TreeStart) -> list[Changed]:
    """What this tree had that is not as it was."""
    names = list(start.names())
    there = listed(start.folder, names, _NEVER)
    moved = dict.fromkeys(name for name in start.note.files.differing(there.files))
    apart = dict.fromkeys([*start.saves, *start.note.links, *there.links, *start.late()])
    for name in apart:
        now, was, late = there.files.get(name), start.stat(name), start.is_late(name)
        mode = start.mode(name) if now is None else now.mode
        is_same = (None if now is None else now.stat) == was and there.links.get(name) == start.link(name)
        if is_same and mode == start.mode(name) and not late:
            moved.pop(name, None)
        else:
            moved[name] = None
    held = start.held(moved)
    rows: list[Changed] = []
    for name in moved:
        now, path = there.files.get(name), os.path.join(start.folder, name)
        mode, stat = (None, None) if now is None else (now.mode, now.stat)
        rows.append(Changed(path, start.before(name, held), mode, there.links.get(name), stat))
    return rows


def _has(starts: Sequence[TreeStart], path: str) -> bool:
    return any((name := start.name(path)) is not None and start.has(name) for start in starts)


def _is_beneath(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))
