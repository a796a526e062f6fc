"""The journal: the text before and after everything an agent changes, durable before the change is made.

database.py   the sqlite file: where it lies, who may read it, its tables
texts.py      texts stored once, later ones of a file as changes of earlier ones
journal.py    SqliteJournal: entries and ledgers, on a thread of its own
"""

from __future__ import annotations

from sidecar.journal.journal import SqliteJournal

__all__ = ["SqliteJournal"]
