"""Keeper: stores ledgers in the journal, so that they survive the editor and the sidecar.

When hunks appear, disappear or are reviewed, the document's ledger is stored with the text that contains its hunks. When the document is opened again,
even after a crash, the ledger is restored and brought up to the editor's current text. Ledgers of files in the workspace's folders that are not open are
restored when the sidecar starts, and brought up to the text on the disk. If one of the file's writes led to the text, the hunks are those that the
journal tells (core/retold.py). Any other difference between two texts is the user's. Beside the review of a document with unsaved work, that of its file is
stored: the document goes on from the one, and the file from the other, because the next editor may not have kept that work, or the user may throw it away.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import anyio

from sidecar.core.diff import diff
from sidecar.core.hunk import writes_of
from sidecar.core.kept_hunks import AsJson, from_json_of_file
from sidecar.core.ledger import Hunk, Ledger
from sidecar.core.merge import Merged, merge
from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.retold import Told, led_to, retold
from sidecar.core.taken_back import has_change
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path, to_path
from sidecar.disk import Missing, Resolved
from sidecar.workspace.edits.moved_back import moved_back
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.in_steps import in_steps
from sidecar.workspace.ports.ports import Editor, Journal
from sidecar.workspace.ports.side_by_side import side_by_side
from sidecar.workspace.state.hunks_then import Noted
from sidecar.workspace.state.ledgers import Reviewed
from sidecar.workspace.state.state import State
from sidecar.workspace.state.tracked import Tracked

log = logging.getLogger(__name__)


_NEWEST = 32
"""The number of a file's newest writes that are looked for in a text to which none of them led."""
_MOST = 4_000_000
"""Code points of that text with which they are compared in all. A large text is compared with fewer of them, and with one at least: comparing texts that
have little in common takes about a second per million."""


class _Kept(NamedTuple):
    text: str
    hunks: Sequence[Hunk]
    undone: Container[str]
    """The writes that the command line has taken back since."""
    is_gone: bool = False
    """The file was not there, or no text: `text` is its last one."""
    in_file: _Kept | None = None
    """The review of the file, if this is that of a document with unsaved work."""

    @property
    def of_file(self) -> _Kept:
        return self.in_file or self


class Keeper:
    """Stores changed ledgers, one document at a time and only in their newest state."""

    def __init__(self, state: State, journal: Journal, editor: Editor, tasks: Background) -> None:
        self._state = state
        self._journal = journal
        self._editor = editor
        self._tasks = tasks
        self._moved: dict[DocumentUri, Reviewed] = {}
        self._held: set[DocumentUri] = set()
        self._of_files: set[DocumentUri] = set()
        """The documents of which the review of their file is stored, too (see `_in_file`)."""
        self._stored_as: dict[DocumentUri, tuple[_Kept, Sequence[Hunk]]] = {}
        """The reviews of files that say something else than what was stored: as they were stored, and with which hunks they were restored."""
        self._storing = False
        self._stored = anyio.Event()
        state.ledgers.on_moved.append(self.moved)

    def moved(self, reviewed: Reviewed) -> None:
        """Store this document's ledger soon: its hunks appeared, disappeared or were reviewed."""
        self._moved[reviewed.uri] = reviewed
        if not self._storing:
            self._storing = True
            self._stored = anyio.Event()
            self._tasks.start_soon(self._store)

    def hold(self, uri: DocumentUri) -> None:
        """Until `let_go`, keep the stored review as it is. The editor has taken over from the disk that the file is empty, and a command is about to
        fill it; if the sidecar ends now, the next one needs the review from before."""
        self._held.add(uri)

    def let_go(self, uri: DocumentUri) -> None:
        """The document's text is now known to be the text that its file should have. Ends a `hold`."""
        reviewed = self._state.ledgers.get(uri)
        if uri in self._held | self._of_files and reviewed is not None:
            self.moved(reviewed)
        self._held.discard(uri)
        self._of_files.discard(uri)

    async def restore(self, tracked: Tracked) -> None:
        """Restore the stored ledger of a document that was opened, if there is one. It is active when this returns."""
        await self._restore(tracked)
        reviewed = self._state.ledgers.get(tracked.document.uri)
        if reviewed is not None and reviewed.live and not tracked.is_clean():
            await self._still_made(writes_of(reviewed.ledger.hunks))

    async def _still_made(self, writes: Collection[str]) -> None:
        """These writes are under review in a document with unsaved work. The command line may have taken them back, but only in the file: once the
        document is saved, the file has them again. So they do not count as taken back any longer."""
        undone = await self._journal.undone(writes)
        again = [write for write in writes if write in undone]
        if again:
            await self._journal.finish_all(again, "done")

    async def _restore(self, tracked: Tracked) -> None:
        uri = tracked.document.uri
        known, then = self._state.ledgers.get(uri), tracked.review_when_opened
        if known is not None:
            if then is not None:
                self._note_file(tracked, _Kept(then.text, then.hunks, ()))
                self.moved(known)
            await self.as_told(known)
            kept = self._more_in_what_was_stored(tracked, known)
        else:
            kept = await self._kept(uri) or await self._brought_back(tracked)
        told = None if tracked.is_clean() else await self._kept_unsaved(tracked, kept)
        if told is not None:
            if kept is not None:
                self._note_file(tracked, kept)
            elif known is not None and not _has_more(told, known, tracked.document.snapshot()):
                return
            kept = told
        way = None
        if kept is not None and tracked.is_clean():
            kept, way = await self._of_file(uri, kept, tracked.document.snapshot())
        if kept is None or self._state.ledgers.get(uri) is not known:
            return
        if tracked.closed:
            return await self._restore_closed(uri)
        if tracked.document.desynchronised is not None:
            return
        if not tracked.is_clean():
            self._note_file(tracked, kept)
            # The editor may have kept what the command line took back in the file
            kept = kept._replace(undone=())
        reviewed = self._restored(uri, kept)
        if reviewed is not None:
            _goes_by(reviewed, way)
            reviewed.opened(tracked.document.snapshot())
            self.moved(reviewed)
            await self.as_told(reviewed)

    def _more_in_what_was_stored(self, tracked: Tracked, known: Reviewed) -> _Kept | None:
        """An editor that has kept unsaved text goes on from the text that was stored, not from its file's. Returns the review as it was stored, if the
        document says that text, or if by that all is under review that is now, and more. None otherwise, and if anything was done in it since it was
        restored."""
        stored, hunks = self._stored_as.pop(known.uri, (None, ()))
        then, is_synchronised = tracked.review_when_opened, tracked.document.desynchronised is None
        if (
            stored is None
            or tracked.is_clean()
            or not is_synchronised
            or then is None
            or then.hunks != tuple(hunks)
        ):
            return None
        if tracked.document.snapshot().says(stored.text):
            return stored
        tried = Reviewed(known.uri, Text.of(stored.text), Ledger(stored.hunks))
        if stored.is_gone:
            tried.gone()
        tried.opened(tracked.document.snapshot())
        there, found = (
            {(hunk.id, hunk.said) for hunk in reviewed.ledger.hunks} for reviewed in (known, tried)
        )
        return stored if there < found else None

    def _note_file(self, tracked: Tracked, kept: _Kept) -> None:
        """If this is the review of what the file of a document with unsaved work says, or said last, it comes back when that is thrown away."""
        file, said = kept.of_file, tracked.said
        noted = Noted(Text.of(file.text), tuple(file.hunks), -1)
        is_gone = said is None and tracked.stat is None
        is_files = is_gone or (said is not None and said.is_said_by(noted.text))
        if is_files and noted.fits and tracked.hunks_then.file is None and not tracked.is_clean():
            tracked.hunks_then.restored(noted)

    async def restore_all(self, folders: Sequence[str]) -> list[tuple[str, list[str]]]:
        """Restore the ledgers of files beneath `folders` (absolute paths) that are not open, and note which folders were made for files. The ledgers of
        files that are no text now wait until they are text again. Returns the paths of the files that are gone, each with the writes (the journal's ids)
        in it that the command line has taken back."""
        gone: list[tuple[str, list[str]]] = []
        if not folders:
            return gone
        storage = self._state.storage
        roots = storage.roots(folders)
        if isinstance(roots, Refusal):
            return gone
        with roots:
            made = await self._journal.folders_under_review()
            self._state.made_folders.update(folder for folder in made if roots.match(folder))
            async for uri in in_steps(map(DocumentUri, await self._journal.ledger_uris())):
                path, reviewed = to_path(uri), self._state.ledgers.get(uri)
                is_known = self._is_known(uri)
                is_empty = reviewed is not None and not (reviewed.live or reviewed.ledger.hunks)
                if path is None or (is_known and not is_empty):
                    continue
                file = storage.resolve(roots, path, "read")
                if isinstance(file, Missing):
                    gone.append((path, [] if is_known else await self._restore_gone(uri)))
                elif isinstance(file, Resolved):
                    with file:
                        if not is_known:
                            await self._restore_from(uri, file)
                        elif reviewed is not None and not reviewed.is_gone:
                            await self._comes_back(reviewed, path, file)
        return gone

    async def _restore_closed(self, uri: DocumentUri) -> None:
        """Restore the ledger of a document that was closed before its ledger was active again."""
        path = to_path(uri)
        roots = None if path is None else self._state.storage.roots([os.path.dirname(path)])
        if path is None or roots is None or isinstance(roots, Refusal):
            return
        with roots:
            file = self._state.storage.resolve(roots, path, "read")
            if isinstance(file, Resolved):
                with file:
                    await self._restore_from(uri, file)

    async def _restore_from(self, uri: DocumentUri, file: Resolved) -> None:
        self._stored_as.pop(uri, None)
        stored = kept = await self._kept(uri)
        decoded = await self._state.storage.read(file)
        way = None
        if kept is not None and not isinstance(decoded, Refusal):
            kept, way = await self._of_file(uri, kept, Text.of(decoded.text))
        if stored is None or kept is None or self._is_known(uri):
            return
        reviewed = self._restored(uri, kept)
        if reviewed is not None and isinstance(decoded, Refusal):
            await self._waits(reviewed)  # an agent made something of it that is no text
        elif reviewed is not None and not isinstance(decoded, Refusal):
            _goes_by(reviewed, way)
            reviewed.seen(Text.of(decoded.text))
            self.moved(reviewed)
            await self.as_told(reviewed)
            if decoded.text != stored.text:
                self._stored_as[uri] = stored, reviewed.ledger.hunks

    async def _comes_back(self, reviewed: Reviewed, path: str, file: Resolved) -> None:
        """A review is stored for a closed file in which nothing is under review here: the command line has brought work back, or another sidecar has
        stored it. But it may be older than a decision of the user's. So only its text counts, as one that the file has had meanwhile. What is under
        review in that text is what the journal tells, which knows the decisions."""
        uri, text = reviewed.uri, reviewed.text
        kept = await self._kept(uri)
        kept = kept and kept.of_file
        if kept is None or not kept.hunks or kept.is_gone or kept.text == str(text):
            return
        raw, writes = kept.text, await self._journal.told(path, kept.text)
        told = await aside(len(raw), lambda: retold(writes, raw))
        decoded = await self._state.storage.read(file)
        if not told or isinstance(decoded, Refusal) or self._state.ledgers.get(uri) is not reviewed:
            return
        if reviewed.live or reviewed.text is not text or reviewed.ledger.hunks:
            return  # it was opened, or more became known of it meanwhile
        _goes_by(reviewed, _Kept(raw, told, ()))
        reviewed.seen(Text.of(decoded.text))
        if reviewed.ledger.hunks:
            self._state.ledgers.moved(reviewed)
        await self.as_told(reviewed)

    async def as_told(self, reviewed: Reviewed) -> None:
        """If the ledger was brought up to its text by a guess, and the journal knows a write that led to that text, use the hunks that the journal
        tells."""
        path, text, hunks = to_path(reviewed.uri), reviewed.guessed, reviewed.ledger.hunks
        reviewed.guessed = None
        if text is None or path is None or self.text_of(reviewed) != text:
            return
        raw = await aside(len(text), lambda: str(text))
        writes = await self._journal.told(path, raw)
        told = await aside(len(text), lambda: retold(writes, raw))
        if told is None or self.text_of(reviewed) != text or reviewed.ledger.hunks != hunks:
            return  # the journal tells nothing of it, or it was edited or reviewed meanwhile
        if reviewed.ledger.told(told):
            self._state.ledgers.moved(reviewed)

    async def _brought_back(self, tracked: Tracked) -> _Kept | None:
        """The review of a document for which nothing is stored, because the sidecar ended before. Either somebody has just taken work back, so that
        others' work is there again, or an agent has just written the document, and the editor has kept the change unsaved."""
        path, now = to_path(tracked.document.uri), tracked.document.snapshot()
        if path is None:
            return None
        text, compared = await aside(len(now), lambda: (raw := str(now), normal(raw)))
        if tracked.is_clean() and not await self._journal.put_back(path, compared):
            return None
        hunks = retold(await self._journal.told(path, text), text)
        return _Kept(text, hunks, ()) if hunks else None

    async def _kept_unsaved(self, tracked: Tracked, stored: _Kept | None) -> _Kept | None:
        """The review of a document that an editor kept unsaved, with what an agent had written, while the file's text became another: the agent wrote on,
        the command line took its work back, or the file went. The user has typed in it since: no write led to its text. None if nothing better is known
        than what was `stored`."""
        path, now = to_path(tracked.document.uri), tracked.document.snapshot()
        if path is None or (stored is not None and now.says(stored.text)):
            return None
        writes = await self._journal.told(path)
        size = len(now) * _looked_for(len(writes), len(now))
        return await aside(size, lambda: _kept_in(writes, str(now), stored)) if writes else None

    async def _of_file(self, uri: DocumentUri, stored: _Kept, now: Text) -> tuple[_Kept, _Kept | None]:
        """The review from which the file goes on, which has the text `now`; and that of a text by which it came there, if that is known (see `_way`).
        What was unsaved may have been saved right before the sidecar ended: of the two texts, the file goes on from that which is nearer to what it says."""
        file = stored.in_file
        if file is None:
            return stored, await self._way(uri, stored, now)
        both = (file.text, stored.text)
        apart, apart_unsaved = await aside(len(now), lambda: [_difference(one, str(now)) for one in both])
        return stored if apart_unsaved < apart else file, None

    async def _way(self, uri: DocumentUri, stored: _Kept, now: Text) -> _Kept | None:
        """The review of the text from which the file came to the text `now`, if that is older than what was `stored`: an editor had that unsaved, and it
        was thrown away. None if nothing like that is known."""
        path = to_path(uri)
        if path is None or not stored.hunks or now.says(stored.text):
            return None
        writes = await self._journal.told(path)
        size = len(now) * _looked_for(len(writes), len(now))
        return await aside(size, lambda: _way_to(writes, str(now), stored.text)) if writes else None

    async def _restore_gone(self, uri: DocumentUri) -> list[str]:
        """Restore the review of a file that is not there. It belongs to the file's old name if the file was moved back; otherwise it waits until the
        file comes back. Returns the writes that the command line has taken back in it."""
        kept = await self._kept(uri)
        stored, kept = kept, kept and kept.of_file
        if kept is None or not kept.hunks:  # perhaps only its removal is under review
            return []
        reviewed = Reviewed(uri, Text.of(kept.text), Ledger(kept.hunks))
        reviewed.taken_back(kept.undone)
        old = await moved_back(self._state, self._journal, uri, str(reviewed.text), writes_of(kept.hunks))
        if self._is_known(uri) or (old is not None and self._is_known(old)):
            return []
        if old is None:
            restored = self._restored(uri, kept)
            if restored is not None and stored is not None and stored is not kept:
                restored.gone()  # what is stored stays so: an editor may have the unsaved text, whenever the file comes back
                self._stored_as[uri] = stored, ()
            elif restored is not None:
                await self._waits(restored)
        elif restored := self._restored(old, kept._replace(is_gone=False)):
            self.moved(restored)
            await self._store_one(restored)
            await self._journal.forget_ledger(uri)
        return [write for write in writes_of(kept.hunks) if write in kept.undone]

    async def found_out(self, paths: Sequence[str]) -> None:
        """Forget the stored ledgers of these files that have no hunks: that the files are gone is under review now."""
        for uri in map(from_path, paths):
            kept = await self._kept(uri)
            if kept is not None and not kept.hunks:
                await self._journal.forget_ledger(uri)

    async def store(self, uris: Iterable[DocumentUri]) -> None:
        """Store the ledgers of these documents at once, if anything is under review in them."""
        for uri in uris:
            reviewed = self._state.ledgers.get(uri)
            if reviewed is not None and not self._is_held(reviewed):
                await self._store_one(reviewed)

    async def stored(self) -> None:
        """Wait until the journal has everything that moved."""
        while self._storing:
            await self._stored.wait()

    async def renew(self, folders: Sequence[str]) -> None:
        """For a workspace without an editor: forget what it knows and restore what the journal has, because another process may have changed or
        reviewed these files meanwhile."""
        await self.stored()
        for reviewed in self._state.ledgers:
            self._state.ledgers.forget(reviewed.uri)
        await self.restore_all(folders)

    def _is_known(self, uri: DocumentUri) -> bool:
        """Whether the file has a ledger here, or is open. An open document restores its own ledger."""
        return self._state.ledgers.get(uri) is not None or self._state.documents.get(uri) is not None

    async def _kept(self, uri: DocumentUri) -> _Kept | None:
        """The review of a document as the journal has it; None if there is none or it cannot be read."""
        kept = await self._read(uri, await self._journal.load_ledger(uri))
        in_file = await self._read(uri, await self._journal.load_ledger_in_file(uri))
        return kept and kept._replace(in_file=in_file)

    async def _read(self, uri: DocumentUri, kept: tuple[str, bytes] | None) -> _Kept | None:
        try:
            found = None if kept is None else from_json_of_file(kept[1])
        except (ValueError, KeyError, TypeError) as error:
            log.error("the review of %s cannot be restored: %s", uri, error)
            return None
        if kept is None or found is None:
            return None
        hunks, is_gone = found
        return _Kept(kept[0], hunks, await self._journal.undone(writes_of(hunks)), is_gone)

    def _restored(self, uri: DocumentUri, kept: _Kept) -> Reviewed | None:
        text, found = kept.text, kept.hunks
        if any(text[h.start : h.end] != h.said for h in found):
            log.error("the review of %s does not fit its text; it is dropped", uri)
            return None
        reviewed = self._state.ledgers.restore(uri, text, found)
        reviewed.taken_back(kept.undone)
        if kept.is_gone:
            reviewed.gone()
        return reviewed

    async def _waits(self, restored: Reviewed) -> None:
        """The file is gone: what was under review in its text waits until that comes back."""
        if not restored.is_gone:
            restored.gone()
            await self._store_one(restored)

    async def _store(self) -> None:
        await anyio.lowlevel.checkpoint()  # changes at the same moment are stored and shown together
        try:
            while self._moved:
                moved, self._moved = self._moved, {}
                self._editor.changes_moved([r.uri for r in moved.values()])
                stored = {uri: r for uri, r in moved.items() if not self._is_held(r)}
                await side_by_side(stored.values(), self._store_one, lambda one: len(self.text_of(one)))
                # Last: what moved with a renamed file is in the journal at all times, under one name or both
                done = [u for u, r in stored.items() if _is_done(r) and not self._is_in_file(r)]
                if done:
                    await self._journal.forget_ledger(*done)
        finally:
            self._storing = False
            self._stored.set()

    def _is_held(self, reviewed: Reviewed) -> bool:
        return reviewed.live and reviewed.uri in self._held

    async def _store_one(self, reviewed: Reviewed) -> None:
        hunks = reviewed.ledger.hunks
        file = self._in_file(reviewed)
        if file is not None:
            self._of_files.add(reviewed.uri)
        in_file = None if file is None else (file.text, AsJson(file.hunks))
        if hunks:
            await self._journal.save_ledger(reviewed.uri, self.text_of(reviewed), AsJson(hunks), in_file)
        elif (last := reviewed.last) is not None and last[1]:
            await self._journal.save_ledger(reviewed.uri, last[0], AsJson(last[1], is_gone=True))
        elif in_file is not None and file is not None and file.hunks:
            await self._journal.save_ledger(reviewed.uri, *in_file)

    def _in_file(self, reviewed: Reviewed) -> Noted | None:
        """What is under review in the file of a document with unsaved work; None if there is no such work, or the file's text is not known."""
        tracked = self._state.documents.get(reviewed.uri)
        file = None if tracked is None or not reviewed.live else tracked.hunks_then.file
        if tracked is None or file is None or tracked.is_clean():
            return None
        return replace(file, hunks=reviewed.ledger.unkept(file.hunks))

    def _is_in_file(self, reviewed: Reviewed) -> bool:
        file = self._in_file(reviewed)
        return file is not None and bool(file.hunks)

    def text_of(self, reviewed: Reviewed) -> Text:
        """The text that contains the hunks now. The ledger learns of changes during an edit of ours only after the edit."""
        tracked = self._state.documents.get(reviewed.uri)
        if tracked is None or not reviewed.live:
            return reviewed.text
        return tracked.settled_text()


def _kept_in(writes: Sequence[Told], text: str, stored: _Kept | None) -> _Kept | None:
    """The review of `text` (raw) by the newest of these writes (oldest first) that is in it. None if one led to the text itself, or if the text does not
    have all that leads from what was `stored` to what that write left: it goes on from what was stored."""
    if led_to(writes, text) is not None:
        return None
    newest = list(_with_starts(writes))[: -_looked_for(len(writes), len(text)) - 1 : -1]
    after = next((w.after for w, before in newest if has_change(text, (before, w.after))), None)
    if after is None or (stored is not None and not _leads_over(stored.text, after, text)):
        return None
    hunks = retold(writes, after)
    return _Kept(after, hunks, ()) if hunks else None


def _way_to(writes: Sequence[Told], text: str, stored: str) -> _Kept | None:
    """The review of the text that is on the way back from what was `stored` to `text` (raw), and nearest to it, of those that the writes (oldest first)
    found or left. None if one of them led to the text itself, or none is on the way."""
    if led_to(writes, text) is not None:
        return None
    now = stored
    for one in _back(writes, len(text)):
        if _leads_over(now, one, text):
            now = one
    hunks = None if now == stored else retold(writes, now)
    return None if hunks is None else _Kept(now, hunks, ())


def _looked_for(writes: int, length: int) -> int:
    """How many of that number of writes are looked for in a text of that many code points."""
    return min(writes, _NEWEST, max(1, _MOST // max(1, length)))


def _back(writes: Sequence[Told], length: int) -> Iterator[str]:
    """What the newest of these writes (oldest first) left and found, newest first: all that may have been unsaved, and the last that was not. `length`: of
    the text with which they are compared."""
    last: str | None = None
    for write in writes[: -_looked_for(len(writes), length) - 1 : -1]:
        for text in (write.after, write.before if write.in_editor else None):
            if text is not None and text != last:
                yield text
            last = text
        if not write.in_editor:
            return


def _goes_by(reviewed: Reviewed, way: _Kept | None) -> None:
    """The file, which is not open, had this text and review before it came to the text that it has now."""
    if way is None:
        return
    reviewed.seen(Text.of(way.text))
    if reviewed.guessed is not None:
        reviewed.guessed = None
        reviewed.ledger.told(way.hunks)


def _difference(one: str, other: str) -> int:
    """How much lies between two texts (raw): the number of code points that a change from the one to the other removes and adds."""
    return sum(edit.end - edit.start + len(edit.new) for edit in diff(normal(one), normal(other)).edits)


def _leads_over(first: str, second: str, text: str) -> bool:
    """Whether `text` has all that leads from `first` to `second`: line ends, too."""
    merged = merge(first, text, second)
    return first != second and isinstance(merged, Merged) and merged.changes.is_empty


def _has_more(kept: _Kept, known: Reviewed, now: Text) -> bool:
    """Whether anything is under review in `now` by what was kept that is not by what is `known`."""
    there = known.ledger.hunks
    if not there or not writes_of(kept.hunks) <= writes_of(there):
        return True
    tried = Reviewed(known.uri, Text.of(kept.text), Ledger(kept.hunks))
    tried.opened(now)
    parts, found = ({(h.start, h.end, h.said, h.was) for h in some} for some in (there, tried.ledger.hunks))
    return parts < found


def _with_starts(writes: Sequence[Told]) -> Iterator[tuple[Told, str | None]]:
    """Each write with the text that it changed. Whoever creates a removed file again continues from its last text."""
    last: str | None = None
    for write in writes:
        yield write, last if write.before is None else write.before
        last = write.after or write.before or last


def _is_done(reviewed: Reviewed) -> bool:
    """Whether nothing is left to review, also in the text of a file that is gone: that may be on another branch."""
    return not (reviewed.ledger.hunks or (reviewed.last or ("", ()))[1])
