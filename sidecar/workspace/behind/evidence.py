"""Evidence: which agent's tool calls named which files, and when they ran. From this follows who made a change on the disk.

An agent that writes to the disk says so only by its tool calls: by their `locations`, the paths of their diffs, their
kind, and the time they take (acts.py). A change without such evidence is not an agent's, whoever else may have made it.

The text before a change is what the file said when the turn began (turn_starts.py). If that is not known (ignored
files, folders that are too large), it is what the file said when a call first named it. Some agents announce a call
only when it is over. They are believed about the text before, as far as their diff fits what the disk says now.

Not here: looking at the disk for changes (disk_watch.py), and recording them (behind.py).
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
"""The kinds of tool calls that change nothing."""
_TERMINAL = "terminal "
"""The prefix of a terminal's id, to tell it from the ids of tool calls."""
GRACE_SECONDS = 10.0
"""How long after a turn's end a change may still belong to it: commands go on, and writes may come late after a cancel."""
MAX_NAMED = 10_000
"""How many files that a session's calls named are looked at: the newest. Changes of others are found when the turn ends."""
MAX_NAMED_TEXT = 64 * 1024 * 1024
"""Code points of all pre-images of one session."""
MAX_PATHS = 32
"""How many files that one update names are read: reading one takes up to 0.1 ms, and nothing else is done meanwhile."""
MAX_NOTED = 300
"""How many files that one update names are noted at all: those that are not read with their stat, in about 0.03 ms each."""
MAX_CALLS = 1024
"""How many tool calls of one turn are remembered as only reading: the newest."""
MAX_CALL = 1024
"""Code points of such a call's id."""
MAX_FOLDED = 128 * 1024
"""Up to how many code points, together, a document and a text from a call are compared with their line ends ignored."""
MAX_TEXT = 4 * 1024 * 1024
"""Bytes of a pre-image. Changes of larger files are noted as not revertible."""


_Diff = tuple[str | None, str]
"""What a call tells of a file: the old text (None: there was no file) and the new one."""


@dataclass(slots=True)
class NamedFile:
    """A file that a tool call named. The text is raw."""

    path: str
    call: str
    stat: Stat | None
    """Its stat when it was looked at; None: there was no file."""
    text: str | None
    """What it said then; None: there was no file, or the text is not known (`why`)."""
    encoding: str = "utf-8"
    bom: bytes = b""
    why: str = ""
    quiet: bool = False
    """Found by a look at all files: the user is told of all of them in one message."""
    at: int = 0
    """When it was looked at; see acts.py."""
    changed: int = 0
    """When the file had last changed before its text was read; see acts.py. 0: the text before comes from a call's diff."""


class Evidence:
    """One per workspace, for all its sessions. Synchronous: a pre-image that is read late is none."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._reading: dict[str, OrderedDict[str, None]] = {}
        """By session: the tool calls of its turn that said they only read."""
        self._named: dict[str, OrderedDict[DocumentUri, NamedFile]] = {}
        self._ended: dict[str, float] = {}
        self._answered: set[str] = set()
        """Sessions whose agent has answered the prompt: their turn is about to end."""
        self._waiting: set[str] = set()
        """Sessions whose turn has begun, but whose prompt is not sent yet."""
        self._acts: dict[str, Acts] = {}
        """By session: the tool calls and commands of its turn that may have changed something."""
        self._listened = (0, 0)
        """When `listening` was called the last two times, the earlier first; 0: never. See acts.py."""
        self._texts: dict[str, int] = {}
        """By session: code points of its pre-images."""
        self._left_out: dict[str, int] = {}
        """By session: see `left_out`."""
        self._looking = Looking(state.storage.read_now)
        self._seen: dict[DocumentUri, Stat] = {}
        """By file that a call read: its stat when its text was noted."""
        self._noted: dict[DocumentUri, Stat] = {}
        """By open document: its file's stat when a new text was found there."""
        self.had_read = HadRead(state)
        self.between_acts: Callable[[Session], None] = lambda session: None
        """Called when an act begins and when it has ended: changes until the first moment are not this act's, changes
        until the second may be."""
        self.first_act: Callable[[Session], None] = lambda session: None
        """Called at the first act of a turn."""

    def turn_began(self, session: Session) -> None:
        self._forget(session.id)
        self._named[session.id] = OrderedDict()
        self._acts[session.id] = Acts(file_time())
        self._waiting.add(session.id)

    def asked_now(self, session: Session) -> None:
        """The session's prompt is about to be sent. Changes from now on may be its agent's."""
        self._waiting.discard(session.id)
        if session.id in self._acts:
            self._acts[session.id].asked_at(file_time())
            self.had_read.asked(session.id)

    def listening(self) -> None:
        """Called often while agents work, by a task in the loop that reads their messages."""
        self._listened = self._listened[1], file_time()
        self.had_read.listening()

    def _said(self) -> int:
        """The earliest time (acts.py) at which the agent may have said what is received now. Messages wait to be read,
        for a while on a busy machine. But everything that was said before the second to last call of `listening` was
        received before the last one."""
        return self._listened[0]

    def ending(self, session: Session) -> None:
        """The agent has answered the session's prompt: what it began is not about to change anything more."""
        self._answered.add(session.id)

    def turn_ended(self, session: Session, *, cut_short: bool = False) -> None:
        """`cut_short`: the turn was cancelled or failed. What the agent began may then go on for a while."""
        self._ended[session.id] = anyio.current_time()
        if not cut_short and session.id in self._acts:
            self._acts[session.id].all_ended()

    def forget_session(self, session_id: str) -> None:
        self._forget(session_id)

    def active(self) -> list[Session]:
        """The sessions that a change may belong to: those with a running turn, or with one that ended at most
        GRACE_SECONDS ago."""
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
        """Takes a session update from the agent."""
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
        diffs: dict[str, list[_Diff]] = {}
        for path, old, new in _diffs(update.get("content")):
            diffs.setdefault(path, []).append((old, new))
        paths = list(dict.fromkeys([*diffs, *_locations(update.get("locations"))]))
        looked_at: set[DocumentUri] = set()
        for number, path in enumerate(paths[:MAX_NOTED]):
            edits, reads = diffs.get(path, []), number < MAX_PATHS
            uri = self._name(session, named, call, path, edits, looked_at, reads=reads)
            if uri is not None:
                self._acts[session.id].names(act, uri, edits)
        self._leaves_out(session, len(paths) - MAX_NOTED)
        self._acts[session.id].heard(self._said())

    def names(self, session: Session, uri: DocumentUri) -> bool:
        """Whether a call of the session's turn names the file as one that it changes."""
        acts = self._acts.get(session.id)
        return acts is not None and acts.names_it(uri)

    def removes(self, session: Session, path: str) -> None:
        """The code that carries out the running act reports that it changes this file, for instance moves it away,
        because the agent does not say so."""
        acts = self._acts.get(session.id)
        if acts is not None and acts.running:
            told = {"toolCallId": acts.running[-1], "locations": [{"path": path}]}
            self.observe(session, {"sessionUpdate": "tool_call_update", **told})

    def asked(self, session: Session, details: Json) -> None:
        """The agent asks a question, with details about it: its `diff` has the form of a tool call's."""
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
        """The answer to an agent's question: if it allows a write that the agent makes itself, the agent is about to
        change the files that it asked about. It may announce the call only when it is over (Kilo)."""
        call, paths = question.details.get("toolCallId"), question.details.get("paths")
        if not isinstance(call, str) or question.action != "write" or not question.behind:
            return
        if any(option.id == answer and option.kind.startswith("allow") for option in question.options):
            named = [{"path": path} for path in cast("Sequence[object]", paths or ())]
            told = {"toolCallId": call, "kind": "edit", "locations": named}
            self.observe(session, {"sessionUpdate": "tool_call_update", **told})

    def command_started(self, session: Session, terminal: str) -> None:
        """A command of the session starts in a terminal of ours."""
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
        """Who changed this file (canonical path) between these times (acts.py): the session, and its tool call (None: a
        command in a terminal of ours). None if no session's act can have made the change, or acts of several sessions.

        A session whose acts name the file takes precedence, then one that works in a nearer folder. `made`: what the
        file said after the change (compared form); a call that says it began with that text did not make it.
        """
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
        """The session whose tool calls say what they made of `before`, the text that they made, and the call. `after`:
        what the file says now; the change from the returned text to it is somebody else's. Texts are in the compared
        form. None if no session's calls explain it, or those of several."""
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
        """The text from which the session's calls say they made `after`, the whole file (both in the compared form);
        None: they do not say."""
        acts = self._acts.get(session.id)
        return None if acts is None else acts.made_from(uri, after)

    def is_acting(self) -> bool:
        """Whether some session has acted, so that a change may be an agent's."""
        return any(self.has_acted(session) for session in self._may_act())

    def since(self) -> int:
        """When the first of the turns began to which a change may belong (as in acts.py)."""
        return min((self._acts[session.id].asked for session in self._may_act()), default=0)

    def may_be_under_way(self, uri: DocumentUri) -> bool:
        """Whether an act is running that may be changing this file now."""
        now = file_time()
        running = [session for session in self._may_act() if session.id not in self._answered]
        return any(self._acts[session.id].at(uri, now, now) is not None for session in running)

    def during(self, path: str) -> Session | None:
        """The session in whose turn a change of this file without a known author belongs: the nearest one that has
        acted and whose turn is running."""
        acting = [s for s in self._may_act() if s.running and self.has_acted(s) and s.roots.match(path)]
        return max(acting, key=lambda session: reach(session, path), default=None)

    def _may_act(self) -> list[Session]:
        return [session for session in self.active() if session.id not in self._waiting]

    def found(self, session: Session, uri: DocumentUri, file: NamedFile) -> None:
        """A file that no tool call named has changed in this turn. It is looked at from now on."""
        named = self._named.get(session.id)
        if named is not None and uri not in named:
            self._keep(session, named, uri, file)

    def left_out(self, session: Session) -> int:
        """How many of the files that calls named in this turn are not noted: the most of any one message, or of those that were noted before."""
        return self._left_out.get(session.id, 0)

    def _leaves_out(self, session: Session, count: int) -> None:
        if count > 0:  # a call may be told several times
            self._left_out[session.id] = max(self.left_out(session), count)

    def named(self, session: Session) -> list[tuple[DocumentUri, NamedFile]]:
        known = self._named.get(session.id)
        return [] if known is None else list(known.items())

    def named_as(self, session: Session, uri: DocumentUri) -> NamedFile | None:
        named = self._named.get(session.id)
        return None if named is None else named.get(uri)

    def _looks_around(self, session: Session) -> None:
        """A call is about to read or write files that it need not name. After it, the texts that others put into the
        files of open documents before it may be gone, and agents may have read them. So they are noted now."""
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
        """A call reads a file, perhaps without us. Notes the disk's text, because a later write may be based on it.
        Returns the file's URI; None if the file cannot be resolved or does not exist, is too large, or too much was
        read at this moment."""
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
            if self._seen.get(place.uri) != stat:  # read once, however often it is named
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
        self, session: Session, named: OrderedDict[DocumentUri, NamedFile], uri: DocumentUri, file: NamedFile
    ) -> None:
        size = self._texts.get(session.id, 0)
        if file.text is not None and size + len(file.text) > MAX_NAMED_TEXT:
            file.text, file.why = None, "too much was named in this turn to keep all of it"
        self._texts[session.id] = size + len(file.text or "")
        if len(named) >= MAX_NAMED and uri not in named:
            self._leaves_out(session, self.left_out(session) + 1)
            if file.text is None:
                return  # rather than one of which the text is known
            _, dropped = named.popitem(last=False)
            self._texts[session.id] -= len(dropped.text or "")
        named[uri] = file

    def _name(
        self,
        session: Session,
        named: OrderedDict[DocumentUri, NamedFile],
        call: str,
        path: str,
        diffs: list[_Diff],
        looked_at: set[DocumentUri],
        *,
        reads: bool,
    ) -> DocumentUri | None:
        """Notes a file that a call names, and returns its URI. None if it cannot be resolved, or if this update named
        it already. `diffs`: what it tells of it. `looked_at`: the files that it named so far; one file has many spellings.
        `reads`: otherwise only what was noted when the turn began can be given back. Without that it can be said, at least, that the file changed."""
        if "\0" in path:
            return None
        state = self._state
        full = os.path.join(session.cwd, path)  # qwen sends relative paths in diffs
        place = locate(state.storage, state.documents, session.roots, full, "read")
        if isinstance(place, Refusal):
            return None
        with place:
            if place.uri in looked_at:
                return None
            looked_at.add(place.uri)
            self._knows(session, place, [old for old, _ in diffs if old is not None])
            if place.uri in named:
                named[place.uri].call = call
                named.move_to_end(place.uri)
                return place.uri
            pre_image = self._look(place, call, reads=reads)
            if place.tracked is None:  # the saved text of open documents is known
                self._believe(pre_image, diffs)
                if pre_image.text is not None:
                    state.documents.disk.seen(place.uri, normal(pre_image.text))
            self._keep(session, named, place.uri, pre_image)
            return place.uri

    def _knows(self, session: Session, place: Place, olds: list[str]) -> None:
        """A diff whose old text is the whole buffer shows that the agent's program knows that text, whoever gave it. A
        part of the text proves nothing about the rest. Not needed for a file that is not open: its text on the disk always counts."""
        if place.tracked is None or place.tracked.document.desynchronised is not None:
            return
        text = place.tracked.document.snapshot()
        if any(_is_all_of(text, old) for old in olds):
            self._state.beliefs.served_whole(session.id, place.uri, text, by_program=True)

    def _look(self, place: Place, call: str, *, reads: bool) -> NamedFile:
        if isinstance(place.on_disk, Missing):
            return NamedFile(place.path, call, None, None)
        stat = place.on_disk.stat
        if not reads:
            why = "a call named too many files at once to read them all"
            return NamedFile(place.path, call, stat, None, why=why, quiet=True)
        if place.on_disk.size > MAX_TEXT:
            return NamedFile(place.path, call, stat, None, why="it was too large to keep")
        decoded = self._looking.look(place.on_disk)
        if decoded is None:
            return NamedFile(place.path, call, stat, None, why="too much was named at once to read all of it")
        if not isinstance(decoded, Decoded):
            return NamedFile(place.path, call, stat, None, why="it is not text")
        changed = changed_at(stat)
        return NamedFile(place.path, call, stat, decoded.text, decoded.encoding, decoded.bom, changed=changed)

    def _believe(self, pre_image: NamedFile, diffs: list[_Diff]) -> None:
        """The call may already be over. If so, its diff tells the text before it."""
        now = pre_image.text
        if now is None or len(diffs) != 1:
            return
        old, new = diffs[0]
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
        self._left_out.pop(session_id, None)
        self._reading.pop(session_id, None)
        self.had_read.forget(session_id)

    def _only_reads(self, session_id: str, call: str, kind: object, *, over: bool) -> bool:
        """Whether the call only reads, by its kind, which later updates need not repeat. A call that is forgotten
        counts as one that may have changed something."""
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
    """Whether `told` is the whole `text`. Different line ends are ignored only for small texts: the comparison takes as
    long as the agent makes the texts."""
    if text.says(told):
        return True
    return len(text) + len(told) <= MAX_FOLDED and normal(told) == normal(str(text))


def reach(session: Session, path: str) -> int:
    """How near the session's own folder is to the file: a larger number is nearer; 0: the file is not in it."""
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
