"""The sqlite file: in the user's state folder, readable by the user alone (secrets are in it too), in WAL mode.

`synchronous = FULL`: a transaction that was committed survives the machine, not only the process.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import platformdirs

NAME = "journal.sqlite3"
BUSY_SECONDS = 10.0
"""Several sidecars share the file; a commit takes milliseconds."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (
    hash BLOB PRIMARY KEY,
    base BLOB REFERENCES texts(hash),
    depth INTEGER NOT NULL,
    data BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS writes (
    id TEXT PRIMARY KEY,
    created REAL NOT NULL,
    pid INTEGER NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    turn INTEGER NOT NULL,
    tool_call TEXT,
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    before BLOB REFERENCES texts(hash),
    after BLOB REFERENCES texts(hash),
    encoding TEXT NOT NULL,
    bom BLOB NOT NULL,
    via TEXT NOT NULL,
    state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS writes_by_path ON writes (path, id);
CREATE INDEX IF NOT EXISTS writes_by_session ON writes (session, turn);
CREATE TABLE IF NOT EXISTS ledgers (
    uri TEXT PRIMARY KEY,
    text BLOB NOT NULL REFERENCES texts(hash),
    hunks BLOB NOT NULL,
    updated REAL NOT NULL
) WITHOUT ROWID;
"""


def default_folder() -> Path:
    """Where the journal lies unless told otherwise."""
    return platformdirs.user_state_path("acp-sidecar", appauthor=False) / "journal"


def open_database(folder: Path) -> sqlite3.Connection:
    """The database in `folder`, made if need be. Raises OSError or sqlite3.Error.

    The folder must be the user's own and nobody else's: a journal in a folder of somebody else's would hand them every text."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid"):
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(f"{folder} is not a folder of yours")
        if found.st_mode & 0o077:
            folder.chmod(0o700)
    path = folder / NAME
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    os.close(descriptor)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(SCHEMA)
    return connection
