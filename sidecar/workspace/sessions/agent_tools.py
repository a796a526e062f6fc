"""AgentTools: what a session's tools can do besides reads and writes: read bytes, list folders and files, tell what is open and under review.

Answers cover only the session's own folders, and contain no content without the policy's permission.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast

import anyio
import anyio.to_thread

from sidecar.core.json_types import Json
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import from_path, is_untitled, to_path
from sidecar.disk import Decoded, Missing, Resolved, Root
from sidecar.disk.folder_entries import FolderEntry, entries
from sidecar.disk.folder_files import names
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.files.file_changes import FileChanges
from sidecar.workspace.files.reads import desynchronised, not_found
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.review.review import Review, Selector
from sidecar.workspace.sessions.editor_context import EditorContext
from sidecar.workspace.state.places import Named, Place, locate, untitled
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked

READY_SECONDS = 15.0
"""Seconds within which an agent must start the tools that replace its own. After that it gets its own back."""
MAX_ENTRIES = 5000
"""The limit for one listing."""


class ToolSession(NamedTuple):
    """The session on whose behalf a caller acts."""

    id: str
    folder: str
    """The session's own folder, an absolute path. Relative paths start here."""
    max_bytes: int
    """The largest file size in bytes that the user's settings allow."""


class ListedFolder(NamedTuple):
    path: str
    entries: Sequence[Json]
    left_out: bool
    """Whether there are more entries."""


class FolderFiles(NamedTuple):
    """The files of a folder that people work in, and the unsaved texts of some of them."""

    folder: str
    """A canonical path."""
    names: Sequence[str]
    """Names relative to `folder`; only files that may be read without a question."""
    texts: Json
    """By name: the texts of the files that are open with unsaved text."""
    need_permission: int
    """The number of files left out because the user would have to be asked."""
    too_many: bool
    """The folder has more files than are looked at. If so, `names` is empty."""


class ReviewRows(NamedTuple):
    """The changes under review in a session's folders."""

    rows: Sequence[Json]
    need_permission: int
    """The number of files left out because the user would have to be asked before they are read."""


class AgentTools:
    def __init__(self, state: State, consent: Consent, review: Callable[[], Review], editor: Editor) -> None:
        self._state = state
        self._consent = consent
        self._review = review
        self.editor_context = EditorContext(state, consent, editor)
        self.file_changes = FileChanges(state, consent)
        self._arrived: dict[str, anyio.Event] = {}
        self.called: Callable[[str], None] = lambda session_id: None
        """Called with the session for each call that replaces one of an agent's own tools."""
        self.removes: Callable[[str, str], None] = lambda session_id, path: None
        """Called with (session, absolute path) when the session's agent is about to remove a file itself."""

    def arrived(self, session_id: str) -> None:
        """Note that the session's agent has started the tools."""
        if self._state.sessions.get(session_id) is not None:
            self._event(session_id).set()

    async def ready(self, session_id: str) -> bool:
        """Wait until the agent has started the tools, as long as a slow machine may need. Return whether it has."""
        with anyio.move_on_after(READY_SECONDS):
            await self._event(session_id).wait()
        return self._arrived.pop(session_id).is_set()

    def _event(self, session_id: str) -> anyio.Event:
        return self._arrived.setdefault(session_id, anyio.Event())

    def session(self, session_id: str) -> ToolSession | None:
        """Return the session, or None if it is closed."""
        session = self._state.sessions.get(session_id)
        if session is None or not session.alive:
            return None
        return ToolSession(session.id, session.cwd, self._state.settings.max_file_bytes)

    async def read_bytes(self, ticket: Ticket, offset: int, length: int) -> tuple[bytes, int] | Refusal:
        """Return up to `length` bytes from byte `offset` of the file on the disk, and its size in bytes. Releases the ticket."""
        try:
            if not await ticket.turn():
                return Refusal(Kind.OUTCOME_UNKNOWN, f"your earlier write of {ticket.path} has not ended yet")
            session = self._state.sessions.get(ticket.session_id)
            if session is None:
                return Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
            found = locate(self._state.storage, self._state.documents, session.roots, ticket.path, "read")
            if isinstance(found, Refusal):
                return found
            with found as place:
                refused = await self._consent.to_read(session, place)
                if refused is not None:
                    return refused
                file = place.on_disk
                if isinstance(file, Missing):
                    return not_found(place.requested)
                return await anyio.to_thread.run_sync(_bytes, file, offset, length)
        finally:
            ticket.release()

    async def try_change(
        self, session_id: str, path: str, change: Callable[[str], str | Refusal]
    ) -> Refusal | None:
        """Return why `change` could not be made in the current text of the file, or None if it could. Changes nothing."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
        text = await self._text(session, path)
        after = text if isinstance(text, Refusal) else change(text)
        return after if isinstance(after, Refusal) else None

    async def _text(self, session: Session, path: str) -> str | Refusal:
        """Return the text in the compared form. It is not shown to the agent."""
        named = untitled(self._state.documents, path)
        if named is not None:
            refused = await self._consent.to_use_untitled(session, named, "read")
            return refused or _in_buffer(named) or not_found(path)
        found = locate(self._state.storage, self._state.documents, session.roots, path, "write")
        if isinstance(found, Refusal):
            return found
        with found as place:
            refused = await self._consent.to_read(session, place)
            if refused is not None:
                return refused
            text = _in_buffer(place)
            return await self._on_disk(place) if text is None else text

    async def _on_disk(self, place: Place) -> str | Refusal:
        if isinstance(place.on_disk, Missing):
            return not_found(place.requested)
        decoded = await self._state.storage.read(place.on_disk)
        return normal(decoded.text) if isinstance(decoded, Decoded) else decoded

    async def list_folder(self, session_id: str, path: str, depth: int) -> ListedFolder | Refusal:
        """List the folder at `path` (absolute), `depth` levels deep. Links are not followed."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
        folder = self._state.storage.folder(session.roots, path)
        if isinstance(folder, Refusal):
            return folder
        at = session.roots.match(folder)
        root, relative = (at[0], at[2]) if at is not None else (_root(session, folder), "")
        try:
            found, more = await anyio.to_thread.run_sync(entries, root, relative, depth, MAX_ENTRIES)
        except OSError:
            return Refusal(Kind.IO_ERROR, f"{path} cannot be listed")
        unsaved = {path for path, tracked in self._open(session) if not tracked.is_clean()}
        return ListedFolder(
            folder, [_row(entry, os.path.join(folder, entry.name) in unsaved) for entry in found], more
        )

    async def files(self, session_id: str, path: str, texts: bool) -> FolderFiles | Refusal:
        """Return what can be searched below `path` (absolute), a folder or one file. `texts`: include the unsaved texts."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
        folder = self._state.storage.folder(session.roots, path)
        if isinstance(folder, Refusal):
            if folder.kind is not Kind.NOT_FOUND:
                return folder
            file = self._state.storage.resolve(session.roots, path, "read")
            if isinstance(file, Refusal):
                return file
            if isinstance(file, Resolved):
                file.close()
            folder, known = os.path.dirname(file.path), [os.path.basename(file.path)]
        else:
            known = await anyio.to_thread.run_sync(names, folder)
        spellings = _root(session, folder).spellings
        below = folder.rstrip(os.sep) + os.sep
        unsaved = {
            path[len(below) :]: tracked
            for path, tracked in self._open(session)
            if path.startswith(below) and not tracked.is_clean() and tracked.document.desynchronised is None
        }
        every = dict.fromkeys([*(known or ()), *(unsaved if known is None or len(known) != 1 else ())])

        def allowed() -> list[str]:
            return [name for name in every if self._consent.needs_no_question(below + name, spellings)]

        found = await anyio.to_thread.run_sync(allowed)
        kept = frozenset(found)
        told = {
            name: normal(str(tracked.document.snapshot()))
            for name, tracked in unsaved.items()
            if texts and name in kept
        }
        return FolderFiles(folder, found, told, len(every) - len(found), known is None)

    def open_documents(self, session_id: str) -> list[Json]:
        """Return the open documents in the session's folders, and those without a file."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return []
        return [
            {"path": path, "unsaved": not tracked.is_clean(), "lines": tracked.document.snapshot().line_count}
            for path, tracked in [*self._open(session), *self._untitled(session)]
        ]

    async def changes(self, session_id: str, path: str | None) -> ReviewRows | Refusal:
        """Return the changes under review in the session's folders, or of one file (absolute path). Lines count from 1. The changes contain the
        file's text, so they need the same permission as reading it: if one file is named, the user is asked; otherwise a file without permission
        is left out."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
        selector = Selector(everything=True)
        if path is not None:
            found = locate(self._state.storage, self._state.documents, session.roots, path, "read")
            if isinstance(found, Refusal):
                return found
            with found as place:
                refused = await self._consent.to_read(session, place)
                if refused is not None:
                    return refused
                selector = Selector(uri=place.uri)
        rows: list[Json] = []
        left_out: set[str] = set()
        for row in await self._review().listed(selector):
            file = to_path(from_path(to_path(str(row["uri"])) or "/"))
            at = session.roots.match(file) if file is not None else None
            if file is None or at is None:
                continue
            if path is None and not self._may_read(session, file, at[0]):
                left_out.add(file)
            else:
                rows.append(_change(file, row))
        return ReviewRows(rows, len(left_out))

    def _may_read(self, session: Session, path: str, root: Root) -> bool:
        """Whether the file at `path` (canonical, beneath `root`) may be read without a question, because of the policy or an earlier answer."""
        return ("read", path) in session.grants or self._consent.needs_no_question(path, root.spellings)

    def _open(self, session: Session) -> list[tuple[str, Tracked]]:
        paths = ((to_path(tracked.document.uri), tracked) for tracked in self._state.documents)
        return sorted(
            ((path, tracked) for path, tracked in paths if path is not None and session.roots.match(path)),
            key=lambda pair: pair[0],
        )

    def _untitled(self, session: Session) -> list[tuple[str, Tracked]]:
        """Return the documents without a file, by the name that the prompt gives them. A guest gets none (`Consent.to_use_untitled`)."""
        if session.guest:
            return []
        documents = (tracked for tracked in self._state.documents if is_untitled(tracked.document.uri))
        return sorted(
            ((t.document.client_uri or t.document.uri, t) for t in documents), key=lambda pair: pair[0]
        )


def _in_buffer(named: Named) -> str | Refusal | None:
    """Return the text that the editor shows, in the compared form, or None if the file is not open."""
    if named.tracked is None:
        return None
    document = named.tracked.document
    if document.desynchronised is not None:
        return desynchronised(named.requested)
    return normal(str(document.snapshot()))


def _bytes(file: Resolved, offset: int, length: int) -> tuple[bytes, int] | Refusal:
    try:
        size = file.look().size
        data = b""
        while len(data) < length and (part := file.read_at(offset + len(data), length - len(data))):
            data += part
    except OSError:
        return Refusal(Kind.IO_ERROR, f"{file.requested} cannot be read")
    return data, size


def _root(session: Session, folder: str) -> Root:
    """Return the root that contains `folder`, which is canonical and a root or beneath one."""
    at = session.roots.match(folder)
    if at is not None:
        return at[0]
    return next(root for root in session.roots.roots if folder in root.spellings)


def _row(entry: FolderEntry, unsaved: bool) -> Json:
    changed = datetime.fromtimestamp(entry.changed_ns / 1e9, UTC).isoformat(timespec="seconds")
    row: dict[str, object] = {
        "name": entry.name,
        "kind": entry.kind,
        "size": entry.size,
        "changed": changed.replace("+00:00", "Z"),
        "permissions": modes.filemode(entry.mode)[1:],
    }
    if unsaved:
        row["unsaved"] = True
    return row


def _change(file: str, row: Json) -> Json:
    where = cast("dict[str, dict[str, int]]", row["range"])
    return {
        "file_path": file,
        "firstLine": where["start"]["line"] + 1,
        "lastLine": where["end"]["line"] + 1,
        "before": row["oldText"],
        "after": row["newText"],
        "agent": row["agent"],
        "turn": row["turn"],
    }
