"""OpenJournal: the open database, and transactions on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from sidecar.journal.alive import Alive
from sidecar.journal.texts import TextStore


@dataclass(slots=True)
class OpenJournal:
    connection: sqlite3.Connection
    identity: tuple[int, int]
    """Device and inode of its file."""
    texts: TextStore
    alive: Alive
    durable: bool | None = None
    """The last setting of `synchronous`. None: not set yet; the default depends on how sqlite was built."""


@contextmanager
def transaction(db: OpenJournal, *, durable: bool) -> Generator[None]:
    """Run the block as a transaction: all or nothing, one writer at a time. `durable`: on disk at the end."""
    connection = db.connection
    if db.durable is not durable:
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        db.durable = durable
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # sqlite rolls back some failures itself
            connection.execute("ROLLBACK")
        raise
