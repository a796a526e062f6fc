"""Evidence: which agent's tool calls named which files, when they ran, and so whose a change on the disk is.

An agent that writes the disk itself says so only by its tool calls: their `locations`, the paths of their diffs, their kind, and the
time they take (acts.py). A change without such evidence is not an agent's, whoever else may have made it.

What a file said before is what it said when the turn began (turn_starts.py). Where nobody knows that (ignored files, folders that are
too large) it is what the file said when a call first named it. Agents that announce a call only when it is over are then believed
about the text before, as far as their diff fits what the disk says now.

Not here: looking at the disk for changes (disk_watch.py), and noting them (behind.py).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import anyio

from sidecar.core.json_types import Json
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Decoded, Missing, Stat
from sidecar.workspace.behind.had_read import HadRead
from sidecar.workspace.ports.ports import Question
from sidecar.workspace.state.acts import OVER, Act, Acts, changed_at
from sidecar.workspace.state.acts import now as file_time
from sidecar.workspace.state.looking import Looking
from sidecar.workspace.state.places import Place, locate
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

READING = frozenset({"read", "search", "fetch", "think", "switch_mode"})
"""Tool calls of these kinds change nothing."""
_TERMINAL = "terminal "
"""Before the id of a terminal of ours, among the ids of tool calls."""
GRACE_SECONDS = 10.0
"""How long after a turn's end a change may still be its doing: commands go on, writes come late after a cancel."""
MAX_NAMED = 10_000
"""Files of one session that calls named and that are looked at: the newest. What lies beyond is found when the turn ends."""
MAX_NAMED_TEXT = 64 * 1024 * 1024
"""Code points of all pre-images of one session."""
MAX_PATHS = 32
"""Paths of one update that are looked at."""
MAX_CALLS = 1024
"""Tool calls of one turn of which it is known that they only read: the newest."""
MAX_CALL = 1024
"""Code points of the id of such a call."""
MAX_FOLDED = 128 * 1024
"""Code points of a document and of what a call told of it that are compared whatever their line ends are."""
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
    at: int = 0
    """When it was looked at; see acts.py."""
    changed: int = 0
    """When the file had changed last before its text was read; see acts.py. 0: a call says what it was before."""


class Evidence:
    """Of all sessions of one workspace. Synchronous: a pre-image that comes late is none."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._reading: dict[str, OrderedDict[str, None]] = {}
        """By session: tool calls of its turn that said they only read."""
        self._named: dict[str, OrderedDict[DocumentUri, Named]] = {}
        self._ended: dict[str, float] = {}
        self._answered: set[str] = set()
        """Sessions whose turn is about to end."""
        self._waiting: set[str] = set()
        """Sessions whose turn has begun, and which have not been asked yet."""
        self._acts: dict[str, Acts] = {}
        """By session: the tool calls and commands of its turn that may have changed something."""
        self._listened = (0, 0)
        """When `listening` was called last but one, and last; 0: never."""
        self._texts: dict[str, int] = {}
        """By session: code points of its pre-images."""
        self._looking = Looking(state.storage.read_now)
        self._seen: dict[DocumentUri, Stat] = {}
        """Files that a call read, as they were when their text was noted."""
        self._noted: dict[DocumentUri, Stat] = {}
        """Of open documents, what their files were like when something new was found there."""
        self.had_read = HadRead(state)
        self.between_acts: Callable[[Session], None] = lambda session: None
        """Told when an act begins, and when one has ended: what changed until then is not this one's, or is."""
        self.first_act: Callable[[Session], None] = lambda session: None
        """Told of the first of them in a turn."""

    def turn_began(self, session: Session) -> None:
        self._forget(session.id)
        self._named[session.id] = OrderedDict()
        self._acts[session.id] = Acts(file_time())
        self._waiting.add(session.id)

    def asked_now(self, session: Session) -> None:
        """Its prompt is about to be sent: what changes from now on may be its doing."""
        self._waiting.discard(session.id)
        if session.id in self._acts:
            self._acts[session.id].asked_at(file_time())
            self.had_read.asked(session.id)

    def listening(self) -> None:
        """Called often while agents work, by a task of the loop that reads what they say."""
        self._listened = self._listened[1], file_time()
        self.had_read.listening()

    def _said(self) -> int:
        """The earliest that the agent may have said what is heard now. It does not wait until it is heard, and on a busy machine that takes
        a while; but all that was said before the last call of `listening` but one was heard before the last one."""
        return self._listened[0]

    def ending(self, session: Session) -> None:
        """The agent has answered the session's prompt: what it began in it is not about to do anything more."""
        self._answered.add(session.id)

    def turn_ended(self, session: Session, *, cut_short: bool = False) -> None:
        """`cut_short`: it was cancelled or failed. Then what it had begun may go on for a while."""
        self._ended[session.id] = anyio.current_time()
        if not cut_short and session.id in self._acts:
            self._acts[session.id].all_ended()

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
        over = update.get("status") in OVER
        if self._only_reads(session.id, call, update.get("kind"), over=over):
            for path in list(dict.fromkeys(_locations(update.get("locations"))))[:MAX_PATHS]:
                uri = self._reads(session, path)
                if uri is not None:
                    self.had_read.reads(session.id, call, uri)
            if over:
                self.had_read.ends(session.id, call)
            self._acts[session.id].heard(self._said())
            return
        kind = update.get("kind")
        act = self._act(session, call, self._said(), kind if isinstance(kind, str) else "", over=over)
        self.had_read.acts(session.id, call)
        diffs = list(_diffs(update.get("content")))
        paths = dict.fromkeys([path for path, _, _ in diffs] + list(_locations(update.get("locations"))))
        looked_at: set[DocumentUri] = set()
        for path in list(paths)[:MAX_PATHS]:
            uri = self._name(session, named, call, path, diffs, looked_at)
            if uri is not None:
                self._acts[session.id].names(act, uri, [(old, new) for to, old, new in diffs if to == path])
        self._acts[session.id].heard(self._said())

    def names(self, session: Session, uri: DocumentUri) -> bool:
        """Whether a call of its turn names the file as one that it changes."""
        acts = self._acts.get(session.id)
        return acts is not None and acts.names_it(uri)

    def removes(self, session: Session, path: str) -> None:
        """What carries out the act under way says so, where the agent does not: it moves a file away, for instance."""
        acts = self._acts.get(session.id)
        if acts is not None and acts.running:
            told = {"toolCallId": acts.running[-1], "locations": [{"path": path}]}
            self.observe(session, {"sessionUpdate": "tool_call_update", **told})

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

    def allowed(self, session: Session, question: Question, answer: str) -> None:
        """The answer to a question: the agent is about to change the files that it asked about by itself, if it may. It may announce the call only
        when that is done (Kilo)."""
        call, paths = question.details.get("toolCallId"), question.details.get("paths")
        if not isinstance(call, str) or question.action != "write" or not question.behind:
            return
        if any(option.id == answer and option.kind.startswith("allow") for option in question.options):
            named = [{"path": path} for path in cast("Sequence[object]", paths or ())]
            told = {"toolCallId": call, "kind": "edit", "locations": named}
            self.observe(session, {"sessionUpdate": "tool_call_update", **told})

    def command_started(self, session: Session, terminal: str) -> None:
        """A command of its in a terminal of ours."""
        if session.id in self._acts:
            self._act(session, _TERMINAL + terminal, file_time(), "execute")

    def command_ended(self, session: Session, terminal: str) -> None:
        if session.id in self._acts:
            self._acts[session.id].ended(_TERMINAL + terminal)
            self.between_acts(session)

    def _act(self, session: Session, call: str, said: int, kind: str, *, over: bool = False) -> Act:
        acts = self._acts[session.id]
        if not acts:
            self.first_act(session)
        running = call in acts.running
        if not running:
            self.between_acts(session)
        act = acts.told(call, said, kind, over=over)
        if running and over:
            self.between_acts(session)
        return act

    def has_acted(self, session: Session) -> bool:
        """Whether anything in this turn may have changed files."""
        return bool(self._acts.get(session.id))

    def whose(
        self, uri: DocumentUri, path: str, since: int, until: int, made: str | None = None
    ) -> tuple[Session, str | None] | None:
        """Whose a change of this file (canonical path) is that was made between these times (see acts.py), and the tool call: of the
        session of which an act ran then, if no other's can have made it: one that names the file, or works in a nearer folder, before
        one that does not. `made`: what the file said after it (compared form). A call that says it began with that has not made it."""
        found: list[tuple[tuple[bool, int], Session, str]] = []
        for session in self._may_act():
            call = self._acts[session.id].at(uri, since, until, made)
            if call is not None and session.roots.match(path):
                rank = self._acts[session.id].names_it(uri), reach(session, path)
                found.append((rank, session, call))
        best = max((rank for rank, _, _ in found), default=None)
        nearest = [(session, call) for rank, session, call in found if rank == best]
        if len(nearest) != 1:
            return None
        session, call = nearest[0]
        return session, None if call.startswith(_TERMINAL) else call

    def explained(self, uri: DocumentUri, before: str | None, after: str) -> tuple[Session, str, str] | None:
        """The session of which tool calls say that they made a text of `before` (both in the compared form), that text, and the call.
        `after`: what the file says now; the rest of the way there is somebody else's."""
        told = [
            (session, *found)
            for session in self._may_act()
            if (found := self._acts[session.id].explained(uri, before, after)) is not None
        ]
        if len(told) != 1:
            return None
        session, text, call = told[0]
        return session, text, call

    def made_from(self, session: Session, uri: DocumentUri, after: str) -> str | None:
        """From what text its calls say they made `after`, the whole file (both in the compared form); None: they do not say."""
        acts = self._acts.get(session.id)
        return None if acts is None else acts.made_from(uri, after)

    def is_acting(self) -> bool:
        """Whether a change now might be anybody's of whom something is known."""
        return any(self.has_acted(session) for session in self._may_act())

    def may_be_under_way(self, uri: DocumentUri) -> bool:
        """Whether an act runs that may be changing this file now."""
        now = file_time()
        running = [session for session in self._may_act() if session.id not in self._answered]
        return any(self._acts[session.id].at(uri, now, now) is not None for session in running)

    def during(self, path: str) -> Session | None:
        """In whose turn something happens to this file that is not known to be anybody's: the nearest of those that do anything."""
        acting = [s for s in self._may_act() if s.running and self.has_acted(s) and s.roots.match(path)]
        return max(acting, key=lambda session: reach(session, path), default=None)

    def _may_act(self) -> list[Session]:
        return [session for session in self.active() if session.id not in self._waiting]

    def found(self, session: Session, uri: DocumentUri, file: Named) -> None:
        """A file has changed in this turn that no tool call named. It is looked at from now on."""
        named = self._named.get(session.id)
        if named is not None and uri not in named:
            self._keep(session, named, uri, file)

    def named(self, session: Session) -> list[tuple[DocumentUri, Named]]:
        known = self._named.get(session.id)
        return [] if known is None else list(known.items())

    def named_as(self, session: Session, uri: DocumentUri) -> Named | None:
        named = self._named.get(session.id)
        return None if named is None else named.get(uri)

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

    def _reads(self, session: Session, path: str) -> DocumentUri | None:
        """A call that reads a file, behind us perhaps: what is on the disk now is what a later write may be based on. → the file, if it is
        there and is no secret."""
        if "\0" in path:
            return None
        state = self._state
        place = locate(state.storage, state.documents, session.roots, os.path.join(session.cwd, path), "read")
        if isinstance(place, Refusal):
            return None
        with place:
            if isinstance(place.on_disk, Missing) or place.on_disk.size > MAX_TEXT:
                return None
            stat = place.on_disk.stat
            if self._seen.get(place.uri) != stat:  # by whatever spelling, and in however many messages
                decoded = self._looking.look(place.on_disk)
                if decoded is None:
                    return None
                if len(self._seen) > MAX_NAMED:
                    self._seen.clear()
                self._seen[place.uri] = stat
                if isinstance(decoded, Decoded):
                    state.documents.disk.seen(place.uri, normal(decoded.text))
            return place.uri

    def _keep(
        self, session: Session, named: OrderedDict[DocumentUri, Named], uri: DocumentUri, file: Named
    ) -> None:
        size = self._texts.get(session.id, 0)
        if file.text is not None and size + len(file.text) > MAX_NAMED_TEXT:
            file.text, file.why = None, "too much was named in this turn to keep all of it"
        self._texts[session.id] = size + len(file.text or "")
        named[uri] = file
        if len(named) > MAX_NAMED:
            _, dropped = named.popitem(last=False)
            self._texts[session.id] -= len(dropped.text or "")

    def _name(
        self,
        session: Session,
        named: OrderedDict[DocumentUri, Named],
        call: str,
        path: str,
        diffs: list[tuple[str, str | None, str]],
        looked_at: set[DocumentUri],
    ) -> DocumentUri | None:
        """The file's name, unless it was named in this update already (`looked_at`: one file has many spellings)."""
        if "\0" in path:
            return None
        state = self._state
        full = os.path.join(session.cwd, path)  # relative diff paths (qwen)
        place = locate(state.storage, state.documents, session.roots, full, "read")
        if isinstance(place, Refusal):
            return None
        with place:
            if place.uri in looked_at:
                return None
            looked_at.add(place.uri)
            self._knows(session, place, [old for to, old, _ in diffs if to == path and old is not None])
            if place.uri in named:
                named[place.uri].call = call
                named.move_to_end(place.uri)
                return place.uri
            pre_image = self._look(place, call)
            if place.tracked is None:  # of open documents the saved text is known
                self._believe(pre_image, [d for d in diffs if d[0] == path])
                if pre_image.text is not None:
                    state.documents.disk.seen(place.uri, normal(pre_image.text))
            self._keep(session, named, place.uri, pre_image)
            return place.uri

    def _knows(self, session: Session, place: Place, olds: list[str]) -> None:
        """A diff whose old text is all of the buffer shows that the agent's program knows it, whoever gave it that; of a file that is
        not open the disk's text counts anyway. A part of the text proves nothing of the rest."""
        if place.tracked is None or place.tracked.document.desynchronised is not None:
            return
        text = place.tracked.document.snapshot()
        if any(_is_all_of(text, old) for old in olds):
            self._state.beliefs.served_whole(session.id, place.uri, text, by_program=True)

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
        changed = changed_at(stat)
        return Named(place.path, call, stat, decoded.text, decoded.encoding, decoded.bom, changed=changed)

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
            pre_image.text, pre_image.stat, pre_image.changed = old, None, 0
        elif old and new and old not in now and now.count(new) == 1:
            pre_image.text, pre_image.stat, pre_image.changed = now.replace(new, old), None, 0

    def _forget(self, session_id: str) -> None:
        self._named.pop(session_id, None)
        self._waiting.discard(session_id)
        self._answered.discard(session_id)
        self._ended.pop(session_id, None)
        self._acts.pop(session_id, None)
        self._texts.pop(session_id, None)
        self._reading.pop(session_id, None)
        self.had_read.forget(session_id)

    def _only_reads(self, session_id: str, call: str, kind: object, *, over: bool) -> bool:
        """By its kind, which later updates need not repeat. One that is forgotten counts as one that may have changed something."""
        reading = self._reading.setdefault(session_id, OrderedDict())
        if isinstance(kind, str):
            is_new = call not in reading
            reading.pop(call, None)
            if kind in READING and len(call) <= MAX_CALL:
                reading[call] = None
                if is_new:
                    self.had_read.begins(session_id, call, over=over)
                if len(reading) > MAX_CALLS:
                    self.had_read.ends(session_id, reading.popitem(last=False)[0])
            return kind in READING
        return call in reading


def _is_all_of(text: Text, told: str) -> bool:
    """Whether what was told is this text. Line ends of another kind are only seen through where both are small: that takes as long as
    the agent likes to make them."""
    if text.says(told):
        return True
    return len(text) + len(told) <= MAX_FOLDED and normal(told) == normal(str(text))


def reach(session: Session, path: str) -> int:
    """How near the session's own folder is to the file; 0: the file is not in it."""
    folder = session.roots.roots[0].path
    return len(folder) if path.startswith(os.path.join(folder, "")) else 0


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
