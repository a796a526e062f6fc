"""Retention: what the journal deletes, and what it never deletes.

Whole sessions are deleted, oldest first: those that ended more than 30 days ago, and more if the journal exceeds 512
MiB. A session that is open in a running process is never touched. A text is deleted when no write, no review and no
other text depends on it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sidecar.core.uri import from_path
from sidecar.journal import turns
from sidecar.journal.database import DAMAGED
from sidecar.journal.selecting import Selection, as_path, as_words, condition
from sidecar.journal.texts import TextLost, TextStore

PAGE_BYTES = 4096
"""sqlite's default, which the database is made with."""

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


class Limits(NamedTuple):
    bytes: int = 512 * 1024 * 1024
    seconds: float = 30 * 24 * 3600.0


class Tidied(NamedTuple):
    sessions: int
    writes: int


def tidy(
    connection: sqlite3.Connection, is_running: Callable[[str], bool], limits: Limits, now: float
) -> Tidied:
    """Deletes what is too old or too much, within a transaction."""
    _close_what_ended(connection, is_running)
    sessions = writes = 0
    too_old = now - limits.seconds
    connection.execute("DELETE FROM ledgers WHERE updated < ?", (too_old,))
    turns.forget_old(connection, too_old, is_running)
    collect(connection)
    for session, owner, closed in connection.execute(
        "SELECT id, owner, closed FROM sessions WHERE closed IS NOT NULL ORDER BY closed, id"
    ).fetchall():
        if closed >= too_old and used_bytes(connection) <= limits.bytes:
            break
        whose = (session, owner)
        (unfinished,) = connection.execute(
            "SELECT count(*) FROM writes WHERE session = ? AND owner = ? AND state = 'intent'", whose
        ).fetchone()
        if unfinished:
            continue  # still running, or to be examined first
        writes += connection.execute("DELETE FROM writes WHERE session = ? AND owner = ?", whose).rowcount
        connection.execute("DELETE FROM sessions WHERE id = ? AND owner = ?", whose)
        sessions += 1
        collect(connection)
    return Tidied(sessions, writes)


def purge(
    connection: sqlite3.Connection,
    texts: TextStore,
    selection: Selection,
    is_running: Callable[[str], bool],
) -> int:
    """Deletes the selected writes within a transaction, and reviews of the same files. Returns the number of writes.

    Keeps the write that a running process is making, because its text before is stored nowhere else. Also keeps what a
    running turn stored when it began; that is deleted when the turn has ended.
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
        connection.execute("DELETE FROM ledgers WHERE uri = ?", (as_words(from_path(as_path(path))),))
    turns.purge(connection, selection, is_running)
    _detach(connection, texts)
    collect(connection)
    connection.execute(
        "DELETE FROM sessions WHERE NOT EXISTS "
        "(SELECT 1 FROM writes WHERE writes.session = sessions.id AND writes.owner = sessions.owner)"
    )
    return removed


def collect(connection: sqlite3.Connection) -> None:
    """Deletes texts that nothing depends on, and notes about deleted writes."""
    connection.execute("DELETE FROM picked WHERE write NOT IN (SELECT id FROM writes)")
    connection.execute(
        f"{_NEEDED} DELETE FROM texts WHERE id NOT IN (SELECT id FROM needed WHERE id IS NOT NULL)"
    )
    connection.execute("DELETE FROM states WHERE write NOT IN (SELECT id FROM writes)")
    connection.execute("DELETE FROM made_folders WHERE write NOT IN (SELECT id FROM writes)")
    connection.execute(
        "DELETE FROM taken_back WHERE by NOT IN (SELECT id FROM writes) OR write NOT IN (SELECT id FROM writes)"
    )


def used_bytes(connection: sqlite3.Connection) -> int:
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    return (pages(connection) - free) * PAGE_BYTES


def pages(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA page_count").fetchone()[0]


def shrink(connection: sqlite3.Connection, *, thoroughly: bool = False) -> None:
    """Returns free pages to the file system. With `thoroughly`, also empties the log, which contains old pages.

    Best effort: while another process reads, the rest stays until the next time.
    """
    with suppress(sqlite3.OperationalError):
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` frees only one page
        connection.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if thoroughly else 'PASSIVE'})").fetchall()


def remove_damaged(folder: Path, older_than: float | None) -> None:
    """Deletes damaged databases that were moved aside: those older than `older_than` seconds, or all. Raises OSError."""
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
    """Rewrites needed texts that are stored as changes to texts that nothing else needs."""
    rows = connection.execute(
        f"{_NEEDED_FOR_THEMSELVES} SELECT texts.id FROM texts WHERE texts.id IN needed AND texts.base IS NOT NULL "
        "AND texts.base NOT IN needed"
    ).fetchall()
    for (text_id,) in rows:
        with suppress(TextLost):
            texts.store_whole(text_id)
