"""Foreground: when the turn of a prompt has ended (ACP v2, "Prompt Lifecycle").

An agent answers a prompt when it accepts it. Later, it reports by the session's state that it works and that it is idle. When the prompt came, it may
already have been working, by itself or for a prompt of another client; the end of that work is not the turn's end.

Sub-agents may continue when the agent is idle. Their work belongs to the turn, so the turn ends with the last of them, as in version 1. Commands may run
for ever (a server that somebody wanted), so the turn does not wait for them.
"""

from __future__ import annotations

from sidecar.acp.messages import Message
from sidecar.acp.v2.fields import object_of, objects, text_of
from sidecar.core.json_types import Json

ENDED = "end_turn"
_WORKS = frozenset({"running", "requires_action"})


class Foreground:
    """The state of one session."""

    def __init__(self) -> None:
        self._works = False
        self._prompt: int | None = None
        """The id of our request, until its turn has ended."""
        self._accepted = False
        self._other_work = False
        """The agent was working when it got the prompt, and that work continues."""
        self._begun = False
        """The agent has worked for the prompt."""
        self._end: Json | None = None
        self._others = False
        """Sub-agents still work."""

    @property
    def prompted(self) -> bool:
        """Whether the agent has a prompt of ours whose turn has not ended."""
        return self._prompt is not None

    def prompt(self, request_id: int) -> None:
        self._prompt, self._end = request_id, None
        self._accepted = self._begun = False
        self._other_work = self._works

    def accepted(self, answer: Message) -> Message | None:
        """The agent has answered the prompt. Returns the answer of version 1: at once if the prompt failed or its turn has ended, otherwise None, and
        the answer comes later."""
        if "error" in answer:
            self._prompt = None
            return answer
        self._accepted = True
        return self._answered()

    def state(self, update: Json, *, others: bool) -> Message | None:
        """The agent reports the session's state. Returns the answer to the prompt if that ends its turn. `others`: sub-agents still work, as far as they
        reported."""
        state = text_of(update, "state")
        if "background" in update:
            others = any(one.get("type") == "subagent" for one in objects(update["background"]))
        self._others = others
        if state in _WORKS:
            self._works = True
            self._begun = self._begun or not self._other_work or self._accepted
            return None
        if state != "idle":
            return None  # a state of a later version
        self._works = False
        if self._prompt is None:
            return None
        if self._other_work and not self._accepted:
            self._other_work = False
        elif self._begun or isinstance(update.get("stopReason"), str):
            self._end = self._end or update
        return self._answered()

    def alone(self) -> Message | None:
        """All sub-agents have ended. Returns the answer to the prompt if that ends its turn."""
        self._others = False
        return self._answered()

    def gone(self) -> Message | None:
        """The session is closed. Returns the answer to a prompt whose turn has not ended."""
        if self._prompt is None:
            return None
        self._accepted, self._end, self._others = True, {"stopReason": "cancelled"}, False
        return self._answered()

    def _answered(self) -> Message | None:
        if self._prompt is None or not self._accepted or self._end is None or self._others:
            return None
        request_id, end, self._prompt = self._prompt, self._end, None
        answer: Message = {"jsonrpc": "2.0", "id": request_id}
        reason = end.get("stopReason")
        if reason == "error":
            error = object_of(end.get("error"))
            return {**answer, "error": error or {"code": -32603, "message": "The turn ended with an error"}}
        result = {name: end[name] for name in ("usage", "_meta") if end.get(name) is not None}
        return {**answer, "result": {"stopReason": reason if isinstance(reason, str) else ENDED, **result}}
