"""The sqlite file: in the user's state folder, readable only by the user, in WAL mode, shared by all of the user's
sidecars.

A transaction committed with `synchronous = FULL` survives a crash of the machine, not only of the process. A file that
is no longer a database is moved aside and never deleted, because the user may want to recover data from it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sidecar.journal import folder as folders
from sidecar.journal.entry import JournalFailed
from sidecar.journal.words import is_damaged

NAME = "journal.sqlite3"
DAMAGED = "journal-damaged-"
"""The start of the name of a database that was moved aside."""
COMPANIONS = ("", "-wal", "-shm")
VERSION = 6
BUSY_SECONDS = 5.0
"""Seconds to wait for another program that keeps the file locked. Several sidecars share the file; a commit takes milliseconds."""

SCHEMA = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    base INTEGER REFERENCES texts (id),
    depth INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE sessions (
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    cwd BLOB NOT NULL,
    pid INTEGER NOT NULL,
    opened REAL NOT NULL,
    closed REAL,
    PRIMARY KEY (id, owner)
) WITHOUT ROWID;
CREATE TABLE writes (
    id TEXT PRIMARY KEY,
    created REAL NOT NULL,
    owner TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    turn INTEGER NOT NULL,
    tool_call TEXT,
    root BLOB NOT NULL,
    path BLOB NOT NULL,
    before INTEGER REFERENCES texts (id),
    after INTEGER REFERENCES texts (id),
    encoding TEXT NOT NULL,
    bom BLOB NOT NULL,
    via TEXT NOT NULL,
    state TEXT NOT NULL,
    added INTEGER NOT NULL,
    removed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX writes_by_path ON writes (path, id);
CREATE INDEX writes_by_session ON writes (session, owner, turn);
CREATE INDEX writes_unfinished ON writes (state) WHERE state = 'intent';
CREATE TABLE taken_back (
    by TEXT NOT NULL,
    write TEXT NOT NULL,
    was TEXT NOT NULL,
    PRIMARY KEY (by, write)
) WITHOUT ROWID;
CREATE TABLE ledgers (
    uri TEXT PRIMARY KEY,
    text INTEGER NOT NULL REFERENCES texts (id),
    hunks BLOB NOT NULL,
    updated REAL NOT NULL
) WITHOUT ROWID;
"""
"""Paths are BLOBs, because file names need not be Unicode. `taken_back`: which writes a revert or a rejection took back, and the state that they had."""

TURNS = """
CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    turn INTEGER NOT NULL,
    root BLOB NOT NULL,
    folder BLOB NOT NULL,
    head TEXT NOT NULL,
    began REAL NOT NULL,
    seen REAL NOT NULL,
    others BLOB NOT NULL,
    acted INTEGER NOT NULL DEFAULT 0,
    claimed TEXT
);
CREATE INDEX turns_by_session ON turns (session, owner);
CREATE TABLE pre_images (
    turn INTEGER NOT NULL REFERENCES turns (id),
    name BLOB NOT NULL,
    text INTEGER NOT NULL REFERENCES texts (id),
    encoding TEXT NOT NULL,
    bom BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (turn, name)
) WITHOUT ROWID;
"""
"""Since version 2: see turns.py. The folders of running turns and the state of their files; nothing about turns that have ended."""


STATES = """
CREATE TABLE states (
    write TEXT NOT NULL,
    side INTEGER NOT NULL,
    kind TEXT NOT NULL,
    mode INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (write, side)
) WITHOUT ROWID;
"""
"""Since version 3: the whole state under a path before (side 0) and after (side 1) a write, compressed, if texts do not cover it. `kind`: file, link,
or none."""

FOLDERS = """
CREATE TABLE made_folders (
    write TEXT NOT NULL,
    folder BLOB NOT NULL,
    PRIMARY KEY (write, folder)
) WITHOUT ROWID;
"""
"""Since version 4: the folders that were created for a file, by the write that created the file."""

PICKED = """
CREATE TABLE picked (
    write TEXT NOT NULL,
    text INTEGER NOT NULL REFERENCES texts (id),
    hunks BLOB NOT NULL
);
CREATE INDEX picked_by_write ON picked (write);
"""
"""Since version 5: hunks that were kept one by one, and the text that contained them, by the file's newest write at that time."""

SAVES = """
CREATE TABLE saves (
    turn INTEGER NOT NULL REFERENCES turns (id),
    name BLOB NOT NULL,
    over INTEGER NOT NULL REFERENCES texts (id),
    text INTEGER NOT NULL REFERENCES texts (id),
    PRIMARY KEY (turn, name)
) WITHOUT ROWID;
"""
"""Since version 6: what the user saved in a running turn, and over which text, until it becomes a pre-image."""


class OpenedDatabase(NamedTuple):
    connection: sqlite3.Connection
    identity: tuple[int, int]
    """Device and inode of the file behind the connection."""
    notices: list[str]
    """Messages for the user."""


_SINCE = (0, 1, 2, 3, 4, 5)
"""The version before each part of the schema."""


def open_database(folder: Path, busy_seconds: float = BUSY_SECONDS) -> OpenedDatabase:
    """Open the database in `folder`, creating both if necessary. Raises JournalFailed, OSError or sqlite3.Error."""
    folders.make(folder)
    notices: list[str] = []
    with folders.locked(folder, busy_seconds):
        try:
            connection = _connect(folder, busy_seconds)
        except sqlite3.DatabaseError as error:
            if not is_damaged(error):
                raise
            notices.append(_set_aside(folder))
            connection = _connect(folder, busy_seconds)
    return OpenedDatabase(connection, identity(folder), notices)


def identity(folder: Path) -> tuple[int, int]:
    """Return the device and inode that the database's name currently refers to. Raises OSError."""
    found = os.lstat(os.path.join(folder, NAME))  # a string: see state_folder.py
    return found.st_dev, found.st_ino


def set_aside(folder: Path, damaged: tuple[int, int], busy_seconds: float = BUSY_SECONDS) -> list[str]:
    """Move the database aside, unless another process already has. Returns messages for the user. Raises the same errors as `open_database`."""
    with folders.locked(folder, busy_seconds), suppress(FileNotFoundError):
        if identity(folder) == damaged:
            return [_set_aside(folder)]
    return []


def _connect(folder: Path, busy_seconds: float) -> sqlite3.Connection:
    path = folder / NAME
    # Never open and close it here: closing any descriptor of the file drops sqlite's locks on it (POSIX).
    is_new = not folders.check_file(path)
    for suffix in COMPANIONS[1:]:
        folders.check_file(folder / f"{NAME}{suffix}")
    if is_new:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    try:
        _configure(connection)
    except BaseException:
        connection.close()
        raise
    if is_new:
        _sync(folder)
    return connection


def _configure(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA synchronous = NORMAL")  # an empty database has nothing to lose
    # takes effect only before the first table is created
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "PRAGMA journal_size_limit = 16777216"
    )  # bytes that the log may keep after it was written back
    connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone reaches only the drive's cache
    # deleted content is overwritten, because it may contain secrets
    connection.execute("PRAGMA secure_delete = ON")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise JournalFailed("the journal was written by a newer acp-sidecar; update this one")
    if version < VERSION:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and not version:
            error = sqlite3.DatabaseError("tables without a version")
            error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
            raise error
        schema = "".join([SCHEMA, TURNS, STATES, FOLDERS, PICKED, SAVES][_SINCE.index(version) :])
        connection.executescript(f"BEGIN IMMEDIATE; {schema} PRAGMA user_version = {VERSION}; COMMIT;")


def _set_aside(folder: Path) -> str:
    stem = DAMAGED + time.strftime("%Y%m%dT%H%M%S")
    name, number = f"{stem}.sqlite3", 1
    while (folder / name).exists():
        number += 1
        name = f"{stem}-{number}.sqlite3"
    for suffix in COMPANIONS:
        with suppress(FileNotFoundError):
            (folder / f"{NAME}{suffix}").rename(folder / f"{name}{suffix}")
    return (
        "The journal of agents' changes was damaged. It was renamed to "
        f"{folder / name}, and a new one was started. Earlier changes can no longer be listed or taken back."
    )


def _sync(folder: Path) -> None:
    """Make the new file's name as durable as its content, if the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
