"""Titles: the titles of the turns of conversations, which are the first words of their prompts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

from sidecar.core.json_types import Json
from sidecar.records import entries
from sidecar.records.about import About
from sidecar.records.folder import Entry

log = logging.getLogger(__name__)

MOST = 64
"""The number of conversations whose titles are kept. Those of others are read from their records."""


class Titles:
    def __init__(self, read: Callable[[str], Awaitable[tuple[About, Sequence[Entry]] | None]]) -> None:
        """`read`: returns a session's record, or None if there is none. It may raise OSError."""
        self._read = read
        self._titles: dict[str, dict[int, str]] = {}
        self._looked_up = set[str]()
        """Sessions whose record was read. Only the record knows sessions of earlier runs of the sidecar."""

    def note(self, session_id: str, turn: int, prompt: object) -> None:
        self._of(session_id)[turn] = entries.title_of(prompt)

    def forget(self, session_id: str) -> None:
        """Forget a conversation that the user deleted."""
        self._titles.pop(session_id, None)

    def _of(self, session_id: str) -> dict[int, str]:
        titles = self._titles[session_id] = self._titles.pop(session_id, {})
        for oldest in [*self._titles][:-MOST]:
            del self._titles[oldest]
            self._looked_up.discard(oldest)
        return titles

    async def of(self, session_id: str, turn: int) -> str:
        """Return the title of a turn, or "" if it is unknown."""
        if turn not in self._titles.get(session_id, {}) and session_id not in self._looked_up:
            self._looked_up.add(session_id)
            await self._look_up(session_id)
        return self._titles.get(session_id, {}).get(turn, "")

    async def add_to(self, rows: Iterable[Json]) -> list[Json]:
        """Return changes under review (`sidecar.listChanges`) with the `title` of each turn that has one."""
        titled: list[Json] = []
        for row in rows:
            more: dict[str, object] = {}
            if title := await self.of(cast(str, row["sessionId"]), cast(int, row["turn"])):
                more["title"] = title
            if "earlier" in row:
                more["earlier"] = await self.add_to(cast("list[Json]", row["earlier"]))
            titled.append({**row, **more})
        return titled

    async def _look_up(self, session_id: str) -> None:
        try:
            found = await self._read(session_id)
        except OSError as error:
            log.warning("the titles of a conversation cannot be read: %s", error)
            return
        titles = self._of(session_id)
        for entry in found[1] if found is not None else ():
            if entry.get("type") == "prompt" and isinstance(turn := entry.get("turn"), int):
                titles.setdefault(turn, entries.title_of(entry.get("prompt")))
