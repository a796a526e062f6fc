"""Evidence: which agent's tool calls named which files, and what those said before. It tells whose a change on the disk is.

An agent that writes the disk itself says so only by its tool calls: their `locations`, the paths of their diffs, their kind.
A call that names a file is the moment to read what the file says before it is changed (its pre-image). Agents that announce
a call only when it is over are believed about the text before, as far as their diff fits what the disk says now.

Not here: looking at the disk for changes (disk_watch.py), and noting them (behind.py).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import anyio

from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Decoded, Missing, Stat
from sidecar.workspace.looking import Looking
from sidecar.workspace.places import Place, locate
from sidecar.workspace.ports import Json
from sidecar.workspace.sessions import Session
from sidecar.workspace.state import State

READING = frozenset({"read", "search", "fetch", "think", "switch_mode"})
"""Tool calls of these kinds change nothing."""
GRACE_SECONDS = 10.0
"""How long after a turn's end a change may still be its doing: commands go on, writes come late after a cancel."""
MAX_NAMED = 256
"""Files of one session whose pre-images are kept: the newest."""
MAX_PATHS = 32
"""Paths of one update that are looked at."""
MAX_CALLS = 1024
"""Tool calls of one turn of which it is known that they only read: the newest."""
MAX_CALL = 1024
"""Code points of the id of such a call."""
MAX_TEXT = 4 * 1024 * 1024
"""Bytes of a pre-image: files beyond it are noted as not revertible."""


@dataclass(slots=True)
class Named:
    """A file that a tool call named. The texts are raw."""

    path: str
    call: str
    stat: Stat | None
    """When it was looked at; None: there was no file."""
    text: str | None
    """What it said then; None: there was no file, or `why` it is not known."""
    encoding: str = "utf-8"
    bom: bytes = b""
    why: str = ""
    quiet: bool = False
    """Found by a look at everything: the user is told of all of them together."""


class Evidence:
    """Of all sessions of one workspace. Synchronous: a pre-image that comes late is none."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._reading: dict[str, OrderedDict[str, None]] = {}
        """By session: tool calls of its turn that said they only read."""
        self._named: dict[str, OrderedDict[DocumentUri, Named]] = {}
        self._ended: dict[str, float] = {}
        self._waiting: set[str] = set()
        """Sessions whose turn has begun, and which have not been asked yet."""
        self._acted: dict[str, str | None] = {}
        """By session: the last tool call or command of its turn that may have changed something."""
        self._looking = Looking(state.storage.read_now)
        self._seen: dict[DocumentUri, Stat] = {}
        """Files that a call read, as they were when their text was noted."""
        self._noted: dict[DocumentUri, Stat] = {}
        """Of open documents, what their files were like when something new was found there."""
        self.first_act: Callable[[Session], None] = lambda session: None
        """Told of the first of them in a turn."""

    def turn_began(self, session: Session) -> None:
        self._forget(session.id)
        self._named[session.id] = OrderedDict()
        self._waiting.add(session.id)

    def asked_now(self, session: Session) -> None:
        """Its prompt is about to be sent: what changes from now on may be its doing."""
        self._waiting.discard(session.id)

    def turn_ended(self, session: Session) -> None:
        self._ended[session.id] = anyio.current_time()

    def forget_session(self, session_id: str) -> None:
        self._forget(session_id)

    def active(self) -> list[Session]:
        """Sessions whose doing a change may be: with a running turn, or one that ended just now."""
        now = anyio.current_time()
        found: list[Session] = []
        for session_id in list(self._named):
            session = self._state.sessions.get(session_id)
            ended = self._ended.get(session_id)
            if session is None or (ended is not None and now - ended > GRACE_SECONDS):
                self._forget(session_id)
            else:
                found.append(session)
        return found

    def observe(self, session: Session, update: Json) -> None:
        """A session update of the agent's."""
        call = update.get("toolCallId")
        if update.get("sessionUpdate") not in ("tool_call", "tool_call_update") or not isinstance(call, str):
            return
        named = self._named.get(session.id)
        if named is None:
            return
        if update["sessionUpdate"] == "tool_call":
            self._looks_around(session)
        if self._only_reads(session.id, call, update.get("kind")):
            for path in list(dict.fromkeys(_locations(update.get("locations"))))[:MAX_PATHS]:
                self._reads(session, path)
            return
        self._acts(session, call)
        diffs = list(_diffs(update.get("content")))
        paths = dict.fromkeys([path for path, _, _ in diffs] + list(_locations(update.get("locations"))))
        looked_at: set[DocumentUri] = set()
        for path in list(paths)[:MAX_PATHS]:
            self._name(session, named, call, path, diffs, looked_at)

    def asked(self, session: Session, details: Json) -> None:
        """A question of the agent's with what it is about: `diff`, as of a tool call."""
        for item in list(_objects(details.get("diff")))[:MAX_PATHS]:
            path, old = item.get("path"), item.get("oldText")
            if not isinstance(path, str) or not path or "\0" in path or not isinstance(old, str):
                continue
            state, full = self._state, os.path.join(session.cwd, path)
            place = locate(state.storage, state.documents, session.roots, full, "read")
            if not isinstance(place, Refusal):
                with place:
                    self._knows(session, place, [old])

    def command_started(self, session: Session) -> None:
        """A command of its in a terminal of ours."""
        self._acts(session, session.current_tool_call())

    def _acts(self, session: Session, call: str | None) -> None:
        if session.id not in self._acted:
            self.first_act(session)
        self._acted[session.id] = call

    def has_acted(self, session: Session) -> bool:
        """Whether anything in this turn may have changed files."""
        return session.id in self._acted

    def found(self, session: Session, uri: DocumentUri, file: Named) -> bool:
        """A file has changed in this turn that no tool call named, or named so late that it had changed already. False: the turn is over."""
        named = self._named.get(session.id)
        if named is None:
            return False
        known = named.get(uri)
        file.call = known.call if known is not None else self._acted.get(session.id) or ""
        named[uri] = file
        return True

    def author(self, uri: DocumentUri) -> tuple[Session, str | None] | None:
        """Whose a change of this document on the disk most likely is, and the tool call: of the session whose call named it last,
        else of the only one whose turn is running."""
        active = [s for s in self.active() if s.id not in self._waiting]
        naming = [s for s in active if uri in self._named[s.id]]
        if len(naming) == 1 or (naming and len([s for s in naming if s.running]) == 1):
            session = next((s for s in naming if s.running), naming[0])
            return session, self._named[session.id][uri].call
        if naming:
            return None  # several: nobody can say
        running = [s for s in active if s.running]
        return (running[0], running[0].current_tool_call()) if len(running) == 1 else None

    def named(self, session: Session) -> list[tuple[DocumentUri, Named]]:
        known = self._named.get(session.id)
        return [] if known is None else list(known.items())

    def _looks_around(self, session: Session) -> None:
        """A call is about to read or write files that it need not name. What others put on the disk of the open ones before it, nobody may
        find there any more after it; agents may have read it."""
        for tracked in self._state.documents:
            path, uri = to_path(tracked.document.uri), tracked.document.uri
            if path is None or tracked.stat is None or not tracked.observed.is_set():
                continue
            stat = self._state.storage.stat(path)
            if stat is not None and stat != tracked.stat and self._noted.get(uri) != stat:
                self._noted[uri] = stat
                self._reads(session, path)
        if len(self._noted) > MAX_NAMED:
            self._noted.clear()

    def _reads(self, session: Session, path: str) -> None:
        """A call that reads a file, behind us perhaps: what is on the disk now is what a later write may be based on."""
        if "\0" in path:
            return
        state = self._state
        place = locate(state.storage, state.documents, session.roots, os.path.join(session.cwd, path), "read")
        if isinstance(place, Refusal):
            return
        with place:
            if isinstance(place.on_disk, Missing) or place.on_disk.size > MAX_TEXT:
                return
            stat = place.on_disk.stat
            if self._seen.get(place.uri) != stat:  # by whatever spelling, and in however many messages
                decoded = self._looking.look(place.on_disk)
                if decoded is None:
                    return
                if len(self._seen) > MAX_NAMED:
                    self._seen.clear()
                self._seen[place.uri] = stat
                if isinstance(decoded, Decoded):
                    state.documents.disk.seen(place.uri, normal(decoded.text))

    def _name(
        self,
        session: Session,
        named: OrderedDict[DocumentUri, Named],
        call: str,
        path: str,
        diffs: list[tuple[str, str | None, str]],
        looked_at: set[DocumentUri],
    ) -> None:
        """`looked_at`: files of this update, which may name one by many spellings."""
        if "\0" in path:
            return
        state = self._state
        full = os.path.join(session.cwd, path)  # relative diff paths (qwen)
        place = locate(state.storage, state.documents, session.roots, full, "read")
        if isinstance(place, Refusal):
            return
        with place:
            if place.uri in looked_at:
                return
            looked_at.add(place.uri)
            self._knows(session, place, [old for to, old, _ in diffs if to == path and old is not None])
            if place.uri in named:
                named[place.uri].call = call
                named.move_to_end(place.uri)
                return
            pre_image = named[place.uri] = self._look(place, call)
            if place.tracked is None:  # of open documents the saved text is known
                self._believe(pre_image, [d for d in diffs if d[0] == path])
                if pre_image.text is not None:
                    state.documents.disk.seen(place.uri, normal(pre_image.text))
        if len(named) > MAX_NAMED:
            named.popitem(last=False)

    def _knows(self, session: Session, place: Place, olds: list[str]) -> None:
        """A diff whose old text is all of the buffer shows that the agent's program knows it, whoever gave it that; of a file that is
        not open the disk's text counts anyway. A part of the text proves nothing of the rest."""
        if place.tracked is None or place.tracked.document.desynchronised is not None or not olds:
            return
        text = normal(str(place.tracked.document.snapshot()))
        if any(normal(old) == text for old in olds):
            self._state.beliefs.mentioned(session.id, place.uri, text, by_program=True)

    def _look(self, place: Place, call: str) -> Named:
        if isinstance(place.on_disk, Missing):
            return Named(place.path, call, None, None)
        stat = place.on_disk.stat
        if place.on_disk.size > MAX_TEXT:
            return Named(place.path, call, stat, None, why="it was too large to keep")
        decoded = self._looking.look(place.on_disk)
        if decoded is None:
            return Named(place.path, call, stat, None, why="too much was named at once to read all of it")
        if not isinstance(decoded, Decoded):
            return Named(place.path, call, stat, None, why="it is not text")
        return Named(place.path, call, stat, decoded.text, decoded.encoding, decoded.bom)

    def _believe(self, pre_image: Named, diffs: list[tuple[str, str | None, str]]) -> None:
        """The call may be over already: then its diff tells what the text before was."""
        now = pre_image.text
        if now is None or len(diffs) != 1:
            return
        _, old, new = diffs[0]
        if old is None:
            if normal(new) == normal(now):
                pre_image.text = pre_image.stat = None  # it made the file
        elif normal(new) == normal(now):
            pre_image.text, pre_image.stat = old, None
        elif old and new and old not in now and now.count(new) == 1:
            pre_image.text, pre_image.stat = now.replace(new, old), None

    def _forget(self, session_id: str) -> None:
        self._named.pop(session_id, None)
        self._waiting.discard(session_id)
        self._ended.pop(session_id, None)
        self._acted.pop(session_id, None)
        self._reading.pop(session_id, None)

    def _only_reads(self, session_id: str, call: str, kind: object) -> bool:
        """By its kind, which later updates need not repeat. One that is forgotten counts as one that may have changed something."""
        reading = self._reading.setdefault(session_id, OrderedDict())
        if isinstance(kind, str):
            reading.pop(call, None)
            if kind in READING and len(call) <= MAX_CALL:
                reading[call] = None
                if len(reading) > MAX_CALLS:
                    reading.popitem(last=False)
            return kind in READING
        return call in reading


def _objects(value: object) -> Iterator[Json]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            if isinstance(item, dict):
                yield cast("Json", item)


def _locations(value: object) -> Iterator[str]:
    for item in _objects(value):
        path = item.get("path")
        if isinstance(path, str) and path:
            yield path


def _diffs(value: object) -> Iterator[tuple[str, str | None, str]]:
    """(path, old, new) of each diff of a tool call's content."""
    for item in _objects(value):
        path, old, new = item.get("path"), item.get("oldText"), item.get("newText")
        if item.get("type") == "diff" and isinstance(path, str) and path and isinstance(new, str):
            yield path, old if isinstance(old, str) else None, new
