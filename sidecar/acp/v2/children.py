"""Children: sub-agents, which in version 2 have sessions of their own. Behind this, what they tell and ask is their parent's, within a tool
call that stands for each of them (`habits.PARENT`)."""

from __future__ import annotations

from collections import OrderedDict

from sidecar.acp import owned_output
from sidecar.acp.habits import CALLS, CHUNKS, PARENT
from sidecar.acp.v2.fields import id_of, object_of, text_of
from sidecar.core.json_types import Json

_MOST = 256


class Children:
    """Of one agent."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, tuple[str, str]] = OrderedDict()
        """Outermost session and tool call, by the child's session."""
        self._work: set[str] = set()
        """Those that told that they are at work, and have not ended."""

    def of(self, session_id: str) -> tuple[str, str]:
        """→ the session that is open with us, and the tool call within it; "" where it is that session itself."""
        return self._calls.get(session_id, (session_id, ""))

    def told(self, session_id: str, update: Json) -> tuple[str, list[Json]]:
        """`subagent_update` of a session. → the outermost session, and what is told of the call that stands for the child."""
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
            return parent, []  # of another session
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
        """The sub-agents of an outermost session that go on."""
        return [child for child in self._work if self._calls[child][0] == session_id]

    def within(self, update: Json, call: str) -> list[Json]:
        """The update as one of what is done in this tool call: options, say, are its session's and not its parent's."""
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
