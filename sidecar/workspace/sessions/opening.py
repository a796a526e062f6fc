"""Opening: creates a session with its agent, folders and offers, and asks whether its agent may be started."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sidecar.core.json_types import Json
from sidecar.core.refusal import Refusal
from sidecar.records import About, Records
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.consent.denied_writers import DeniedWriters
from sidecar.workspace.consent.mcp_offers import McpOffers
from sidecar.workspace.consent.offered_folders import Granted, OfferedFolders
from sidecar.workspace.ports.ports import AgentFailed, Agents, OpenedSession, SessionRequest
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.storage import Storage


class Opening:
    """`folders`: the editor's workspace folders, absolute; the first is the default folder of sessions."""

    def __init__(
        self,
        state: State,
        storage: Storage,
        consent: Consent,
        denied_writers: DeniedWriters,
        offers: McpOffers,
        agents: Agents,
        records: Records,
        tell: Callable[[OpenedSession], None],
    ) -> None:
        """`tell`: called with every session that its agent has opened, also when it was opened again."""
        self._state = state
        self._storage = storage
        self._consent = consent
        self._denied_writers = denied_writers
        self._offers = offers
        self._agents = agents
        self._records = records
        self._tell = tell
        self.folders: list[str] = []

    def prepare(
        self,
        agent: str | None,
        cwd: str | None = None,
        additional: Sequence[str] = (),
        mcp_servers: Sequence[Json] = (),
        *,
        earlier: About | None = None,
        fork: About | None = None,
    ) -> Session:
        """Create a session that its agent does not know yet. `earlier`: the session that it continues. `fork`: the session that it forks; it
        continues counting that session's turns. Raises AgentFailed."""
        settings = self._state.settings
        chosen = agent or settings.default_agent or next(iter(settings.agents), None)
        if chosen is None:
            raise AgentFailed("unknown_agent", self._nobody())
        folder = cwd or next(iter(self.folders), None)
        if folder is None or not os.path.isabs(folder):
            raise AgentFailed(
                "refused",
                "the editor has no folder open; open one, or give an absolute path as cwd for the session",
            )
        more = tuple(dict.fromkeys([*self.folders, *additional]))
        extra = tuple(path for path in more if path != folder)
        roots = self._storage.roots((folder, *extra, *settings.allowed_roots))
        if isinstance(roots, Refusal):
            raise AgentFailed("refused", roots.message)
        session_id = earlier.session_id if earlier is not None else uuid.uuid4().hex[:12]
        request = SessionRequest(session_id, chosen, folder, extra, tuple(mcp_servers))
        session = Session(session_id, chosen, folder, roots, request, moment=self._state.beliefs.moment)
        before = earlier or fork
        session.turn = before.turn if before is not None else 0
        self._state.sessions.add(session)
        title = f"{fork.title} (fork)" if fork is not None and fork.title else ""
        granted = fork.granted if fork is not None else ()
        about = earlier or About(
            session_id,
            chosen,
            folder,
            tuple(additional),
            title=title,
            turn=session.turn,
            granted=granted,
        )
        self._records.begin(about, known=earlier is not None and bool(earlier.created))
        return session

    async def open(self, session: Session, *, again: bool = False) -> OpenedSession:
        """Open the session with its agent, which is started if necessary and allowed. Raises AgentFailed; the session then does not exist. `again`:
        if the opening is only cancelled, the session stays and can be opened later."""
        try:
            await self.allow(session)
            opened = await self._agents.open_session(session.request)
        except BaseException as error:
            if not again or isinstance(error, Exception):
                self._state.sessions.remove(session.id)
                self._records.abandon(session.id)
            raise
        self.opened(session, opened)
        return opened

    def opened(self, session: Session, opened: OpenedSession) -> None:
        """Note that its agent has opened the session: for the first time, loaded, forked, or again after the agent's death."""
        session.opened = opened
        self._records.reference(session.id, opened.reference, loads=opened.loads, forks=opened.forks)
        self._tell(opened)

    async def allow(self, session: Session) -> None:
        """Ask the questions that must be answered before a session is opened. Raises AgentFailed."""
        self._denied_writers.check(session.agent)
        await self._may_start(session)
        servers = await self._offers.to(session)
        own, request = self._offers.own_for(session), session.request
        if own is not None:
            beside = self._offers.own_for_everybody()
            request = replace(request, own_server=str(own["name"]), own_beside=beside)
            servers = [own, *servers]
        session.request = replace(request, mcp_servers=(*request.mcp_servers, *servers))

    async def may_start(self, agent: str) -> str:
        """Ask whether the agent may be started without a session. Return the folder to start it in. Raises AgentFailed."""
        session = self.prepare(agent, self._anywhere())
        try:
            await self._may_start(session)
        finally:
            self.drop(session)
        return session.cwd

    async def granted(self, about: About) -> Granted:
        """Return which folders of a conversation that its agent offers the user grants. Raises AgentFailed."""
        session = self.prepare(about.agent, self._anywhere())
        users = (*self.folders, *self._state.settings.allowed_roots)
        try:
            return await OfferedFolders(self._consent, users).grant(session, about)
        finally:
            self.drop(session)

    async def may_sign_in(self, agent: str, terminal: Mapping[str, Any], sets: Sequence[str]) -> None:
        """Ask whether a login command chosen by the agent may be handed out. `sets`: the names of the variables that the agent sets. Raises AgentFailed."""
        session = self.prepare(agent, self._anywhere())
        argv, folder = [terminal["command"], *terminal["args"]], terminal.get("cwd") or session.cwd
        try:
            if not await self._consent.to_sign_in(session, argv, folder, sets):
                raise AgentFailed(
                    "refused",
                    f"the command with which {agent} logs in was not run, because it was not allowed",
                )
        finally:
            self.drop(session)

    def _anywhere(self) -> str:
        """Return a folder for work without a session: logging in also works without an open folder."""
        return next(iter(self.folders), os.path.expanduser("~"))

    def drop(self, session: Session) -> None:
        self._state.sessions.remove(session.id)
        self._records.close(session.id)

    async def _may_start(self, session: Session) -> None:
        command = self._state.settings.agents.get(session.agent) or self._agents.found(session.agent)
        if command is None or self._agents.runs(session.agent):
            return
        if not await self._consent.to_start(session, command):
            raise AgentFailed(
                "refused",
                f"{session.agent} was not started, because you did not allow it; try again to be asked again",
            )

    def _nobody(self) -> str:
        found = [agent.id for agent in self._agents.list() if agent.source == "found"]
        words = 'no agent is configured; add one under "agents" in the settings of acp-sidecar'
        if found:
            words += f", or open a session with one that is on PATH: {', '.join(found)}"
        return f'{words}, or use the agent "demo"'
