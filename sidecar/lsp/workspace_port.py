"""The parts of the workspace that commands and transcripts call, as Protocols: sessions on one side, open documents on the other.

Every method raises AgentFailed (an agent could not), LookupError (no such session) or ValueError (a wrong argument), each with a message that the
user can act on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

from sidecar.core.json_types import Json
from sidecar.core.overlay import Document
from sidecar.core.uri import DocumentUri
from sidecar.workspace.ports.ports import AgentFailed, AgentInfo, EditorRefused, OpenedSession
from sidecar.workspace.ports.prompt_context import Mention


class LspWorkspace(Protocol):
    """The part of the workspace that this package uses. Session ids are the sidecar's own."""

    async def new_session(
        self, agent: str | None, cwd: str | None, additional: Sequence[str], mcp_servers: Sequence[Json]
    ) -> OpenedSession: ...

    def start_prompt(
        self, session_id: str | None, blocks: Sequence[Json], context: Sequence[Mention] = ()
    ) -> tuple[str, int, Awaitable[Json]]:
        """Return (session id, turn, outcome). Without a session, the default agent's current one is used, or one is opened. The outcome is
        `{sessionId, turn, stopReason, changes}`."""
        ...

    def cancel(self, session_id: str | None) -> None: ...
    def stop_command(self, session_id: str, terminal_id: str) -> None: ...
    async def close_session(self, session_id: str | None) -> None: ...
    def status(self) -> Json: ...
    def list_agents(self) -> Sequence[AgentInfo]: ...


Documents = Callable[[DocumentUri], Document | None]
"""Looks up an open document (`core.overlay.Overlay.get`)."""


class TaskStarter(Protocol):
    """Starts background work. An anyio TaskGroup is one."""

    def start_soon(self, func: Callable[..., Coroutine[Any, Any, Any]], /, *args: Any) -> object: ...


def words_of(error: Exception) -> str | None:
    """Return the error's message for the user, or None if it was not raised for the user (KeyError is a LookupError too)."""
    if isinstance(error, AgentFailed):
        return error.message
    if type(error) in (LookupError, ValueError) or isinstance(error, EditorRefused):
        return str(error.args[0]) if error.args else None
    if isinstance(error, OSError):
        return error.strerror  # without the path, which may be confidential
    return None
