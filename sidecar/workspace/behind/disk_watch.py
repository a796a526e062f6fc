"""DiskWatch: checks the relevant files while an agent works, and shortly after.

These are the open documents and the files that tool calls named. A watcher says when to check: the editor if it watches files
(`workspace/didChangeWatchedFiles`), otherwise the system's own watcher (`disk.watching`). A check is a stat of each file. Unwatched
files (other folders, a file system without events, no watches left) are checked twice a second. At the end of a turn, everything
is checked once more, so that the turn's outcome includes changes made behind the editor.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import anyio
import anyio.to_thread

from sidecar.core.json_types import Json
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Stat
from sidecar.disk.watching import FolderWatch
from sidecar.journal.turns import SavedOver
from sidecar.workspace.behind.behind import Behind
from sidecar.workspace.behind.evidence import Evidence, NamedFile
from sidecar.workspace.behind.found_files import FoundFiles
from sidecar.workspace.behind.from_disk import MAX_REFUSALS
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.behind.turn_starts import TurnStarts
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.in_steps import in_steps
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.ports.side_by_side import LARGE_BYTES, side_by_side
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked
from sidecar.workspace.state.turns import CANCELLED, FAILED

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
"""Seconds between two checks of unwatched files; a check takes about ten microseconds per file."""
WATCHED_SECONDS = 3.0
"""Seconds between two checks of watched files: watchers miss changes without notice (network drives, excluded folders)."""
LISTEN_SECONDS = 0.05
"""Seconds between two notes that the sidecar is listening to its agents. A call may have made a change if the change is
at most two notes older than the receipt of the call. On a busy machine the notes come later, and earlier changes count, too."""
SEEN_SECONDS = 5.0
"""Seconds between two journal notes that the turns still run: changes much later than the last note are not their agents'."""
MAX_TRIES = MAX_REFUSALS
"""How often the editor is asked to take over the same state of a file into the same text. After that, the user is told, and decides."""
FIRST_LOOK_SECONDS = 5.0
"""How long a prompt waits for earlier changes to be processed."""
NOTED_SECONDS = 10.0
"""How long an agent's command, or the answer to its question, waits until the state of the session's files is noted."""
LAST_LOOK_SECONDS = 10.0
"""How long the end of a turn waits for the last changes to be processed."""
CUT_SHORT = (CANCELLED, FAILED)
"""Stop reasons of turns after which the agent's commands may go on for a while."""
STOP_SECONDS = 2.0
"""How long shutdown waits for the system's watcher to end; it takes a twentieth of a second."""

Watch = Callable[[Sequence[str], Iterable[str], Callable[[], None], Callable[[], None]], FolderWatch]
"""`disk.watching.FolderWatch`. Tests pass none, or one of their own."""


class DiskWatch:
    """Checks and watches nothing while no agent works. Until somebody reads a file, its other changes are left to the editor."""

    def __init__(
        self,
        state: State,
        reconciler: Reconciler,
        behind: Behind,
        evidence: Evidence,
        journal: Journal,
        tasks: Background,
        starts: TurnStarts,
        watch: Watch | None = None,
    ) -> None:
        self._found = FoundFiles(state, behind, evidence, starts, tasks)
        self._found.noted = self._begin_watching
        self._starts = starts
        self._journal = journal
        self._state = state
        self._reconciler = reconciler
        self._behind = behind
        self._evidence = evidence
        self._tasks = tasks
        evidence.first_act = lambda session: tasks.start_soon(journal.turn_acted, session.id)
        self._running = False
        self._one_look = anyio.Lock()
        self._tried: dict[DocumentUri, tuple[tuple[Stat | None, int | None], int]] = {}
        """By document: its file's stat and its version, and how often the two were looked at in this state."""
        self._being_looked_at: set[DocumentUri] = set()
        self._watch = watch
        self._watching: FolderWatch | None = None
        self._stopped: list[FolderWatch] = []
        self._told = anyio.Event()
        self.editors_folders: Callable[[], Sequence[str]] = tuple
        """The folders (canonical) that the editor watches now; empty if it does not watch."""

    async def session_opens(self, session: Session) -> None:
        """Prepares the first scan of the session's files, so that its first prompt waits no longer than later ones."""
        await self._found.prepare(session)

    def turn_began(self, session: Session) -> None:
        self._evidence.turn_began(session)
        self._behind.accounts.open = True
        if not self._running:
            self._running = True
            self._tasks.start_soon(self._poll)

    async def before_turn(self, session: Session) -> None:
        """Notes the state of the session's files, or begins to, before its prompt is sent. Changes from before that,
        such as a checkout, are not the agent's."""
        with anyio.move_on_after(FIRST_LOOK_SECONDS):
            async with anyio.create_task_group() as looks:
                for tracked in await self._changed():
                    looks.start_soon(self._look, tracked)
        for other in self._evidence.active():
            if other is session:
                continue
            if self._starts.is_large(other):  # what other sessions changed until now is theirs
                self._tasks.start_soon(self._look_at_found, other)
            else:
                await self._found.look(other, last=False)
        if not any(other is not session for other in self._evidence.active()):
            self._behind.turns_over(begins=True)  # all accounts are older than this turn
        await self._behind.turn_begins()
        await self._found.note(session)
        self._begin_watching(session)
        self._evidence.asked_now(session)

    async def _look_at_found(self, session: Session) -> None:
        await self._found.look(session, last=False)

    async def noted(self, session: Session) -> None:
        """Waits at most NOTED_SECONDS until the state of the session's files at the turn's start is known: what its
        agent does next could change them."""
        await self._starts.settled(session.id, NOTED_SECONDS)

    async def turn_ending(self, session: Session) -> None:
        """The last check of a turn."""
        self._evidence.ending(session)
        with anyio.move_on_after(LAST_LOOK_SECONDS) as limit:
            await self._look_at_named()
            await self._found.look(session)
            changed = await self._changed()
            under_way = [tracked for tracked in self._state.documents if tracked.looking.locked()]
            async with anyio.create_task_group() as looks:
                for tracked in [
                    *changed,
                    *under_way,
                ]:  # changes found by the last check belong to the turn, too
                    looks.start_soon(self._look, tracked)
                looks.start_soon(self._look_at_named)
        if limit.cancelled_caught:
            self._found.cut_short(session)
        await self._found.over(session)

    async def saving(self, tracked: Tracked, save: SavedOver) -> None:
        """The editor saved a document on top of a change that is still being recorded. `saved` is called later."""
        path = to_path(tracked.document.uri)
        if path is not None and self._running:
            for session in list(self._state.sessions):
                await self._journal.turn_saving(session.id, path, save)

    async def saved(self, tracked: Tracked, text: Text) -> None:
        """The editor saved a document with this text."""
        path = to_path(tracked.document.uri)
        if path is not None and self._running:
            await self._found.saved(path, text)

    def turn_ended(self, session: Session, outcome: Json) -> None:
        self._evidence.turn_ended(session, cut_short=outcome.get("stopReason") in CUT_SHORT)

    def files_changed(self, uris: Iterable[DocumentUri]) -> None:
        """The editor's watcher reports that these files changed."""
        if self._running:
            documents = map(self._state.documents.get, uris)
            self._start([tracked for tracked in documents if tracked is not None])
            self._told.set()

    async def aclose(self) -> None:
        """Waits until the system's watchers have ended, at most STOP_SECONDS for each."""
        self._stop_watching()
        for watch in self._stopped:
            if not await anyio.to_thread.run_sync(watch.join, STOP_SECONDS):
                log.warning("the watcher of files did not end in time")
        self._stopped.clear()

    # Watching

    def _begin_watching(self, session: Session) -> None:
        if self._watch is None or not self._running:
            return
        roots = [root.path for root in session.roots.roots]
        if all(any(_is_at_or_beneath(root, folder) for folder in self.editors_folders()) for root in roots):
            return
        documents = {os.path.dirname(path): None for path in self._paths() if session.roots.match(path)}
        folders = documents | self._found.folders(session)
        if self._watching is not None:
            if self._watching.covers_folders([*roots, *folders]):
                return
            roots += self._watching.folders  # of other sessions
        self._stop_watching()
        tell = _in_loop(self._tell)
        self._watching = self._watch(roots, folders, tell, tell)

    def _stop_watching(self) -> None:
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.stop()
            self._stopped = [*(watch for watch in self._stopped if not watch.join(0)), watching]

    def _tell(self) -> None:
        self._told.set()

    def _is_watched(self) -> bool:
        """Whether every relevant file is watched."""
        watching, editors = self._watching, self.editors_folders()
        return all(
            (watching is not None and watching.covers(path))
            or any(_is_at_or_beneath(path, folder) for folder in editors)
            for path in self._paths()
        )

    def _paths(self) -> list[str]:
        """The relevant files: those of open documents, and those that tool calls named."""
        documents = [to_path(tracked.document.uri) for tracked in self._state.documents]
        named = [n.path for session in self._evidence.active() for _, n in self._evidence.named(session)]
        return [*(path for path in documents if path is not None), *named]

    # Looking

    async def _listen(self) -> None:
        while True:
            self._evidence.listening()
            await anyio.sleep(LISTEN_SECONDS)

    async def _poll(self) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen)
                await self._look_while_active()
                tasks.cancel_scope.cancel()
        finally:
            self._running = False
            self._tried.clear()
            self._starts.forget_all()
            self._behind.turns_over()
            self._stop_watching()

    async def _look_while_active(self) -> None:
        looked = noted = anyio.current_time()
        while self._evidence.active():
            with anyio.move_on_after(POLL_SECONDS):
                await self._told.wait()
            now = anyio.current_time()
            if now - noted >= SEEN_SECONDS:
                noted = now
                await self._journal.turns_seen()
            if self._told.is_set() or now - looked >= WATCHED_SECONDS or not self._is_watched():
                self._told = anyio.Event()
                looked = now
                self._start(await self._changed())
                await self._look_at_named()

    async def _changed(self) -> list[Tracked]:
        """Open documents whose files changed since the last check. `_look` waits for edits that are on their way to them."""
        found: list[Tracked] = []
        async for tracked in in_steps(list(self._state.documents)):
            is_known = tracked.observed.is_set() and not tracked.saving and not tracked.closed
            if is_known and not self._reconciler.is_current(tracked):
                found.append(tracked)
        return found

    def _start(self, changed: Iterable[Tracked]) -> None:
        for tracked in changed:
            path = to_path(tracked.document.uri)
            if path is None or tracked.document.uri in self._being_looked_at:
                continue
            both = self._state.storage.stat(path), tracked.document.version
            tried, times = self._tried.get(tracked.document.uri, (None, 0))
            if tried != both:
                times = 0
            if times < MAX_TRIES:
                self._tried[tracked.document.uri] = both, times + 1
                self._tasks.start_soon(self._look, tracked)

    async def _look(self, tracked: Tracked) -> None:
        uri = tracked.document.uri
        self._being_looked_at.add(uri)
        try:
            until = anyio.current_time() + LAST_LOOK_SECONDS
            # waits that long for an edit on its way; a look that has begun is never cut short
            while not await self._reconciler.look(tracked) and (left := until - anyio.current_time()) > 0:
                await tracked.rest(left)
        finally:
            self._being_looked_at.discard(uri)

    async def _look_at_named(self) -> None:
        every = [
            (session, named)
            for session in self._evidence.active()
            for _, named in self._evidence.named(session)
        ]

        async def look(one: tuple[Session, NamedFile]) -> None:
            await self._behind.unopened.look(one[0], one[1].path, one[1])

        def size(one: tuple[Session, NamedFile]) -> int:
            return (
                LARGE_BYTES + 1 if one[1].stat is None else one[1].stat.size
            )  # a new file may have any size

        async with self._one_look:
            await side_by_side(every, look, size)


def _is_at_or_beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _in_loop(tell: Callable[[], None]) -> Callable[[], None]:
    """A function that schedules `tell` in this loop, from any thread, without waiting. It does nothing once the loop has ended."""
    loop = asyncio.get_running_loop()

    def told() -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell)

    return told
