"""KeptRows: the rows of the review of whole files, which the journal has as they are here.

What comes and goes at the same moment is stored in one transaction. A sidecar that is killed leaves the rows as they were before it, or as they were after it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

import anyio

from sidecar.core.kept_files import KEPT, KeptFile, from_kept
from sidecar.core.uri import DocumentUri
from sidecar.workspace.behind.file_change import FileChange
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Editor, Journal


class KeptRows:
    """One per workspace. In the order in which they came."""

    def __init__(self, journal: Journal, editor: Editor, tasks: Background) -> None:
        self._journal = journal
        self._editor = editor
        self._tasks = tasks
        self._rows: dict[int, FileChange] = {}
        self.next_id = 1
        self._names: dict[int, str] = {}
        """The names that rows have in the journal."""
        self._forgotten: list[str] = []
        """Names in the journal of an earlier process."""
        self._moved: dict[int, None] = {}
        """Rows that came, changed or went, and are not yet so in the journal."""
        self._to_tell: dict[DocumentUri, None] = {}
        self._telling = 0
        self._told = anyio.Event()
        """Set when the journal has rows that came or went."""

    def __iter__(self) -> Iterator[FileChange]:
        return iter(list(self._rows.values()))

    def get(self, row: FileChange) -> FileChange | None:
        """The row as it is now. None: it is gone."""
        return self._rows.get(row.id)

    def put(self, row: FileChange) -> None:
        """Adds the row, or replaces what it was."""
        self.next_id = max(self.next_id, row.id + 1)
        was, self._rows[row.id] = self._rows.get(row.id, row), row
        for one in (was, row):  # it may have another path by now
            self._has_moved(one)

    def drop(self, row: FileChange) -> None:
        was = self._rows.pop(row.id, None)
        if was is not None:
            self._has_moved(was)

    def _has_moved(self, row: FileChange) -> None:
        """Reports and stores rows that come and go at the same moment together."""
        self._moved[row.id] = None
        if not self._to_tell:
            self._telling += 1
            self._tasks.start_soon(self._tell)
        self._to_tell[row.uri] = None

    async def _tell(self) -> None:
        try:
            moved, self._to_tell = self._to_tell, {}
            self._editor.changes_moved(list(moved))
            await self.store()
        finally:
            self._telling -= 1
            self._told.set()
            self._told = anyio.Event()

    async def stored(self) -> None:
        """Waits until the journal has every row that came, and has forgotten every row that went."""
        while self._telling:
            await self._told.wait()

    async def store(self, rejected: Collection[str] = ()) -> None:
        """Stores what moved. `rejected`: the writes (the journal's ids) of rows that went because they were put back."""
        rows: dict[str, KeptFile] = {}
        moved, self._moved = self._moved, {}
        forgotten, self._forgotten = self._forgotten, []
        for number in moved:
            row, was = self._rows.get(number), self._names.pop(number, None)
            if row is not None:
                self._names[number] = _name(row)
                rows[_name(row)] = _kept(row)
            if was is not None and was != self._names.get(number):
                forgotten.append(was)
        if rows or forgotten or rejected:
            await self._journal.save_rows(rows, forgotten, rejected)

    async def earlier(self, folders: Sequence[str]) -> list[KeptFile]:
        """The rows of an earlier process, oldest first, for files beneath `folders`. The journal forgets them as such when what is made of them is stored."""
        found: list[tuple[str, KeptFile]] = []
        for name in await self._journal.ledger_uris():
            kept = await self._journal.load_ledger(name) if name.startswith(KEPT) else None
            row = None if kept is None else from_kept(*kept)
            if row is not None and any(row.path.startswith(os.path.join(f, "")) for f in folders):
                found.append((name, row))
        own = set(self._names.values())
        found = [(name, row) for name, row in found if name not in own]
        for name, _ in found:
            self._forgotten.append(name)
            number = name.removeprefix(KEPT).partition(":")[0]
            if number.isdecimal():  # no row of this process gets a name that is to be forgotten
                self.next_id = max(self.next_id, int(number) + 1)
        return [row for _, row in sorted(found, key=lambda one: one[1].author.write)]


def _name(row: FileChange) -> str:
    """The row's name in the journal."""
    return f"{KEPT}{row.id}:{row.uri}"


def _kept(row: FileChange) -> KeptFile:
    return KeptFile(row.path, row.before, row.after, row.author, row.moved_from, row.removal, row.hunks)
