"""Errors from sqlite and the system as messages: what is wrong with the journal, and what to do about it.

No command is named: agents read these messages, and so do users of an editor extension, which installs no commands.
"""

from __future__ import annotations

import errno
import sqlite3

from sidecar.journal.entry import JournalFailed, JournalLocked


def is_damaged(error: BaseException) -> bool:
    """Whether the error means that the file is not, or no longer, an sqlite database."""
    return isinstance(error, sqlite3.DatabaseError) and _code(error) in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )


def was_moved(error: BaseException) -> bool:
    """Whether the error means that the file was deleted or renamed while it was open."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_DBMOVED


def explained(error: BaseException) -> JournalFailed:
    """Return the error as a clause to follow "it could not be journalled: ". Contains no paths, because agents see it."""
    if isinstance(error, JournalFailed):
        return error
    if isinstance(error, sqlite3.Error):
        if _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return JournalLocked()
        return JournalFailed(_sqlite_words(error))
    if isinstance(error, OSError):
        return JournalFailed(_system_words(error))
    return JournalFailed("a text in the journal is damaged and cannot be read")


def _sqlite_words(error: sqlite3.Error) -> str:
    match _code(error):
        case sqlite3.SQLITE_FULL:
            return "the disk with the journal is full; free some space"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return "the journal's file cannot be written to; look at its permissions"
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return "the journal's file is damaged"
        case sqlite3.SQLITE_TOOBIG:
            return "the text is too large for the journal"
        case sqlite3.SQLITE_IOERR:
            return "the disk with the journal reports an error, or is full"
        case _:
            return f"the journal cannot be used ({error})"


def _system_words(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return "the disk with the journal is full; free some space"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "the journal's folder cannot be written to; look at its permissions"
    return "the journal's folder cannot be used" + (f" ({error.strerror})" if error.strerror else "")


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code: the low byte of the extended one."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
