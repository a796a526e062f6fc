"""Children: sub-agents, which have sessions of their own in version 2. Inside, their updates and questions belong to their parent,
within a tool call that stands for each of them (`habits.PARENT`)."""

from __future__ import annotations

from collections import OrderedDict

from sidecar.acp import owned_output
from sidecar.acp.habits import CALLS, CHUNKS, PARENT
from sidecar.acp.v2.fields import id_of, object_of, text_of
from sidecar.core.json_types import Json

_MOST = 256


class Children:
    """The sub-agents of one agent."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, tuple[str, str]] = OrderedDict()
        """The outermost session and the tool call, by the child's session."""
        self._work: set[str] = set()
        """The children that reported that they work, and have not ended."""

    def of(self, session_id: str) -> tuple[str, str]:
        """The session that is open with us, and the tool call within it; "" for that session itself."""
        return self._calls.get(session_id, (session_id, ""))

    def told(self, session_id: str, update: Json) -> tuple[str, list[Json]]:
        """A `subagent_update` in a session. Returns the outermost session, and the updates of the call that stands for the child."""
        parent, within = self.of(session_id)
        child = id_of(update, "sessionId")
        if child is None or child in (session_id, parent):
            return parent, []
        known = child in self._calls
        call = f"subagent:{child}"
        if not known:
            self._calls[child] = parent, call
            if len(self._calls) > _MOST:
                forgotten, _ = self._calls.popitem(last=False)
                self._work.discard(forgotten)
        elif self._calls[child][0] != parent:
            return parent, []  # it belongs to another session
        told: dict[str, object] = {
            "sessionUpdate": "tool_call_update" if known else "tool_call",
            "toolCallId": call,
        }
        title = text_of(update, "title") or text_of(update, "description")
        if title is not None or not known:
            told |= {"title": title or "Sub-agent", "kind": "think"}
        state = object_of(update.get("state"))
        if state or not known:
            told["status"] = _status(state)
        if state:
            (self._work.discard if state.get("state") == "idle" else self._work.add)(child)
        return parent, self.within(told, within)

    def at_work(self, session_id: str) -> list[str]:
        """The sub-agents of an outermost session that still work."""
        return [child for child in self._work if self._calls[child][0] == session_id]

    def within(self, update: Json, call: str) -> list[Json]:
        """The update as one within this tool call. Updates of a session, such as its options, are dropped: they are not the parent's."""
        kind = text_of(update, "sessionUpdate")
        if not call or kind in (owned_output.OUTPUT, owned_output.ENDED):
            return [update]
        if kind not in CALLS | CHUNKS:
            return []
        return [{**update, "_meta": {**object_of(update.get("_meta")), PARENT: call}}]


def _status(state: Json) -> str:
    if state.get("state") != "idle":
        return "in_progress"
    return "failed" if state.get("stopReason") in ("error", "cancelled") else "completed"
