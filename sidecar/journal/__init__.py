"""The journal: the text before and after everything an agent changes, stored durably before the change is made.

    entry.py      Entry (a write to be journalled), Recorded (a write as the journal returns it), JournalFailed
    folder.py     the folder of the journal: the user's own, private
    alive.py      which of the processes that wrote to it are still running
    database.py   the sqlite file: opens it, creates it, moves it aside if it is damaged
    texts.py      stores each text once, and later texts of a file as changes to earlier ones
    recent_texts.py  RecentTexts: the texts that it met last, in memory
    store.py      Store: everything that is kept; synchronous; the command line uses it directly
    opened.py, writing.py, selecting.py   transactions, insertions, queries
    gone.py       what was taken back of a file's earlier writes since
    ids.py        ids of writes, which sort by time
    turns.py      the state of files when a running turn began, in case the sidecar dies before the turn ends
    interrupted.py  writes that were never finished, and how they ended
    retention.py  what is deleted, and when
    too_large.py  the message about a journal larger than its limit
    words.py      sqlite's errors as messages
    calls.py      Calls: the journal's thread, which carries out all calls that wait in one go
    journal.py    SqliteJournal: the Store for the event loop, on its own thread

It knows texts and paths but opens no workspace file. `sidecar.recovery` compares the two.
"""

from __future__ import annotations

from sidecar.journal.journal import SqliteJournal
from sidecar.journal.store import Store

__all__ = ["SqliteJournal", "Store"]
