"""Afterwards: tells an agent with its next prompt what became of its changes: what the user rejected, changed in them or typed around them.

An agent's model assumes that a file it changed still says what it last saw or wrote there (`core.belief`). If the file says something else now, the
difference is reported once, line by line. Texts that the agent would need permission for are left out, and so are long ones. The belief itself does
not change: nobody can know whether a model heeds such a note, and a write based on its older text is merged as always.

What an agent's own tools write on the disk, past the sidecar, is no belief. For such files, the text at the turn's end is compared, unless the agent
was served the file since.
"""

from __future__ import annotations

from collections.abc import Iterator

from sidecar.core.hunks import line_hunks, lines_of
from sidecar.core.json_types import Json
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, is_untitled, to_path
from sidecar.disk import Missing
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.state.places import locate
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

MAX_TEXT = 256 * 1024
"""The limit for a compared text, in code points, and for a file that is read for the comparison, in bytes."""
MAX_FILES = 20
MAX_LINES = 200
"""The limit for all files together. If there are more lines, the agent is told to read the file again."""
_HEAD = (
    "Files that you changed have changed since: the user, or somebody else, rejected or changed something in them. Work from their current"
    " text, and do not restore what is gone unless you are asked to. (- is a line as you last knew it, + as it is now.)"
)


class Afterwards:
    def __init__(self, state: State, consent: Consent, reconciler: Reconciler) -> None:
        self._state = state
        self._consent = consent
        self._reconciler = reconciler

    async def block(self, session: Session) -> Json | None:
        """Return ACP's text block, or None if there is nothing new to report."""
        told: list[str] = []
        room = MAX_LINES
        for uri, knew in [*self._believed(session), *self._left(session)]:
            now = await self._text(session, uri)
            if now is None:
                continue
            if now == knew:
                session.afterwards.pop(uri, None)
                continue
            if session.afterwards.get(uri) == hash(now):
                continue
            session.afterwards[uri] = hash(now)
            name = to_path(uri) or uri
            lines = list(_lines(knew, now))
            if len(told) == MAX_FILES or len(lines) > room:
                told.append(f"{name}: read it again; much of it has changed since you last knew it.")
                continue
            room -= len(lines)
            told.append("\n".join([f"{name}:", *lines]))
        return {"type": "text", "text": "\n\n".join([_HEAD, *told])} if told else None

    def turn_ended(self, session: Session) -> None:
        beliefs = self._state.beliefs
        believed = set(beliefs.written(session.id))
        for uri in session.touched.keys() - believed:
            reviewed = self._state.ledgers.get(uri)
            if reviewed is None or (uri not in session.left and len(session.left) == MAX_FILES):
                continue
            tracked = self._state.documents.get(uri)
            text = self._of(reviewed.text if tracked is None or not reviewed.live else tracked.settled_text())
            if text is not None:
                session.left[uri] = beliefs.moment(), text

    def _believed(self, session: Session) -> Iterator[tuple[DocumentUri, str]]:
        beliefs = self._state.beliefs
        for uri in beliefs.written(session.id):
            knew = beliefs.believed(session.id, uri, MAX_TEXT)
            if knew is not None:
                yield uri, knew

    def _left(self, session: Session) -> Iterator[tuple[DocumentUri, str]]:
        beliefs = self._state.beliefs
        believed = set(beliefs.written(session.id))
        for uri, (noted, text) in session.left.items():
            since = beliefs.believed_since(session.id, uri, beliefs.moment())
            if uri not in believed and (since is None or since < noted):
                yield uri, text

    async def _text(self, session: Session, uri: DocumentUri) -> str | None:
        """Return the current text in the compared form; "" if the file is gone; None if the text may not or cannot be reported."""
        path = to_path(uri)
        if path is None:
            tracked = self._state.documents.get(uri) if is_untitled(uri) else None
            return None if tracked is None else self._of(tracked.document.snapshot())
        found = locate(self._state.storage, self._state.documents, session.roots, path, "read")
        if isinstance(found, Refusal):
            return None
        with found as place:
            if self._consent.must_ask(place, "read") or self._state.opaque.refusal(place) is not None:
                return None
            if place.tracked is not None:
                await self._reconciler.look(place.tracked)
                document = place.tracked.document
                known = not place.tracked.closed and document.desynchronised is None
                return self._of(document.snapshot()) if known else None
            if isinstance(place.on_disk, Missing):
                return ""
            if place.on_disk.size > MAX_TEXT:
                return None
            decoded = await self._state.storage.read(place.on_disk)
            return None if isinstance(decoded, Refusal) else normal(decoded.text)

    def _of(self, text: Text) -> str | None:
        return normal(str(text)) if len(text) <= MAX_TEXT else None


def _lines(knew: str, now: str) -> Iterator[str]:
    if not now:
        yield "it is empty, or gone"
        return
    for hunk in line_hunks(knew, now):
        yield f"line {now.count(chr(10), 0, hunk.new_start) + 1}:"
        for sign, text in (
            ("-", knew[hunk.old_start : hunk.old_end]),
            ("+", now[hunk.new_start : hunk.new_end]),
        ):
            yield from (f"{sign} {line.rstrip(chr(10))}" for line in lines_of(text))
