"""The journal: the text before and after everything an agent changes, durable before the change is made.

    entry.py      Entry (a write as it is journalled), Recorded (as it is found there), JournalFailed
    folder.py     the folder it lies in: the user's own and nobody else's
    alive.py      which of the processes that wrote into it still run
    database.py   the sqlite file: opened, made, moved aside when it is damaged
    texts.py      texts stored once, later ones of a file as changes of earlier ones
    store.py      Store: everything that is kept, synchronous; what the command line uses
    opened.py, writing.py, selecting.py   transactions, what is put in, what is found again; ids.py
    turns.py      what files were when a running turn began, for the case that nobody is there when it ends
    interrupted.py  writes that nobody finished, and what became of them
    retention.py  what is thrown away, and when
    words.py      sqlite's errors in words
    journal.py    SqliteJournal: the same for the event loop, on a thread of its own

It knows texts and paths and opens no file of a workspace; comparing the two is `sidecar.recovery`'s.
"""

from __future__ import annotations

from sidecar.journal.journal import SqliteJournal
from sidecar.journal.store import Store

__all__ = ["SqliteJournal", "Store"]
