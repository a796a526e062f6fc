"""TurnStarts: what the files of a session's folders were when its turn began, so that what its commands change can be found and put back.

An agent that runs a command says nothing about the files it changes. So when a turn begins the files of all its folders are noted by their
stat (what git tracks or does not ignore; without git, all), and the contents of those that differ from the last
commit; the commit holds the rest. All of it is journalled: what a sidecar does not live to see is found by the next one. When the turn ends, and
something ran in it, what changed is found by stat.

The prompt waits for that where it takes a moment. Where it would take longer the prompt is sent at once, and the look goes on while the
agent thinks; its commands in terminals of ours, and what it asks the user, wait for the look. A file that has not changed since the prompt was
sent, by the time that the file system gives it, is what it was when the turn began, though it is read later. One that has, before
it was noted, is told as not revertible.

Bounded in files, bytes and time: what lies beyond is told as not revertible, or, in a folder that is too large, not looked at.
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
from sidecar.workspace.behind.tree_starts import Before, Saved, TreeStart
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.acts import now as file_time
from sidecar.workspace.state.sessions import Session

log = logging.getLogger(__name__)

MAX_FOLDERS = 16
"""Of one session."""
MAX_AT_ONCE = 1_000
"""Files that are looked at when an act begins or ends, without letting others run: about two milliseconds."""
PROMPT_SECONDS = 2.0
"""How long a prompt waits for a look at a few files: some hundredths of a second are enough where nothing else runs."""
WAIT_SECONDS = 5.0
"""How long whoever wants to know what a file was when the turn began waits for the look that goes on."""
LOOK_SECONDS = 60.0
"""How long a look may take."""
_NEVER = 2**63


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


@dataclass(slots=True)
class _Look:
    """At the folders of one session, whose turn begins."""

    tops: list[str]
    since: int
    """When it was asked for; see acts.py."""
    began: float
    """The same by the wall clock."""
    asked: int | None = None
    """When the agent got its prompt, if that was before the look was over."""
    long: anyio.Event = field(default_factory=anyio.Event)
    """It will take long."""
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    saves: dict[str, Saved] = field(default_factory=dict[str, Saved])
    """What the user saved meanwhile, by path."""
    journalling: anyio.Lock = field(default_factory=anyio.Lock)
    journalled: bool = False
    """What was found is in the journal, or about to be."""


async def _at_once() -> None:
    pass


class TurnStarts:
    """Of all sessions of one workspace. The work is done in threads; nothing of a session is touched there."""

    def __init__(self, journal: Journal, noted: Callable[[], Awaitable[None]] = _at_once) -> None:
        """`noted`: until the journal has all that is under review. Until then, the turn in which it came is not over there: whoever goes on after
        this process was ended finds what it lacks."""
        self._journal = journal
        self._noted = noted
        self.looks = TreeLooks()
        self._under_way: dict[str, _Look] = {}
        """By session."""
        self._starts: dict[str, list[TreeStart]] = {}
        self._tops: dict[str, list[str]] = {}
        """By session: its folders, as far as they are looked at."""
        self._unseen: dict[str, list[str]] = {}
        """By session: folders of trees in which nobody looks for what changes in the running turn."""
        self._new: dict[str, set[str]] = {}
        """By session: files (canonical) that are known not to have been there when the turn began, and not to be left out: git is asked once."""

    async def prepare(self, session: Session) -> None:
        """The session is being opened: its first turn then finds out less. Nothing is noted."""
        for root in session.roots.roots[:MAX_FOLDERS]:
            if not self.looks.knows(root.path):
                await self.looks.look(root.path, _NEVER, NOTHING, lambda: None)

    def begin(self, session: Session) -> None:
        """The session's turn is about to begin: `take` is to be called, and may be waited for by `settled`."""
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
            if self._under_way.get(session.id) is look:
                del self._under_way[session.id]

    async def _take(self, session: Session, look: _Look, touched: Touched) -> None:
        notes: dict[str, TreeNote] = {}
        unseen = self._unseen[session.id] = list(look.tops)
        for top in look.tops[:MAX_FOLDERS]:
            found = await self.looks.look(top, look.since, touched, look.long.set)
            for note in found.notes:
                notes.setdefault(note.folder, note)
            unseen += found.unseen
            self._unseen[session.id] = [folder for folder in dict.fromkeys(unseen) if folder not in notes]
        starts = [TreeStart(note, look.asked) for note in notes.values()]
        if not starts:
            return
        folders = await anyio.to_thread.run_sync(lambda: [start.for_journal() for start in starts])
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
        """Until the look at the session's folders is over, or is known to take long. Whether it is over."""
        look = self._under_way.get(session.id)
        if look is None:
            return True
        with anyio.move_on_after(PROMPT_SECONDS):
            async with anyio.create_task_group() as group:

                async def until(event: anyio.Event) -> None:
                    await event.wait()
                    group.cancel_scope.cancel()

                group.start_soon(until, look.long)
                group.start_soon(until, look.done)
        return look.done.is_set()

    def asked(self, session: Session) -> None:
        """The agent is about to get its prompt, though the look at the session's folders is not over."""
        look = self._under_way.get(session.id)
        if look is not None:
            look.asked = file_time()

    async def journal_unnoted(self, session: Session) -> None:
        """Journals that the turn has begun, of which nothing more is known yet."""
        look = self._under_way.get(session.id)
        if look is None:
            return
        async with look.journalling:
            if not look.journalled:
                folders = [FolderStart(top, "", {}, noted=False) for top in look.tops]
                await self._noted()
                await self._journal.turn_began(_for_journal(session, look, folders))

    async def settled(self, session_id: str, seconds: float = WAIT_SECONDS) -> bool:
        """Until the look at the session's folders is over, but no longer than that. Whether it is."""
        look = self._under_way.get(session_id)
        if look is not None:
            with anyio.move_on_after(seconds):
                await look.done.wait()
        return session_id not in self._under_way

    async def saved(self, session: Session, path: str, data: bytes, stat: Stat, mode: int) -> None:
        """The user saved a file (canonical path), which has this mode, while the session's turn runs: what an agent's commands do to it begins
        from there. `stat`: the file's while it holds this."""
        if not self.has(session) or not isinstance(decode(data), Decoded) or len(data) > MAX_TEXT:
            return
        save, look = Saved(stat, data, mode), self._under_way.get(session.id)
        if look is not None:
            look.saves[path] = save
        else:
            await self._saved(session, path, save)

    def put_back(self, path: str, state: FileState | None, stat: Stat | None) -> None:
        """We put this under the name (canonical) for the user (None: nothing): what is done to it from now on, in whatever turn runs, begins with that.
        `stat`: of the file that is there. The journal has it already, as a write."""
        save = (
            Saved(None, b"", 0, "none") if state is None else Saved(stat, state.data, state.mode, state.kind)
        )
        for look in self._under_way.values():
            look.saves[path] = save
        for session_id in self._starts:
            self._begins_with(session_id, path, save)

    def _begins_with(self, session_id: str, path: str, save: Saved) -> None:
        found = self._tree_of(session_id, path)
        if found is not None:
            start, name = found
            start.saved(name, save)

    async def _saved(self, session: Session, path: str, save: Saved) -> None:
        self._begins_with(session.id, path, save)
        if save.put_back:
            return
        image = decode(save.data)
        if isinstance(image, Decoded):
            await self._journal.turn_saved(session.id, path, PreImage(image.text, image.encoding, image.bom))

    async def changed(self, session_id: str) -> list[Changed]:
        """What is not as it was when the turn began."""
        await self.settled(session_id, LOOK_SECONDS)
        starts, tops = self._starts.get(session_id, []), self._tops.get(session_id, [])
        rows = await anyio.to_thread.run_sync(self._changed, starts, tops) if starts else []
        self._new.setdefault(session_id, set()).update(row.path for row in rows if row.before == Before(None))
        return rows

    async def before(self, session_id: str, path: str) -> Before | None:
        """What was under this name (canonical) when the turn began; None where nobody looked: in no folder of the session's, or ignored."""
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

    def is_large(self, session: Session) -> bool:
        """Whether nobody waits for looks at its folders."""
        return any(map(self.looks.is_large, self._tops.get(session.id, [])))

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
            while start.note.folders is not None and start.name(folder) is not None:
                if not start.had_folder(start.name(folder) or ""):
                    found.add(folder)
                folder = os.path.dirname(folder)
        return found

    def moved_now(self, session_id: str) -> list[tuple[str, Stat | None]]:
        """The files of its turn's start that are not as they were when this was asked last, with their stat. Synchronous, so only of few
        files; of more of them nothing is told."""
        starts = self._starts.get(session_id, [])
        if sum(map(len, starts)) > MAX_AT_ONCE:
            return []
        found: list[tuple[str, Stat | None]] = []
        for start in starts:
            now = listed(start.folder, [*start.note.files, *start.saves], _NEVER).files
            for name in dict.fromkeys([*start.note.files.differing(now), *start.saves, *start.seen]):
                entry = now.get(name)
                stat = None if entry is None else entry.stat
                if stat != (start.seen[name] if name in start.seen else start.stat(name)):
                    start.seen[name] = stat
                    found.append((os.path.join(start.folder, name), stat))
        return found

    def mode(self, session_id: str, path: str) -> int | None:
        """The permission bits of this file (canonical path) when the turn began; None: it is not known that there was one."""
        found = self._tree_of(session_id, path)
        return None if found is None else found[0].mode(found[1])

    def links_moved_now(self, session_id: str) -> list[str]:
        """The links of its turn's start that lead elsewhere or are gone, each once. Synchronous and bounded as `moved_now`."""
        found: list[str] = []
        for start in self._starts.get(session_id, []):
            links = start.note.links
            names = (
                [name for name in links if name not in start.seen and start.link(name) is not None]
                if len(links) <= MAX_AT_ONCE
                else []
            )
            now = folder_files.entries(start.folder, names).links
            for name in names:
                if now.get(name) != start.link(name):
                    start.seen[name] = None
                    found.append(os.path.join(start.folder, name))
        return found

    def began(self, session_id: str) -> int:
        """When the files of its turn were looked at first; see acts.py. 0: they were not."""
        return min((start.note.began for start in self._starts.get(session_id, [])), default=0)

    def unseen(self, session: Session) -> list[str]:
        """Folders of the session's, and of trees in them, that are not looked at in this turn: too large, too many, or there was no time."""
        return self._unseen.get(session.id, [])

    async def over(self, session: Session) -> None:
        """The session's turn has ended, and what it changed is known. What its files were is known for as long as something of it may
        come late."""
        look = self._under_way.pop(session.id, None)
        if look is not None:
            look.scope.cancel()
        await self._noted()
        await self._journal.turn_ended(session.id)

    def folders(self, session: Session) -> dict[str, None]:
        """The folders (canonical) in which the session's files are, shallow ones first; without those that are ignored."""
        return {folder: None for start in self._starts.get(session.id, ()) for folder in start.note.watched}

    def has(self, session: Session) -> bool:
        """Whether something is known of its turn's start, or will be."""
        return session.id in self._starts or session.id in self._under_way

    def forget_all(self) -> None:
        """No turn runs any more, nor ended just now."""
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


def _for_journal(session: Session, look: _Look, folders: Sequence[FolderStart]) -> TurnStart:
    return TurnStart(session.id, session.agent, session.turn, session.cwd, look.began, folders)


def _moved(start: TreeStart) -> list[Changed]:
    """What is not as it was, of what this tree had."""
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
