"""FromDisk: brings what was written on the disk into an open document, and keeps the user's unsaved changes."""

from __future__ import annotations

from collections.abc import Callable

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.merge import Conflict, Merged, merge
from sidecar.core.normal import Normal
from sidecar.core.text import Text
from sidecar.workspace.behind.legs import WrittenOver
from sidecar.workspace.behind.open_files import OpenFiles
from sidecar.workspace.behind.reload import LABEL, WHAT, Reloader, keep_apart
from sidecar.workspace.behind.settling import Settling, opened_with
from sidecar.workspace.edits.door import NO_EDITS
from sidecar.workspace.edits.ends import Ended, Landed, NotTaken, TakenOut, ended
from sidecar.workspace.edits.sending import Sender, Stop
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.state.hunks_then import Noted
from sidecar.workspace.state.storage import OnDisk
from sidecar.workspace.state.tracked import Tracked
from sidecar.workspace.state.watch import Watch

MOVED = "the file or the document has just been changed"
MAX_REFUSALS = 3
"""How often the editor may refuse one text of the disk, with nothing typed meanwhile, before the user is asked to decide."""


class FromDisk:
    """Tries the editor's own reload first, then a reload by our extension, then a merge that is sent as an edit."""

    def __init__(self, editor: Editor, sender: Sender, files: OpenFiles, settling: Settling) -> None:
        self._editor = editor
        self._sender = sender
        self._files = files
        self._settling = settling
        self._reload = Reloader(editor, sender, files)

    async def bring_together(
        self,
        tracked: Tracked,
        before: str | None,
        on_disk: OnDisk,
        reload_seconds: float,
        written_over: WrittenOver | None = None,
        about_to: Callable[[], None] = lambda: None,
    ) -> bool:
        """Brings the document and its file together. Returns whether the editor took the disk's text by itself.

        `before`: the text from which the change on the disk is measured (compared form); None: not known.
        `reload_seconds`: how long the editor has for its own reload. `written_over`: what the disk's text lacks then,
        and what is put back. `about_to`: called before the editor is asked to take the text.
        """
        tracked.fits()
        if on_disk.text is None:
            return False
        if await self._reloaded(tracked, on_disk.text, reload_seconds):
            tracked.has(on_disk.text)
            await self.gives_back(tracked, written_over, on_disk.text)
            return True
        if before is None:
            return False  # the two were never known to be equal: the buffer is the user's
        about_to()
        now = Normal(str(tracked.document.snapshot()))
        if now.text == before:
            changes = diff(now.text, on_disk.text)
        else:
            match merge(before, now.text, on_disk.text):
                case Merged() as merged:
                    changes = merged.changes
                case Conflict() as found if self._files.is_unmoved(tracked, now, on_disk):
                    lines = [hunk.start_line for hunk in found.hunks]
                    keep_apart(self._editor, tracked, "where you have unsaved changes", lines)
                    return False
                case Conflict():  # with an outdated text: the disk says something newer, which the editor may already have
                    tracked.not_yet(before)
                    return False
        raw = self._editor.capabilities.fitted(now.raw, now.changes_in_raw(changes))
        if raw.is_empty and written_over is None:
            tracked.has(on_disk.text)
            return False
        end = await self.take(tracked, before, now, on_disk, raw)
        if isinstance(end, Landed):
            return False
        is_refused = isinstance(end, NotTaken | TakenOut) and self._files.is_unmoved(tracked, now, on_disk)
        if is_refused and tracked.refuses(on_disk.stat) >= MAX_REFUSALS:
            lines = [now.text.count("\n", 0, edit.start) for edit in changes.edits]
            is_made = isinstance(end, TakenOut)
            does = "make that change in its place" if is_made else "accept that change"
            keep_apart(self._editor, tracked, f"and your editor does not {does}", lines)
        else:
            tracked.not_yet(before)
        return False

    async def gives_back(self, tracked: Tracked, written_over: WrittenOver | None, disk: str) -> None:
        """Puts back what `written_over` holds, after the editor took `disk` (compared form), which lacks it."""
        if written_over is not None:
            await self._reload.gives_back(tracked, written_over, disk)

    async def reloaded_without(self, tracked: Tracked, written_over: WrittenOver) -> Tracked:
        """Puts back what was written over, if the editor has taken the file's text in place of it. Returns the document, which the editor may close and
        open again meanwhile."""
        given_back = None
        while given_back is not tracked:
            tracked = given_back = await self._settling.open_again(tracked)
            if tracked.stat is None or tracked.saved is None or tracked.apart:
                break
            disk = str(tracked.saved)
            if opened_with(tracked, written_over.had_read, disk):
                await self.gives_back(tracked, written_over, disk)
                self.lacks_save(tracked, disk)
            tracked = await self._settling.open_again(tracked)
        return tracked

    def lacks_save(self, tracked: Tracked, disk: str) -> None:
        """The file, which says `disk` (compared form), lacks what somebody had saved. If the document has that, it is unsaved there."""
        if not tracked.says(disk):
            noted = Noted(tracked.document.snapshot(), tracked.hunks(), tracked.history.newest)
            tracked.hunks_then.note(noted, tracked.saves, is_clean=False)
            tracked.was_written()

    async def take(
        self, tracked: Tracked, before: str, now: Normal, on_disk: OnDisk, raw: ChangeSet
    ) -> Ended | Stop[str]:
        """Has the editor take the disk's text, so that the document then says what `raw` (changes of the mirror) leads
        to."""
        if on_disk.text is None or not self._files.is_unmoved(tracked, now, on_disk):
            return Stop(MOVED)
        capabilities = self._editor.capabilities
        is_users = tracked.is_user_dirty()
        # Positions in the disk's text are counted in its compared form, where a lone \r is a line end for everybody.
        countable = not (capabilities.lf_lines and "\r" in now.raw)
        if (
            capabilities.reload
            and countable
            and await self._reload.take(tracked, before, now, on_disk.text, raw)
        ):
            if is_users:
                tracked.stays_unsaved()
            return Landed(tracked)
        if raw.is_empty:
            return Landed(tracked)
        if not self._files.is_unmoved(tracked, now, on_disk):
            return Stop(MOVED)
        if not (capabilities.apply_edit and capabilities.document_changes):
            return NotTaken(tracked, NO_EDITS)
        sent = await self._sender.put(tracked, raw, LABEL, WHAT, disk=Text.of(on_disk.text))
        end = ended(sent)
        if isinstance(end, Landed):
            tracked.has(on_disk.text)
        return end

    async def _reloaded(self, tracked: Tracked, text: str, seconds: float) -> bool:
        """Whether the editor takes the disk's text by itself within that time."""
        if tracked.says(text):
            tracked.is_unwritten()
            return True
        watch = Watch(tracked.document, Text.of(text))
        try:
            with tracked.quietly():
                reloaded = await watch.wait(seconds)
        finally:
            watch.close()
        newer = len(watch.edits) - (watch.matched_at or 0)
        if reloaded:
            tracked.reloaded(newer)
        elif newer:
            tracked.user_typed()
        return reloaded
