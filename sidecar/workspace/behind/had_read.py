"""HadRead: which earlier text of a file an agent had read when it wrote the file on the disk.

An agent reads a file, works, and writes the whole file. What somebody saved in between is missing from the agent's
text, but the agent did not remove it: it had not read it. The text that the agent had read is found as for a write
through the sidecar (core/writes.py). The candidates are the texts that the disk held since the newest of these moments:
the agent's turn began, it announced that it reads this file, it wrote the file.

A write through the sidecar counts as such a moment only from the next tool call on. In the same call, the agent may
also write the file on the disk, from a text that it read earlier. (Kilo reads, asks, sends its change of what the file
says by then, and writes its change of what it had read.) The agent's own lines do not show what it had read. So the
candidate that is the result of the write through the sidecar is replaced by the text in which that write was made.

After a write of its own the agent knows that text, whatever else it reads: if the user then takes the write back, and
the agent writes once more, it may have done so from either. If nothing that only its own text has is in the new one, but
something that only the text after it has, then it has read that. Nor does a line that is only like one of its own, which the user took back, show what
it had read: it writes alike again.
"""

from __future__ import annotations

from collections import OrderedDict

from sidecar.core.hunks import line_hunks
from sidecar.core.knowledge import SentText
from sidecar.core.normal import normal, says
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.core.writes import base_of
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

MAX_FILES = 1024
"""Files of one turn for which the last read or write is known: the newest. For other files the whole turn counts."""
MAX_SENT = 64
"""Documents of one turn whose texts before the agent's own edits are kept: the newest."""
MAX_EDITS = 16
"""Consecutive edits of the agent's that are kept of such a document: the first one and the newest."""
MAX_CALLS = 1024
"""Tool calls of one turn whose beginning is known: the newest."""


class HadRead:
    """One per workspace, for all its sessions. Moments are those of `core.belief`."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._began: dict[str, int] = {}
        """By session: when its prompt was sent."""
        self._calls: dict[tuple[str, str], int] = {}
        """By session and tool call: the earliest moment at which a call that reads may have begun."""
        self._acts: dict[str, OrderedDict[str, int]] = {}
        """By session and tool call: the same for calls that may change files."""
        self._knows: dict[str, OrderedDict[DocumentUri, int]] = {}
        """By session and file: since when the agent knows the file's text."""
        self._wrote: dict[tuple[str, DocumentUri], int] = {}
        """By session and file: when the session wrote the file on the disk."""
        self._sent: dict[str, OrderedDict[DocumentUri, tuple[list[tuple[int, Text]], Text]]] = {}
        """By session and document: the session's edits through the sidecar with nobody else's in between, each as its
        moment and the text before it (raw); and the text after the last one."""
        self._listened = (0, 0)

    def listening(self) -> None:
        """As `Evidence.listening`: what is received now was said after the second to last call of this."""
        self._listened = self._listened[1], self._state.documents.disk.moment()

    def asked(self, session_id: str) -> None:
        """The session's prompt is about to be sent."""
        self.forget(session_id)
        self._began[session_id] = self._state.documents.disk.moment()

    def begins(self, session_id: str, call: str, *, over: bool) -> None:
        """A tool call that reads is reported for the first time. If it is already `over`, it may have begun at any time
        before."""
        if session_id in self._began:
            self._calls[session_id, call] = 0 if over else self._listened[0]

    def acts(self, session_id: str, call: str) -> None:
        """A tool call that may change files is reported, for the first time or again."""
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
        """The session wrote what the disk says now."""
        moment = self._state.documents.disk.moment()
        self._knows_since(session_id, uri, moment)
        if uri in self._knows.get(session_id, ()):
            self._wrote[session_id, uri] = moment

    def sent(self, session_id: str, uri: DocumentUri, before: Text, after: Text) -> None:
        """An edit of the session through the sidecar changed an open document from `before` to `after` (raw)."""
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
        """The file does not exist any more. A file that takes its place is not made from its text."""
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
        """The text that the session had read when it made the file say `disk`, with this tool call (None: with a
        command in a terminal of ours). The file said `before` until then. All texts are in the compared form."""
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
        if base not in texts[:newest] or base == of_others:
            return before
        wrote_last = since == self._wrote.get((session.id, uri))
        if wrote_last and base == texts[0] and _shows(disk, before, base):
            return before
        if own is None and not wrote_last:
            return base
        written = str(texts[0] if own is None else own.text)
        made_on = next(iter(state.documents.disk.known_before(uri, written)), None)
        is_anew = made_on is not None and _writes_anew(disk, before, base, written, made_on)
        return before if is_anew else base

    def _sent_over(self, session_id: str, uri: DocumentUri, text: str, since: int) -> str:
        """What the document said before the session's edits since that moment, or before the last edit if all are
        older; they led to `text`. Returns `text` if others edited it, too. Compared form."""
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
        for wrote in [wrote for wrote in self._wrote if wrote[0] == session_id]:
            del self._wrote[wrote]
        for key in [key for key in self._calls if key[0] == session_id]:
            del self._calls[key]


def _writes_anew(sent: str, text: str, other: str, own: str, made_on: str) -> bool:
    """Whether an agent wrote anew what somebody had taken back of its own: that, and nothing else, led from `other` to `text`, and no block of it was sent
    as it was. `own`: what the agent wrote last; `made_on`: the text that it made that of."""
    taken_back = _blocks(other, text)
    if not taken_back <= {(after, before) for before, after in _blocks(made_on, own)}:
        return False
    its = [block for block, _ in taken_back if block]
    return bool(its) and not any(f"\n{block}" in f"\n{sent}" for block in its)


def _blocks(before: str, after: str) -> set[tuple[str, str]]:
    """The lines in which the texts differ, of both."""
    return {
        (before[hunk.old_start : hunk.old_end], after[hunk.new_start : hunk.new_end])
        for hunk in line_hunks(before, after)
    }


def _shows(sent: str, text: str, other: str) -> bool:
    """Whether something that only `text` has was sent, and nothing that only `other` has."""
    hints = SentText(sent)
    return hints.hints_at(text, other) and not hints.hints_at(other, text)
