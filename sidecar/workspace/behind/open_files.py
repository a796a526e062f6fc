"""OpenFiles: the text of an open document's file, as the editor would hold it, and which of the document's own texts it
is.
"""

from __future__ import annotations

from dataclasses import replace

from sidecar.core.normal import Normal
from sidecar.core.uri import to_path
from sidecar.workspace.ports.ports import Editor
from sidecar.workspace.state.looking import Looking
from sidecar.workspace.state.save_history import Explained
from sidecar.workspace.state.storage import OnDisk, Storage
from sidecar.workspace.state.tracked import Tracked

PEEKS = 5
"""How often a file that changes while it is read is read again."""


class OpenFiles:
    """Reads the disk at the time of each call."""

    def __init__(self, storage: Storage, editor: Editor) -> None:
        self._storage = storage
        self._editor = editor
        self._looking = Looking(storage.read_now)

    def is_unmoved(self, tracked: Tracked, now: Normal, on_disk: OnDisk) -> bool:
        """Whether the document and its file are still as they were when they were compared, and no edit is on its way."""
        path = to_path(tracked.document.uri)
        return (
            tracked.flight is None
            and not tracked.closed
            and str(tracked.document.snapshot()) == now.raw
            and path is not None
            and self._storage.stat(path) == on_disk.stat
        )

    async def peek(self, tracked: Tracked, path: str) -> OnDisk | None:
        """What the disk says, as the editor would hold it. None: there is no such file."""
        on_disk = await self._storage.peek(path)
        for _ in range(PEEKS):
            if on_disk is None or self._storage.stat(path) == on_disk.stat:
                break
            on_disk = await self._storage.peek(path)  # outdated; a save that was noted meanwhile is newer
        return self._as_held(tracked, on_disk)

    def newer_now(self, tracked: Tracked) -> OnDisk | None:
        """What the disk says at this moment, if the file changed since it was last seen. None: nothing new, or too much
        to read without waiting."""
        path = to_path(tracked.document.uri)
        stat = None if path is None else self._storage.stat(path)
        if path is None or stat is None or stat == tracked.stat or not self._looking.may_read(stat.size):
            return None
        return self._as_held(tracked, self._storage.peek_now(path))

    @property
    def empty(self) -> str:
        """An empty file's text as the editor holds it: perhaps as one empty line."""
        return "\n" if self._editor.capabilities.keeps_lines else ""

    def _as_held(self, tracked: Tracked, on_disk: OnDisk | None) -> OnDisk | None:
        """`on_disk` with the text as the editor would hold it."""
        keeps_lines = self._editor.capabilities.keeps_lines
        if on_disk is not None and on_disk.data is not None:
            on_disk = replace(on_disk, text=tracked.history.decode(on_disk.data, unended=keeps_lines))
        if on_disk is None or not keeps_lines:
            return on_disk
        if on_disk.text == "":
            return replace(on_disk, text=self.empty)
        if on_disk.text is not None and on_disk.text.endswith("\n"):
            mirror, text = tracked.document.snapshot(), on_disk.text[:-1]
            unended = mirror.slice(max(len(mirror) - 1, 0), len(mirror)) not in "\r\n"
            if unended or (tracked.disk is not None and tracked.disk.saved(tracked.document.uri, text)):
                return replace(on_disk, text=text)  # the editor added the final line end when it saved
        return on_disk

    def save(self, tracked: Tracked, on_disk: OnDisk) -> int | None:
        """The number of the document's text that is on the disk, if it is a save: one that the editor reported, or one
        that it is known to have made. Otherwise None."""
        found = self.explained(tracked, on_disk)
        if found is None or not (found[1] == "saved" or tracked.was_saved(on_disk.text or "")):
            return None
        return found[0]

    def is_save(self, tracked: Tracked, on_disk: OnDisk) -> bool:
        """Whether the disk's text is such a save. If it is, the document's state is updated."""
        number = self.save(tracked, on_disk)
        if number is None:
            return False
        tracked.on_disk_is(number, on_disk.text or "", on_disk.stat, by_editor=True)
        return True

    def had(self, tracked: Tracked, on_disk: OnDisk) -> bool:
        """Whether the document said the disk's text at some time since it was last known to be saved, even if somebody
        else wrote the file since. A save of it may be on its way."""
        text = on_disk.text
        return text is not None and tracked.history.had(text, unended=self._editor.capabilities.keeps_lines)

    def explained(self, tracked: Tracked, on_disk: OnDisk) -> tuple[int, Explained] | None:
        if on_disk.text is None:
            return None
        return tracked.history.explains(on_disk.text, unended=self._editor.capabilities.keeps_lines)
