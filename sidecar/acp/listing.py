"""Listing: an agent's stored conversations, page by page (ACP, `session/list`), with limits against endless lists."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, cast

from sidecar.acp.facts import Facts, at
from sidecar.core.escape import plain
from sidecar.workspace.ports.session_ports import ListedSession

_PAGES = 20
_SESSIONS = 1000
_AT_ONCE = 20
"""The rows that are read in one step."""
_LONGEST = 4096
"""The most characters of a row's id and of its folder's path: the longest path of Linux."""
_TITLE = 200
"""The most characters shown of a title."""
_LOOKED_AT = 10 * _TITLE
"""The most characters read of a title: it may contain many blanks."""


class Lister(Protocol):
    """The part of AgentConnection that is needed here."""

    agent: str

    @property
    def facts(self) -> Facts: ...
    async def list_sessions(self, cwd: str | None, cursor: str | None) -> object: ...


async def sessions(connection: Lister, agent: str, folders: Sequence[str]) -> list[ListedSession]:
    """The conversations in the folders, or all of them if no folders are given. Empty if the agent cannot list
    them. Raises AgentFailed."""
    if not connection.facts.list:
        return []
    found: dict[str, ListedSession] = {}
    for folder in folders or [None]:
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await connection.list_sessions(folder, cursor)
            rows = at(page, "sessions")
            for number, row in enumerate(cast("list[object]", rows) if isinstance(rows, list) else []):
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)  # lets other tasks run
                one = _session(row, forks=connection.facts.fork)
                if one is not None and (folder is None or one.cwd == folder) and len(found) < _SESSIONS:
                    found.setdefault(one.reference, one)
            following = at(page, "nextCursor")
            if not isinstance(following, str) or following == cursor or len(found) >= _SESSIONS:
                break
            cursor = following
    return list(found.values())


def _session(row: object, *, forks: bool) -> ListedSession | None:
    reference, cwd = at(row, "sessionId"), at(row, "cwd")
    if not isinstance(reference, str) or not isinstance(cwd, str) or max(len(reference), len(cwd)) > _LONGEST:
        return None
    more, title, updated = at(row, "additionalDirectories"), at(row, "title"), at(row, "updatedAt")
    return ListedSession(
        reference,
        cwd,
        tuple(
            item
            for item in cast("list[object]", more if isinstance(more, list) else [])
            if isinstance(item, str)
        ),
        plain(" ".join(title[:_LOOKED_AT].split()), _TITLE) if isinstance(title, str) else "",
        plain(updated, 40) if isinstance(updated, str) else "",
        forks,
    )
