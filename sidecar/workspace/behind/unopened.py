"""Unopened: journals changes of files that are not open, and puts them under review. A file is compared with what it is
known to have said (known_before.py), through the texts that it had between acts (glimpses.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sidecar.core.escape import escape, shorten
from sidecar.core.file_state import FileState
from sidecar.core.ledger import Author
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path
from sidecar.disk import Decoded, Missing, Stat, decode
from sidecar.disk.states import text_of
from sidecar.workspace.behind.accounts import Accounts
from sidecar.workspace.behind.entering import Entering
from sidecar.workspace.behind.evidence import NamedFile
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.behind.glimpses import Glimpse, Glimpses, link_at, whole_changed_at
from sidecar.workspace.behind.gone_with import GoneWith
from sidecar.workspace.behind.known_before import KnownBefore, Then
from sidecar.workspace.behind.legs import changes_of, raw_before
from sidecar.workspace.behind.renames import Renames
from sidecar.workspace.behind.settling import Settling
from sidecar.workspace.behind.turn_starts import Changed, TurnStarts
from sidecar.workspace.behind.whole_files import WholeFiles, shown
from sidecar.workspace.behind.whose import Part, Whose
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.state.acts import changed_at
from sidecar.workspace.state.places import locate
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State

WAIT_SECONDS = 2.0
"""How long a look at a file waits for a write of it that is under way."""
Filled = Callable[[DocumentUri, "str | None", "str | None"], bool]
"""Whether a file that said the first text and now says the second (None: no file, or no text) is about to be filled by
a command; see `Behind.is_being_filled`."""


class Unopened:
    """One per workspace. It looks only when it is called."""

    def __init__(
        self,
        state: State,
        editor: Editor,
        recorder: Recorder,
        starts: TurnStarts,
        whose: Whose,
        files: FileReviews,
        accounts: Accounts,
        glimpses: Glimpses,
        known: KnownBefore,
        gone_with: GoneWith,
        entering: Entering,
        is_being_filled: Filled,
        settling: Settling,
    ) -> None:
        self._state = state
        self._editor = editor
        self._recorder = recorder
        self._starts = starts
        self._whose = whose
        self._files = files
        self._accounts = accounts
        self._glimpses = glimpses
        self._known = known
        self._gone_with = gone_with
        self._entering = entering
        self._is_being_filled = is_being_filled
        self._settling = settling
        self._one_at_a_time = settling.one_at_a_time
        self._whole = WholeFiles(state, editor, recorder, whose, files, glimpses)
        self._renames = Renames(state, editor, recorder, starts, whose, files, accounts)
        self.left: dict[tuple[str, int], dict[str, str]] = {}
        """By session and turn: files that changed in it and cannot be taken back, and why."""
        self.untold: dict[tuple[str, int], dict[str, str]] = {}
        """The same for files of which the user is told at the end of the turn, in one message."""

    def made(self) -> list[str]:
        """The files (canonical) that agents made and nobody has reviewed."""
        return self._whole.made()

    async def whole_rows(self, session: Session, rows: Sequence[Changed]) -> list[Changed]:
        """Enters those of the changes that are not changes of texts. Returns the others, which are to be looked at."""
        return await self._renames.rows(session, await self._whole.rows(rows))

    async def look(
        self,
        session: Session,
        path: str,
        named: NamedFile | None = None,
        row: Changed | None = None,
        *,
        last: bool = False,
    ) -> str:
        """Finds out whether and how a file changed and who changed it, and records that. Returns why the change cannot
        be taken back, in words; else empty.

        `named`: the file as a call of the session named it. `row`: what is known of it from the turn's start. `last`:
        it is not looked at again.
        """
        state = self._state
        if row is None and named is not None and path not in self._glimpses:
            stat = state.storage.stat(named.path)
            if stat == named.stat and not (stat is None and named.text is not None) and link_at(path) is None:
                return ""
        if row is None:
            self._starts.asks_soon(session.id, path)
        await self._settling.until_open_again(from_path(path))
        ticket = state.queues.take("", path, state.storage.name_key, "write")
        try:
            if not await ticket.turn(WAIT_SECONDS):
                return ""  # the next look sees what is being written now
            target = link_at(path)
            if target is not None:
                uri = from_path(path)
                return await self.look_at(
                    session, uri, path, None, None, None, named, row, last=last, link=target
                )
            place = locate(state.storage, state.documents, session.roots, path, "read")
            if isinstance(place, Refusal):
                return ""
            with place:
                uri = place.uri
                on_disk = place.on_disk
                is_open = place.tracked is not None
                stat = None if isinstance(on_disk, Missing) else on_disk.stat
                mode = None if isinstance(on_disk, Missing) else on_disk.mode
                data = None if isinstance(on_disk, Missing) else await state.storage.read_bytes(on_disk)
                path = place.path
            is_bytes = isinstance(data, bytes) and not isinstance(decode(data), Decoded)
            if is_open and stat is not None and not is_bytes:
                return ""  # left to the reconciler
            return await self.look_at(session, uri, path, stat, mode, data, named, row, last=last)
        finally:
            ticket.release()

    async def opened_empty(self, session: Session, uri: DocumentUri, path: str) -> None:
        """The file was empty when its document was opened. Enters that somebody created it, which is no change of the
        document's text."""
        async with self._entering.one_at_a_time(uri):
            stat, now = self._state.storage.stat(path), await self._files.found(path)
            if stat is None or not isinstance(now, FileState) or now.data or now.is_link:
                return  # it has changed since
            seen = Glimpse(stat, now.mode, now.data, changed_at(stat))
            then = await self._known.last(session, uri, path, None, None)
            if then is not None and then.text is None and then.state is None and not then.why:
                await self._look(session, uri, path, None, None, seen, last=True)

    async def look_at(
        self,
        session: Session,
        uri: DocumentUri,
        path: str,
        stat: Stat | None,
        mode: int | None,
        data: bytes | Refusal | None,
        named: NamedFile | None = None,
        row: Changed | None = None,
        *,
        last: bool,
        link: str | None = None,
    ) -> str:
        """As `look`, for a caller that holds the file's place in the queue and has read it: `stat`, `mode` and `data`;
        None: there is no file, but perhaps a `link`, with this target."""
        at = whole_changed_at(path) if stat is None else changed_at(stat)
        async with self._one_at_a_time(uri):
            left: list[Glimpse] = []
            while glimpses := self._glimpses.pop(path):  # others may come while these are recorded
                for seen in glimpses:
                    if self._is_open_without(uri, seen):
                        left.append(seen)
                    elif not self._accounts.has_newer(uri, seen.at):
                        await self._look(session, uri, path, None, row, seen, last=False, left=left)
            self._glimpses.are_left(path, left)
            if not last and (
                self._state.storage.stat(path) != stat if link is None else link_at(path) != link
            ):
                if named is not None:
                    named.stat = stat
                return ""  # it has changed since; the next look sees that
            seen = Glimpse(stat, mode, data, at, link)
            return await self._look(session, uri, path, named, row, seen, last=last, left=left)

    def _is_open_without(self, uri: DocumentUri, seen: Glimpse) -> bool:
        """Whether the file is open in a document that never had that text of its: it is no part of the document's review."""
        tracked = self._state.documents.get(uri)
        decoded = decode(seen.data) if tracked is not None and isinstance(seen.data, bytes) else None
        if tracked is None or not isinstance(decoded, Decoded):
            return False
        return not tracked.history.had(decoded.text, unended=self._editor.capabilities.keeps_lines)

    async def _look(
        self,
        session: Session,
        uri: DocumentUri,
        path: str,
        named: NamedFile | None,
        row: Changed | None,
        seen: Glimpse,
        *,
        last: bool,
        left: Sequence[Glimpse] = (),
    ) -> str:
        """`left`: what an open document never had of its file, before `seen`."""
        data = seen.data
        tracked = self._state.documents.get(uri)
        if tracked is not None and not seen.is_text:
            await self._gone_with.note(session, tracked, path, row, left, seen.at)
        then = await self._known.last(session, uri, path, named, row)
        if then is None:
            return ""
        decoded = decode(data) if isinstance(data, bytes) else None
        found = decoded if isinstance(decoded, Decoded) else None
        is_text = (seen.is_gone or found is not None) and (then.state is None or then.text is not None)
        now = None if found is None else found.text
        if is_text and not last and self._is_being_filled(uri, then.text, now):
            return ""
        if named is not None:
            named.stat = seen.stat
        why = then.why or (data.message if isinstance(data, Refusal) else "")
        if why:
            if seen.state is not None and found is None:
                self._files.is_now(path, seen.state)
            return self._lost(session, uri, path, named, found, why, gone=seen.is_gone)
        if not is_text or found is None or now is None or then.text is None:
            return await self._look_at_bytes(session, uri, path, then, decoded, seen)
        if now == then.text or (not then.exact and normal(now) == normal(then.text)):
            return ""
        await self._note(session, uri, path, then, found, seen)
        return ""

    def _lost(
        self,
        session: Session,
        uri: DocumentUri,
        path: str,
        named: NamedFile | None,
        found: Decoded | None,
        why: str,
        *,
        gone: bool,
    ) -> str:
        """The file changed, and what it said before is not known. Notes that, and returns why."""
        self.left.setdefault((session.id, session.turn), {})[path] = why
        self._accounts.says(uri, None if found is None else found.text, exact=True)
        if named is not None and not named.quiet and not gone:
            words = f"{shorten(escape(path), 300)} was changed by {session.agent} and cannot be taken back: {why}."
            self._editor.show("warning", words)
        elif named is None or named.quiet:
            self.untold.setdefault((session.id, session.turn), {})[path] = why
        return why

    async def _look_at_bytes(
        self,
        session: Session,
        uri: DocumentUri,
        path: str,
        then: Then,
        decoded: Decoded | Refusal | None,
        seen: Glimpse,
    ) -> str:
        """Records a file that was created or removed, or that is or was not text."""
        state, at = seen.state, seen.at
        assert not isinstance(seen.data, Refusal), "looked at before"
        is_new = (
            then.text is None and then.state is None and isinstance(decoded, Decoded) and bool(decoded.text)
        )
        if is_new and isinstance(decoded, Decoded) and not self._files.holds_bytes(path):
            await self._note(session, uri, path, then, decoded, seen)
            return ""
        before = then.state
        if before is None and then.text is not None:
            encoded = self._state.storage.encode(then.text, then.like, path)
            if isinstance(encoded, Refusal):
                return encoded.message
            before = FileState(encoded, then.mode)
        if before == state or self._files.says(path, state):
            return ""
        if (
            before is None
            and state is not None
            and seen.stat is not None
            and self._files.is_back(path, state)
        ):
            self._files.came(path)
            self._files.is_now(path, state)
            await self.was_brought_back(path, state, seen.stat)
            return ""
        if before is None:
            self._came(session, path, seen)
        start = await self._known.at_start(uri, path)
        maker = self._whole.maker(path) if state is None else None
        if state is None and (maker is None or maker.unknown):
            start = None  # somebody's file is gone, even if there was none when the turn began
        after = decoded.text if isinstance(decoded, Decoded) else shown(state)
        old = then.text if then.text is not None else shown(before)
        parts = await self._whose.parts(
            uri,
            path,
            None if old is None else normal(old),
            None if after is None else normal(after),
            at,
            start,
            was_removed=self._files.was_removed(path),
        )
        self._accounts.says(uri, decoded.text if isinstance(decoded, Decoded) else None, exact=True, at=at)
        # Text that is the user's, or as it was when the turn began, says nothing of the file's mode
        if before is None and not parts and seen.link is None:
            self._files.came(path)
        elif isinstance(decoded, Decoded) and not parts:
            self._files.is_text(path)
        else:
            self._files.is_now(path, state)
        if maker is not None and maker.unknown and parts and parts[-1].session is None:
            parts = []
        if parts:
            await self._whole.enter(path, before, state, parts[-1])
            if isinstance(decoded, Decoded) and then.text is None:
                self._begins_anew(uri, decoded.text)
        elif state is None:
            self._whole.forget(path)
        return ""

    async def _note(
        self, session: Session, uri: DocumentUri, path: str, then: Then, found: Decoded, seen: Glimpse
    ) -> None:
        """Records a changed text."""
        now, at = found.text, seen.at
        before, compared = None if then.text is None else normal(then.text), normal(now)
        line_ends = before == compared  # only the line ends changed: a change of the whole text
        if line_ends:
            before, compared = then.text, now
        if then.text is None:
            self._came(session, path, seen)
        start = await self._known.at_start(uri, path, exact=line_ends)
        was_removed = self._files.was_removed(path)
        parts = await self._whose.parts(uri, path, before, compared, at, start, was_removed=was_removed)
        if isinstance(seen.data, bytes) and self._files.is_back(
            path, FileState(seen.data, seen.mode or 0o644)
        ):
            parts = []
        self._accounts.says(uri, now, exact=True, at=at)
        gone = came = self._files.came(path, parts[0].session if parts else None)
        if not parts:
            self._is_nobodys(uri, now)
            if (
                then.text is None
                and isinstance(seen.data, bytes)
                and seen.stat is not None
                and seen.mode is not None
            ):
                await self.was_brought_back(path, FileState(seen.data, seen.mode), seen.stat)
            return
        raw = then.text if then.exact or then.text is None else raw_before(then.text, now)
        for part in parts:
            after = now if part.after == compared else raw_before(part.after or "", now)
            author = await self._entering.begin(part, path, raw, after, found.encoding, found.bom)
            if author is not None:
                if gone is not None and not raw:
                    raw, author = gone.old_text, replace(author, created=gone.before is None)
                self._enter_text(uri, part, author, raw, after)
                await self._recorder.finish(author, "done")
            raw, gone = after, None
        if raw is not None:
            self._state.documents.disk.seen(uri, normal(raw))
        if parts[-1].session is not None:
            self._whose.wrote(parts[-1].session, uri)
        was = None if came is None else came.before
        if was is not None and seen.mode is not None and was.mode != seen.mode:
            await self._whole.enter(path, was, replace(was, mode=seen.mode), parts[-1])

    def _came(self, session: Session, path: str, seen: Glimpse) -> None:
        self._state.made_folders |= self._starts.made_folders(session.id, path)
        if seen.stat is not None:
            self._starts.came(path, seen.stat)

    def _enter_text(
        self, uri: DocumentUri, part: Part, author: Author, before: str | None, after: str
    ) -> None:
        tracked = self._state.documents.get(uri)
        if tracked is not None:  # opened while this was journalled
            self._entering.enter_opened(
                tracked, part, author, None if before is None else normal(before), normal(after)
            )
            return
        self._recorder.disk_edit(part.session, uri, author, before or "", changes_of(before or "", after))

    async def was_brought_back(self, path: str, state: FileState, stat: Stat) -> None:
        """A file that did not exist when the turn began is the user's. What agents change in it, or in its mode, is
        measured from its current state."""
        self._accounts.says(from_path(path), text_of(state), exact=True, at=changed_at(stat))
        for session in list(self._state.sessions):
            if session.roots.match(path):
                await self._starts.saved(session, path, state.data, stat, state.mode)

    def _begins_anew(self, uri: DocumentUri, text: str) -> None:
        """A row has made this text where there was none. What was under review in an earlier one comes back with the row that ended that."""
        reviewed = self._state.ledgers.get(uri)
        if reviewed is not None:
            reviewed.begins_anew(Text.of(text))
            self._state.ledgers.moved(reviewed)

    def _is_nobodys(self, uri: DocumentUri, now: str) -> None:
        """The file's text is the user's, or is as it was when the turn began. What was under review in it is adjusted to that text."""
        reviewed = self._state.ledgers.get(uri)
        if reviewed is not None and not reviewed.live:
            hunks, was_gone = reviewed.ledger.hunks, reviewed.is_gone
            reviewed.seen(Text.of(now))
            if was_gone or reviewed.ledger.hunks != hunks:
                self._state.ledgers.moved(reviewed)
