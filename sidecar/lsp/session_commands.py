"""Session commands: listing, loading, forking, deleting and reading back conversations, modes, options, logging in.

commands.py has the commands that open and close a session and send prompts. ext.py defines names, arguments and answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from sidecar.core.json_types import Json
from sidecar.lsp import ext
from sidecar.lsp.commands import EditorCommands
from sidecar.lsp.protocol import InvalidParams


class SessionService(Protocol):
    """`workspace.sessions.conversations.Conversations`, which documents the methods. Every method raises AgentFailed with a message for the user."""

    def list(self, agent: str | None, everywhere: bool) -> Awaitable[Sequence[Json]]: ...
    def load(self, session_id: str, replay: bool) -> Awaitable[Json]: ...
    def fork(self, session_id: str) -> Awaitable[Json]: ...
    def delete(self, session_id: str | None) -> Awaitable[Json]:
        """Delete one session, or all records of sessions that are not open."""
        ...

    def transcript(self, session_id: str) -> Awaitable[Json]: ...
    def set_mode(self, session_id: str, mode_id: str) -> Awaitable[Json]: ...
    def set_config_option(
        self, session_id: str, config_id: str, value: str | bool
    ) -> Awaitable[Sequence[Json]]: ...
    def authenticate(self, agent: str, method_id: str | None, finished: bool) -> Awaitable[Json]: ...
    def logout(self, agent: str) -> Awaitable[None]: ...


class SessionCommands:
    """Adds itself to the commands of one connection."""

    def __init__(self, service: Callable[[], SessionService]) -> None:
        """`service` raises AgentFailed before `initialize`."""
        self._service = service

    def add_to(self, commands: EditorCommands) -> None:
        commands.add(ext.LIST_SESSIONS, ext.ListSessions, self._list)
        commands.add(ext.LOAD_SESSION, ext.LoadSession, self._load)
        commands.add(ext.FORK_SESSION, ext.ForkSession, self._fork)
        commands.add(ext.DELETE_SESSION, ext.DeleteSession, self._delete)
        commands.add(ext.TRANSCRIPT, ext.TranscriptOf, self._transcript)
        commands.add(ext.SET_MODE, ext.SetMode, self._set_mode)
        commands.add(ext.SET_CONFIG_OPTION, ext.SetConfigOption, self._set_config_option)
        commands.add(ext.AUTHENTICATE, ext.Authenticate, self._authenticate)
        commands.add(ext.LOGOUT, ext.OfAgent, self._logout)

    def _list(self, given: ext.ListSessions) -> object:
        return self._service().list(given.agent, given.all)

    def _load(self, given: ext.LoadSession) -> object:
        return self._service().load(given.session_id, given.replay)

    def _fork(self, given: ext.ForkSession) -> object:
        return self._service().fork(given.session_id)

    def _delete(self, given: ext.DeleteSession) -> object:
        if (given.session_id is None) is not given.all:
            raise InvalidParams(f"{ext.DELETE_SESSION} takes a sessionId, or all: true for every record")
        return self._service().delete(given.session_id)

    def _transcript(self, given: ext.TranscriptOf) -> object:
        return self._service().transcript(given.session_id)

    async def _set_mode(self, given: ext.SetMode) -> object:
        return {"modes": await self._service().set_mode(given.session_id, given.mode_id)}

    async def _set_config_option(self, given: ext.SetConfigOption) -> object:
        options = await self._service().set_config_option(given.session_id, given.config_id, given.value)
        return {"configOptions": options}

    def _authenticate(self, given: ext.Authenticate) -> object:
        return self._service().authenticate(given.agent, given.method_id, given.finished)

    def _logout(self, given: ext.OfAgent) -> object:
        return self._service().logout(given.agent)
