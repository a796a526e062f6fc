"""Reader: returns the text for a path: the buffer's if the file is open, the disk's if it is not."""

from __future__ import annotations

from typing import Protocol

from sidecar.core.any_text import as_text, narrowed
from sidecar.core.kept import Kept
from sidecar.core.normal import BOM, normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.serve import Served, first_line, serve
from sidecar.core.sharing import sharing
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, is_untitled
from sidecar.disk import Missing
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.state.places import Named, Place, locate, untitled
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

_AT_ONCE = 1024 * 1024
"""Characters. Up to this size, what is asked for is returned while the request is received; more is prepared in a thread."""


class Undecodable(Protocol):
    async def read_undecodable(self, uri: DocumentUri) -> Text | None:
        """The text that the editor reads in a file that is not UTF-8; None if it reads the file in another encoding."""
        ...


class Reader:
    """Serves reads. The caller releases the ticket."""

    def __init__(self, state: State, reconciler: Reconciler, consent: Consent, opener: Undecodable) -> None:
        self._opener = opener
        self._state = state
        self._reconciler = reconciler
        self._consent = consent

    async def read(self, ticket: Ticket, line: int | None, limit: int | None) -> str | Refusal:
        """Reads whole lines: `line` from 1 (0 and None mean 1), `limit` in lines. Records what was served as the
        session's belief."""
        if isinstance(start := first_line(line, limit), Refusal):
            return start
        if not await ticket.turn():
            return Refusal(
                Kind.OUTCOME_UNKNOWN,
                f"your earlier write of {ticket.path} has not ended yet; try again later",
            )
        session = self._state.sessions.get(ticket.session_id)
        if session is None:
            return Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
        named = untitled(self._state.documents, ticket.path)
        if named is not None:
            refused = await self._consent.to_use_untitled(session, named, "read")
            answer = refused or await self._from_buffer(session, named, line, limit, ticket.moment)
            return not_found(ticket.path) if answer is None else answer
        found = locate(self._state.storage, self._state.documents, session.roots, ticket.path, "read")
        if isinstance(found, Refusal):
            return found
        with found as place:
            missing = isinstance(place.on_disk, Missing) and place.tracked is None
            if missing and not self._consent.must_ask(place, "read"):
                return not_found(ticket.path)
            # only after a question is it told whether a secret file exists
            refused = self._state.opaque.refusal(place) or await self._consent.to_read(session, place)
            if refused is not None:
                return refused
            answer = await self._from_buffer(session, place, line, limit, ticket.moment)
            if answer is None:
                return await self._from_disk(session, place, line, limit, ticket.moment)
            return answer

    def read_now(self, ticket: Ticket, line: int | None, limit: int | None) -> Text | str | Refusal | None:
        """As `read`, but immediate, for an open document that needs neither waiting nor a question; None otherwise."""
        state = self._state
        session = state.sessions.get(ticket.session_id)
        if session is None or state.queues.blocked(ticket) or is_untitled(ticket.path):
            return None
        found = locate(state.storage, state.documents, session.roots, ticket.path, "read")
        if isinstance(found, Refusal):
            return found
        with found as place:
            tracked = place.tracked
            if (
                tracked is None
                or not self._reconciler.is_current(tracked, place.on_disk)
                or self._consent.must_ask(place, "read")
                or state.opaque.refusal(place) is not None
            ):
                return None
            text = tracked.document.snapshot()
            if len(text) > _AT_ONCE and not _asks_for_little(text, line, limit):
                return None
            if line in (None, 0, 1) and limit is None and len(text) <= state.settings.max_file_bytes:
                state.beliefs.served_whole(
                    session.id,
                    place.uri,
                    text,
                    asked=ticket.moment,
                    by_program=session.reads_by_program(ticket.moment),
                )
                session.served(place.uri, ticket.moment)
                return text if text.slice(0, min(len(text), 1)) != BOM else str(text)[1:]
            return self._give(session, place, text, tracked.saved, line, limit, ticket.moment)

    async def _from_buffer(
        self, session: Session, place: Named, line: int | None, limit: int | None, received: int
    ) -> str | Refusal | None:
        """None if the document is not open, or was closed meanwhile: then the disk is the truth."""
        if place.tracked is None:
            return None
        await self._reconciler.look(place.tracked)
        current = self._state.documents.get(place.tracked.document.uri)
        if current is None:
            return None
        document = current.document
        if document.desynchronised is not None:
            return desynchronised(place.requested)
        text = document.snapshot()
        if len(text) > self._state.settings.max_file_bytes and line is None and limit is None:
            return too_large(place.requested, len(text), self._state.settings.max_file_bytes)
        saved = current.saved
        served = await aside(len(text) if limit is None else 0, lambda: serve(text, line, limit))
        return self._given(session, place, text, saved, served, received)

    async def _from_disk(
        self, session: Session, place: Place, line: int | None, limit: int | None, received: int
    ) -> str | Refusal:
        file = place.on_disk
        if isinstance(file, Missing):
            return not_found(place.requested)
        most = self._state.settings.max_file_bytes
        if file.size > most:
            if line is None and limit is None:
                return too_large(place.requested, file.size, most)
            # Streamed, and not recorded as a belief: no write can be based on so little.
            return await self._state.storage.read_lines(file, line, limit)
        decoded = await self._state.storage.read(file)
        if isinstance(decoded, Refusal):
            shown = None
            if decoded.kind is Kind.UNDECODABLE:
                shown = await self._opener.read_undecodable(place.uri)
            if shown is None:
                return decoded
            return self._give(session, place, shown, normal(str(shown)), line, limit, received)
        texts = self._state.documents.disk
        before = texts.newest(place.uri)
        disk, raw = await aside(len(decoded.text), lambda: _kept(decoded.text, before))
        if texts.newest(place.uri) is before:  # otherwise a newer text was seen meanwhile
            texts.seen(place.uri, disk)
        served = await aside(len(raw) if limit is None else 0, lambda: serve(raw, line, limit))
        return self._given(session, place, raw, disk, served, received)

    def _give(
        self,
        session: Session,
        place: Named,
        text: Text,
        disk: Kept | str | None,
        line: int | None,
        limit: int | None,
        received: int,
    ) -> str | Refusal:
        return self._given(session, place, text, disk, serve(text, line, limit), received)

    def _given(
        self,
        session: Session,
        place: Named,
        text: Text,
        disk: Kept | str | None,
        served: Served | Refusal,
        received: int,
    ) -> str | Refusal:
        if isinstance(served, Refusal):
            return served
        self._believe(session, place, text, disk, served, received)
        session.served(place.uri, received, whole=served.whole)
        return served.text.removeprefix(BOM) if served.first == 0 else served.text

    def _believe(
        self,
        session: Session,
        place: Named,
        text: Text,
        disk: Kept | str | None,
        served: Served,
        received: int,
    ) -> None:
        beliefs, by_program = self._state.beliefs, session.reads_by_program(received)
        if served.whole:
            beliefs.served_whole(session.id, place.uri, text, asked=received, by_program=by_program)
        elif served.count:
            beliefs.served_slice(
                session.id,
                place.uri,
                text,
                disk,
                served.first,
                served.count,
                asked=received,
                by_program=by_program,
            )


def _asks_for_little(text: Text, line: int | None, limit: int | None) -> bool:
    """Whether few of the text's lines are asked for, and these are not long."""
    first = first_line(line, limit)
    return (
        limit is not None and not isinstance(first, Refusal) and text.size_of_lines(first, limit) <= _AT_ONCE
    )


def _kept(raw: str, before: Kept | None) -> tuple[Kept, Text]:
    """The disk's text in the compared form and as it is. Both share the chunks of the file's text `before` where they are equal."""
    text = as_text(narrowed(raw)) if before is None else sharing(narrowed(raw), before.text)
    compared = text.compared()
    return Kept(text) if compared is text else Kept.of(compared, before), text


def not_found(path: str) -> Refusal:
    return Refusal(Kind.NOT_FOUND, "Resource not found", {"path": path})


def desynchronised(path: str) -> Refusal:
    return Refusal(
        Kind.DESYNCHRONISED,
        f"the editor's text of {path} is not known for certain; it will be once the user saves or reopens the file",
    )


def too_large(path: str, size: int, most: int) -> Refusal:
    return Refusal(
        Kind.TOO_LARGE,
        f"{path} has {size} bytes, the limit is {most}; read it in parts with line and limit",
        {"size": size, "limit": most},
    )
