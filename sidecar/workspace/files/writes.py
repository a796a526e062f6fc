"""Writer: an agent's whole-file write, from its ticket to its answer. `core.writes` decides what a write means; this
module decides how it is carried out.

| the file is                | way                                                                                      |
|----------------------------|------------------------------------------------------------------------------------------|
| open                       | through the editor, versioned; saved by policy                                           |
| on the disk, not open      | opened in the editor, written, saved and closed again if possible; otherwise on the disk |
| new                        | created in the editor as one undoable step and saved if possible; otherwise on the disk  |
| read before, and gone now  | refused: the agent does not know that it is gone                                         |
| without a file (untitled)  | through the editor, while it is open; never saved                                        |
"""

from __future__ import annotations

import os
from dataclasses import replace

from sidecar.core.any_text import AnyText, narrowed, size_of
from sidecar.core.escape import escape, shorten
from sidecar.core.held import as_held
from sidecar.core.normal import normal
from sidecar.core.notebook import LANGUAGE, as_saved
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Missing, Resolved
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.edits.ends import Gone
from sidecar.workspace.edits.exact import keeps
from sidecar.workspace.edits.write_task import (
    Replacing,
    WriteDone,
    WriteTask,
    deleted,
    editor_refused,
    kept_changing,
    withdrawn,
)
from sidecar.workspace.files.buffer_writes import BufferWriter, Untaken
from sidecar.workspace.files.creating import Creator
from sidecar.workspace.files.disk_writes import DiskWriter
from sidecar.workspace.files.opening import NotOpened, Opener
from sidecar.workspace.files.reads import not_found
from sidecar.workspace.files.saving import Saver
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.state.places import Named, Place, locate, untitled
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked

HELD_TIMES = 2
"""How many times `max_file_bytes` a text may take in memory as a string, as it is sent to the editor. Python keeps one,
two or four bytes for each character, depending on the widest one."""


class Writer:
    """Routes writes. A write holds its ticket until it ends, even if its answer had to be given earlier."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        creator: Creator,
        consent: Consent,
        buffers: BufferWriter,
        opener: Opener,
        saver: Saver,
        files: DiskWriter,
    ) -> None:
        self._state = state
        self._editor = editor
        self._consent = consent
        self._buffers = buffers
        self._opener = opener
        self._saver = saver
        self._files = files
        self._creator = creator

    async def write(self, ticket: Ticket, content: AnyText) -> WriteDone | Refusal:
        """Makes the file say `content`, and keeps what others changed since the agent saw it."""
        return await self._in_turn(ticket, content, None)

    async def edit(self, ticket: Ticket, replacing: Replacing) -> WriteDone | Refusal:
        """Makes the change in the text as it is when the edit is sent."""
        return await self._in_turn(ticket, "", replacing)

    async def _in_turn(
        self, ticket: Ticket, content: AnyText, replacing: Replacing | None
    ) -> WriteDone | Refusal:
        try:
            session = self._state.sessions.get(ticket.session_id)
            if session is None:
                return Refusal(Kind.UNKNOWN_SESSION, "this session is closed or was never opened")
            if not session.may_act(ticket.asked_in):
                return withdrawn(ticket.path)
            session.came_to_us(ticket.moment)
            most = self._state.settings.max_file_bytes
            if await aside(len(content), lambda: size_of(content)) > most:
                return Refusal(Kind.TOO_LARGE, f"the new text has more than {most} bytes", {"limit": most})
            held = as_held(content)
            if held > HELD_TIMES * most:
                words = f"the new text takes {held} bytes in memory, and at most {HELD_TIMES * most} are allowed: a single character such as an "
                words += "emoji makes every character of a text take four bytes"
                return Refusal(Kind.TOO_LARGE, words, {"limit": HELD_TIMES * most})
            if not await ticket.turn():
                return Refusal(
                    Kind.OUTCOME_UNKNOWN,
                    f"an earlier edit of {ticket.path} is still waiting for the editor's answer; try again later",
                )
            if not session.may_act(ticket.asked_in):
                return withdrawn(ticket.path)
            content = await aside(len(content), lambda: narrowed(content))
            wanted = await aside(len(content), lambda: normal(content))
            return await self._located(WriteTask(session, ticket, content, wanted, replacing))
        finally:
            ticket.release()

    async def _located(self, task: WriteTask) -> WriteDone | Refusal:
        session = task.session
        named = untitled(self._state.documents, task.ticket.path)
        if named is not None:
            return await self._untitled(task, named)
        found = locate(self._state.storage, self._state.documents, session.roots, task.ticket.path, "write")
        if isinstance(found, Refusal):
            return found
        with found as place:
            refused = self._state.opaque.refusal(place) or await self._consent.to_write(session, place)
            if refused is not None:
                return refused
            if not task.may_begin:
                return withdrawn(place.requested)
            refused = self._state.opaque.refusal(place)  # it may have been edited while the user was asked
            if refused is not None:
                return refused
            if place.tracked is not None:
                return await self._open_document(task, place, place.tracked)
            if isinstance(place.on_disk, Missing):
                if task.replacing is not None:
                    return not_found(place.requested)
                return await self._missing(task, place, place.on_disk)
            return await self._file(task, place, place.on_disk)

    async def _untitled(self, task: WriteTask, named: Named) -> WriteDone | Refusal:
        refused = await self._consent.to_use_untitled(task.session, named, "write")
        if refused is not None:
            return refused
        if not task.may_begin:
            return withdrawn(named.requested)
        tracked = self._state.documents.get(named.uri)
        if tracked is None:
            return not_found(named.requested)
        done = await self._buffers.write(task, named, tracked)
        match done:
            case Gone():
                return not_found(named.requested)
            case Untaken(reason=reason):
                return editor_refused(named.requested, reason)
            case _:
                return done

    async def _open_document(self, task: WriteTask, place: Place, tracked: Tracked) -> WriteDone | Refusal:
        gone = isinstance(place.on_disk, Missing) and tracked.saved is not None
        if gone and self._state.beliefs.served(task.session.id, place.uri):
            return deleted(place.requested)
        if self._saver.why_not(tracked, user_dirty=tracked.is_user_dirty()) is None:
            unwritable = self._state.storage.check_writable(place.on_disk, len(task.content))
            if unwritable is not None:
                return unwritable
        if tracked.document.language_id == LANGUAGE and task.replacing is None:
            now, content = str(tracked.document.snapshot()), str(task.content)
            saved = await aside(len(content), lambda: as_saved(place.requested, content, now))
            if isinstance(saved, Refusal):
                return saved
            task = replace(task, content=saved, wanted=normal(saved))
        done = await self._buffers.write(task, place, tracked)
        match done:
            case Gone():
                return await self._after_close(task, place, done)
            case Untaken(clean=True, reason=reason) if isinstance(place.on_disk, Resolved):
                refused = await self._consent.to_write_behind(task.session, place, reason)
                return refused or await self._files.write(task, place, place.on_disk)
            case Untaken(reason=reason):
                return editor_refused(place.requested, reason)
            case _:
                return done

    async def _after_close(self, task: WriteTask, place: Place, gone: Gone) -> WriteDone | Refusal:
        """The document was closed between plan and apply: the disk is the truth now."""
        found = locate(
            self._state.storage, self._state.documents, task.session.roots, place.requested, "write"
        )
        if isinstance(found, Refusal):
            return found
        with found as now:
            if now.tracked is not None:  # opened again
                return kept_changing(place.requested)
            if isinstance(now.on_disk, Missing):
                return deleted(place.requested)
            return await self._files.write(task, now, now.on_disk, gone.misplaced)

    async def _file(self, task: WriteTask, place: Place, file: Resolved) -> WriteDone | Refusal:
        can = self._editor.capabilities
        if can.apply_edit and can.document_changes and can.open and can.save:
            decoded = await self._state.storage.read(file)
            undecodable = isinstance(decoded, Refusal)
            content = task.content
            if isinstance(decoded, Refusal):
                if decoded.kind is not Kind.UNDECODABLE:
                    return decoded
            else:
                after = task.content_in(decoded.text)
                if isinstance(after, Refusal):
                    return after
                content = after
                if decoded.encoding != "utf-8" or not keeps(can, decoded.text, content):
                    return await self._files.write(task, place, file)
            unwritable = self._state.storage.check_writable(file, len(content))
            if unwritable is not None:
                return unwritable
            open_it = self._opener.open_undecodable if undecodable else self._opener.open
            tracked = await open_it(place.uri)
            if isinstance(tracked, NotOpened):
                if tracked.reason:
                    return await self._behind(task, place, file, tracked.reason)
            else:
                done = await self._buffers.write(task, place, tracked)
                if isinstance(done, WriteDone):
                    if done.undecided is not None:  # it stays open, so that the user sees it
                        return done
                    # Opened only for this write, so nothing in it is the user's: it is saved before the answer is sent.
                    if not done.saved:
                        done = await self._saver.save(tracked)
                    if done.saved:
                        await self._opener.close(tracked)
                    return done
                if isinstance(done, Refusal):
                    if tracked.is_clean():
                        await self._opener.close(tracked)
                    return done
                if isinstance(done, Gone):
                    return await self._after_close(task, place, done)
                if tracked.is_clean():
                    await self._opener.close(tracked)
        return await self._files.write(task, place, file)

    async def _behind(
        self, task: WriteTask, place: Place, file: Resolved, reason: str
    ) -> WriteDone | Refusal:
        """Writes the file on the disk, because the editor has a reason not to open it for us. The agent is told, and
        the user once for each turn."""
        touched, uri = task.session.touched, place.uri
        before = touched.get(uri)
        done = await self._files.write(task, place, file)
        if isinstance(done, Refusal) or touched.get(uri) == before:
            return done
        words = f"edited on disk: {reason}"
        if before is None:
            name = shorten(escape(os.path.basename(place.path)), 80)
            self._editor.notice(task.session.id, f"{name} was {words}.")
        return replace(done, note=words)

    async def _missing(self, task: WriteTask, place: Place, missing: Missing) -> WriteDone | Refusal:
        if self._state.beliefs.served(task.session.id, place.uri):
            return deleted(place.requested)
        can = self._editor.capabilities
        if can.apply_edit and can.create_files and can.save and keeps(can, None, task.content):
            unwritable = self._state.storage.check_writable(missing, len(task.content))
            if unwritable is not None:
                return unwritable
            done = await self._creator.create(task, place)
            if done is not None:
                return done
            return await self._created_untold(task, place)
        return await self._files.create(task, place, missing)

    async def _created_untold(self, task: WriteTask, place: Place) -> WriteDone | Refusal:
        """The editor was asked to create the file and did not announce it. Some create an empty file without reporting it (lsp-mode)."""
        storage, documents = self._state.storage, self._state.documents
        found = locate(storage, documents, task.session.roots, place.requested, "write")
        if isinstance(found, Refusal):
            return found
        with found as now:
            if now.tracked is not None:
                return await self._open_document(task, now, now.tracked)
            if isinstance(now.on_disk, Missing):
                return await self._files.create(task, now, now.on_disk)
            return await self._files.write(task, now, now.on_disk, made=True)
