"""leftovers: at start, removes the temporaries of interrupted saves from folders where agents wrote recently."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable

import anyio.to_thread

from sidecar.disk.temporaries import sweep_temporaries
from sidecar.journal import SqliteJournal
from sidecar.journal.entry import JournalFailed
from sidecar.journal.selecting import Selection

log = logging.getLogger(__name__)

WRITES = 500
"""The number of recent writes that are used to find those folders."""


async def sweep_at_start(journal: SqliteJournal) -> None:
    """Remove the temporaries. Never raises. A folder on a dead network mount blocks only a thread."""
    try:
        entries = await journal.entries(Selection(limit=WRITES))
    except JournalFailed:  # reported elsewhere
        return
    folders = dict.fromkeys(os.path.dirname(entry.path) for entry in entries)
    await anyio.to_thread.run_sync(_sweep_all, folders, abandon_on_cancel=True)


def _sweep_all(folders: Iterable[str]) -> None:
    removed = sum(map(sweep_temporaries, folders))
    if removed:
        log.info("removed %d temporary files of saves that were cut off", removed)
