"""OwnToolsWatch: checks whether an agent's own tools, which are redirected to ours, really call us. If they do not, the user is told once.

The agent's version may work differently, or its tools may be unable to reach us. Then the agent works like any agent that uses the disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sidecar.core.json_types import Json
from sidecar.workspace.state.sessions import Session

LED = ("read", "edit")
"""ACP's kinds of the tool calls whose tools are redirected to ours."""
_CALLS = 4096
"""The number of tool calls in progress that are remembered; the oldest are forgotten."""


class OwnToolsWatch:
    def __init__(self, tell: Callable[[str], None]) -> None:
        """`tell`: tells the user, once for each agent."""
        self._tell = tell
        self._kinds: dict[tuple[str, str], str] = {}
        """The kinds of the tool calls of running turns, by session and call."""
        self._done: Counter[str] = Counter()
        """By session: the number of successful tool calls of these kinds in its turn, minus the calls that reached us."""
        self._told: set[str] = set()

    def called(self, session_id: str) -> None:
        """Count a call of one of our tools that replace an agent's own."""
        self._done[session_id] -= 1

    def heard(self, session: Session, update: Json) -> None:
        call = (session.id, str(update.get("toolCallId")))
        match update.get("sessionUpdate"):
            case "tool_call" | "tool_call_update":
                if isinstance(kind := update.get("kind"), str):
                    self._kinds[call] = kind
                if update.get("status") == "completed" and self._kinds.pop(call, "") in LED:
                    self._done[session.id] += 1
                if len(self._kinds) > _CALLS:
                    del self._kinds[next(iter(self._kinds))]
            case _:
                pass

    def turn_ended(self, session: Session, outcome: object) -> None:
        """Compare the counts. This waits for the turn's end: a call reaches us before its end is reported, but the report of its start may come later."""
        past_us = self._done.pop(session.id, 0) > 0
        self._kinds = {call: kind for call, kind in self._kinds.items() if call[0] != session.id}
        led = session.opened is not None and session.opened.own_tools_live
        if led and past_us and session.agent not in self._told:
            self._told.add(session.agent)
            self._tell(
                f"A tool of {session.agent} worked on the disk and not through acp-sidecar: there it sees unsaved text as it was "
                "when you sent the prompt.",
            )
