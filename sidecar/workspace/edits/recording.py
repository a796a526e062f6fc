"""Recorder: enters an agent's change in the journal before it is made, and in the ledger afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from sidecar import disk
from sidecar.core.any_text import AnyText, as_text
from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.file_state import FileState
from sidecar.core.led_to import led_to
from sidecar.core.ledger import Author
from sidecar.core.lines_changed import lines_changed
from sidecar.core.places import Places
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.sharing import sharing
from sidecar.core.text import Text
from sidecar.core.units import Encoding
from sidecar.core.uri import DocumentUri
from sidecar.disk import Decoded, decode
from sidecar.journal.entry import UNKNOWN, Entry, EntryState, JournalFailed
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State


@dataclass(frozen=True, slots=True)
class DiskChange:
    """What is noted about a change on the disk, computed from its texts."""

    before: Text
    after: Text
    lines: tuple[int, int]
    """The numbers of added and removed lines."""

    @staticmethod
    def of(before: AnyText, changes: ChangeSet | Places, like: Text | None = None) -> DiskChange:
        """`like`: a text that probably equals `before` and is then used instead of a copy."""
        text = as_text(before) if like is None else sharing(before, like)
        after = changes.new if isinstance(changes, Places) else led_to(text, changes)
        after.compared()  # others ask for it on the event loop
        return DiskChange(text, after, lines_changed(text, changes))


class Recorder:
    """Joins journal and ledger for everything that changes text on behalf of an agent."""

    def __init__(self, state: State, journal: Journal) -> None:
        self._state = state
        self._journal = journal
        self.on_disk: Callable[[Session, str, str | None], None] = lambda session, path, call: None
        """Called for each change that an agent itself made on the disk, with the tool call if it is known."""
        self.in_editor: Callable[[str, DocumentUri, Text, Text], None] = lambda session, uri, before, after: (
            None
        )
        """Called for each edit of a session that came into an open document, with the texts before and after it."""

    async def begin(
        self,
        session: Session,
        path: str,
        before: AnyText | None,
        after: AnyText | None,
        via: str,
        encoding: str = "utf-8",
        bom: bytes = b"",
        call: str | None = None,
        changes: ChangeSet | Places | None = None,
        kept: tuple[Text | None, Text | None] = (None, None),
    ) -> Author | Refusal:
        """Journal a change that is about to be made, durably when this returns. The returned author identifies it from now on.

        `call`: the tool call it belongs to, if known. `changes`: the changes from `before` to `after`, if known. `kept`: `before` and
        `after`, if they are kept as Texts anyway."""
        if before is None:
            self._state.made_folders |= disk.missing_folders(path)
        call = call or session.current_tool_call()
        if via == "disk":
            self.on_disk(session, path, call)
        entry = Entry(
            session.id,
            session.agent,
            session.turn,
            call,
            session.cwd,
            path,
            before,
            after,
            encoding,
            bom,
            "editor" if via == "editor" else "disk",
            changes=changes,
            kept=kept,
        )
        return await self._begun(entry, unknown=False)

    async def begin_unknown(
        self, path: str, before: str | None, after: str | None, encoding: str = "utf-8", bom: bytes = b""
    ) -> Author | Refusal:
        """Like `begin`, for a change that was found and has no known author. It belongs to no session."""
        entry = Entry("", UNKNOWN, 0, None, os.path.dirname(path), path, before, after, encoding, bom, "disk")
        return await self._begun(entry, unknown=True)

    async def begin_file(
        self,
        session: Session | None,
        path: str,
        before: FileState | None,
        after: FileState | None,
        call: str | None = None,
    ) -> Author | Refusal:
        """Like `begin`, for a change of the whole file at a path."""
        if session is not None:
            call = call or session.current_tool_call()
            self.on_disk(session, path, call)
        texts = [_decoded(state) for state in (before, after)]
        like = next((text for text in texts if text is not None), None)
        encoding, bom = ("utf-8", b"") if like is None else (like.encoding, like.bom)
        entry = Entry(
            "" if session is None else session.id,
            UNKNOWN if session is None else session.agent,
            0 if session is None else session.turn,
            None if session is None else call,
            os.path.dirname(path) if session is None else session.cwd,
            path,
            None if texts[0] is None else texts[0].text,
            None if texts[1] is None else texts[1].text,
            encoding,
            bom,
            "disk",
            (before, after),
        )
        return await self._begun(entry, unknown=session is None)

    async def _begun(self, entry: Entry, *, unknown: bool) -> Author | Refusal:
        created = entry.before is None and (entry.states is None or entry.states[0] is None)
        if created:
            entry = replace(
                entry, made=tuple(self._state.made_folders.intersection(disk.folders_above(entry.path)))
            )
        try:
            entry_id = await self._journal.begin(entry)
        except JournalFailed as failed:
            return Refusal(
                Kind.JOURNAL_FAILED,
                f"{entry.path} was not written, because it could not be journalled first: {failed}",
            )
        agent = "" if unknown else entry.agent
        return Author(entry.session, entry.turn, entry_id, entry.tool_call, created, agent, unknown=unknown)

    async def finish(self, author: Author, state: EntryState) -> None:
        await self._journal.finish(author.write, state)

    def live_edit(
        self,
        session: Session,
        uri: DocumentUri,
        author: Author,
        counted: tuple[ChangeSet, tuple[int, int]] | None = None,
    ) -> Callable[[Text, ChangeSet, Text], None]:
        """Returns the callback for when the text of an open document was changed as planned. `counted`: changes, and the numbers from
        `lines_changed` for them."""

        def applied(before: Text, changes: ChangeSet, after: Text) -> None:
            tracked = self._state.documents.get(uri)
            is_open = tracked is not None
            if tracked is not None:
                tracked.agent_edits(author)
            reviewed = self._state.ledgers.at(uri, before, live=is_open)
            reviewed.ledger.agent_edit(before, changes, after, author)
            if not is_open:  # closed since: reopening it shows whether the disk has the change
                reviewed.text = after
            as_counted = counted is not None and counted[0] == changes
            session.touch(
                uri, *(counted[1] if counted is not None and as_counted else lines_changed(before, changes))
            )
            session.changed_at[uri] = first_line(before, changes)
            self.in_editor(session.id, uri, before, after)
            self._state.ledgers.moved(reviewed)

        return applied

    def corrected_edit(
        self, session: Session, uri: DocumentUri, author: Author, without: str
    ) -> Callable[[Text, ChangeSet, Text], None]:
        """Returns the callback for when the text of an open document was changed and the same change took out an edit at a wrong place.
        `without` is the text without that edit, see `Ledger.misplaced`. The rest of the change is the agent's."""

        def applied(before: Text, changes: ChangeSet, after: Text) -> None:
            is_open = self._state.documents.get(uri) is not None
            reviewed = self._state.ledgers.at(uri, before, live=is_open)
            proper = Text.of(without)
            reviewed.ledger.misplaced(before, proper, author)
            if not is_open:
                reviewed.text = proper
            self.live_edit(session, uri, author)(proper, diff(without, str(after)), after)

        return applied

    def disk_edit(
        self,
        session: Session | None,
        uri: DocumentUri,
        author: Author,
        before: str,
        changes: ChangeSet,
    ) -> None:
        """Record a change on the disk of a file that is not open. `session`: who made it, if known."""
        self.disk_change(session, uri, author, changes, DiskChange.of(before, changes))

    def disk_change(
        self,
        session: Session | None,
        uri: DocumentUri,
        author: Author,
        changes: ChangeSet | Places,
        known: DiskChange,
    ) -> None:
        """Like `disk_edit`, with the values of this change already computed in `known`."""
        text, after = known.before, known.after
        reviewed = self._state.ledgers.at(uri, text, live=False)
        reviewed.ledger.agent_edit(text, changes, after, author)
        reviewed.text = after
        if session is not None:
            session.touch(uri, *known.lines)
            session.changed_at[uri] = first_line(text, changes)
        self._state.ledgers.moved(reviewed)


def _decoded(state: FileState | None) -> Decoded | None:
    decoded = None if state is None or state.is_link else decode(state.data)
    return decoded if isinstance(decoded, Decoded) else None


def first_line(text: Text, changes: ChangeSet | Places) -> int:
    """The number of the first changed line, from 0."""
    if isinstance(changes, Places):
        return text.position_at(changes.hunks[0].old_start, Encoding.UTF_32).line if changes.hunks else 0
    return text.position_at(changes.edits[0].start, Encoding.UTF_32).line if changes.edits else 0
