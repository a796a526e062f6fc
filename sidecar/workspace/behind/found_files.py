"""FoundFiles: finds files that changed in a turn unnoticed, with their contents from when the turn began
(turn_starts.py).

They are entered as their author's work like any other change (behind.py). A message names the files that cannot be taken back.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence

from sidecar.core.escape import escape, shorten
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import to_path
from sidecar.disk import Decoded, Missing
from sidecar.workspace.behind.behind import Behind
from sidecar.workspace.behind.evidence import Evidence
from sidecar.workspace.behind.tree_notes import Touched
from sidecar.workspace.behind.turn_starts import Changed, TurnStarts, size_of
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.side_by_side import side_by_side
from sidecar.workspace.state.acts import changed_at
from sidecar.workspace.state.places import locate
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

log = logging.getLogger(__name__)

_LISTED = 5
"""How many files a message names. The rest are counted."""


class FoundFiles:
    """One per workspace, for all its sessions."""

    def __init__(
        self, state: State, behind: Behind, evidence: Evidence, starts: TurnStarts, tasks: Background
    ) -> None:
        self._state = state
        self._behind = behind
        self._evidence = evidence
        self._starts = starts
        self._tasks = tasks
        self.noted: Callable[[Session], None] = lambda session: None
        """Called when the files of a turn that began are known."""
        self._told: set[str] = set()
        """Folders of which the user was told that they are not checked."""
        self._waiting: dict[str, dict[str, None]] = {}
        """By session: changed files that are still to be looked at."""
        self._unlooked: set[str] = set()
        """Sessions whose changed files have not been searched for yet at the end of the turn."""

    async def note(self, session: Session) -> None:
        """The session's turn is about to begin: notes the state of its files. Returns when that is done or is known to
        take long; it then goes on while the agent works. Changes from then on may be the agent's."""
        self._unlooked.add(session.id)
        self._starts.begin(session)
        self._tasks.start_soon(self._note, session)
        if not await self._starts.waited(session):
            self._starts.asked(session)
            self._tasks.start_soon(self._note_unnoted, session)

    async def _note_unnoted(self, session: Session) -> None:
        await self._starts.journal_unnoted(session)
        if self._evidence.has_acted(session):
            self._evidence.first_act(session)

    async def _note(self, session: Session) -> None:
        documents = (to_path(tracked.document.uri) for tracked in self._state.documents)
        is_open = {path for path in documents if path is not None}
        try:
            made = self._behind.unopened.made(), frozenset(self._state.made_folders)
            await self._starts.take(session, Touched(is_open, *made))
        except Exception:
            log.exception("the look at the files of %s before its turn failed", session.agent)
            self._behind.tell(
                "warning",
                f"The files of {session.cwd} could not be noted before this turn of {session.agent}. What its commands change in the turn "
                "is not listed and cannot be taken back.",
            )
        if self._evidence.has_acted(session):
            self._evidence.first_act(session)  # the agent acted before the journal had the turn
        self.noted(session)

    async def prepare(self, session: Session) -> None:
        """The session is being opened: prepares the first look at its files."""
        try:
            await self._starts.prepare(session)
        except Exception:  # the first turn tries again, and reports a failure
            log.exception("the first look at the files of %s failed", session.agent)

    def folders(self, session: Session) -> dict[str, None]:
        """The folders of the session's files; see `TurnStarts.folders`."""
        return self._starts.folders(session)

    async def saved(self, path: str, text: Text) -> None:
        """The editor saved a file, whose open document has this text, while turns run."""
        for session in list(self._state.sessions):
            if not self._starts.has(session):
                continue
            place = locate(self._state.storage, self._state.documents, session.roots, path, "read")
            if isinstance(place, Refusal):
                continue
            with place:
                if isinstance(place.on_disk, Missing):
                    continue
                decoded = await self._state.storage.read(place.on_disk)
                like = decoded if isinstance(decoded, Decoded) else None
                raw, stat = str(text), place.on_disk.stat
                if like is not None and normal(like.text) == normal(raw):
                    raw = like.text
                else:  # somebody has written the file since
                    stat = stat.at_no_time()
                data = self._state.storage.encode(raw, like, path)
                if not isinstance(data, Refusal):
                    await self._starts.saved(session, place.path, data, stat, place.on_disk.mode)

    async def over(self, session: Session) -> None:
        """The session's turn has ended."""
        await self._starts.over(session)

    def forget(self, session: Session) -> None:
        self._starts.forget(session.id)
        self._waiting.pop(session.id, None)
        self._unlooked.discard(session.id)

    async def look(self, session: Session, *, last: bool = True) -> None:
        """Finds and records what changed in the session's turn so far. `last`: the turn is about to end."""
        if not self._evidence.has_acted(session):
            return
        if last:
            self._tell_unseen(session)
        try:
            changed = await self._starts.changed(session.id)
        except Exception:
            log.exception("the look at the files of %s after its turn failed", session.agent)
            self._behind.tell(
                "warning",
                f"The files of {session.cwd} could not be checked after this turn of {session.agent}. What its commands changed in the turn "
                "is not listed and cannot be taken back.",
            )
            return
        if last:
            self._unlooked.discard(session.id)
            self._tell_left_out(session)
        left: dict[str, str] = {}
        waiting = self._waiting[session.id] = dict.fromkeys(row.path for row in changed)

        async def look_at(row: Changed) -> None:
            why = await self._behind.unopened.look(session, row.path, row=row, last=last)
            waiting.pop(row.path, None)
            if why:
                left[row.path] = why

        rows = await self._behind.unopened.whole_rows(session, changed)
        for path in waiting.keys() - {row.path for row in rows}:
            waiting.pop(path, None)
        await side_by_side(sorted(rows, key=_newest_first), look_at, size_of)
        self._waiting.pop(session.id, None)
        if last:
            self._tell(session, left)

    def cut_short(self, session: Session) -> None:
        """There was no time to look at everything when the turn ended. Tells the user so, with the names of the files
        as far as they are known."""
        if session.id in self._unlooked and self._evidence.has_acted(session):
            self._behind.tell(
                "warning",
                f"There was no time to check the files of {session.cwd} after this turn of {session.agent}. What its commands changed in the turn "
                "and is not listed cannot be taken back.",
            )
            self._leave(session, {session.cwd: "there was no time to check all the files in this folder"})
        left = dict.fromkeys(self._waiting.pop(session.id, {}), "there was no time to record it")
        self._leave(session, left)
        self._tell(session, left)

    def _leave(self, session: Session, left: dict[str, str]) -> None:
        if left:
            self._behind.unopened.left.setdefault((session.id, session.turn), {}).update(left)

    def _tell_left_out(self, session: Session) -> None:
        """Tells the user that calls of the turn named more files than are noted."""
        more = self._evidence.left_out(session)
        if more:
            why = f"calls named at least {more:,} more files than are noted"
            self._leave(session, {session.cwd: f"{why}; those that git ignores are not listed"})
            self._behind.tell(
                "warning",
                f"In this turn of {session.agent}, {why}. What it changed in those that git ignores is not listed and cannot be taken back.",
            )

    def _tell_unseen(self, session: Session) -> None:
        """Tells the user of folders that are not checked, once for each folder."""
        unseen = [folder for folder in self._starts.unseen(session) if folder not in self._told]
        if unseen:
            self._told.update(unseen)
            self._behind.tell(
                "warning",
                f"{_list(unseen)} {'has' if len(unseen) == 1 else 'have'} too many files to find what commands of {session.agent} change. "
                "Such changes are not listed and cannot be taken back. Writes through the editor, and changes to files that its tool "
                "calls name, are listed and can be taken back.",
            )

    def _tell(self, session: Session, left: dict[str, str]) -> None:
        left = {**self._behind.unopened.untold.pop((session.id, session.turn), {}), **left}
        if left:
            why = next(iter(left.values()))
            self._behind.tell(
                "warning",
                f"{_list(list(left))} {_was(left)} changed while {session.agent} worked and cannot be taken back: {why}.",
            )


def _newest_first(row: Changed) -> int:
    """A sort key. If there is no time for all files, those that changed last are what people and agents work on."""
    return 0 if row.stat is None else -changed_at(row.stat)


def _list(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _LISTED} more files" if len(paths) > _LISTED else ""
    return ", ".join(shorten(escape(os.path.basename(path)), 100) for path in paths[:_LISTED]) + more


def _was(paths: Sequence[str] | dict[str, str]) -> str:
    return "was" if len(paths) == 1 else "were"
