"""HadRead: from which of the texts that a file had on the disk an agent made what it wrote there.

An agent reads a file, works, and writes the whole of it. What somebody saved in between it had not read, and so has not taken away, though
the file no longer says it. Which text it had read is found as for a write that comes through us (core/writes.py), among those that the disk
held since the agent's turn began, since it last announced that it reads this file, or since it last wrote it. A write through us counts
from the next tool call on: in the same call, the agent may write the file on the disk, too, and make that from what it had read before
(Kilo reads, asks, sends the new text of what the file says by then, and writes that of what it said). Its own lines say nothing of what
it had read, so in the place of what it wrote through us, what that was made in is one of the texts.
"""

from __future__ import annotations

from collections import OrderedDict

from sidecar.core.normal import normal, says
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.core.writes import base_of
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

MAX_FILES = 1024
"""Files of one turn of which it is known when they were read or written last: the newest. Of others the whole turn counts."""
MAX_SENT = 64
"""Documents of one turn of which it is known what they said before the agent's own edits: the newest."""
MAX_EDITS = 16
"""Of one of these, edits with nobody else's in between: the first and the newest."""
MAX_CALLS = 1024
"""Tool calls of one turn of which it is known when they began: the newest."""


class HadRead:
    """Of all sessions of one workspace. Moments are those of `core.belief`."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._began: dict[str, int] = {}
        """By session: when its prompt was sent."""
        self._calls: dict[tuple[str, str], int] = {}
        """By session and tool call: the earliest that a call which reads may have begun."""
        self._acts: dict[str, OrderedDict[str, int]] = {}
        """By session: the same of calls which may change files."""
        self._knows: dict[str, OrderedDict[DocumentUri, int]] = {}
        """By session: since when it knows what these files say."""
        self._sent: dict[str, OrderedDict[DocumentUri, tuple[list[tuple[int, Text]], Text]]] = {}
        """By session: what documents said (raw) before each of its edits through us, with nobody else's in between, and when; and after the last one."""
        self._listened = (0, 0)

    def listening(self) -> None:
        """As `Evidence.listening`: what is heard now was said after the last call of this but one."""
        self._listened = self._listened[1], self._state.documents.disk.moment()

    def asked(self, session_id: str) -> None:
        """Its prompt is about to be sent."""
        self.forget(session_id)
        self._began[session_id] = self._state.documents.disk.moment()

    def begins(self, session_id: str, call: str, *, over: bool) -> None:
        """A tool call that reads is told for the first time. One that is `over` may have begun at any time before."""
        if session_id in self._began:
            self._calls[session_id, call] = 0 if over else self._listened[0]

    def acts(self, session_id: str, call: str) -> None:
        """A tool call that may change files is told, for the first time or again."""
        acts = self._acts.setdefault(session_id, OrderedDict())
        acts.setdefault(call, self._listened[0])
        if len(acts) > MAX_CALLS:
            acts.popitem(last=False)

    def reads(self, session_id: str, call: str, uri: DocumentUri) -> None:
        """The call reads this file."""
        self._knows_since(session_id, uri, self._calls.get((session_id, call), 0))

    def ends(self, session_id: str, call: str) -> None:
        self._calls.pop((session_id, call), None)

    def wrote(self, session_id: str, uri: DocumentUri) -> None:
        """It has written what the disk says now."""
        self._knows_since(session_id, uri, self._state.documents.disk.moment())

    def sent(self, session_id: str, uri: DocumentUri, before: Text, after: Text) -> None:
        """Its edit through us led an open document from one text to the other (raw)."""
        if session_id not in self._began:
            return
        sent = self._sent.setdefault(session_id, OrderedDict())
        edits, last = sent.pop(uri, ([], before))
        edits = edits if last == before else []
        if len(edits) == MAX_EDITS:
            del edits[1]
        sent[uri] = [*edits, (self._state.documents.disk.moment(), before)], after
        if len(sent) > MAX_SENT:
            sent.popitem(last=False)

    def gone(self, uri: DocumentUri) -> None:
        """There is no file any more: what comes in its place is not made of what it said."""
        self._state.documents.disk.gone(uri)
        for session_id in self._began:
            self.wrote(session_id, uri)

    def _knows_since(self, session_id: str, uri: DocumentUri, moment: int) -> None:
        began = self._began.get(session_id)
        if began is None:
            return
        known = self._knows.setdefault(session_id, OrderedDict())
        known[uri] = max(began, moment, known.pop(uri, 0))
        if len(known) > MAX_FILES:
            known.popitem(last=False)

    def base(self, session: Session, call: str | None, uri: DocumentUri, before: str, disk: str) -> str:
        """What it had read of the file that it made to say `disk` with this tool call (None: with a command in a terminal of ours), and
        which said `before` until then; all in the compared form."""
        began = self._began.get(session.id)
        if began is None:
            return before
        state, moment = self._state, self._state.documents.disk.moment()
        known = self._knows.get(session.id)
        since = began if known is None else known.get(uri, began)
        own, of_others = state.beliefs.own(session.id, uri, moment), before
        call_began = None if call is None else self._act_began(session.id, call)
        in_this_call = own is not None and call_began is not None and own.done > call_began
        if in_this_call:
            own, of_others = None, self._sent_over(session.id, uri, before, call_began or 0)
        texts = [text for text in state.documents.disk.between(uri, since, moment, own) if text != disk]
        texts = [text for i, text in enumerate(texts) if text not in texts[i + 1 :]]
        if before not in texts[1:]:
            return before
        newest = texts.index(before)
        texts[newest] = of_others
        candidates = state.beliefs.candidates(session.id, uri, texts, moment)
        if in_this_call:
            candidates = [one for one in candidates if not one.is_certain]
        base = str(base_of(candidates, of_others, disk))
        return base if base in texts[:newest] and base != of_others else before

    def _sent_over(self, session_id: str, uri: DocumentUri, text: str, since: int) -> str:
        """What the document said before the session's edits since that moment, the last one at least, that led to `text`; `text` where others had a
        part in that, too. Compared form."""
        sent = self._sent.get(session_id)
        edits, last = (None, None) if sent is None else sent.get(uri, (None, None))
        if edits is None or last is None or not says(last, text):
            return text
        before = next((before for at, before in edits if at > since), edits[-1][1])
        return normal(str(before))

    def _act_began(self, session_id: str, call: str) -> int:
        acts = self._acts.get(session_id)
        return 0 if acts is None else acts.get(call, 0)

    def forget(self, session_id: str) -> None:
        self._began.pop(session_id, None)
        self._knows.pop(session_id, None)
        self._acts.pop(session_id, None)
        self._sent.pop(session_id, None)
        for key in [key for key in self._calls if key[0] == session_id]:
            del self._calls[key]
