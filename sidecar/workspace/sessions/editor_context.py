"""EditorContext: the user's selection and the problems that the editor shows, if the editor reports them. Only for the session's folders."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.text import Encoding, Range, Text
from sidecar.core.uri import to_path
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.ports.ports import Editor, EditorGone, EditorRefused, EditorTimeout
from sidecar.workspace.ports.prompt_context import Mention, named_severity, others_problems, selected
from sidecar.workspace.state.places import locate
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

_CLOSED = Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
_UNTOLD = Refusal(
    Kind.EDITOR_REFUSED,
    "this editor does not tell what is selected in it, or which problems it shows. Ask the user, or run the project's own checks",
)
_ELSEWHERE = Refusal(
    Kind.OUTSIDE, "the user is not in a text file of this session's folders. Ask the user which file is meant"
)


class EditorContext:
    def __init__(self, state: State, consent: Consent, editor: Editor) -> None:
        self._state = state
        self._consent = consent
        self._editor = editor

    async def selection(self, session_id: str) -> Json | Refusal:
        """Return `{file_path, firstLine, firstColumn, lastLine, lastColumn, text, unsaved}`. Lines and columns count from 1, columns in code points;
        the last column is the one after the last selected character."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return _CLOSED
        mentions = await self._told(None)
        if isinstance(mentions, Refusal):
            return mentions
        path = to_path(mentions[0].uri) if mentions else None
        if path is None or mentions[0].selection is None:
            return _ELSEWHERE
        place = locate(self._state.storage, self._state.documents, session.roots, path, "read")
        if isinstance(place, Refusal):
            return _ELSEWHERE
        with place:
            refused = await self._consent.to_read(session, place)
            if refused is not None:
                return refused
            tracked = place.tracked
        if tracked is None or tracked.document.desynchronised is not None:
            return _ELSEWHERE
        text, at = tracked.document.snapshot(), mentions[0].selection
        where = _points(text, at, self._editor)
        words = selected(text, at, self._editor.capabilities.encoding)
        return {"file_path": path, **where, "text": words, "unsaved": not tracked.is_clean()}

    async def diagnostics(self, session_id: str, path: str | None) -> list[Json] | Refusal:
        """Return the problems of one file (absolute path), or of all open documents in the session's folders: `{file_path, line, column, severity,
        message, source?, code?}`, counting from 1, columns in code points. Our own hints are left out. At most 100 per file, the most severe
        first."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return _CLOSED
        if path is not None:
            place = locate(self._state.storage, self._state.documents, session.roots, path, "read")
            if isinstance(place, Refusal):
                return place
            with place:
                refused = await self._consent.to_read(session, place)
                if refused is not None:
                    return refused
                uris = [place.uri if place.tracked is None else place.tracked.document.client_uri]
        else:
            uris = self._open(session)
        mentions = await self._told(uris)
        if isinstance(mentions, Refusal):
            return mentions
        return [row for mention in mentions for row in self._rows(session, mention)]

    def _open(self, session: Session) -> list[str]:
        """Return the open documents that may be read without a question."""
        found: list[str] = []
        for tracked in self._state.documents:
            path = to_path(tracked.document.uri)
            at = None if path is None else session.roots.match(path)
            if path is not None and at is not None and self._consent.needs_no_question(path, at[0].spellings):
                found.append(tracked.document.client_uri)
        return found

    async def _told(self, uris: Sequence[str] | None) -> Sequence[Mention] | Refusal:
        if not self._editor.capabilities.context:
            return _UNTOLD
        if uris is not None and not uris:
            return ()
        try:
            return await self._editor.context(uris)
        except (EditorRefused, EditorGone, EditorTimeout) as error:
            return Refusal(Kind.EDITOR_REFUSED, f"the editor did not tell: {error}")

    def _rows(self, session: Session, mention: Mention) -> list[Json]:
        path = to_path(mention.uri)
        if path is None or session.roots.match(path) is None:
            return []
        tracked = self._state.documents.get(mention.uri)
        text = None if tracked is None else tracked.document.snapshot()
        rows: list[Json] = []
        for problem in others_problems(mention.problems):
            at = Range(problem.where, problem.where)
            column = problem.where.character + 1
            if text is not None:
                column = _points(text, at, self._editor)["firstColumn"]
            row: dict[str, object] = {
                "file_path": path,
                "line": problem.where.line + 1,
                "column": column,
                "severity": named_severity(problem),
                "message": problem.message,
            }
            row |= {
                name: value for name, value in (("source", problem.source), ("code", problem.code)) if value
            }
            rows.append(row)
        return rows


def _points(text: Text, at: Range, editor: Editor) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, position in (("first", at.start), ("last", at.end)):
        offset = text.offset_at(position, editor.capabilities.encoding)
        point = text.position_at(offset, Encoding.UTF_32)
        found |= {f"{name}Line": point.line + 1, f"{name}Column": point.character + 1}
    return found
