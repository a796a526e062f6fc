"""Store: the journal itself, synchronous. One thread at a time; SqliteJournal and the command line both stand on it.

Every method raises JournalFailed, in words, and nothing else. The database is looked at by name before each use: when it was
deleted or moved while it was open, a new one is begun instead of writing into a file that nobody can find again.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from sidecar.core.hunks import line_hunks
from sidecar.journal import interrupted, retention, selecting
from sidecar.journal.alive import Alive, is_alive, sweep
from sidecar.journal.database import BUSY_SECONDS, NAME, identity, open_database, set_aside
from sidecar.journal.entry import Entry, EntryState, JournalFailed, Recorded, State, Texts
from sidecar.journal.folder import default_folder
from sidecar.journal.ids import next_id
from sidecar.journal.interrupted import Interrupted
from sidecar.journal.retention import Limits, Tidied
from sidecar.journal.selecting import Selection, as_blob, as_words
from sidecar.journal.texts import Prepared, TextLost, TextStore
from sidecar.journal.words import explained, is_damaged, was_moved

T = TypeVar("T")

TIDY_EVERY_BYTES = 64 * 1024 * 1024
"""After how much growth of the database by this process what may go is thrown away, beside at every start."""


@dataclass(slots=True)
class _Open:
    connection: sqlite3.Connection
    identity: tuple[int, int]
    texts: TextStore
    alive: Alive
    durable: bool | None = None
    """What `synchronous` was set to; what it is by default depends on how sqlite was built."""


class Store:
    """Opened at its first use, and again when its file is gone. Close it, or use it as a context manager."""

    def __init__(self, folder: Path | None = None, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.folder = folder if folder is not None else default_folder()
        self.notices: list[str] = []
        """What a person should be told, in sentences; whoever tells it clears it."""
        self._busy_seconds = busy_seconds
        self._open: _Open | None = None
        self._pages_at_tidying = 0

    @property
    def exists(self) -> bool:
        """Whether anything was ever journalled here; looking does not make it."""
        return os.path.lexists(self.folder / NAME)

    def close(self) -> None:
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    def open(self) -> None:
        """Makes what is missing; else done at the first use."""
        self._do(lambda db: None)

    def begin(self, entry: Entry, takes_back: Iterable[str] = ()) -> str:
        """Journals a write that is about to be made; its id. Durable when this returns.

        `takes_back`: ids of writes that are `undone` once this one is done."""
        return self._do(lambda db: self._begin(db, entry, takes_back), repair=True)

    def finish(self, entry_id: str, state: EntryState, after: str | None = None) -> None:
        """What became of it; `after` when it left another text than was planned.

        Not synced: lost with the machine, it is found out at the next start."""
        self._do(lambda db: self._finish(db, entry_id, state, after))

    def session_opened(self, session: str, agent: str, cwd: str) -> None:
        """Its entries are kept while this process lives and has not closed it. The first write of a session does the same."""

        def work(db: _Open) -> None:
            with _transaction(db, durable=False):
                _know_session(db, session, agent, cwd)

        self._do(work)

    def session_closed(self, session: str) -> None:
        def work(db: _Open) -> None:
            with _transaction(db, durable=False):
                db.connection.execute(
                    "UPDATE sessions SET closed = ? WHERE id = ? AND owner = ? AND closed IS NULL",
                    (time.time(), as_words(session), db.alive.owner),
                )

        self._do(work)

    def save_ledger(self, uri: str, text: str, hunks: bytes) -> None:
        """The unreviewed hunks of a document, and the text they are in."""
        self._do(lambda db: _save_ledger(db, as_words(uri), text, hunks), repair=True)
        self.tidy_if_grown()

    def forget_ledger(self, uri: str) -> None:
        def work(db: _Open) -> None:
            with _transaction(db, durable=False):
                db.connection.execute("DELETE FROM ledgers WHERE uri = ?", (as_words(uri),))

        self._do(work)

    # Reading

    def load_ledger(self, uri: str) -> tuple[str, bytes] | None:
        def work(db: _Open) -> tuple[str, bytes] | None:
            row = db.connection.execute(
                "SELECT text, hunks FROM ledgers WHERE uri = ?", (as_words(uri),)
            ).fetchone()
            return None if row is None else (db.texts.get(row[0]), row[1])

        return self._do(work)

    def entries(self, selection: Selection | None = None) -> list[Recorded]:
        """Newest first."""
        return self._do(lambda db: selecting.entries(db.connection, selection or Selection()))

    def count(self, selection: Selection) -> int:
        return self._do(lambda db: selecting.count(db.connection, selection))

    def named(self, name: str) -> list[Recorded]:
        """Every write whose id is, begins with or ends with `name`."""
        return self._do(lambda db: selecting.named(db.connection, name))

    def sessions_named(self, name: str) -> list[str]:
        """Every session with writes whose id is or begins with `name`."""
        return self._do(lambda db: selecting.sessions_named(db.connection, name))

    def texts(self, entry_id: str) -> Texts:
        """The raw texts before and after a write."""

        def work(db: _Open) -> Texts:
            row = db.connection.execute(
                "SELECT before, after FROM writes WHERE id = ?", (entry_id,)
            ).fetchone()
            if row is None:
                raise JournalFailed(f"there is no write {entry_id} in the journal")
            before, after = (None if text is None else db.texts.get(text) for text in row)
            return Texts(before, after)

        return self._do(work)

    def taken_back_by(self, entry_id: str) -> list[str]:
        """Ids of the writes that a revert took back."""

        def work(db: _Open) -> list[str]:
            rows = db.connection.execute("SELECT write FROM taken_back WHERE by = ?", (entry_id,))
            return [row[0] for row in rows]

        return self._do(work)

    def is_running(self, owner: str) -> bool:
        """Whether the process that journalled a write still runs."""
        return is_alive(self.folder, owner)

    # What others left behind

    def interrupted(self) -> list[Interrupted]:
        """Writes of processes that ended before they said what became of them, oldest first."""
        return self._do(lambda db: interrupted.find(db.connection, db.texts, self.is_running))

    def settle(self, entry_id: str, state: EntryState) -> bool:
        """What became of an interrupted write; False when another process has said so already."""

        def work(db: _Open) -> bool:
            with _transaction(db, durable=True):
                return _set_state(db.connection, entry_id, state, only_if="intent")

        return self._do(work)

    def tidy(self, limits: Limits | None = None, now: float | None = None) -> Tidied:
        """Throws away what is too old or too much; never anything of an open session of a running process."""

        def work(db: _Open) -> Tidied:
            with _transaction(db, durable=False):
                tidied = retention.tidy(
                    db.connection, self.is_running, limits or Limits(), time.time() if now is None else now
                )
            retention.shrink(db.connection)
            self._pages_at_tidying = retention.pages(db.connection)
            return tidied

        tidied = self._do(work)
        sweep(self.folder)
        with suppress(OSError):
            retention.remove_damaged(self.folder, (limits or Limits()).seconds)
        return tidied

    def purge(self, selection: Selection) -> int:
        """Deletes these writes and every text that nothing else needs; the number of writes. Nothing of them stays in the file.

        An empty selection is everything, also what was put aside as damaged."""

        def work(db: _Open) -> int:
            with _transaction(db, durable=True):
                removed = retention.purge(db.connection, db.texts, selection, self.is_running)
            db.texts.forget()
            retention.shrink(db.connection, thoroughly=True)
            return removed

        removed = self._do(work)
        if selection == Selection():
            with suppress(OSError):
                retention.remove_damaged(self.folder, None)
        return removed

    def tidy_if_grown(self) -> None:
        """`tidy` when this process has written much since the last time."""

        def grown(db: _Open) -> bool:
            pages = retention.pages(db.connection)
            if not self._pages_at_tidying or pages < self._pages_at_tidying:
                self._pages_at_tidying = pages
            return (pages - self._pages_at_tidying) * retention.PAGE_BYTES > TIDY_EVERY_BYTES

        if self._do(grown):
            self.tidy()

    # Inside

    def _do(self, work: Callable[[_Open], T], *, repair: bool = False) -> T:
        """`work` on the open database. With `repair` it is done again on a new one when the database turns out to be damaged."""
        try:
            try:
                return work(self._ready())
            except sqlite3.DatabaseError as error:
                if was_moved(error):
                    self._close()
                elif is_damaged(error) and repair:
                    self._put_aside()
                else:
                    raise
                return work(self._ready())
        except (OSError, sqlite3.Error, TextLost) as error:
            raise explained(error) from error

    def _ready(self) -> _Open:
        if self._open is not None and not self._is_there(self._open):
            self._close()
            self.notices.append(
                "The journal of what agents changed was removed while it was in use; a new one was begun."
            )
        if self._open is None:
            opened = open_database(self.folder, self._busy_seconds)
            self.notices += opened.notices
            try:
                alive = Alive(self.folder)
            except BaseException:
                opened.connection.close()
                raise
            self._open = _Open(opened.connection, opened.identity, TextStore(opened.connection), alive)
        return self._open

    def _is_there(self, db: _Open) -> bool:
        try:
            return identity(self.folder) == db.identity
        except OSError:
            return False

    def _put_aside(self) -> None:
        if self._open is not None:
            damaged = self._open.identity
            self._close()
            self.notices += set_aside(self.folder, damaged, self._busy_seconds)

    def _close(self) -> None:
        db, self._open = self._open, None
        if db is not None:
            with suppress(sqlite3.Error):
                db.connection.close()
            db.alive.close()

    def _begin(self, db: _Open, entry: Entry, takes_back: Iterable[str]) -> str:
        prepared = _prepare(db, entry)
        added, removed = lines_changed(entry.before, entry.after)
        with _transaction(db, durable=True):
            ids = _put(db, prepared)
            if ids is None:  # what they build on was thrown away by another process in between
                ids = _put(db, _prepare(db, entry))
            if ids is None:
                raise TextLost(entry.path)
            before, after = ids
            (last,) = db.connection.execute("SELECT max(id) FROM writes").fetchone()
            entry_id = next_id(last, time.time())
            _know_session(db, entry.session, entry.agent, entry.root)
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
                    before,
                    after,
                    entry.encoding,
                    entry.bom,
                    entry.via,
                    added,
                    removed,
                ),
            )
            db.connection.executemany(
                "INSERT INTO taken_back SELECT ?, id, state FROM writes WHERE id = ?",
                [(entry_id, write) for write in takes_back],
            )
        return entry_id

    def _finish(self, db: _Open, entry_id: str, state: EntryState, after: str | None) -> None:
        if after is None:
            with _transaction(db, durable=False):
                _set_state(db.connection, entry_id, state)
            return
        row = db.connection.execute("SELECT before FROM writes WHERE id = ?", (entry_id,)).fetchone()
        before_id: int | None = None if row is None else row[0]
        before = None if before_id is None else db.texts.get(before_id)
        like = None if before_id is None else db.texts.hash_of(before_id)
        prepared = db.texts.prepare(after, like, before)
        added, removed = lines_changed(before, after)
        with _transaction(db, durable=True):
            text = db.texts.put(prepared) or db.texts.put(db.texts.prepare(after))
            db.connection.execute(
                "UPDATE writes SET after = ?, added = ?, removed = ? WHERE id = ?",
                (text, added, removed, entry_id),
            )
            _set_state(db.connection, entry_id, state)


def lines_changed(before: str | None, after: str | None) -> tuple[int, int]:
    """Whole lines added and removed."""
    old, new = before or "", after or ""
    added = removed = 0
    for hunk in line_hunks(old, new):
        removed += _lines(old, hunk.old_start, hunk.old_end)
        added += _lines(new, hunk.new_start, hunk.new_end)
    return added, removed


def _lines(text: str, start: int, end: int) -> int:
    ends = text.count("\n", start, end) + text.count("\r", start, end) - text.count("\r\n", start, end)
    return ends + (start < end and text[end - 1] not in "\r\n")


@contextmanager
def _transaction(db: _Open, *, durable: bool) -> Generator[None]:
    """All or nothing, one writer at a time. `durable`: on the disk when it is left."""
    connection = db.connection
    if db.durable is not durable:
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        db.durable = durable
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # sqlite rolls some failures back by itself
            connection.execute("ROLLBACK")
        raise


def _prepare(db: _Open, entry: Entry) -> Sequence[Prepared | None]:
    row = db.connection.execute(
        "SELECT coalesce(after, before) FROM writes WHERE path = ? ORDER BY id DESC LIMIT 1",
        (as_blob(entry.path),),
    ).fetchone()
    like = None if row is None or row[0] is None else db.texts.hash_of(row[0])
    before = None if entry.before is None else db.texts.prepare(entry.before, like)
    if entry.after is None:
        return before, None
    if before is not None:
        return before, db.texts.prepare(entry.after, before.hash, before.text)
    return None, db.texts.prepare(entry.after, like)


def _put(db: _Open, prepared: Sequence[Prepared | None]) -> list[int | None] | None:
    ids: list[int | None] = []
    for one in prepared:
        text = None if one is None else db.texts.put(one)
        if one is not None and text is None:
            return None
        ids.append(text)
    return ids


def _know_session(db: _Open, session: str, agent: str, cwd: str) -> None:
    db.connection.execute(
        "INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, ?, ?, ?, NULL)",
        (as_words(session), db.alive.owner, as_words(agent), as_blob(cwd), os.getpid(), time.time()),
    )


def _save_ledger(db: _Open, uri: str, text: str, hunks: bytes) -> None:
    row = db.connection.execute("SELECT text FROM ledgers WHERE uri = ?", (uri,)).fetchone()
    prepared = db.texts.prepare(text, None if row is None else db.texts.hash_of(row[0]))
    with _transaction(db, durable=False):
        text_id = db.texts.put(prepared) or db.texts.put(db.texts.prepare(text))
        db.connection.execute(
            "INSERT OR REPLACE INTO ledgers VALUES (?, ?, ?, ?)", (uri, text_id, hunks, time.time())
        )


def _set_state(
    connection: sqlite3.Connection, entry_id: str, state: State, only_if: State | None = None
) -> bool:
    """Whether it was set. A revert that is done undoes what it took back; one that is undone itself gives it back."""
    row = connection.execute("SELECT state FROM writes WHERE id = ?", (entry_id,)).fetchone()
    if row is None or (only_if is not None and row[0] != only_if):
        return False
    connection.execute("UPDATE writes SET state = ? WHERE id = ?", (state, entry_id))
    if state in ("done", "undone") and row[0] != state:
        for write, was in connection.execute(
            "SELECT write, was FROM taken_back WHERE by = ? AND write < by", (entry_id,)
        ).fetchall():
            _set_state(connection, write, "undone" if state == "done" else was)
    return True
