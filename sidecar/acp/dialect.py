"""Dialect: a version of ACP as it is on the wire. Behind it, every message is one of version 1."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.acp.messages import Message
from sidecar.core.json_types import Json

OWNED = "agent:"
"""What the ids of terminals begin with in which an agent shows commands that it runs itself."""


class Dialect:
    """Version 1: nothing is translated. One for each connection, as others remember what was said."""

    number = 1
    """As in `protocolVersion`."""
    has_files = True
    """An agent can ask for files and commands. Where it cannot, our MCP server is what it gets."""

    def told(self, message: Message) -> Sequence[Message]:
        """What we say, as the agent hears it."""
        return (message,)

    def heard(self, message: Message) -> Sequence[Message]:
        """What the agent says, as we hear it. The message may be of any shape, as it is looked at only later."""
        return (message,)

    def stops(self, session_id: str, terminal: str) -> tuple[str, Json] | None:
        """The request that ends a command which the agent runs itself, and shows in this terminal; None where it takes none."""
        return None


FIRST = Dialect()
