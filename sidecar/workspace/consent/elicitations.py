"""Elicitations: shows an agent's forms and addresses to the user. What the user enters goes to the agent and nowhere else."""

from __future__ import annotations

from urllib.parse import urlsplit

import anyio

from sidecar.workspace.ports.ports import Audit, Editor
from sidecar.workspace.ports.session_ports import Elicitation, Elicited
from sidecar.workspace.state.sessions import Sessions

OPEN_AT_MOST = 16
"""How many may be open at the same time. Further ones are answered as if the user had closed the form."""


class Elicitations:
    def __init__(self, sessions: Sessions, editor: Editor, audit: Audit) -> None:
        self._sessions = sessions
        self._editor = editor
        self._audit = audit
        self._open = 0

    async def ask(self, asked: Elicitation) -> Elicited:
        """The user's answer. "cancel" if the request is withdrawn, or comes outside of the session's turn."""
        session = self._sessions.get(asked.session_id) if asked.session_id is not None else None
        if asked.session_id is not None and (session is None or not session.acting):
            return Elicited("cancel")
        turn = session.turn if session is not None else None
        if not self._editor.capabilities.elicitation or self._open >= OPEN_AT_MOST:
            return Elicited("cancel")
        answer = Elicited("cancel")
        self._open += 1
        with anyio.CancelScope() as scope:
            if session is not None:
                session.questions.add(scope)
            try:
                answer = await self._editor.elicit(asked)
            finally:
                self._open -= 1
                if session is not None:
                    session.questions.discard(scope)
        if scope.cancelled_caught or (session is not None and not session.may_act(turn)):
            answer = Elicited("cancel")
        self._audit.record(
            "elicitation",
            session=asked.session_id,
            agent=asked.agent,
            mode=asked.mode,
            host=urlsplit(asked.url).hostname,
            answer=answer.action,
        )
        return answer

    def complete(self, agent: str, elicitation_id: str) -> None:
        if self._editor.capabilities.elicitation:
            self._editor.elicitation_complete(agent, elicitation_id)
