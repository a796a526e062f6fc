"""Journalled writes that were never finished because their process ended.

The text that the next write to the same file found, or else the file itself, shows how they ended.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from sidecar.journal import selecting, writing
from sidecar.journal.entry import Recorded, Texts
from sidecar.journal.selecting import as_blob
from sidecar.journal.texts import TextLost, TextStore
from sidecar.journal.writing import States


class Interrupted(NamedTuple):
    entry: Recorded
    texts: Texts | None
    """None: the texts are damaged, so nothing can be compared."""
    later: bool
    """Whether a later write to the file was journalled."""
    found: str | None
    """With `later`: the text that the next write found. None: there was no file."""
    states: States | None
    """The whole states before and after the write, if texts do not cover them."""
    found_whole: States | None
    """The same for the next write."""


def find(
    connection: sqlite3.Connection, texts: TextStore, is_running: Callable[[str], bool]
) -> list[Interrupted]:
    """Return the interrupted writes, oldest first."""
    rows = connection.execute(
        "SELECT id, owner, before, after FROM writes WHERE state = 'intent' ORDER BY id"
    )
    running: dict[str, bool] = {}
    found: list[Interrupted] = []
    for entry_id, owner, before, after in rows.fetchall():
        if owner not in running:
            running[owner] = is_running(owner)
        if running[owner]:
            continue
        (entry,) = selecting.entries(connection, selecting.Selection(ids=(entry_id,)))
        later = connection.execute(
            "SELECT before, id FROM writes WHERE path = ? AND id > ? ORDER BY id LIMIT 1",
            (as_blob(entry.path), entry_id),
        ).fetchone()
        try:
            both = Texts(*(None if text is None else texts.get(text) for text in (before, after)))
            seen = None if later is None or later[0] is None else texts.get(later[0])
        except TextLost:
            both, seen = None, None
        whole = writing.states(connection, entry_id)
        found_whole = None if later is None else writing.states(connection, later[1])
        found.append(Interrupted(entry, both, later is not None, seen, whole, found_whole))
    return found
