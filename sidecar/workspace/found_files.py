"""FoundFiles: at the end of a turn, finds files that its commands changed without notice, with their earlier texts (turn_starts.py).

They are recorded as the agent's work like any other change (behind.py). If several agents worked at once, it is unknown who made a
change: nothing is recorded, and the user is told. One message names removed files, another those that cannot be taken back.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from sidecar.core.escape import escape, shorten
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.disk import Decoded, Missing, decode
from sidecar.workspace.behind import Behind
from sidecar.workspace.evidence import Evidence, Named
from sidecar.workspace.places import locate
from sidecar.workspace.ports import Journal
from sidecar.workspace.sessions import Session
from sidecar.workspace.state import State
from sidecar.workspace.turn_starts import Changed, TurnStarts

log = logging.getLogger(__name__)

_LISTED = 5
"""How many files a message names; the rest are counted."""


class FoundFiles:
    """Of all sessions of one workspace."""

    def __init__(self, state: State, behind: Behind, evidence: Evidence, journal: Journal) -> None:
        self._state = state
        self._behind = behind
        self._evidence = evidence
        self._starts = TurnStarts(journal)
        self._told: set[str] = set()
        """Folders that the user was told are not checked."""

    async def note(self, session: Session) -> None:
        """The session's turn is about to begin."""
        try:
            await self._starts.take(session)
        except Exception:
            log.exception("the look at the files of %s before its turn failed", session.agent)
            self._behind.tell(
                "warning",
                f"The files of {session.cwd} could not be noted before this turn of {session.agent}. What its commands change in the turn "
                "is not listed and cannot be taken back.",
            )

    def folders(self, session: Session) -> dict[str, None]:
        """The folders of its files; see TurnStarts."""
        return self._starts.folders(session)

    async def saved(self, path: str, text: Text) -> None:
        """The editor saved a file (of an open document with this text) while turns run."""
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
                raw = str(text)
                if like is not None and normal(like.text) == normal(raw):
                    raw = like.text
                data = self._state.storage.encode(raw, like, path)
                if not isinstance(data, Refusal):
                    await self._starts.saved(session, place.path, data, place.on_disk.stat)

    async def over(self, session: Session) -> None:
        """The session's turn has ended."""
        await self._starts.over(session)

    def forget(self, session: Session) -> None:
        self._starts.forget(session.id)

    async def look(self, session: Session) -> None:
        """The session's turn is about to end."""
        if not self._evidence.has_acted(session):
            return
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
        active = [s for s in self._evidence.active() if s is not session and self._evidence.has_acted(s)]
        running = [s for s in self._evidence.active() if s is not session and s.running]
        removed: list[str] = []
        left: dict[str, str] = {}
        for file in changed:
            place = locate(self._state.storage, self._state.documents, session.roots, file.path, "read")
            if isinstance(place, Refusal):
                continue
            with place:
                if place.tracked is not None or place.uri in session.touched:
                    continue  # the editor's, or already reported
                if _is_anothers(session, file.path, running) or await self._behind.is_known(
                    place.uri, place.on_disk
                ):
                    continue
                gone = isinstance(place.on_disk, Missing)
            named = _named(file)
            if any(_may_be(other, file.path, _reach(session, file.path)) for other in active):
                left[file.path] = f"{session.agent} was not the only agent working"
            elif self._evidence.found(session, place.uri, named):
                why = await self._behind.look(session, place.uri, named)
                if why:
                    left[file.path] = why
                elif gone and place.uri in session.touched:
                    removed.append(file.path)
        self._tell(session, removed, left)

    def _tell_unseen(self, session: Session) -> None:
        """Once a folder."""
        unseen = [folder for folder in self._starts.unseen(session) if folder not in self._told]
        if unseen:
            self._told.update(unseen)
            self._behind.tell(
                "warning",
                f"{_list(unseen)} {'has' if len(unseen) == 1 else 'have'} too many files to find what commands of {session.agent} change. "
                "Such changes are not listed and cannot be taken back. Writes through the editor, and changes to files that its tool "
                "calls name, are listed and can be taken back.",
            )

    def _tell(self, session: Session, removed: Sequence[str], left: dict[str, str]) -> None:
        if removed:
            self._behind.tell(
                "info",
                f"{_list(removed)} {_was(removed)} removed by {session.agent}; `acp-sidecar revert` restores what it removed.",
            )
        if left:
            why = next(iter(left.values()))
            self._behind.tell(
                "warning",
                f"{_list(list(left))} {_was(left)} changed while {session.agent} worked and cannot be taken back: {why}.",
            )


def _is_anothers(session: Session, path: str, running: Sequence[Session]) -> bool:
    """Whether the file is in a folder where another session with a running turn works, and this session merely may."""
    own = _reach(session, path)
    return any(_reach(other, path) > own for other in running)


def _may_be(other: Session, path: str, reach: int) -> bool:
    """Whether the change may equally be the other session's: it has access, and its folder is at least as near as `reach`."""
    return _reach(other, path) >= reach and any(_is_beneath(path, root.path) for root in other.roots.roots)


def _reach(session: Session, path: str) -> int:
    """How near the session's own folder is to the file; 0: the file is not in it."""
    folder = session.roots.roots[0].path
    return len(folder) if _is_beneath(path, folder) else 0


def _is_beneath(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _named(file: Changed) -> Named:
    if file.data is None:
        return Named(file.path, "", file.stat, None, why=file.why, quiet=True)
    decoded = decode(file.data)
    if isinstance(decoded, Refusal):
        return Named(file.path, "", file.stat, None, why="it is not text", quiet=True)
    return Named(file.path, "", file.stat, decoded.text, decoded.encoding, decoded.bom, quiet=True)


def _list(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _LISTED} more files" if len(paths) > _LISTED else ""
    return ", ".join(shorten(escape(os.path.basename(path)), 100) for path in paths[:_LISTED]) + more


def _was(paths: Sequence[str] | dict[str, str]) -> str:
    return "was" if len(paths) == 1 else "were"
