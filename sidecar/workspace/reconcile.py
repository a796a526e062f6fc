"""Reconciler: what happened to an open document's file behind the editor, found by a look at the disk's stat.

Before every read or write of an open document. A file that changed is first left to the editor's own reload; what the editor
does not do by itself is done through it, so that an agent's `sed -i` followed by a read sees the new text and the
user's unsaved lines stay. When both changed the same place the buffer stays as it is and the user is told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import anyio

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.coordinates import Coordinates, TextEdit
from sidecar.core.diff import diff
from sidecar.core.final_end import keep_final_end
from sidecar.core.inflight import Phase
from sidecar.core.lineends import expand, fold
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.misapplied import taken_out
from sidecar.core.normal import Normal, normal
from sidecar.core.settle import settle
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Missing, Resolved
from sidecar.workspace.acts import changed_at
from sidecar.workspace.behind import Behind
from sidecar.workspace.conflicts import Conflicts, Open
from sidecar.workspace.documents import Tracked
from sidecar.workspace.keeper import Keeper
from sidecar.workspace.legs import Seen
from sidecar.workspace.ports import Editor, EditorGone, EditorRefused, EditorTimeout, Reloaded
from sidecar.workspace.save_history import Explained
from sidecar.workspace.sending import (
    ANSWER_SECONDS,
    MIRROR_SECONDS,
    RELOAD_SECONDS,
    Sender,
)
from sidecar.workspace.storage import OnDisk, Storage
from sidecar.workspace.watch import Watch

OBSERVE_SECONDS = 5.0
_PUT_RIGHT_SECONDS = 20.0
"""How long what a reload did to a newer text is put right. Every key that is pressed meanwhile makes the editor refuse that."""
_PEEKS = 5
"""How often a file is read again that changes while it is read."""


class Reconciler:
    """Looks at the disk beside open documents."""

    def __init__(
        self, storage: Storage, editor: Editor, sender: Sender, keeper: Keeper, conflicts: Conflicts
    ) -> None:
        self._keeper = keeper
        self._conflicts = conflicts
        self._storage = storage
        self._editor = editor
        self._sender = sender
        self._emptied: set[DocumentUri] = set()
        """Documents whose files were found empty while a command was about to fill them. The editor may have taken that from there."""
        self.behind: Behind | None = None
        """Told of every change on the disk, to find out whose it is."""

    async def opened(self, tracked: Tracked, text: Text) -> None:
        """After didOpen with `text`: was that what the disk said? A document opened after a restart may be dirty."""
        try:
            path = to_path(tracked.document.uri)
            on_disk = await self._peek(tracked, path) if path is not None else None
            if on_disk is None or tracked.closed:
                return
            opened = Normal(str(text)).text
            is_old = on_disk.text != opened and (
                tracked.was_on_disk(opened) or await self._said(tracked, path, opened)
            )
            if tracked.closed:
                return
            is_old = is_old and not tracked.saves
            if not tracked.saves:  # else what was saved is known better
                tracked.on_disk(on_disk.text, on_disk.stat)
                if is_old:  # not unsaved: the editor had it in memory, and the disk was written since
                    tracked.saved, tracked.stat = opened, None
                elif on_disk.text != opened:
                    tracked.edited = tracked.user_dirty = True
            await self._keeper.restore(tracked)
            if self.behind is not None and path is not None and not is_old:
                await self.behind.opened(tracked, path, on_disk)
        finally:
            tracked.observed.set()

    async def _said(self, tracked: Tracked, path: str | None, text: str) -> bool:
        """Whether the document's file is known to have said this before agents changed it."""
        return path is not None and self.behind is not None and await self.behind.said(tracked, path, text)

    async def edited(self, tracked: Tracked) -> None:
        """After the first edit of a clean document. The editor may have taken it from the disk, where somebody may write again before
        anybody looks; what was there for an agent to read is noted."""
        path = to_path(tracked.document.uri)
        if path is None or tracked.saved is None or self._storage.stat(path) == tracked.stat:
            return
        on_disk = await self._peek(tracked, path)
        if on_disk is not None and on_disk.text is not None and tracked.disk is not None:
            tracked.disk.seen(tracked.document.uri, on_disk.text)
            if self.behind is not None:
                self.behind.passes(tracked, on_disk.text, changed_at(on_disk.stat))
            if not on_disk.text.strip("\n") and not tracked.text().strip("\n") and self._acts():
                self._emptied.add(tracked.document.uri)

    def _acts(self) -> bool:
        return self.behind is not None and self.behind.is_acting()

    async def saved(self, tracked: Tracked, text: Text) -> Text:
        """After didSave, with `text`: looks which of the document's texts was saved, and gives it; `text` where somebody wrote the file since
        (then the next look sees that)."""
        tracked.apart = False
        self._conflicts.ended(tracked, "saved")
        path = to_path(tracked.document.uri)
        saves = tracked.saves
        on_disk = await self._peek(tracked, path) if path is not None else None
        if on_disk is None or tracked.closed or tracked.saves != saves:
            return text  # or saved again meanwhile
        found = self._explained(tracked, on_disk)
        if found is not None and found[1] == "saved" and self.behind is not None and path is not None:
            await self.behind.saved_over(tracked, path, on_disk.text or "")
            if tracked.closed or tracked.saves != saves:
                return text
        if self._is_save(tracked, on_disk):
            return Text.of(on_disk.text or "")
        tracked.stat = None
        return text

    def _is_save(self, tracked: Tracked, on_disk: OnDisk) -> bool:
        """Whether what the disk says is a save that was told, or that we had the editor make; what is noted of the document is then put
        right."""
        found = self._explained(tracked, on_disk)
        if found is None or not (found[1] == "saved" or tracked.was_saved(on_disk.text or "")):
            return False
        tracked.on_disk_is(found[0], on_disk.text or "", on_disk.stat, by_editor=True)
        return True

    def _explained(self, tracked: Tracked, on_disk: OnDisk) -> tuple[int, Explained] | None:
        if on_disk.text is None:
            return None
        return tracked.history.explains(on_disk.text, unended=self._editor.capabilities.keeps_lines)

    async def _peek(self, tracked: Tracked, path: str) -> OnDisk | None:
        """What the disk says, as the editor would hold it."""
        on_disk = await self._storage.peek(path)
        for _ in range(_PEEKS):
            if on_disk is None or self._storage.stat(path) == on_disk.stat:
                break
            on_disk = await self._storage.peek(path)  # it is outdated, and a save noted meanwhile newer
        keeps_lines = self._editor.capabilities.keeps_lines
        if on_disk is not None and on_disk.data is not None:
            on_disk = replace(on_disk, text=tracked.history.decode(on_disk.data, unended=keeps_lines))
        if on_disk is None or not keeps_lines:
            return on_disk
        if on_disk.text == "":
            return replace(on_disk, text="\n")  # an empty file is one empty line
        if on_disk.text is not None and on_disk.text.endswith("\n"):
            mirror, text = tracked.document.snapshot(), on_disk.text[:-1]
            unended = mirror.slice(max(len(mirror) - 1, 0), len(mirror)) not in "\r\n"
            if unended or (tracked.disk is not None and tracked.disk.saved(tracked.document.uri, text)):
                return replace(on_disk, text=text)  # the final line end came with a save
        return on_disk

    def is_current(self, tracked: Tracked, found: Resolved | Missing | None = None) -> bool:
        """Whether `look` would find nothing to do. `found`: what is at some path in this moment, perhaps the document's."""
        if not tracked.observed.is_set() or tracked.closed or tracked.document.desynchronised is not None:
            return False
        path = to_path(tracked.document.uri)
        if isinstance(found, Resolved) and found.path == path:
            return found.stat == tracked.stat
        return path is None or self._storage.stat(path) == tracked.stat

    async def look(self, tracked: Tracked) -> None:
        """Brings mirror and disk together if the file changed since it was last seen."""
        with anyio.move_on_after(OBSERVE_SECONDS):
            await tracked.observed.wait()
        if (tracked.flight is not None or tracked.saving) and not tracked.looking.locked():
            return  # an edit or a save is on its way, and nothing is planned beside it
        async with tracked.looking:
            await self._look(tracked)

    async def _look(self, tracked: Tracked) -> None:
        path = to_path(tracked.document.uri)
        if path is None or tracked.closed or tracked.document.desynchronised is not None:
            return
        stat = self._storage.stat(path)
        if stat == tracked.stat:
            return
        on_disk = await self._peek(tracked, path)
        if on_disk is None:
            tracked.on_disk(None, None)
            return
        if self._is_save(tracked, on_disk):
            return
        explained, behind = self._explained(tracked, on_disk), self.behind
        for _ in range(_PEEKS):
            if explained is None or behind is None or not behind.may_be_an_agents(tracked):
                break
            # A save may be seen before it is told
            behind.passes(tracked, on_disk.text or "", changed_at(on_disk.stat))
            if await tracked.history.until_told(RELOAD_SECONDS):
                if self._storage.stat(path) != on_disk.stat:
                    return  # that was another one
                if self._is_save(tracked, on_disk):
                    return
            explained = self._explained(tracked, on_disk)
            if self._storage.stat(path) == on_disk.stat:
                break
            newer = await self._peek(tracked, path)
            if newer is None:
                break
            on_disk, explained = newer, self._explained(tracked, newer)
        before, known = tracked.saved, tracked.stat
        if behind is not None and behind.is_being_filled(tracked.document.uri, before, on_disk.text):
            self._emptied.add(tracked.document.uri)
            return
        emptied = tracked.document.uri in self._emptied and not tracked.text().strip("\n")
        self._emptied.discard(tracked.document.uri)
        tracked.on_disk(on_disk.text, on_disk.stat)
        if known is not None and on_disk.text == before:
            return  # touched only
        if on_disk.text is not None and tracked.was_saved(on_disk.text):
            if tracked.says(on_disk.text):
                tracked.edited = tracked.user_dirty = False
            return  # by the editor: where its text differs now, that was done since
        if explained is None and on_disk.text is not None:
            before = tracked.history.base(on_disk.text, before)
        elif explained is not None and on_disk.text is not None and behind is not None:
            save = tracked.history.unseen_save(on_disk.text)
            if save is not None and before is not None:
                behind.passes(tracked, save, changed_at(on_disk.stat) - 1, start=before)
        # Nothing of an undecided conflict has come into the mirror: what the file says now is measured from where that began.
        undecided = self._conflicts.on_disk(tracked)
        base = before if undecided is None else undecided.base
        seen = None
        if behind is not None:
            seen = await behind.seen(
                tracked, path, base, on_disk.text, changed_at(on_disk.stat), since=known, emptied=emptied
            )
        start = base
        if emptied:
            base = tracked.text()  # the editor had taken that from the disk
        try:
            if explained is not None and explained[1] == "typed since" and on_disk.text is not None:
                # The editor has taken it from there, and was typed in since
                tracked.on_disk_is(explained[0], on_disk.text, on_disk.stat, by_editor=False)
                tracked.apart, tracked.together = False, on_disk.text
            else:
                await self._bring_together(tracked, base, on_disk)
                if emptied and tracked.stat is None:  # the next look begins where this one did
                    tracked.saved = start
                    self._emptied.add(tracked.document.uri)
            self._told_apart(tracked, base, on_disk.text, seen)
        finally:
            if behind is not None and seen is not None:
                with anyio.CancelScope(shield=True):
                    await behind.settle(tracked, seen, on_disk.text)

    def _told_apart(self, tracked: Tracked, base: str | None, disk: str | None, seen: Seen | None) -> None:
        """Mirror and disk were brought together, or are a conflict now."""
        if not tracked.apart or base is None or disk is None:
            self._conflicts.ended(tracked, "gone")
            return
        if seen is None or seen.author is None:
            self._conflicts.found(tracked, "disk", base, disk, None)
        else:
            seen.changes = None  # also where the newest change alone would have fitted
            self._conflicts.found(tracked, "disk", base, disk, seen.session, seen.author)

    async def resolve(self, conflict: Open, take: Literal["mine", "agent"]) -> bool:
        """Brings mirror and disk together as the user decided; False: not now, and nothing was changed."""
        tracked = conflict.tracked
        if not await tracked.rest(ANSWER_SECONDS):
            return False
        async with tracked.looking:
            path = to_path(tracked.document.uri)
            if path is None or tracked.closed or tracked.document.desynchronised is not None:
                return False
            on_disk = await self._peek(tracked, path)
            if on_disk is None or on_disk.text is None or on_disk.text != conflict.theirs:
                return False
            now = Normal(str(tracked.document.snapshot()))
            side = "ours" if take == "mine" else "theirs"
            settled = settle(conflict.base, now.text, on_disk.text, side)
            if settled is None:
                return False
            raw = now.changes_in_raw(settled)
            if self._editor.capabilities.keeps_lines:
                raw = keep_final_end(now.raw, raw)
            tracked.on_disk(on_disk.text, on_disk.stat)
            seen = None if self.behind is None else self.behind.resolving(tracked, conflict, now.raw, raw)
            if not await self._take(tracked, conflict.base, now, on_disk, raw):
                return False
            tracked.apart = False
            if self.behind is not None and seen is not None:
                await self.behind.settle(tracked, seen, on_disk.text)
            return True

    async def _bring_together(self, tracked: Tracked, before: str | None, on_disk: OnDisk) -> None:
        tracked.apart = False
        if on_disk.text is None:
            return
        if await self._reloaded(tracked, on_disk.text):
            tracked.together = on_disk.text
            return
        document = tracked.document
        now = Normal(str(document.snapshot()))
        if before is None or now.text == before:
            if before is None:
                return  # never known to be equal: the buffer is the user's
            changes = diff(now.text, on_disk.text)
        else:
            match merge(before, now.text, on_disk.text):
                case Merged() as merged:
                    changes = merged.changes
                case Conflict() as found:
                    self._keep_apart(tracked, found)
                    return
        raw = now.changes_in_raw(changes)
        if self._editor.capabilities.keeps_lines and not raw.is_empty:
            raw = keep_final_end(now.raw, raw)
        if raw.is_empty:
            tracked.together = on_disk.text
            return
        if not await self._take(tracked, before, now, on_disk, raw):
            tracked.saved, tracked.stat = before, None  # not brought together yet: the next look tries again

    def _keep_apart(self, tracked: Tracked, found: Conflict) -> None:
        """Disk and document changed in the same place: the document's text stays, and the user is told."""
        tracked.apart = True
        if self._editor.capabilities.conflicts:
            return  # it shows them itself
        lines = ", ".join(str(hunk.start_line + 1) for hunk in found.hunks[:5])
        self._editor.show(
            "warning",
            f"{to_path(tracked.document.uri)} was changed on disk where you have unsaved changes (line {lines}). "
            "Your text is unchanged. Decide there with the lenses or code actions, or compare before you save.",
        )

    async def _take(
        self, tracked: Tracked, before: str, now: Normal, on_disk: OnDisk, raw: ChangeSet
    ) -> bool:
        """Whether the editor has the disk's text with what else `raw` (of the mirror) leaves in it."""
        if on_disk.text is None or not self._is_unmoved(tracked, now, on_disk):
            return False
        capabilities = self._editor.capabilities
        # Positions in the disk's text are counted in its compared form, where a lone \r is a line end for everybody.
        countable = not (capabilities.lf_lines and "\r" in now.raw)
        if capabilities.reload and countable and await self._reload(tracked, before, now, on_disk.text, raw):
            return True
        if raw.is_empty:
            return True
        unmoved = self._is_unmoved(tracked, now, on_disk)
        if not (unmoved and capabilities.apply_edit and capabilities.document_changes):
            return False
        sent = await self._sender.send(tracked, raw, "Changed on disk")
        # Who saves over what somebody put there wants their own text, be the change already on its way.
        outdated = sent.watch.saved_over and not tracked.is_on_disk(Text.of(on_disk.text))
        if sent.flight.phase is Phase.DISPLACED or (sent.landed and outdated):
            what = "what was changed on the disk"
            await self._sender.take_out(sent, "Changed on disk, taken back", what, tracked.name)
            return False
        if not sent.landed:
            return False
        tracked.together = on_disk.text
        return True

    def _is_unmoved(self, tracked: Tracked, now: Normal, on_disk: OnDisk) -> bool:
        """Whether both are still what they were when they were compared."""
        path = to_path(tracked.document.uri)
        return (
            tracked.flight is None
            and not tracked.closed
            and str(tracked.document.snapshot()) == now.raw
            and path is not None
            and self._storage.stat(path) == on_disk.stat
        )

    async def _reloaded(self, tracked: Tracked, text: str) -> bool:
        """Whether the editor takes the disk's text by itself, given a moment."""
        if tracked.says(text):
            tracked.edited = tracked.user_dirty = False
            return True
        watch = Watch(tracked.document, Text.of(text))
        tracked.quiet = True
        try:
            reloaded = await watch.wait(RELOAD_SECONDS)
        finally:
            tracked.quiet = False
            watch.close()
        newer = len(watch.edits) - (watch.matched_at or 0)
        if reloaded:
            tracked.edited = tracked.user_dirty = newer > 0
        elif newer:
            tracked.user_dirty = True
        return reloaded

    async def _reload(
        self, tracked: Tracked, before: str, now: Normal, disk: str, changes: ChangeSet
    ) -> bool:
        """Asks our own extension to take the disk's text and to put on top what else `changes` (of the mirror) would leave.

        The disk's text replaces what the document says in that moment, not what it said when this was asked. What was typed in between is
        merged as if it had been there before, and comes back; what is typed after it stays."""
        document = tracked.document
        wanted = normal(changes.apply(now.raw))
        on_top = diff(disk, wanted)
        coordinates = Coordinates(self._editor.capabilities.encoding)
        on_screen = coordinates.edits(Text.of(now.raw), changes)
        edits = coordinates.edits(Text.of(disk), on_top)
        edits = tuple(TextEdit(e.start, e.end, expand(e.new_text, now.terminator)) for e in edits)
        watch = Watch(document, Text.of(wanted))
        tracked.quiet = True
        try:
            with self._sender.following(tracked, watch) as followed:
                answer = await self._editor.reload(document.client_uri, document.version, edits, on_screen)
                if not isinstance(answer, Reloaded):
                    return False
                last = None if answer.taken is None else answer.version
                # Neovim closes the document and opens it again; in VS Code somebody may have typed in between
                reloaded = await watch.wait(
                    MIRROR_SECONDS,
                    lambda: followed.watch is not None or (last is not None and document.version >= last),
                )
                if followed.watch is not None:
                    await followed.tracked.becomes(wanted, MIRROR_SECONDS)
            if followed.watch is not None:
                await self._give_back(followed.tracked, followed.watch, disk, len(edits))
        except (EditorGone, EditorRefused, EditorTimeout):
            return False
        finally:
            tracked.quiet = False
            watch.close()
        typed_into = None if answer.taken is None else watch.text_before(answer.taken)
        if reloaded:
            tracked.together = disk
        if not tracked.closed and typed_into is not None:
            await self._put_right(tracked, before, Normal(str(typed_into)), disk, on_top, again=False)
        elif not tracked.closed and not reloaded:
            await self._put_right(
                tracked, before, now, disk, on_top, only_if_newer=True, again=answer.taken is None
            )
        return True

    async def _take_again(self, tracked: Tracked, current: Normal, on_disk: OnDisk, wanted: str) -> bool:
        """Once more from the disk, with what leads to `wanted` on top: for an editor that takes no other edits."""
        if on_disk.text is None or not self._is_unmoved(tracked, current, on_disk):
            return False
        document, coordinates = tracked.document, Coordinates(self._editor.capabilities.encoding)
        edits = coordinates.edits(Text.of(on_disk.text), diff(on_disk.text, wanted))
        edits = tuple(TextEdit(e.start, e.end, expand(e.new_text, current.terminator)) for e in edits)
        try:
            answer = await self._editor.reload(document.client_uri, document.version, edits)
        except (EditorGone, EditorRefused, EditorTimeout):
            return False
        return isinstance(answer, Reloaded) and await tracked.becomes(wanted, MIRROR_SECONDS)

    async def _give_back(self, tracked: Tracked, watch: Watch, disk: str, on_top: int) -> None:
        """The document was closed and opened again before it was taken from the disk: what was typed since it was opened is gone with
        that, and comes back."""
        text = str(watch.before)
        for i, edit in enumerate(watch.edits):
            after = text[: edit.start] + edit.new + text[edit.end :]
            if normal(after) == disk != normal(text):
                found = taken_out(text, watch.edits[i : i + 1 + on_top], watch.edits[i + 1 + on_top :])
                changes = diff(str(tracked.document.snapshot()), found.without)
                if not tracked.closed and tracked.flight is None and not changes.is_empty:
                    await self._sender.send(tracked, changes, "Changed on disk, taken back")
                return
            text = after

    async def _put_right(
        self,
        tracked: Tracked,
        before: str,
        replaced: Normal,
        disk: str,
        on_top: ChangeSet,
        *,
        again: bool,
        only_if_newer: bool = False,
    ) -> None:
        """The document took the disk's text otherwise than was planned: in the place of `replaced`, which was typed meanwhile, or after the
        disk was written once more, and the edits were made on another text. `only_if_newer`: nothing is wrong
        unless it was written. `again`: another reload may do it, because nothing can be typed during one."""
        path = to_path(tracked.document.uri)
        on_disk = await self._peek(tracked, path) if path is not None else None
        if on_disk is None or on_disk.text is None or (only_if_newer and on_disk.text == disk):
            return
        tracked.on_disk(on_disk.text, on_disk.stat)
        encoding = self._editor.capabilities.encoding
        text = Text.of(on_disk.text)
        made = tuple(
            Edit(text.offset_at(e.start, encoding), text.offset_at(e.end, encoding), fold(e.new_text))
            for e in Coordinates(encoding).edits(Text.of(disk), on_top)
        )
        match merge(before, replaced.text, on_disk.text):
            case Merged() as merged:
                tracked.apart, proper = False, merged.apply(replaced.text)
            case Conflict() as found:
                self._keep_apart(tracked, found)
                proper = replaced.text
        until = anyio.current_time() + _PUT_RIGHT_SECONDS
        while anyio.current_time() < until:  # the user may go on typing
            current = Normal(str(tracked.document.snapshot()))
            try:
                taken = ChangeSet.of(len(text), made).apply(text)
            except ValueError:  # places that are no places there
                break
            if tracked.flight is not None or tracked.closed:
                break
            # What was typed since it was taken stays, also beside what comes back
            raw = current.changes_in_raw(diff(taken, proper).map(diff(taken, current.text), before=True))
            if raw.is_empty:
                return
            sent = await self._sender.send(tracked, raw, "Changed on disk")
            if sent.landed:
                return
            if sent.flight.phase is Phase.DISPLACED:
                what = "what was changed on the disk"
                await self._sender.take_out(sent, "Changed on disk, taken back", what, tracked.name)
            elif sent.flight.phase is not Phase.REFUSED:
                break  # gone, or not answered at all
            if again and await self._take_again(tracked, current, on_disk, normal(raw.apply(current.raw))):
                return
        self._editor.show("warning", f"{path} was changed on disk twice at once. Compare it before you save.")
