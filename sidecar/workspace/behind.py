"""Behind: what agents change on the disk by themselves is their work like any other: journalled, in the ledger, rejectable.

The reconciler brings an open document and its changed file together; before it does so, `seen` finds out whose change that is
and journals it, and afterwards `settle` enters it in the ledger. The change is worked out from texts, not from what the editor was
seen to do: the editor may have reloaded the file long before anybody looked. A change that the mirror had already (agents
that write the disk *and* send it) is not counted again. Files that are not open are compared with their pre-images.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.escape import escape, shorten
from sidecar.core.ledger import Author, Hunk
from sidecar.core.merge import Conflict, merge
from sidecar.core.normal import Normal, normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.disk import Decoded, Missing, Resolved
from sidecar.workspace.conflicts import Open
from sidecar.workspace.documents import Tracked
from sidecar.workspace.evidence import Evidence, Named
from sidecar.workspace.ledgers import changes_as_steps
from sidecar.workspace.places import locate
from sidecar.workspace.ports import Editor, Level
from sidecar.workspace.recording import Recorder, lines_changed
from sidecar.workspace.sessions import Session
from sidecar.workspace.state import State

WAIT_SECONDS = 2.0
"""How long a look at a file waits for a write of it that is under way."""
SETTLE_SECONDS = 2.0
"""How long an edit that is on its way may take until a change on the disk is entered beside it."""
MAX_NOTED = 1024
"""The most files for which the content at the time of an entered change is remembered."""


@dataclass(slots=True)
class Seen:
    """A change on the disk of an open document that is an agent's."""

    session: Session
    author: Author
    before: str
    """The mirror before it, raw."""
    hunks: Sequence[Hunk]
    """The ledger's, in `before`."""
    changes: ChangeSet | None
    """Of `before`; None: it does not go together with what the user has not saved."""
    writes: int
    """Agents' edits through the editor at that time."""


class Behind:
    """Notes changes; looks at nothing by itself but files that are not open."""

    def __init__(self, state: State, editor: Editor, recorder: Recorder, evidence: Evidence) -> None:
        self._state = state
        self._editor = editor
        self._recorder = recorder
        self._evidence = evidence
        self._noted: OrderedDict[DocumentUri, str | None] = OrderedDict()
        """What files said (compared form; None: removed) when a change of them was entered as somebody's."""

    # Open documents

    def may_be_an_agents(self, tracked: Tracked) -> bool:
        """Whether a change of its file now would count as an agent's."""
        return self._evidence.author(tracked.document.uri) is not None

    async def seen(self, tracked: Tracked, path: str, before: str | None, disk: str | None) -> Seen | None:
        """The file has `disk` and had `before` (compared form) when mirror and disk were last compared. None: the change is
        nobody's, or was already counted.
        """
        found = self._evidence.author(tracked.document.uri)
        if found is None or before is None or disk is None:
            return None
        if self._state.documents.disk.is_ours(tracked.document.uri, disk):
            return None  # a save that nobody has looked at yet
        session, call = found
        reviewed = self._state.ledgers.get(tracked.document.uri)
        hunks = reviewed.ledger.hunks if reviewed is not None else ()
        raw, changes = str(tracked.document.snapshot()), None
        now = Normal(raw)
        match merge(before, now.text, disk):
            case Conflict():
                pass
            case merged:
                changes = merged.changes
                if changes.is_empty:
                    if tracked.hunks_when_clean is None:
                        return None  # it came through the editor as well
                    raw, hunks = _without(diff(before, now.text), now, before), tracked.hunks_when_clean
                    if len(raw) != tracked.length_when_clean or any(
                        raw[h.start : h.end] != h.text for h in hunks
                    ):
                        return None  # line ends that nobody knows any more
                    changes = diff(before, disk)
                    now = Normal(raw)
                changes = now.changes_in_raw(changes)
        writes = tracked.agents_edits
        author = await self._recorder.begin(session, path, before, disk, "disk", call=call)
        if isinstance(author, Refusal):
            self._editor.show("warning", author.message)
            return None
        return Seen(session, author, raw, hunks, changes, writes)

    def resolving(self, tracked: Tracked, conflict: Open, before: str, changes: ChangeSet) -> Seen | None:
        """What the user decided about a conflict is about to be made: `changes` of the mirror, `before`, raw. The change on the
        disk was journalled when it was found; None: it was nobody's."""
        if conflict.session is None or conflict.author is None:
            return None
        reviewed = self._state.ledgers.get(tracked.document.uri)
        hunks = reviewed.ledger.hunks if reviewed is not None else ()
        return Seen(conflict.session, conflict.author, before, hunks, changes, tracked.agents_edits)

    async def settle(self, tracked: Tracked, seen: Seen, disk: str | None) -> None:
        """Mirror and disk were brought together, or not."""
        writes = seen.writes
        again = self._state.documents.get(tracked.document.uri) if tracked.closed else None
        if again is not None:
            # Neovim and eglot tell a reload as the document's closing and opening
            with anyio.move_on_after(SETTLE_SECONDS):
                await again.observed.wait()
            tracked, writes = again, 0
        # What comes while an edit of ours is on its way is told to the ledger when that is settled; it may be this very change.
        at_rest = seen.changes is None or await tracked.rest(SETTLE_SECONDS)
        together = tracked.saved == disk and tracked.stat is not None
        if seen.changes is not None and not (together and at_rest and tracked.agents_edits == writes):
            await self._recorder.finish(seen.author, "failed" if tracked.stat is None else "unknown")
            return
        if seen.changes is not None and not tracked.closed:
            self._enter(tracked, seen, seen.changes)
        await self._recorder.finish(seen.author, "done")

    def _enter(self, tracked: Tracked, seen: Seen, changes: ChangeSet) -> None:
        """Puts the agent's change where it belongs: before everything else that happened since."""
        uri, now = tracked.document.uri, tracked.document.snapshot()
        before, after = Text.of(seen.before), Text.of(changes.apply(seen.before))
        reviewed = self._state.ledgers.at(uri, now, live=True)
        ledger = reviewed.ledger
        ledger.hunks = tuple(seen.hunks)
        ledger.agent_edit(before, changes, after, seen.author)
        length = len(after)
        for step in changes_as_steps(diff(str(after), str(now))):
            length += step.growth
            ledger.user_edit(step, length, lambda: now)
        tracked.hunks_when_clean = None
        seen.session.touch(uri, *lines_changed(before, changes))
        self._state.ledgers.moved(reviewed)

    async def is_known(self, uri: DocumentUri, on_disk: Resolved | Missing) -> bool:
        """Whether the file's current content came through us or the editor, or was already entered as an agent's."""
        found = None if isinstance(on_disk, Missing) else await self._state.storage.read(on_disk)
        if isinstance(found, Refusal):
            return False
        now = None if found is None else normal(found.text)
        if now is not None and self._state.documents.disk.is_ours(uri, now):
            return True
        return uri in self._noted and self._noted[uri] == now

    def tell(self, level: Level, words: str) -> None:
        self._editor.show(level, words)

    # Files that are not open

    async def look(self, session: Session, uri: DocumentUri, named: Named) -> str:
        """Whether a file that a tool call named has changed, and how. In words, why it cannot be taken back; "" else."""
        state = self._state
        stat = state.storage.stat(named.path)
        if stat == named.stat and not (stat is None and named.text is not None):
            return ""
        ticket = state.queues.take("", named.path, state.storage.order_key, "write")
        try:
            if await ticket.turn(WAIT_SECONDS):  # what is being written now is seen by the next look
                return await self._look(session, uri, named)
            return ""
        finally:
            ticket.release()

    async def _look(self, session: Session, uri: DocumentUri, named: Named) -> str:
        state = self._state
        place = locate(state.storage, state.documents, session.roots, named.path, "read")
        if isinstance(place, Refusal):
            return ""
        with place:
            if place.tracked is not None:
                return ""  # the reconciler's
            gone = isinstance(place.on_disk, Missing)
            found = None if isinstance(place.on_disk, Missing) else await state.storage.read(place.on_disk)
            stat = None if isinstance(place.on_disk, Missing) else place.on_disk.stat
        why = named.why or ("" if gone or isinstance(found, Decoded) else "it is not text")
        before, named.stat = named.text, stat
        if why:
            if not named.quiet and (not named.why or not gone):
                words = f"{shorten(escape(named.path), 300)} was changed by {session.agent} and cannot be taken back: {why}."
                self._editor.show("warning", words)
            named.why = ""
            named.text = found.text if isinstance(found, Decoded) else None
            return why
        now = found.text if isinstance(found, Decoded) else None
        if isinstance(found, Decoded):
            named.encoding, named.bom = found.encoding, found.bom
        named.text = now
        ours = now is not None and state.documents.disk.is_ours(uri, normal(now))
        if ours and (before is None or normal(before) != normal(now or "")):
            return ""  # through us, or through the editor
        if now != before:
            await self._note(session, uri, named, before, now)
        return ""

    async def _note(
        self, session: Session, uri: DocumentUri, named: Named, before: str | None, now: str | None
    ) -> None:
        author = await self._recorder.begin(
            session, named.path, before, now, "disk", named.encoding, named.bom, call=named.call
        )
        if isinstance(author, Refusal):
            self._editor.show("warning", author.message)
            return
        self._noted[uri] = None if now is None else normal(now)
        self._noted.move_to_end(uri)
        if len(self._noted) > MAX_NOTED:
            self._noted.popitem(last=False)
        if now is None:
            session.touch(uri, 0, (before or "").count("\n"))
            if not named.quiet:
                words = f"{shorten(escape(named.path), 300)} was removed by {session.agent}; `acp-sidecar revert` restores it."
                self._editor.show("info", words)
        else:
            self._state.documents.disk.seen(uri, normal(now))
            old = before or ""
            changes = diff(old, now) if old else ChangeSet.of(0, (Edit(0, 0, now),) if now else ())
            self._recorder.disk_edit(session, uri, author, old, changes)
        await self._recorder.finish(author, "done")


def _without(changes: ChangeSet, now: Normal, before: str) -> str:
    """The raw text before `changes` led from `before` to `now` (both in the compared form)."""
    back = now.changes_in_raw(changes.invert(before))
    return back.apply(now.raw)
