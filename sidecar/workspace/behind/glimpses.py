"""Glimpses: what files said when acts of agents began or ended. They separate the changes of one act from those that
another act or the user made right before or after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from sidecar.core.file_state import FileState, link
from sidecar.core.refusal import Refusal
from sidecar.core.uri import from_path
from sidecar.disk import Decoded, Missing, Stat, decode
from sidecar.workspace.behind.evidence import Evidence, NamedFile
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.behind.gone import gone_at
from sidecar.workspace.behind.turn_starts import MAX_AT_ONCE, TurnStarts
from sidecar.workspace.state.acts import changed_at
from sidecar.workspace.state.looking import Looking
from sidecar.workspace.state.places import locate
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

MAX_LEFT = 8
"""How many glimpses of one file wait for its open document to be compared with it."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The state of a file at some moment."""

    stat: Stat | None
    """None: there was no file."""
    mode: int | None
    data: bytes | Refusal | None
    at: int
    """Since when the file was in this state; see acts.py."""
    link: str | None = None
    """The target of the symbolic link that was there instead; None: there was none."""

    @property
    def is_gone(self) -> bool:
        return self.data is None and self.link is None

    @property
    def is_text(self) -> bool:
        """Also if it could not be read."""
        if isinstance(self.data, bytes):
            return isinstance(decode(self.data), Decoded)
        return self.data is not None

    @property
    def state(self) -> FileState | None:
        """None: there was nothing, or its bytes are not known."""
        if self.link is not None:
            return link(self.link)
        return FileState(self.data, self.mode or 0o644) if isinstance(self.data, bytes) else None


class Glimpses:
    """One per workspace; used while turns run."""

    def __init__(self, state: State, evidence: Evidence, starts: TurnStarts, files: FileReviews) -> None:
        self._state = state
        self._evidence = evidence
        self._starts = starts
        self._files = files
        self._glimpses: dict[str, list[Glimpse]] = {}
        """By path: the glimpses since the file was last looked at, oldest first."""
        self._back: dict[str, Stat | None] = {}
        """The stat, at the last look, of files that were removed or moved and that somebody brought back; None: gone
        again."""
        self._modes: dict[str, tuple[int | None, int]] = {}
        """By path of a file with a changed mode: the mode, and when the file had last changed (acts.py), as of the first
        time that it was found to have this mode."""
        self._looking = Looking(state.storage.read_now)
        evidence.between_acts = self.take

    def take(self, session: Session) -> None:
        """Notes what the session's files say at this moment, because an act of the session begins or has ended.
        Synchronous: a moment later, another act may have changed them."""
        for path, there in [*self._starts.moved_now(session.id), *self._brought_back()]:
            seen = self._seen(session, path, there)
            if seen is None:
                continue
            if seen.stat is None or self._mode_then(session, path) in (None, seen.mode):
                self._modes.pop(path, None)  # the noted change was another file's, or is undone
            elif self._modes.get(path, (None, 0))[0] != seen.mode:
                self._modes[path] = seen.mode, seen.at
            self._glimpses.setdefault(path, []).append(seen)
            self._evidence.found(
                session, from_path(path), NamedFile(path, "", None, None, why="", quiet=True, at=seen.at)
            )

    def _seen(self, session: Session, path: str, there: Stat | str | None) -> Glimpse | None:
        """What is there: a file with this stat, a link with this target, or nothing. None: it is not known."""
        if there is None:
            return Glimpse(None, None, None, gone_at(path))
        if isinstance(there, str):
            return Glimpse(None, None, None, whole_changed_at(path), there)
        place = locate(self._state.storage, self._state.documents, session.roots, path, "read")
        if isinstance(place, Refusal):
            return None
        with place:
            if isinstance(place.on_disk, Missing) or place.path != path:
                return None  # or it is a link now
            stat, mode = place.on_disk.stat, place.on_disk.mode
            data = self._looking.bytes_of(place.on_disk)
        return Glimpse(stat, mode, data, changed_at(stat)) if isinstance(data, bytes) else None

    def _mode_then(self, session: Session, path: str) -> int | None:
        """The mode that a change of the file's mode is measured from: that of the turn's start or, if the file did not exist then, of the file that
        agents had removed there; None: there was none."""
        at_start, before = self._starts.mode(session.id, path), self._files.began_as(path)
        return before.mode if at_start is None and before is not None else at_start

    def _brought_back(self) -> Iterator[tuple[str, Stat | None]]:
        """Files that agents removed or moved and that exist again, each with its stat if that is new since the last
        look (None: gone again). An agent may change or remove them next. The files of `_back` are included because
        their rows are no longer under review."""
        gone = (change.path if change.after is None else change.moved_from for change in self._files)
        for path in islice(dict.fromkeys([*self._back, *filter(None, gone)]), MAX_AT_ONCE):
            stat = self._state.storage.stat(path)
            if self._back.get(path) != stat:
                self._back[path] = stat
                yield path, stat

    def __contains__(self, path: str) -> bool:
        return path in self._glimpses

    def pop(self, path: str, until: int | None = None) -> list[Glimpse]:
        """The glimpses of a file in states that it had reached by `until` (None: all), oldest first. Each is returned
        only once."""
        found = self._glimpses.pop(path, [])
        later = [seen for seen in found if until is not None and seen.at > until]
        if later:
            self._glimpses[path] = later
        return [seen for seen in found if seen not in later]

    def are_left(self, path: str, glimpses: Sequence[Glimpse]) -> None:
        """These, of those that were returned, are for somebody else to look at: the newest of them."""
        if glimpses:
            self._glimpses[path] = [*glimpses[-MAX_LEFT:], *self._glimpses.get(path, ())]

    def mode_changed_at(self, path: str, mode: int | None) -> int:
        """When a file came to have this mode (None: it is gone): the time that was found first or, if none was noted, the
        file's last change. See acts.py."""
        noted, at = self._modes.pop(path, (None, 0))
        return at if at and noted == mode else whole_changed_at(path)

    def clear(self) -> None:
        self._glimpses.clear()
        self._back.clear()
        self._modes.clear()


def link_at(path: str) -> str | None:
    """The target of the symbolic link under the path; None: there is none."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def whole_changed_at(path: str) -> int:
    """When what is under the path, if only a link, last changed or was removed; see acts.py."""
    try:
        return changed_at(Stat.of(os.lstat(path)))
    except OSError:
        return gone_at(path)
