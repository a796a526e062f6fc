"""DiskWatch: while an agent works, and a little longer, the files that matter are looked at without anybody asking.

Those are the open documents and the files that tool calls named. The editor tells of changed files where it can
(`workspace/didChangeWatchedFiles`); a look at every stat twice a second does the same elsewhere and for what no watcher
reports. At a turn's end everything is looked at once more, so that its outcome names what was changed behind the editor.
"""

from __future__ import annotations

from collections.abc import Iterable

import anyio

from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Stat
from sidecar.workspace.background import Background
from sidecar.workspace.behind import Behind
from sidecar.workspace.documents import Tracked
from sidecar.workspace.evidence import Evidence
from sidecar.workspace.found_files import FoundFiles
from sidecar.workspace.ports import Journal, Json
from sidecar.workspace.reconcile import Reconciler
from sidecar.workspace.sessions import Session
from sidecar.workspace.state import State

POLL_SECONDS = 0.5
"""Between two looks; one costs about ten microseconds a file."""
SEEN_SECONDS = 5.0
"""Between two notes in the journal that the turns still run: what changes much later than the last of them, no agent of theirs did."""
MAX_DOCUMENTS = 1000
"""Open documents that are looked at."""
MAX_TRIES = 3
"""How often an editor is asked to take the same state of a file."""
LAST_LOOK_SECONDS = 10.0
"""How long a turn's end waits for what changed last."""


class DiskWatch:
    """Nothing is looked at while no agent works: what else changes files is the editor's business until somebody reads."""

    def __init__(
        self,
        state: State,
        reconciler: Reconciler,
        behind: Behind,
        evidence: Evidence,
        journal: Journal,
        tasks: Background,
    ) -> None:
        self._found = FoundFiles(state, behind, evidence, journal)
        self._journal = journal
        self._state = state
        self._reconciler = reconciler
        self._behind = behind
        self._evidence = evidence
        self._tasks = tasks
        evidence.first_act = lambda session: tasks.start_soon(journal.turn_acted, session.id)
        self._running = False
        self._one_look = anyio.Lock()
        self._tried: dict[DocumentUri, tuple[Stat | None, int]] = {}
        self._being_looked_at: set[DocumentUri] = set()

    def turn_began(self, session: Session) -> None:
        self._evidence.turn_began(session)
        if not self._running:
            self._running = True
            self._tasks.start_soon(self._poll)

    async def before_turn(self, session: Session) -> None:
        """What the session's files are is noted; its prompt is sent afterwards."""
        await self._found.note(session)

    async def turn_ending(self, session: Session) -> None:
        """The last look of a turn."""
        with anyio.move_on_after(LAST_LOOK_SECONDS):
            await self._found.look(session)
            under_way = [tracked for tracked in self._state.documents if tracked.looking.locked()]
            async with anyio.create_task_group() as looks:
                for tracked in [
                    *self._changed(),
                    *under_way,
                ]:  # what a look found last belongs to the turn, too
                    looks.start_soon(self._look, tracked)
                looks.start_soon(self._look_at_named)
        await self._found.over(session)

    async def saved(self, tracked: Tracked, text: Text) -> None:
        """The editor saved a document, with this text."""
        path = to_path(tracked.document.uri)
        if path is not None and self._running:
            await self._found.saved(path, text)

    def turn_ended(self, session: Session, outcome: Json) -> None:
        self._evidence.turn_ended(session)
        self._found.forget(session)

    def files_changed(self, uris: Iterable[DocumentUri]) -> None:
        """The editor's watcher saw these change."""
        if self._running:
            documents = map(self._state.documents.get, uris)
            self._start([tracked for tracked in documents if tracked is not None])

    async def _poll(self) -> None:
        try:
            told = anyio.current_time()
            while self._evidence.active():
                await anyio.sleep(POLL_SECONDS)
                if anyio.current_time() - told >= SEEN_SECONDS:
                    told = anyio.current_time()
                    await self._journal.turns_seen()
                self._start(self._changed())
                await self._look_at_named()
        finally:
            self._running = False
            self._tried.clear()

    def _changed(self) -> list[Tracked]:
        """Open documents whose files are not as they were seen last."""
        found: list[Tracked] = []
        for tracked in list(self._state.documents)[:MAX_DOCUMENTS]:
            at_rest = tracked.observed.is_set() and tracked.watch is None and not tracked.saving
            if at_rest and not self._reconciler.is_current(tracked):
                found.append(tracked)
        return found

    def _start(self, changed: Iterable[Tracked]) -> None:
        for tracked in changed:
            path = to_path(tracked.document.uri)
            if path is None or tracked.document.uri in self._being_looked_at:
                continue
            stat = self._state.storage.stat(path)
            tried, times = self._tried.get(tracked.document.uri, (None, 0))
            if tried != stat:
                times = 0
            if times < MAX_TRIES:
                self._tried[tracked.document.uri] = stat, times + 1
                self._tasks.start_soon(self._look, tracked)

    async def _look(self, tracked: Tracked) -> None:
        uri = tracked.document.uri
        self._being_looked_at.add(uri)
        try:
            await self._reconciler.look(tracked)
        finally:
            self._being_looked_at.discard(uri)

    async def _look_at_named(self) -> None:
        async with self._one_look:
            for session in self._evidence.active():
                for uri, named in self._evidence.named(session):
                    await self._behind.look(session, uri, named)
