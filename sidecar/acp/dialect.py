"""Dialect: a version of ACP as it is on the wire. Inside it, every message is one of version 1."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.acp.messages import Message
from sidecar.core.json_types import Json

OWNED = "agent:"
"""The prefix of the ids of terminals in which an agent shows commands that it runs itself."""


class Dialect:
    """Version 1: nothing is translated. Dialects of other versions have one instance for each connection, because they
    remember earlier messages."""

    number = 1
    """The version, as in `protocolVersion`."""
    has_files = True
    """Whether the agent can ask for files and commands. If it cannot, it gets our MCP server instead."""

    def told(self, message: Message) -> Sequence[Message]:
        """Translate a message of ours into those that the agent receives."""
        return (message,)

    def heard(self, message: Message) -> Sequence[Message]:
        """Translate a message of the agent into those that we receive. The message may have any shape, because it is checked
        only later."""
        return (message,)

    def stops(self, session_id: str, terminal: str) -> tuple[str, Json] | None:
        """The request that ends a command which the agent runs itself and shows in this terminal. None if the agent accepts
        no such request."""
        return None


FIRST = Dialect()
