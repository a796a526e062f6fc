"""Quiet: tells the user in the conversation when its agent has gone silent, and when a turn ended without an answer.

An agent that waits for its model shows nothing. An agent whose model refuses (no credit, a wrong key) may end the turn without a word, and write the
reason to its stderr.
"""

from __future__ import annotations

import anyio

from sidecar.core.json_types import Json
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Agents, Editor
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.turns import CANCELLED, FAILED

SILENT_SECONDS = 30.0
_ANSWERS = frozenset({"agent_message_chunk", "tool_call", "tool_call_update", "plan"})
"""Updates that show the user something."""


class Quiet:
    def __init__(self, agents: Agents, editor: Editor, tasks: Background) -> None:
        self._agents = agents
        self._editor = editor
        self._tasks = tasks
        self._answered: set[str] = set()
        """Sessions whose current turn has said or done something."""
        self._words: dict[str, list[str]] = {}
        """By session: the last lines of its agent's stderr when the turn began."""
        self._watches: dict[str, anyio.CancelScope] = {}

    def asked(self, session: Session) -> None:
        """Note that the agent has been given the prompt of a turn."""
        self._answered.discard(session.id)
        self._words[session.id] = self._agents.last_words(session.id)
        watch = self._watches[session.id] = anyio.CancelScope()
        self._tasks.start_soon(self._watch, session, watch)

    def heard(self, session: Session, update: Json) -> None:
        if update.get("sessionUpdate") in _ANSWERS:
            self._answered.add(session.id)

    def turn_ended(self, session: Session, outcome: Json) -> None:
        """`outcome`: as in `state/turns.py`."""
        watch = self._watches.pop(session.id, None)
        if watch is not None:
            watch.cancel()
        before = self._words.pop(session.id, None)
        is_empty = session.id not in self._answered and not outcome.get("changes")
        self._answered.discard(session.id)
        reason = outcome.get("stopReason")
        if before is None or not is_empty or reason in (CANCELLED, FAILED):
            return
        words = self._agents.last_words(session.id)
        told = "".join(f"\n  {line}" for line in words) if words != before else ""
        if reason != "end_turn" and not told:
            return  # the reason explains it
        told = f" Its error output ends:{told}" if told else ""
        self._editor.notice(session.id, f"{session.agent} ended the turn without an answer.{told}")

    async def _watch(self, session: Session, watch: anyio.CancelScope) -> None:
        """Watch until the turn ends. Tells the user once, unless the agent waits for the user or a tool runs."""
        with watch:
            asked = anyio.current_time()
            silent = 0.0
            while silent < SILENT_SECONDS or session.questions or session.tool_calls:
                await anyio.sleep(SILENT_SECONDS - silent if silent < SILENT_SECONDS else SILENT_SECONDS)
                silent = min(self._agents.silent_for(session.id), anyio.current_time() - asked)
            if session.acting:
                words = f"No sign of {session.agent} for {SILENT_SECONDS:.0f} seconds. It may be waiting for its model."
                self._editor.notice(session.id, f"{words} You can go on waiting, or stop the turn.")
