"""KeptMode: keeps sessions in a mode in which their agent cannot write, for `"writes": "deny"` (read_only.py)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sidecar.acp.incoming import OpenSession
from sidecar.acp.read_only import DENIED, ReadOnly
from sidecar.acp.workspace_port import AnyWorkspace
from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import AgentFailed

log = logging.getLogger(__name__)


class KeptMode:
    """The sessions of one agent. `choose` puts a session (the agent's id) into a mode. It raises AgentFailed."""

    def __init__(
        self,
        agent: str,
        read_only: ReadOnly,
        service: AnyWorkspace,
        choose: Callable[[str, str], Awaitable[object]],
    ) -> None:
        self._agent = agent
        self._read_only = read_only
        self._service = service
        self._choose = choose
        self.stop: Callable[[str], None] = lambda session_id: None
        """Stops the turn of a session (the sidecar's id) whose agent cannot be put back into its mode."""
        self._leading: set[asyncio.Task[None]] = set()

    async def begin(self, agent_session_id: str, session: OpenSession) -> None:
        """A session was opened or reopened. Raises AgentFailed if it cannot be put into the required mode."""
        mode = self._read_only.mode_of(session.options.mode_ids())
        if mode:
            await self._put(agent_session_id, mode)
            session.kept = mode

    async def prompted(self, agent_session_id: str, session: OpenSession) -> None:
        """A session is about to get a prompt. Raises AgentFailed if it left its mode and cannot be put back."""
        if session.left and session.kept:
            await self._put(agent_session_id, session.kept)
        session.left = 0

    def check(self, session: OpenSession, mode: object) -> None:
        """Raises AgentFailed if the session has to stay in another mode."""
        if session.kept and mode != session.kept:
            raise AgentFailed("refused", f'{self._agent} stays in its mode "{session.kept}": {DENIED}.')

    def heard(self, agent_session_id: str, session: OpenSession, update: Json) -> None:
        """Check an update from the agent. If the agent leaves its mode by itself, the session is put back once a turn; the next time,
        the turn is stopped."""
        mode = session.options.mode_in(update)
        if not session.kept or mode is None or mode == session.kept:
            return
        session.left += 1
        task = asyncio.ensure_future(self._led_back(agent_session_id, session, once=session.left == 1))
        self._leading.add(task)
        task.add_done_callback(self._led)

    async def _led_back(self, agent_session_id: str, session: OpenSession, *, once: bool) -> None:
        if not once:
            self._service.notice(session.id, f"{self._left(session)} again, so it was stopped: {DENIED}.")
            self.stop(session.id)
            return
        try:
            await self._choose(agent_session_id, session.kept)
        except AgentFailed as failed:
            log.warning("%s", failed.message)
            words = f"{self._left(session)} and could not be put back, so it was stopped: {DENIED}."
            self._service.notice(session.id, words)
            self.stop(session.id)
        else:
            told: Json = {"sessionUpdate": "current_mode_update", "currentModeId": session.kept}
            self._service.session_update(session.id, told)
            self._service.notice(session.id, f"{self._left(session)} and was put back: {DENIED}.")

    def _led(self, task: asyncio.Task[None]) -> None:
        self._leading.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:  # the agent has ended
            log.info("%s could not be led back into its mode: %r", self._agent, error)

    def _left(self, session: OpenSession) -> str:
        return f'{self._agent} left its mode "{session.kept}" by itself'

    async def _put(self, agent_session_id: str, mode: str) -> None:
        try:
            await self._choose(agent_session_id, mode)
        except AgentFailed as failed:
            failed.message = f"{self._agent} cannot be used: {DENIED}, and it could not be put into a mode without them. {failed.message}"
            failed.args = (failed.message,)
            raise
