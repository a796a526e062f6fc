"""Tokens: which session a caller speaks for. One secret a session, handed over in the environment of its tool process, and nowhere else; or
one for all sessions of an agent, handed over in the environment of that agent's process, which names a session with each call.

Only digests are kept, so that comparing them tells nothing. A token is worth something only while the workspace has its session; a
session that is opened again gets another one.
"""

from __future__ import annotations

import secrets
from hashlib import sha256

BYTES = 32
WORKING = "*"
"""In place of a session, from agents whose tools do not say for which one they work: the only one that has a turn. With two turns at once, it
is nobody's call."""


class Tokens:
    def __init__(self) -> None:
        self._sessions: dict[bytes, str] = {}
        self._digests: dict[str, bytes] = {}
        self._agents: dict[str, bytes] = {}

    def make(self, session_id: str) -> str:
        """A new token of this session; an earlier one of its is worth nothing any more."""
        token = secrets.token_hex(BYTES)
        self.adopt(session_id, token)
        return token

    def adopt(self, session_id: str, token: str) -> None:
        """A token that somebody else has made, who is known to speak for this session."""
        self.forget(session_id)
        digest = self._digests[session_id] = _digest(token)
        self._sessions[digest] = session_id

    def forget(self, session_id: str) -> None:
        digest = self._digests.pop(session_id, None)
        if digest is not None:
            del self._sessions[digest]

    def make_for_agent(self, agent: str) -> str:
        """A new token of this agent's process; one of an earlier process is worth nothing any more."""
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
