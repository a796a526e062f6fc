"""Retention: what the journal deletes, and what it never deletes.

Whole sessions are deleted, oldest first: those that ended more than 30 days ago, and more if the journal exceeds 512 MiB. A session that is open in a
running process is never touched. A text is deleted when no write, no review and no other text depends on it.

The deletion runs in slices, each in a transaction of its own: a write in between waits for at most one of them. The cost of a slice does not depend
on the journal's size, because indexes show what depends on a text.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sidecar.core.uri import from_path
from sidecar.journal import turns
from sidecar.journal.database import DAMAGED
from sidecar.journal.opened import OpenJournal, transaction
from sidecar.journal.selecting import Selection, as_path, as_words, condition
from sidecar.journal.texts import TextLost, TextStore
from sidecar.journal.writing import forget_ledger

PAGE_BYTES = 4096
"""sqlite's default, with which the database is created."""

WRITES_AT_ONCE = 200
"""The number of a session's writes that are deleted in one transaction."""
BYTES_AT_ONCE = 2 * 1024 * 1024
"""Bytes of texts that are deleted in one transaction if there are several texts, and bytes that are returned to the file system at once."""
TEXTS_AT_ONCE = 500
"""The number of texts that are checked at once."""

_DEPENDS = (
    ("writes", "before"),
    ("writes", "after"),
    ("ledgers", "text"),
    ("pre_images", "text"),
    ("picked", "text"),
    ("saves", "over"),
    ("saves", "text"),
    ("texts", "base"),
)
"""Tables and columns that refer to texts."""
_INDEXES = {
    f"{table}_by_{column}": f"CREATE INDEX IF NOT EXISTS {table}_by_{column} ON {table} ({column}) WHERE {column} IS NOT NULL"
    for table, column in _DEPENDS
}
"""These do not change the schema's version: versions that do not know the indexes keep them up to date all the same."""
_UNNEEDED = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {table} AS other WHERE other.{column} = texts.id)"
    for table, column in _DEPENDS
)

_NEEDED = """
WITH RECURSIVE needed (id) AS (
    SELECT before FROM writes UNION SELECT after FROM writes UNION SELECT text FROM ledgers
    UNION SELECT text FROM pre_images UNION SELECT text FROM picked
    UNION SELECT over FROM saves UNION SELECT text FROM saves
    UNION SELECT texts.base FROM texts JOIN needed ON texts.id = needed.id
)
"""


_NEEDED_FOR_THEMSELVES = """
WITH needed (id) AS (
    SELECT before FROM writes WHERE before IS NOT NULL
    UNION SELECT after FROM writes WHERE after IS NOT NULL
    UNION SELECT text FROM ledgers
    UNION SELECT text FROM pre_images
    UNION SELECT text FROM picked
    UNION SELECT over FROM saves
    UNION SELECT text FROM saves
)
"""


class RetentionLimits(NamedTuple):
    bytes: int = 512 * 1024 * 1024
    seconds: float = 30 * 24 * 3600.0


class Tidied(NamedTuple):
    sessions: int
    writes: int


def tidying(
    db: OpenJournal, is_running: Callable[[str], bool], limits: RetentionLimits, now: float
) -> Generator[None, None, Tidied]:
    """Delete what is too old or too much, one slice per step."""
    connection = db.connection
    yield from _indexed(db)
    too_old = now - limits.seconds
    with transaction(db, durable=False):
        _close_what_ended(connection, is_running)
        connection.execute("DELETE FROM ledgers WHERE updated < ?", (too_old,))
        turns.forget_old(connection, too_old, is_running)
    yield
    yield from _swept(db)
    sessions = writes = 0
    for session, owner, closed in connection.execute(
        "SELECT id, owner, closed FROM sessions WHERE closed IS NOT NULL ORDER BY closed, id"
    ).fetchall():
        if closed >= too_old and used_bytes(connection) <= limits.bytes:
            break
        while (deleted := _delete_some(db, session, owner)) is not None:
            writes += deleted.writes
            sessions += deleted.sessions
            yield
            if deleted.sessions:
                break
    yield from _shrunk(connection)
    return Tidied(sessions, writes)


def purge(
    connection: sqlite3.Connection,
    texts: TextStore,
    selection: Selection,
    is_running: Callable[[str], bool],
) -> int:
    """Delete the selected writes, and reviews of the same files, within a transaction. Returns the number of writes.

    Keeps the write that a running process is making, because its text before is stored nowhere else. Also keeps what a running turn stored when it
    began; that is deleted when the turn has ended.
    """
    where, values = condition(selection)
    for (owner,) in connection.execute("SELECT DISTINCT owner FROM writes WHERE state = 'intent'").fetchall():
        if is_running(owner):
            where += " AND NOT (state = 'intent' AND owner = ?)"
            values.append(owner)
    paths = {row[0] for row in connection.execute(f"SELECT path FROM writes WHERE {where}", values)}
    removed = connection.execute(f"DELETE FROM writes WHERE {where}", values).rowcount
    if selection == Selection():
        connection.execute("DELETE FROM ledgers")
    for path in paths:
        forget_ledger(connection, as_words(from_path(as_path(path))))
    turns.purge(connection, selection, is_running)
    _detach(connection, texts)
    collect(connection)
    connection.execute(
        "DELETE FROM sessions WHERE NOT EXISTS "
        "(SELECT 1 FROM writes WHERE writes.session = sessions.id AND writes.owner = sessions.owner)"
    )
    return removed


def collect(connection: sqlite3.Connection) -> None:
    """Delete texts that nothing depends on, and rows about deleted writes."""
    connection.execute("DELETE FROM picked WHERE write NOT IN (SELECT id FROM writes)")
    connection.execute(
        f"{_NEEDED} DELETE FROM texts WHERE id NOT IN (SELECT id FROM needed WHERE id IS NOT NULL)"
    )
    connection.execute("DELETE FROM states WHERE write NOT IN (SELECT id FROM writes)")
    connection.execute("DELETE FROM made_folders WHERE write NOT IN (SELECT id FROM writes)")
    connection.execute(
        "DELETE FROM taken_back WHERE by NOT IN (SELECT id FROM writes) OR write NOT IN (SELECT id FROM writes)"
    )


def _indexed(db: OpenJournal) -> Generator[None]:
    """Create the missing indexes: in a journal of an earlier version, all of them."""
    there = {row[0] for row in db.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
    for name, words in _INDEXES.items():
        if name not in there:
            with transaction(db, durable=False):
                db.connection.execute(words)
            yield


def _swept(db: OpenJournal) -> Generator[None]:
    """Delete the texts that nothing depends on any more. Searching for them blocks no writer."""
    last = 0
    (end,) = db.connection.execute("SELECT max(id) FROM texts").fetchone()  # others keep adding more
    while True:
        ids = [
            row[0]
            for row in db.connection.execute(
                "SELECT id FROM texts WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
                (last, end, TEXTS_AT_ONCE),
            )
        ]
        if not ids:
            return
        last = ids[-1]
        waits = [
            row[0]
            for row in db.connection.execute(
                f"SELECT id FROM texts WHERE id BETWEEN ? AND ? AND {_UNNEEDED}", (ids[0], last)
            )
        ]
        while waits:
            with transaction(db, durable=False):
                _drop_unneeded(db.connection, waits, BYTES_AT_ONCE)
            yield
        yield


def _delete_some(db: OpenJournal, session: str, owner: str) -> Tidied | None:
    """Delete some of a session's writes and the texts that only they needed; with the last writes, delete the session. None: the session stays,
    because it is open, or has a write that is still running or has yet to be settled."""
    connection, whose = db.connection, (session, owner)
    with transaction(db, durable=False):
        (closed,) = connection.execute(
            "SELECT count(*) FROM sessions WHERE id = ? AND owner = ? AND closed IS NOT NULL", whose
        ).fetchone()
        (unfinished,) = connection.execute(
            "SELECT count(*) FROM writes WHERE session = ? AND owner = ? AND state = 'intent'", whose
        ).fetchone()
        if unfinished or not closed:
            return None
        ids: list[str] = []
        texts: list[int] = []
        size = 0
        for write, before, after, more in connection.execute(
            "SELECT writes.id, before, after, coalesce(length(texts.data), 0) "
            "FROM writes LEFT JOIN texts ON texts.id = writes.after WHERE session = ? AND owner = ? LIMIT ?",
            (*whose, WRITES_AT_ONCE),
        ):
            ids.append(write)
            texts += (text for text in (before, after) if text is not None)
            size += more
            if size > BYTES_AT_ONCE:
                break
        these = f"({', '.join('?' * len(ids))})"
        texts += (
            row[0] for row in connection.execute(f"SELECT text FROM picked WHERE write IN {these}", ids)
        )
        for table in ("picked", "states", "made_folders"):
            connection.execute(f"DELETE FROM {table} WHERE write IN {these}", ids)
        connection.execute(f"DELETE FROM taken_back WHERE by IN {these} OR write IN {these}", (*ids, *ids))
        connection.execute(f"DELETE FROM writes WHERE id IN {these}", ids)
        _drop_unneeded(connection, texts)
        gone = connection.execute(
            "DELETE FROM sessions WHERE id = ? AND owner = ? "
            "AND NOT EXISTS (SELECT 1 FROM writes WHERE writes.session = sessions.id AND writes.owner = sessions.owner)",
            whose,
        ).rowcount
    return Tidied(gone, len(ids))


def _drop_unneeded(connection: sqlite3.Connection, ids: list[int], most: float = float("inf")) -> None:
    """Delete those texts that nothing depends on, and then those that only they depended on, within a transaction. Removes processed texts from
    `ids`; after `most` bytes, the rest stays there."""
    size = 0
    while ids and size < most:
        text = ids.pop()
        row = connection.execute(
            f"SELECT base, length(data) FROM texts WHERE id = ? AND {_UNNEEDED}", (text,)
        ).fetchone()
        if row is not None:
            connection.execute("DELETE FROM texts WHERE id = ?", (text,))
            size += row[1]
            ids += [row[0]] if row[0] is not None else []


def used_bytes(connection: sqlite3.Connection) -> int:
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    return (pages(connection) - free) * PAGE_BYTES


def pages(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA page_count").fetchone()[0]


def shrink(connection: sqlite3.Connection) -> None:
    """Return all free pages to the file system at once, and empty the log, which contains old pages. Best effort: while another process reads, the
    rest stays until the next time.
    """
    with suppress(sqlite3.OperationalError):
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` frees only one page
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _shrunk(connection: sqlite3.Connection) -> Generator[None]:
    """Return free pages to the file system, some per step."""
    with suppress(sqlite3.OperationalError):
        while connection.execute("PRAGMA freelist_count").fetchone()[0]:
            before = pages(connection)
            connection.executescript(f"PRAGMA incremental_vacuum({BYTES_AT_ONCE // PAGE_BYTES})")
            if pages(connection) == before:
                break
            yield
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def remove_damaged(folder: Path, older_than: float | None) -> None:
    """Delete damaged databases that were moved aside: those older than `older_than` seconds, or all. Raises OSError."""
    for path in folder.glob(f"{DAMAGED}*"):
        if older_than is None or time.time() - path.lstat().st_mtime > older_than:
            path.unlink()


def _close_what_ended(connection: sqlite3.Connection, is_running: Callable[[str], bool]) -> None:
    for (owner,) in connection.execute("SELECT DISTINCT owner FROM sessions WHERE closed IS NULL").fetchall():
        if not is_running(owner):
            connection.execute(
                "UPDATE sessions SET closed = coalesce((SELECT max(created) FROM writes "
                "WHERE writes.session = sessions.id AND writes.owner = sessions.owner), opened) "
                "WHERE owner = ? AND closed IS NULL",
                (owner,),
            )


def _detach(connection: sqlite3.Connection, texts: TextStore) -> None:
    """Rewrite needed texts that are stored as changes to texts that nothing else needs."""
    rows = connection.execute(
        f"{_NEEDED_FOR_THEMSELVES} SELECT texts.id FROM texts WHERE texts.id IN needed AND texts.base IS NOT NULL "
        "AND texts.base NOT IN needed"
    ).fetchall()
    for (text_id,) in rows:
        with suppress(TextLost):
            texts.store_whole(text_id)
