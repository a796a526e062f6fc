"""Tokens: which session a caller speaks for. A token is a secret for one session, passed in the environment of its tool process and
nowhere else. Or it is for all sessions of an agent, passed in the environment of the agent's process, which then names a session with each
call.

Only digests are kept, so comparing them reveals nothing. A token is valid only while the workspace has its session; a session that is
opened again gets a new one.
"""

from __future__ import annotations

import secrets
from hashlib import sha256

BYTES = 32
WORKING = "*"
"""Used in place of a session by agents whose tools do not say for which session they work: it means the only session that has a turn. With
two turns at once, the call belongs to none."""


class Tokens:
    def __init__(self) -> None:
        self._sessions: dict[bytes, str] = {}
        self._digests: dict[str, bytes] = {}
        self._agents: dict[str, bytes] = {}

    def make(self, session_id: str) -> str:
        """A new token for this session. Its earlier token is no longer valid."""
        token = secrets.token_hex(BYTES)
        self.adopt(session_id, token)
        return token

    def adopt(self, session_id: str, token: str) -> None:
        """Accept a token that somebody else has made who is known to speak for this session."""
        self.forget(session_id)
        digest = self._digests[session_id] = _digest(token)
        self._sessions[digest] = session_id

    def forget(self, session_id: str) -> None:
        digest = self._digests.pop(session_id, None)
        if digest is not None:
            del self._sessions[digest]

    def make_for_agent(self, agent: str) -> str:
        """A new token for this agent's process. The token of an earlier process is no longer valid."""
        token = secrets.token_hex(BYTES)
        self._agents[agent] = _digest(token)
        return token

    def agent(self, token: str) -> str | None:
        digest = _digest(token)
        return next((agent for agent, known in self._agents.items() if known == digest), None)

    def session(self, token: str) -> str | None:
        return self._sessions.get(_digest(token))


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()
