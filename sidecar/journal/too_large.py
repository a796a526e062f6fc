"""The message about a journal that stays larger than its limit: how large it is, which session keeps the most, and what to do."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import NamedTuple

from sidecar.core.escape import plain

MIB = 1024 * 1024


class Share(NamedTuple):
    """What one session's writes keep."""

    agent: str
    began: float
    """When the first of its writes that are left was made, in seconds since the epoch."""
    bytes: int
    """As stored: compressed, and without what other texts share."""


def largest_share(connection: sqlite3.Connection) -> Share | None:
    """The session whose writes keep the most. None: there are no writes."""
    found = connection.execute(
        "WITH kept AS (SELECT session, owner, before AS text FROM writes UNION SELECT session, owner, after FROM writes) "
        "SELECT kept.session, kept.owner, SUM(LENGTH(texts.data)) AS size FROM kept JOIN texts ON texts.id = kept.text "
        "GROUP BY kept.session, kept.owner ORDER BY size DESC LIMIT 1"
    ).fetchone()
    if found is None:
        return None
    session, owner, size = found
    agent, began = connection.execute(
        "SELECT agent, MIN(created) FROM writes WHERE session = ? AND owner = ?", (session, owner)
    ).fetchone()
    return Share(agent, began, size)


def too_large(used: int, limit: int, largest: Share | None) -> str:
    """For a journal that takes `used` bytes, more than its limit, although everything deletable is gone."""
    words = (
        f"The journal of agents' changes takes {used // MIB:,} MB, more than its limit of {limit // MIB:,} MB. "
        "Changes of open sessions, and changes under review, are not deleted. To make room, keep or reject changes, and close sessions."
    )
    if largest is None:
        return words
    began = datetime.fromtimestamp(largest.began).strftime("%Y-%m-%d %H:%M")
    return (
        f"{words} The largest part, {largest.bytes // MIB:,} MB, is from one session of {plain(largest.agent)}; "
        f"its first change was made on {began}."
    )
