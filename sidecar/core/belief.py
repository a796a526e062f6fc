"""Beliefs: the texts that a write of an agent's session may be based on, for each session and document.

A write says "make the file this", but it means "make the changes that lead from what I saw to this". What the agent saw is the belief: the text that
its model was last shown, or sent itself. Everything older is forgotten. Some programs read the file once more by themselves just before they write,
and their model never sees that text. Such texts are kept beside the belief until the model is shown a newer one.

Candidates are in the compared form of `core.normal`. Texts that were read are kept as the editor has them: texts taken from one rope share what did
not change, so neither keeping nor comparing them costs the length of the file.

This module does not decide which text a write is based on (`core.writes`), nor when a text was really given (the workspace says so).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.kept import Kept
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.normal import BOM, Normal, normal, says
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Position, Text
from sidecar.core.uri import DocumentUri

MAX_SERVED = 64
"""When more reads than this are pending, the older half is worked into the belief even if no write asks for it."""
MAX_UNSEEN = 4
"""The number of texts kept beside the belief that only the program was given: the newest."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that a write may be based on. A larger `serial` is newer."""

    text: AnyText
    serial: int
    from_disk: bool = False
    """The text was on the disk. We did not give it to the agent, but the agent may have read it there."""
    has_asked_us: bool = False
    """With `from_disk`: each of the calls that may have read it there has asked us for some lines of it."""
    by_program: bool = False
    """The text was given to the agent's program, which read by itself: the model may never have seen it."""

    @property
    def is_certain(self) -> bool:
        """The model was shown the text, or wrote it."""
        return not (self.from_disk or self.by_program)


@dataclass(frozen=True, slots=True)
class Own:
    """An agent's own write, and the moment when it was done."""

    text: Kept
    done: int


@dataclass(frozen=True, slots=True)
class _Served:
    """The text that a read gave, stored unprocessed until a write needs it: there are many reads, and they are cheap as long as nothing is
    compared."""

    text: Text
    disk: Kept | str | None
    first: int
    count: int | None
    """The number of lines; None: the whole text."""
    serial: int
    asked: int
    """The moment when the read was received."""
    by_program: bool = False


@dataclass(slots=True)
class _Belief:
    """What the agent believes: as the editor would have it (a raw `Text`), or in the compared form (a `Kept`)."""

    serial: int
    since: int
    """The moment when the whole text was known. Text that came in parts later does not prove that the rest was not read elsewhere."""
    text: Text | Kept
    own: Own | None = None
    """The agent's own write that this belief derives from."""

    @property
    def length(self) -> int:
        """Length of the stored text, in code points."""
        return len(self.text.text if isinstance(self.text, Kept) else self.text)

    def compared(self) -> str:
        return str(self.text) if isinstance(self.text, Kept) else normal(str(self.text))

    def said(self, like: AnyText | None = None) -> AnyText:
        """The text in the compared form. `like`: a text in that form that is probably the same and is then returned instead of a copy."""
        if isinstance(self.text, Kept):
            if like is not None and self.text == like:
                return like
            return self.text.handed_on
        if like is not None and says(self.text, like):
            return like
        return normal(self.text if self.text.is_narrow else str(self.text))

    def candidate(self, like: AnyText | None = None, *, by_program: bool = False) -> Candidate:
        return Candidate(self.said(like), self.serial, by_program=by_program)


@dataclass(slots=True)
class _Entry:
    belief: _Belief | None = None
    unseen: list[_Belief] = field(default_factory=list[_Belief])
    """The texts that only the program was given since, oldest first."""
    served: list[_Served] = field(default_factory=list[_Served])
    wrote: bool = False
    """The session itself has changed the document."""


class Beliefs:
    """What every session believes. Awaits and reads nothing."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, DocumentUri], _Entry] = {}
        self._serial = 0

    def served_whole(
        self,
        session: str,
        uri: DocumentUri,
        text: Text,
        *,
        asked: int | None = None,
        by_program: bool = False,
    ) -> None:
        """Record that the agent was given the whole text (raw), which it had asked for at the moment `asked` (None: now). `by_program`: the
        program read by itself, and the model does not see the text."""
        entry = self._entry(session, uri)
        last = entry.served[-1].text if entry.served else None
        if last is not None and len(last) == len(text) and last == text:
            text = last  # a large file that is read repeatedly is kept once
        moment = self.moment()
        entry.served.append(
            _Served(text, None, 0, None, moment, moment if asked is None else asked, by_program)
        )
        self._bounded(entry)

    def served_slice(
        self,
        session: str,
        uri: DocumentUri,
        text: Text,
        disk: Kept | str | None,
        first_line: int,
        count: int,
        *,
        asked: int | None = None,
        by_program: bool = False,
    ) -> None:
        """Record that the agent was given the lines `first_line` (from 0) to `first_line + count` of `text` (raw). `disk` is the text on the disk,
        if there is one.

        The rest of the belief stays what it was: the earlier belief or, for a first read, the text on the disk."""
        entry = self._entry(session, uri)
        moment = self.moment()
        entry.served.append(
            _Served(text, disk, first_line, count, moment, moment if asked is None else asked, by_program)
        )
        self._bounded(entry)

    def wrote(
        self,
        session: str,
        uri: DocumentUri,
        content: AnyText | Kept,
        received: int | None = None,
    ) -> None:
        """Record that the agent's own write, received at the moment `received` (None: now), succeeded. The agent now believes `content`, not the
        merged result; otherwise its next write would take back what the user typed meanwhile. What the agent read by other means since it sent the
        write is newer, however long the write took."""
        entry = self._entry(session, uri)
        moment = self.moment()
        kept = content if isinstance(content, Kept) else Kept.of(content)
        since = moment if received is None else received
        entry.belief = _Belief(moment, since, kept, Own(kept, moment))
        entry.wrote = True
        entry.unseen.clear()
        # Reads served after the write was received still apply, as in `candidates`. Those asked for before it
        # do not contain the write.
        entry.served[:] = [s for s in entry.served if received is not None and s.asked > received]

    def mentioned(self, session: str, uri: DocumentUri, text: str, *, by_program: bool = False) -> None:
        """Record that the agent was given this whole text in another way than by a read, for example in a prompt. `by_program`: its program showed
        that it knows the text, which does not tell what its model saw."""
        self.served_whole(session, uri, Text.of(text), by_program=by_program)

    def edited(self, session: str, uri: DocumentUri, before: str, after: str) -> None:
        """Record that the session replaced a part of `before`, which led to `after`. The belief gets that change too, and nothing else from
        `before`. Where the belief differs at that place, it stays."""
        entry = self._entries.get((session, uri))
        if entry is None:
            return
        _settle(entry)
        entry.wrote = True
        if entry.belief is not None:
            entry.belief = _with_change(entry.belief, before, after)

    def formatted(self, uri: DocumentUri, before: str, after: str) -> None:
        """Record that save participants turned `before` into `after`, in what all agents believe. Where both changed, the belief wins."""
        for (_, known), entry in self._entries.items():
            if known != uri:
                continue
            _settle(entry)
            if entry.belief is not None:
                entry.belief = _with_change(entry.belief, before, after)

    def kept(self, session: str, uri: DocumentUri) -> list[Text]:
        """The texts whose compared form `candidates` makes and compares. A thread may do that in advance (`Text.compared`)."""
        entry = self._entries.get((session, uri))
        if entry is None:
            return []
        beliefs = [one.text for one in (entry.belief, *entry.unseen) if one is not None]
        texts = (*beliefs, *(served.text for served in entry.served))
        return [one.text if isinstance(one, Kept) else one for one in texts]

    def served(self, session: str, uri: DocumentUri) -> bool:
        """Whether this session was ever given, or wrote, this document."""
        entry = self._entries.get((session, uri))
        return entry is not None and (entry.belief is not None or bool(entry.served or entry.unseen))

    def moment(self) -> int:
        """A new moment, later than all before. A read that is served after a write was received is not part of that write."""
        self._serial += 1
        return self._serial

    def believed_since(self, session: str, uri: DocumentUri, until: int) -> int | None:
        """The moment when the whole text that this session believed at `until` was given to it, or sent by it. 0 if it was only ever given parts,
        or only its program was given the text. None if it had been given nothing by then."""
        entry = self._entries.get((session, uri))
        if entry is None:
            return None
        _settle(entry, until)
        if entry.belief is None:
            return 0 if entry.unseen else None
        return entry.belief.since

    def own(self, session: str, uri: DocumentUri, until: int) -> Own | None:
        """The last write of this session, unless the session was given the whole text since."""
        entry = self._entries.get((session, uri))
        if entry is None:
            return None
        _settle(entry, until)
        return None if entry.belief is None else entry.belief.own

    def written(self, session: str) -> list[DocumentUri]:
        """The documents that this session itself has changed and has a belief about."""
        found: list[DocumentUri] = []
        for (known, uri), entry in self._entries.items():
            if known == session and entry.wrote:
                _settle(entry)
                if entry.belief is not None:
                    found.append(uri)
        return found

    def believed(self, session: str, uri: DocumentUri, most: int) -> str | None:
        """What this session believes about a document, in the compared form. None if it believes nothing, or more than `most` code points."""
        entry = self._entries.get((session, uri))
        if entry is None:
            return None
        _settle(entry)
        belief = entry.belief
        return None if belief is None or belief.length > most else belief.compared()

    def candidates(
        self,
        session: str,
        uri: DocumentUri,
        disk: Iterable[AnyText] = (),
        until: int | None = None,
        *,
        like: AnyText | None = None,
        has_asked_us: bool = False,
    ) -> tuple[Candidate, ...]:
        """Every text that a write of this session may be based on, if the write was received at the moment `until` (None: now).

        `disk` (oldest first) counts as older than all others. Writes take effect in the order in which they were received, so reads served up to
        this write are settled now, and later ones wait for later writes. `like`: the document's text, which is most likely one of the candidates
        and is then not copied. `has_asked_us` as in Candidate."""
        entry = self._entries.get((session, uri))
        found = [
            Candidate(text, i - 1_000_000, from_disk=True, has_asked_us=has_asked_us)
            for i, text in enumerate(disk)
        ]
        if entry is not None:
            _settle(entry, until)
            if entry.belief is not None:
                found.append(entry.belief.candidate(like))
            found += [unseen.candidate(like, by_program=True) for unseen in entry.unseen]
        return tuple(found)

    def renamed(self, old: DocumentUri, new: DocumentUri) -> None:
        """Move all beliefs about `old` to `new`, because the file was renamed."""
        for key in [k for k in self._entries if k[1] == old]:
            self._entries[(key[0], new)] = self._entries.pop(key)

    def forget(self, uri: DocumentUri) -> None:
        """Forget a document that no longer exists: another one may get its name."""
        for key in [k for k in self._entries if k[1] == uri]:
            del self._entries[key]

    def known(self) -> set[DocumentUri]:
        """Every document about which a session believes something."""
        return {uri for _, uri in self._entries}

    def forget_session(self, session: str) -> None:
        for key in [k for k in self._entries if k[0] == session]:
            del self._entries[key]

    def _entry(self, session: str, uri: DocumentUri) -> _Entry:
        key = session, uri
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry()
        return entry

    def _bounded(self, entry: _Entry) -> None:
        if len(entry.served) > MAX_SERVED:
            _settle(entry, entry.served[MAX_SERVED // 2].serial)


def _settle(entry: _Entry, until: int | None = None) -> None:
    """Work the reads served up to `until` into the belief."""
    count = sum(until is None or served.serial <= until for served in entry.served)
    settled, entry.served = entry.served[:count], entry.served[count:]
    newest = max((i for i, served in enumerate(settled) if _is_belief(served)), default=0)
    for served in settled[newest:]:
        if served.by_program:
            before = entry.unseen[-1] if entry.unseen else entry.belief
            entry.unseen = [*entry.unseen, _believed(before, served)][-MAX_UNSEEN:]
        else:
            entry.belief = _believed(entry.belief, served)
            entry.unseen.clear()


def _is_belief(served: _Served) -> bool:
    """Whether this read replaces the whole belief, so that nothing before it matters."""
    return served.count is None and not served.by_program


def _believed(belief: _Belief | None, served: _Served) -> _Belief:
    """The belief after a read."""
    text, serial = served.text, served.serial
    if served.count is None or (belief is None and served.disk is None):
        return _Belief(serial, serial, text)
    if belief is None:
        disk = served.disk
        belief = _Belief(0, 0, Kept.of(disk, text) if isinstance(disk, str) else disk or Kept.of(""))
    laid_over = None
    if isinstance(belief.text, Text):
        laid_over = _lay_over_raw(belief.text, text, served.first, served.count)
    if laid_over is None:
        laid_over = _lay_over(belief.compared(), text, served.first, served.count)
    return _Belief(serial, belief.since, laid_over, belief.own)


def _with_change(belief: _Belief, before: str, after: str) -> _Belief:
    """The belief with the change that leads from `before` to `after`. The belief wins where both changed."""
    text = belief.compared()
    match merge(before, text, after):
        case Merged() as merged:
            changed = merged.changes.apply(text)
            like = belief.text
            return _Belief(belief.serial, belief.since, Kept.of(changed, like), belief.own)
        case Conflict():
            return belief


def _lay_over_raw(earlier: Text, text: Text, first_line: int, count: int) -> Text | None:
    """`earlier` with those changes towards `text` that lie inside the served lines of `text`.

    A change that reaches beyond the served lines is left out, unless it only inserts: then its served part is taken. A belief that lacks a line
    the agent saw leads at worst to a conflict; a belief with a line that the agent never saw loses that line. None if only one of the texts has
    carriage returns or a byte order mark: they must then be compared in the compared form."""
    start, end = _offset_of_line(text, first_line), _offset_of_line(text, first_line + count)
    at, at_end, there, there_end = earlier.shared_around(text, start, end)
    old, new = earlier.slice(at, at_end), text.slice(there, there_end)
    if ("\r" in old) != ("\r" in new) or old.startswith(BOM) != new.startswith(BOM):
        return None
    if old.startswith(BOM):
        at, there, old, new = at + 1, there + 1, old[1:], new[1:]
    rope = Rope.of(earlier)
    for edit, _, taken in reversed(_taken(diff(old, new), start - there, end - there)):
        if taken is not None:
            rope.splice(at + edit.start, at + edit.end, taken)
    return rope.snapshot()


def _lay_over(earlier: str, text: Text, first_line: int, count: int) -> Text:
    """Like `_lay_over_raw`, where `earlier` is in the compared form. The result is raw; its compared form is the belief.

    It is built from `text`, by taking back what is not to be taken, so that the two share their equal parts the next time."""
    now = Normal(str(text))
    start = len(normal(now.raw[: _offset_of_line(text, first_line)]))
    end = len(normal(now.raw[: _offset_of_line(text, first_line + count)]))
    taken_back = [
        Edit(at, at + len(edit.new), earlier[edit.start : edit.end] if taken is None else taken)
        for edit, at, taken in _taken(diff(earlier, now.text), start, end)
        if taken != edit.new
    ]
    rope = Rope.of(text)
    for edit in reversed(now.changes_in_raw(ChangeSet.of(len(now.text), taken_back)).edits):
        rope.splice(edit.start, edit.end, edit.new)
    return rope.snapshot()


def _taken(changes: ChangeSet, start: int, end: int) -> list[tuple[Edit, int, str | None]]:
    """Each edit, its offset in the resulting text, and the part of its new text that was served between `start` and `end` there. None: no part."""
    found: list[tuple[Edit, int, str | None]] = []
    shift = 0  # offset in the new text minus offset in the old one, just before the edit
    for edit in changes.edits:
        at = edit.start + shift
        new_end = at + len(edit.new)
        shift += edit.growth
        taken = None
        if start <= at and new_end <= end:
            taken = edit.new
        elif edit.start == edit.end and at < end and start < new_end:
            taken = edit.new[max(start - at, 0) : end - at]
        found.append((edit, at, taken))
    return found


def _offset_of_line(text: Text, line: int) -> int:
    """The offset of the start of a line; the text's end if there are fewer lines."""
    return text.offset_at(Position(line, 0), Encoding.UTF_32)
