"""SqliteJournal: what the workspace keeps there, on one thread of its own so that no fsync holds the loop up."""

from __future__ import annotations

import functools
import itertools
import logging
import os
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from sidecar.journal import texts
from sidecar.journal.database import default_folder, open_database
from sidecar.journal.entry import Entry, EntryState, JournalFailed

log = logging.getLogger(__name__)
T = TypeVar("T")


class SqliteJournal:
    """See `ports.Journal`. Without a database (it could not be opened) every `begin` is refused in words."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else default_folder()
        self._connection: sqlite3.Connection | None = None
        self._one = anyio.CapacityLimiter(1)
        self._serial = itertools.count()
        self._why = "it was not opened"

    @classmethod
    @asynccontextmanager
    async def opened(cls, folder: Path | None = None) -> AsyncGenerator[SqliteJournal]:
        """A journal, closed again when left. Never raises: what is wrong is said at the first write."""
        journal = cls(folder)
        await journal.open()
        try:
            yield journal
        finally:
            with anyio.CancelScope(shield=True):
                await journal.close()

    async def open(self) -> None:
        try:
            self._connection = await anyio.to_thread.run_sync(open_database, self._folder, limiter=self._one)
        except (OSError, sqlite3.Error) as error:
            self._why = str(error)
            log.error("the journal in %s cannot be opened: %s", self._folder, error)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await anyio.to_thread.run_sync(connection.close, limiter=self._one)

    async def begin(self, entry: Entry) -> str:
        entry_id = (
            f"{time.time_ns() // 1_000_000:012x}{os.getpid() & 0xFFFF:04x}{next(self._serial) & 0xFFFF:04x}"
        )
        try:
            await self._run(_begin, entry_id, entry)
        except (OSError, sqlite3.Error) as error:
            raise JournalFailed(f"the journal in {self._folder} cannot be written ({error})") from error
        return entry_id

    async def finish(self, entry_id: str, state: EntryState) -> None:
        await self._try(_finish, entry_id, state)

    async def save_ledger(self, uri: str, text: str, hunks: bytes) -> None:
        await self._try(_save_ledger, uri, text, hunks)

    async def load_ledger(self, uri: str) -> tuple[str, bytes] | None:
        return await self._try(_load_ledger, uri)

    async def forget_ledger(self, uri: str) -> None:
        await self._try(_forget_ledger, uri)

    async def _try(self, work: Callable[..., T], *arguments: object) -> T | None:
        try:
            return await self._run(work, *arguments)
        except (OSError, sqlite3.Error, KeyError) as error:
            log.error("the journal in %s: %s", self._folder, error)
            return None

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        connection = self._connection
        if connection is None:
            raise OSError(self._why)
        call = functools.partial(_in_transaction, connection, work, arguments)
        return await anyio.to_thread.run_sync(call, limiter=self._one)


def _in_transaction(
    connection: sqlite3.Connection, work: Callable[..., T], arguments: tuple[object, ...]
) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection, *arguments)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return result


def _begin(connection: sqlite3.Connection, entry_id: str, entry: Entry) -> None:
    row = connection.execute(
        "SELECT coalesce(after, before) FROM writes WHERE path = ? ORDER BY id DESC LIMIT 1", (entry.path,)
    ).fetchone()
    before = None if entry.before is None else texts.put(connection, entry.before, row[0] if row else None)
    after = None if entry.after is None else texts.put(connection, entry.after, before)
    connection.execute(
        "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'intent')",
        (
            entry_id,
            time.time(),
            os.getpid(),
            entry.session,
            entry.agent,
            entry.turn,
            entry.tool_call,
            entry.root,
            entry.path,
            before,
            after,
            entry.encoding,
            entry.bom,
            entry.via,
        ),
    )


def _finish(connection: sqlite3.Connection, entry_id: str, state: EntryState) -> None:
    connection.execute("UPDATE writes SET state = ? WHERE id = ?", (state, entry_id))


def _save_ledger(connection: sqlite3.Connection, uri: str, text: str, hunks: bytes) -> None:
    row = connection.execute("SELECT text FROM ledgers WHERE uri = ?", (uri,)).fetchone()
    digest = texts.put(connection, text, row[0] if row else None)
    connection.execute(
        "INSERT OR REPLACE INTO ledgers VALUES (?, ?, ?, ?)", (uri, digest, hunks, time.time())
    )


def _load_ledger(connection: sqlite3.Connection, uri: str) -> tuple[str, bytes] | None:
    row = connection.execute("SELECT text, hunks FROM ledgers WHERE uri = ?", (uri,)).fetchone()
    return None if row is None else (texts.get(connection, row[0]), row[1])


def _forget_ledger(connection: sqlite3.Connection, uri: str) -> None:
    connection.execute("DELETE FROM ledgers WHERE uri = ?", (uri,))
