"""Writing: stores a write, and how it ended, in the database."""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from sidecar.core.any_text import as_text
from sidecar.core.change import ChangeSet
from sidecar.core.file_state import FileState
from sidecar.core.hunks import LineHunk, line_hunks
from sidecar.core.kept_files import KeptFile, to_kept
from sidecar.core.kept_hunks import IN_FILE, AsJson, from_json
from sidecar.core.lines_changed import lines_changed as lines_of
from sidecar.core.places import Places
from sidecar.core.retold import Picked
from sidecar.core.text import Text
from sidecar.journal.entry import Entry, EntryState, State
from sidecar.journal.ids import next_id
from sidecar.journal.opened import OpenJournal, transaction
from sidecar.journal.selecting import as_blob, as_path, as_words
from sidecar.journal.texts import LEVEL, Prepared, TextLost, compressed


def begin(db: OpenJournal, entries: Sequence[Entry], takes_back: Sequence[Sequence[str]]) -> list[str]:
    """Store new entries durably, all in one transaction, and return their ids. `takes_back`: one list for each entry; empty if none takes anything back."""
    prepared = [_Prepared.of(db, entry) for entry in entries]
    with transaction(db, durable=True):
        (last,) = db.connection.execute("SELECT max(id) FROM writes").fetchone()
        ids: list[str] = []
        for number, one in enumerate(prepared):
            last = next_id(last, time.time())
            _insert(db, last, one)
            db.connection.executemany(
                "INSERT INTO taken_back SELECT ?, id, state FROM writes WHERE id = ?",
                [(last, write) for write in (takes_back[number] if takes_back else ())],
            )
            ids.append(last)
    return ids


class _Prepared(NamedTuple):
    """An entry, and everything about it that can be computed before the transaction."""

    entry: Entry
    hunks: Sequence[LineHunk] | ChangeSet | Places
    lines: tuple[int, int]
    texts: Sequence[Prepared | None]

    @staticmethod
    def of(db: OpenJournal, entry: Entry) -> _Prepared:
        old, new = entry.before or "", entry.after or ""
        if entry.changes is not None:
            like = old if entry.kept[0] is None else entry.kept[0]  # a Text knows where its lines are
            return _Prepared(
                entry, entry.changes, lines_of(like, entry.changes), _prepare(db, entry, entry.changes)
            )
        if isinstance(old, Text) or isinstance(new, Text):
            changes = Places.between(as_text(old), as_text(new)) if old else Places.made(as_text(new))
            return _Prepared(entry, changes, lines_of(old, changes), _prepare(db, entry, changes))
        hunks = line_hunks(old, new)
        return _Prepared(entry, hunks, _lines_changed(old, new, hunks), _prepare(db, entry, hunks))


def _insert(db: OpenJournal, entry_id: str, prepared: _Prepared) -> None:
    entry = prepared.entry
    ids = _put(db, prepared.texts)
    if ids is None:  # another process deleted the texts they build on meanwhile
        ids = _put(db, _prepare(db, entry, prepared.hunks))
    if ids is None:
        raise TextLost(entry.path)
    know_session(db, entry.session, entry.agent, entry.root)
    db.connection.execute(
        "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'intent', ?, ?)",
        (
            entry_id,
            time.time(),
            db.alive.owner,
            as_words(entry.session),
            as_words(entry.agent),
            entry.turn,
            None if entry.tool_call is None else as_words(entry.tool_call),
            as_blob(entry.root),
            as_blob(entry.path),
            *ids,
            entry.encoding,
            entry.bom,
            entry.via,
            *prepared.lines,
        ),
    )
    db.connection.executemany(
        "INSERT INTO states VALUES (?, ?, ?, ?, ?)",
        [(entry_id, side, *_packed(state)) for side, state in enumerate(entry.states or ())],
    )
    db.connection.executemany(
        "INSERT INTO made_folders VALUES (?, ?)", [(entry_id, as_blob(folder)) for folder in set(entry.made)]
    )


def _packed(state: FileState | None) -> tuple[str, int, bytes]:
    if state is None:
        return "none", 0, b""
    return state.kind, state.mode, zlib.compress(state.data, LEVEL)


States: TypeAlias = tuple[FileState | None, FileState | None]
"""The whole states under a path before and after a write. None: nothing is there."""


def states(connection: sqlite3.Connection, entry_id: str) -> States | None:
    """Return the states of a write, or None if its texts cover them."""
    rows = connection.execute(
        "SELECT kind, mode, data FROM states WHERE write = ? ORDER BY side", (entry_id,)
    ).fetchall()
    if len(rows) != 2:
        return None
    before, after = (
        None if kind == "none" else FileState(zlib.decompress(data), mode, kind) for kind, mode, data in rows
    )
    return before, after


def made_folders(db: OpenJournal, entry_ids: Sequence[str]) -> list[str]:
    """Return the folders that were created for these writes."""
    found: dict[str, None] = {}
    for entry_id in entry_ids:
        rows = db.connection.execute("SELECT folder FROM made_folders WHERE write = ?", (entry_id,))
        found.update((as_path(row[0]), None) for row in rows)
    return list(found)


def folders_under_review(db: OpenJournal) -> list[str]:
    """Return the folders that were created for writes that nobody has kept or taken back."""
    rows = db.connection.execute(
        "SELECT DISTINCT folder FROM made_folders JOIN writes ON writes.id = write WHERE state IN ('done', 'unknown')"
    )
    return [as_path(row[0]) for row in rows]


def finish_all(db: OpenJournal, entry_ids: Iterable[str], state: EntryState) -> None:
    """Record that writes ended as planned, or were not made."""
    with transaction(db, durable=False):
        for entry_id in entry_ids:
            set_state(db.connection, entry_id, state)


def finish(db: OpenJournal, entry_id: str, state: EntryState, after: str) -> None:
    """Record how a write ended that left a text other than the planned one; durable when this returns."""
    row = db.connection.execute("SELECT before FROM writes WHERE id = ?", (entry_id,)).fetchone()
    before_id: int | None = None if row is None else row[0]
    before = None if before_id is None else db.texts.get(before_id)
    like = None if before_id is None else db.texts.hash_of(before_id)
    prepared = db.texts.prepare(after, like, before)
    added, removed = lines_changed(before, after)
    with transaction(db, durable=True):
        text = db.texts.put(prepared) or db.texts.put(db.texts.prepare(after))
        db.connection.execute(
            "UPDATE writes SET after = ?, added = ?, removed = ? WHERE id = ?",
            (text, added, removed, entry_id),
        )
        set_state(db.connection, entry_id, state)


def lines_changed(before: str | None, after: str | None) -> tuple[int, int]:
    """Return the number of whole lines added and removed."""
    old, new = before or "", after or ""
    return _lines_changed(old, new, line_hunks(old, new))


def _lines_changed(old: str, new: str, hunks: Sequence[LineHunk]) -> tuple[int, int]:
    added = removed = 0
    for hunk in hunks:
        removed += _lines(old, hunk.old_start, hunk.old_end)
        added += _lines(new, hunk.new_start, hunk.new_end)
    return added, removed


def _lines(text: str, start: int, end: int) -> int:
    ends = text.count("\n", start, end) + text.count("\r", start, end) - text.count("\r\n", start, end)
    return ends + (start < end and text[end - 1] not in "\r\n")


def _prepare(
    db: OpenJournal, entry: Entry, hunks: Sequence[LineHunk] | ChangeSet | Places
) -> Sequence[Prepared | None]:
    """Prepare both texts. `hunks`: the changes between them."""
    row = db.connection.execute(
        "SELECT coalesce(after, before) FROM writes WHERE path = ? ORDER BY id DESC LIMIT 1",
        (as_blob(entry.path),),
    ).fetchone()
    like = None if row is None or row[0] is None else db.texts.hash_of(row[0])
    before = None if entry.before is None else db.texts.prepare(entry.before, like, kept=entry.kept[0])
    if entry.after is None:
        return before, None
    if before is not None:
        return before, db.texts.prepare(entry.after, before.hash, entry.before, hunks, kept=entry.kept[1])
    return None, db.texts.prepare(entry.after, like, kept=entry.kept[1])


def _put(db: OpenJournal, prepared: Sequence[Prepared | None]) -> list[int | None] | None:
    ids: list[int | None] = []
    for one in prepared:
        text = None if one is None else db.texts.put(one)
        if one is not None and text is None:
            return None
        ids.append(text)
    return ids


def know_session(db: OpenJournal, session: str, agent: str, cwd: str) -> None:
    """Add the session if it is new; within a transaction."""
    db.connection.execute(
        "INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, ?, ?, ?, NULL)",
        (as_words(session), db.alive.owner, as_words(agent), as_blob(cwd), os.getpid(), time.time()),
    )


def save_ledger(
    db: OpenJournal,
    uri: str,
    text: str | Text,
    hunks: bytes | AsJson,
    in_file: tuple[Text, AsJson] | None = None,
) -> None:
    """Replace what was stored for this document. `AsJson` is stored compressed. `in_file`: see Store."""
    ledgers = [_Ledger.of(db, uri, text, hunks if isinstance(hunks, bytes) else compressed(hunks))]
    if in_file is not None:
        ledgers.append(_Ledger.of(db, f"{IN_FILE}{uri}", in_file[0], compressed(in_file[1])))
    with transaction(db, durable=False):
        forget_ledger(db.connection, uri)
        for ledger in ledgers:
            ledger.put(db)


def forget_ledger(connection: sqlite3.Connection, uri: str) -> None:
    """Delete what is stored for this document, within a transaction."""
    connection.execute("DELETE FROM ledgers WHERE uri IN (?, ?)", (uri, f"{IN_FILE}{uri}"))


class _Ledger(NamedTuple):
    """What is to be stored for a document, and what of it can be computed before the transaction."""

    uri: str
    text: str | Text
    hunks: bytes | bytearray
    prepared: Prepared

    @staticmethod
    def of(db: OpenJournal, uri: str, text: str | Text, hunks: bytes | bytearray) -> _Ledger:
        row = db.connection.execute("SELECT text FROM ledgers WHERE uri = ?", (uri,)).fetchone()
        like = None if row is None else db.texts.hash_of(row[0])
        return _Ledger(uri, text, hunks, db.texts.prepare(text, like))

    def put(self, db: OpenJournal) -> None:
        text_id = db.texts.put(self.prepared) or db.texts.put(db.texts.prepare(self.text))
        db.connection.execute(
            "INSERT OR REPLACE INTO ledgers VALUES (?, ?, ?, ?)", (self.uri, text_id, self.hunks, time.time())
        )


def save_rows(
    db: OpenJournal, rows: Mapping[str, KeptFile], forgotten: Iterable[str], rejected: Iterable[str]
) -> None:
    """Store, replace and forget rows of whole files by their names, and record which writes were rejected, all in one transaction."""
    ledgers = [_Ledger.of(db, as_words(name), *to_kept(kept)) for name, kept in rows.items()]
    with transaction(db, durable=False):
        db.connection.executemany(
            "DELETE FROM ledgers WHERE uri = ?", [(as_words(name),) for name in forgotten]
        )
        for ledger in ledgers:
            ledger.put(db)
        for write in rejected:
            set_state(db.connection, write, "rejected")


def save_picked(db: OpenJournal, path: str, text: str, hunks: bytes) -> None:
    """Store hunks of the file that were kept one by one, and the text that contains them."""
    row = db.connection.execute(
        "SELECT id, coalesce(after, before) FROM writes WHERE path = ? AND state NOT IN ('failed', 'intent') ORDER BY id DESC LIMIT 1",
        (as_blob(path),),
    ).fetchone()
    if row is None:
        return
    write, like = row
    prepared = db.texts.prepare(text, None if like is None else db.texts.hash_of(like))
    with transaction(db, durable=False):
        text_id = db.texts.put(prepared) or db.texts.put(db.texts.prepare(text))
        db.connection.execute("INSERT INTO picked VALUES (?, ?, ?)", (write, text_id, hunks))


def picked(db: OpenJournal, entry_id: str) -> list[Picked]:
    """Return what was kept one by one between this write and the file's next one. Damaged rows are left out."""
    rows = db.connection.execute("SELECT text, hunks FROM picked WHERE write = ? ORDER BY rowid", (entry_id,))
    found: list[Picked] = []
    for text, hunks in rows.fetchall():
        with suppress(TextLost, ValueError, KeyError, TypeError):
            found.append(Picked(db.texts.get(text), from_json(hunks)))
    return found


_COMPRESSED = b"x"
"""zlib's first byte, which JSON never starts with."""


def ledger(db: OpenJournal, uri: str) -> tuple[str, bytes] | None:
    """Return what is stored for a document. Raises TextLost."""
    row = db.connection.execute("SELECT text, hunks FROM ledgers WHERE uri = ?", (uri,)).fetchone()
    if row is None:
        return None
    text, hunks = row
    try:
        return db.texts.get(text), zlib.decompress(hunks) if hunks.startswith(_COMPRESSED) else hunks
    except zlib.error as error:
        raise TextLost(text) from error


def set_state(
    connection: sqlite3.Connection, entry_id: str, state: State, only_if: State | None = None
) -> bool:
    """Set a write's state within a transaction. Returns whether it was set.

    When a revert becomes done, the writes it took back become undone, and those that a rejection took back become rejected; when it is itself undone, they
    get their old state back.
    """
    row = connection.execute("SELECT state, agent FROM writes WHERE id = ?", (entry_id,)).fetchone()
    if row is None or (only_if is not None and row[0] != only_if):
        return False
    connection.execute("UPDATE writes SET state = ? WHERE id = ?", (state, entry_id))
    if state in ("done", "undone") and row[0] != state:
        taken_back: State = "rejected" if row[1] == "reject" else "undone"
        for write, was in connection.execute(
            "SELECT write, was FROM taken_back WHERE by = ? AND write < by", (entry_id,)
        ).fetchall():
            set_state(connection, write, taken_back if state == "done" else was)
    return True
