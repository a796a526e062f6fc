"""DiskReaders: knows which agents read files from the disk instead of through the sidecar, and so do not see unsaved text.

An agent's program is known to do so, or it is observed: a tool call that reads an open document ends, and no read reached us for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import cast

from sidecar.core.json_types import Json
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.tracked import Tracked

MAX_CALLS = 1024
"""The number of reads in progress that are remembered; the oldest are forgotten."""
MAX_PATHS = 32
"""The number of paths that are looked at in one update."""


class DiskReaders:
    def __init__(
        self,
        documents: Callable[[Session, Iterable[str]], list[Tracked]],
        about_to_read: Callable[[Session, list[Tracked]], None],
    ) -> None:
        """`documents`: returns the open documents that an agent's paths name. `about_to_read`: called when one of these agents reports that it reads them."""
        self._documents = documents
        self._about_to_read = about_to_read
        self._reads: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Calls in progress that read open documents, by session and call."""
        self._seen: set[str] = set()
        """Agents observed to read from the disk."""

    def is_one(self, session: Session) -> bool:
        opened = session.opened
        if opened is None or opened.own_tools_live:
            return False
        return opened.reads_disk or session.agent in self._seen

    def heard(self, session: Session, update: Json) -> None:
        """Take an update of a running turn, before the session itself notes it."""
        call = update.get("toolCallId")
        if update.get("sessionUpdate") not in ("tool_call", "tool_call_update") or not isinstance(call, str):
            return
        key = session.id, call
        if update.get("status") in ("completed", "failed"):
            if key in self._reads and session.reads_behind(call) and update["status"] == "completed":
                self._seen.add(session.agent)
            self._reads.pop(key, None)
            return
        if (update.get("kind") or session.kind_of(call)) != "read" or key in self._reads:
            return
        documents = self._documents(session, _paths(update.get("locations")))
        if not documents:
            return
        self._reads[key] = None
        if len(self._reads) > MAX_CALLS:
            self._reads.popitem(last=False)
        if self.is_one(session):
            self._about_to_read(session, documents)

    def turn_ended(self, session: Session, outcome: object) -> None:
        for key in [key for key in self._reads if key[0] == session.id]:
            del self._reads[key]


def _paths(locations: object) -> list[str]:
    if not isinstance(locations, list):
        return []
    paths = [
        cast("Json", one).get("path")
        for one in cast("list[object]", locations)[:MAX_PATHS]
        if isinstance(one, dict)
    ]
    return [path for path in paths if isinstance(path, str)]
