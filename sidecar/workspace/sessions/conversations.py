"""Conversations: lists, reopens, reads and deletes current and earlier sessions; sets their modes and options; handles logins.

Whatever an agent sends about an earlier conversation is history: it is shown, and never becomes evidence, a belief or a change. If the agent cannot
continue a conversation, the sidecar's own record (`records`) is shown instead, and the next prompt starts a new conversation.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.records import About, Records, entries
from sidecar.workspace.ports.ports import AgentFailed, Agents, Editor
from sidecar.workspace.sessions.audience import Audience, Listener
from sidecar.workspace.sessions.opening import Opening
from sidecar.workspace.state.sessions import Session, Sessions

log = logging.getLogger(__name__)

_AT_ONCE = 128
"""The number of record entries that are shown without yielding to the event loop."""
_LOST = frozenset({"unsupported", "refused", "timeout"})
"""Load failures after which a new conversation with the agent can start."""


class Conversations:
    """`lsp.ext` documents the answers."""

    def __init__(
        self,
        sessions: Sessions,
        opening: Opening,
        agents: Agents,
        editor: Editor,
        records: Records,
        audience: Audience,
        last_turn: Callable[[str], Awaitable[int]],
        close: Callable[[str], Awaitable[None]],
    ) -> None:
        """`last_turn`: returns the highest turn that the journal has of a session. `close`: ends an open session."""
        self._sessions = sessions
        self._opening = opening
        self._agents = agents
        self._editor = editor
        self._records = records
        self._audience = audience
        self._last_turn = last_turn
        self._close = close
        self._listed: dict[str, About] = {}
        """Sessions that agents listed and that have no record here, by the id under which they would be loaded."""

    def heard(self, session: Session, update: Json) -> bool:
        """Note an update. Return False if it is history and has no further effect."""
        match update.get("sessionUpdate"):
            case "current_mode_update" if session.opened is not None and session.opened.modes is not None:
                modes = {**session.opened.modes, "currentModeId": update.get("currentModeId")}
                session.opened = replace(session.opened, modes=modes)
            case "config_option_update" if session.opened is not None:
                options = update.get("configOptions")
                if isinstance(options, list):
                    session.opened = replace(session.opened, config_options=options)
            case _:
                pass
        if session.loading:
            if session.replayed:
                self._editor.session_history(session.id, update)
            if not session.recorded:
                self._records.update(session.id, 0, update, history=True)
            return False
        if session.history:  # before its first prompt: late history, or the current state
            self._editor.session_update(session.id, update)
            return False
        self._records.update(session.id, session.turn, update)
        return True

    # listing, loading, deleting, reading back

    async def list(self, agent: str | None = None, everywhere: bool = False) -> Sequence[Json]:
        """Return the sessions, the most recently used first; sessions last used at the same moment are ordered by their start, the newest first. An
        agent that cannot list sessions is left out, unless requested by name. Raises AgentFailed."""
        folders = self._opening.folders
        rows: dict[str, dict[str, object]] = {}
        known: dict[tuple[str, str], str] = {}
        for about in await self._recorded():
            rows[about.session_id] = _row(about, transcript=True)
            if about.reference:
                known[about.agent, about.reference] = about.session_id
        for session in self._sessions:
            if session.guest:
                continue
            about = self._records.about(session.id) or About(session.id, session.agent, session.cwd)
            rows[session.id] = _row(about, transcript=session.id in rows) | _now(session)
            if session.opened is not None:
                known[session.agent, session.opened.reference] = session.id
        kept = await self._kept_by_agents(agent, [] if everywhere else folders)
        for number, listed in enumerate(kept, 1):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)  # a long list must not delay the user's typing
            session_id = known.get((listed.agent, listed.reference), listed.session_id)
            if session_id not in rows:
                self._listed[session_id] = listed
                rows[session_id] = _row(listed, transcript=False)
            row = rows[session_id]
            row["listed"] = True
            row.update(
                {key: text for key, text in _titles(listed).items() if key == "title" or key not in row}
            )
        chosen = [
            row
            for row in rows.values()
            if (agent is None or row["agent"] == agent)
            and (everywhere or row["open"] or _within(str(row["cwd"]), folders))
        ]
        begun = {session.id: number for number, session in enumerate(self._sessions)}

        def used(row: Mapping[str, object]) -> tuple[bool, str, int, str]:
            session_id = str(row["sessionId"])
            return bool(row["open"]), str(row.get("updatedAt", "")), begun.get(session_id, -1), session_id

        return sorted(chosen, key=used, reverse=True)

    async def load(self, session_id: str, replay: bool = True) -> Json:
        """Open an earlier session again and show its history. Raises AgentFailed."""
        session = self._sessions.get(session_id)
        if session is not None and session.loading:
            raise AgentFailed("refused", "this conversation is being loaded already")
        if session is not None and session.guest:
            raise AgentFailed(
                "refused", f"{session.agent} was not started from here, so its conversation is not known"
            )
        if session is not None:
            replayed = replay and await self._replay(session.id)
            return self._loaded(session, "transcript" if replayed else "none", session.opened is not None)
        found = await self._records.read(session_id)
        about = found[0] if found is not None else self._listed.get(session_id)
        if about is None:
            raise AgentFailed(
                "refused",
                f'there is no session "{plain(session_id, 60)}"; sidecar.listSessions lists them',
            )
        granted = None
        if found is None or about.granted:  # the agent named its folders
            granted = await self._opening.granted(about)
            about = granted.about
        session = self._opening.prepare(about.agent, about.cwd, about.additional_directories, earlier=about)
        session.recorded = found is not None
        session.history = session.loading = True
        session.replayed = replay
        note, replayed = "", False
        try:
            # its record may be missing; its turns identify what it wrote
            session.turn = max(session.turn, await self._last_turn(session_id))
            if granted is not None:
                granted.refuse_others(session.roots)
            await self._opening.allow(session)
            try:
                if not about.reference:
                    raise AgentFailed("unsupported", f"{about.agent} never opened this conversation.")
                # sessions without a record are shown too
                tell = replay or not session.recorded
                opened = await self._agents.load_session(session.request, about.reference, replay=tell)
                self._opening.opened(session, opened)
                replayed = opened.replayed and replay
            except AgentFailed as failed:
                if failed.kind not in _LOST or not session.recorded:
                    raise
                note = (
                    f"{failed.message} The conversation is kept here. The next prompt starts a new conversation"
                    f" with {about.agent}, which does not know this one."
                )
        except BaseException:
            self._opening.drop(session)
            raise
        finally:
            session.loading = False
        if self._sessions.get(session_id) is not session:
            await self._agents.close_session(session_id)
            raise AgentFailed("refused", "this conversation was closed while it was loaded")
        if replayed:
            return self._loaded(session, "agent", True)
        shown = replay and await self._replay(session.id)
        return self._loaded(session, "transcript" if shown else "none", session.opened is not None, note)

    async def fork(self, session_id: str) -> Json:
        """Start a new conversation with the content of this one, which stays as it is. Raises AgentFailed."""
        session = self._sessions.get(session_id)
        if session is not None and session.guest:
            raise AgentFailed("refused", f"{session.agent} was not started from here; fork it where it runs")
        if session is not None and (session.running or session.loading):
            raise AgentFailed(
                "refused", "this conversation is busy; fork it when its turn has ended, or stop it first"
            )
        found = await self._records.read(session_id)
        about = found[0] if found is not None else self._listed.get(session_id)
        if about is None:
            raise AgentFailed(
                "refused",
                f'nothing was said yet in a session "{plain(session_id, 60)}", so there is nothing to fork',
            )
        granted = None
        if found is None or about.granted:  # the agent named its folders
            granted = await self._opening.granted(about)
            about = granted.about
        now = self._agents.reference(session_id) if session is not None else ""
        reference = now or about.reference
        fork = self._opening.prepare(about.agent, about.cwd, about.additional_directories, fork=about)
        try:
            if granted is not None:
                granted.refuse_others(fork.roots)
            await self._opening.allow(fork)
            if not reference:
                raise AgentFailed("unsupported", f"{about.agent} never opened this conversation.")
            self._opening.opened(fork, await self._agents.fork_session(fork.request, reference))
        except BaseException:
            self._opening.drop(fork)
            raise
        try:
            await self._records.copy(fork.id, entries.forked(found[1]) if found is not None else [])
        except OSError as error:
            log.warning("what a fork begins with cannot be recorded: %s", error.strerror)
        answer: dict[str, object] = {"sessionId": fork.id, "agent": fork.agent, "forkOf": session_id}
        title = self._records.about(fork.id)
        if title is not None and title.title:
            answer["title"] = title.title
        return {**answer, **_choices(fork)}

    async def delete(self, session_id: str | None) -> Json:
        """Delete one session, closing it first, or the records of all sessions that are not open."""
        if session_id is None:
            deleted = [
                about.session_id
                for about in await self._recorded()
                if self._sessions.get(about.session_id) is None
                and await self._records.delete(about.session_id)
            ]
            return {"deleted": deleted, "kept": []}
        about = self._records.about(session_id)
        if self._sessions.get(session_id) is not None:
            await self._close(session_id)
        found = await self._records.read(session_id)
        about = (found[0] if found else None) or about or self._listed.get(session_id)
        if about is None:
            raise AgentFailed("refused", f'there is no session "{plain(session_id, 60)}" to delete')
        await self._records.delete(session_id)
        try:
            if about.reference:
                cwd = await self._opening.may_start(about.agent)
                await self._agents.delete_session(about.agent, about.reference, cwd)
        except AgentFailed as failed:
            return {"deleted": [], "kept": [{"sessionId": session_id, "reason": failed.message}]}
        self._listed.pop(session_id, None)
        return {"deleted": [session_id], "kept": []}

    async def history(self, listener: Listener, session_id: str) -> Sequence[Json]:
        """Return what was said in an open session so far, as session updates. `listener` must hear the session from this call on: it is registered
        before the first await."""
        reading = self._records.read(session_id)
        self._audience.came(listener, session_id)
        found = await reading
        return [update for entry in (found[1] if found is not None else ()) for update in _shown(entry)]

    async def transcript(self, session_id: str) -> Json:
        """Return the sidecar's own record; it is empty if only the agent has the conversation. Raises AgentFailed if there is no such session."""
        listed = self._listed.get(session_id)
        found = await self._records.read(session_id) or ((listed, ()) if listed is not None else None)
        if found is None:
            raise AgentFailed(
                "refused",
                f'there is no record of a session "{plain(session_id, 60)}"; sessions without a prompt leave none',
            )
        about, entries = found
        answer: dict[str, object] = {
            "sessionId": about.session_id,
            "agent": about.agent,
            "cwd": about.cwd,
            "createdAt": about.created,
            "updatedAt": about.updated,
            "entries": list(entries),
        }
        return answer | ({"title": about.title} if about.title else {})

    # modes, options, logging in

    async def set_mode(self, session_id: str, mode_id: str, by: Listener | None = None) -> Json:
        """`by`: the listener that chose, or None for the editor."""
        session = self._sessions.own(session_id)
        modes = await self._agents.set_mode(session_id, mode_id)
        if session.opened is not None:
            session.opened = replace(session.opened, modes=modes)
        mode = {"sessionUpdate": "current_mode_update", "currentModeId": modes.get("currentModeId")}
        self._audience.chose(session_id, mode, by)
        return modes

    async def set_config_option(
        self, session_id: str, config_id: str, value: str | bool, by: Listener | None = None
    ) -> Sequence[Json]:
        """`by`: the listener that chose, or None for the editor."""
        session = self._sessions.own(session_id)
        options = await self._agents.set_config_option(session_id, config_id, value)
        if session.opened is not None:
            session.opened = replace(session.opened, config_options=options)
        update = {"sessionUpdate": "config_option_update", "configOptions": list(options)}
        self._audience.chose(session_id, update, by)
        return options

    async def authenticate(self, agent: str, method_id: str | None = None, finished: bool = False) -> Json:
        cwd = await self._opening.may_start(agent)
        answer = dict(await self._agents.authenticate(agent, cwd, method_id, finished=finished))
        sets, terminal = answer.pop("asks", None), answer.get("terminal")
        if sets is not None:
            await self._opening.may_sign_in(
                agent, cast("Mapping[str, Any]", terminal), cast("Sequence[str]", sets)
            )
        return answer

    async def logout(self, agent: str) -> None:
        await self._agents.logout(agent, await self._opening.may_start(agent))

    # helpers

    async def _recorded(self) -> Sequence[About]:
        try:
            return await self._records.list()
        except OSError as error:
            log.warning("the records of sessions cannot be read: %s", error.strerror)
            return []

    async def _kept_by_agents(self, agent: str | None, folders: Sequence[str]) -> list[About]:
        """Return the sessions that one agent keeps, starting it if necessary, or those of all running agents."""
        if agent is not None:
            return await self._kept_by(agent, folders, await self._opening.may_start(agent))
        running = [info.id for info in self._agents.list() if self._agents.runs(info.id)]
        if not running or not self._opening.folders:
            return []
        answers = await asyncio.gather(
            *(self._kept_by(one, folders, self._opening.folders[0]) for one in running),
            return_exceptions=True,
        )
        found: list[About] = []
        for name, answer in zip(running, answers, strict=True):
            if isinstance(answer, AgentFailed):
                log.warning("the sessions of %s: %s", name, answer.message)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found += answer
        return found

    async def _kept_by(self, agent: str, folders: Sequence[str], cwd: str) -> list[About]:
        return [
            About(
                _id_of(agent, one.reference),
                agent,
                one.cwd,
                one.additional_directories,
                one.reference,
                one.title,
                updated=one.updated_at,
                forks=one.forks,
            )
            for one in await self._agents.list_sessions(agent, folders, cwd)
            if os.path.isabs(one.cwd)
        ]

    async def _replay(self, session_id: str) -> bool:
        """Show the sidecar's own record. Return False if there is none."""
        found = await self._records.read(session_id)
        if found is None:
            return False
        for number, entry in enumerate(found[1], 1):
            for update in _shown(entry):
                self._editor.session_history(session_id, update)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)  # a long record must not delay the user's typing
        return True

    def _loaded(self, session: Session, history: str, remembers: bool, note: str = "") -> Json:
        answer: dict[str, object] = {
            "sessionId": session.id,
            "agent": session.agent,
            "history": history,
            "remembers": remembers,
        }
        self._editor.history_shown()
        about = self._records.about(session.id)
        if about is not None and about.title:
            answer["title"] = about.title
        if note:
            answer["note"] = note
        return {**answer, **_choices(session)}


def _shown(entry: Mapping[str, object]) -> list[Json]:
    """Return a record entry as session updates."""
    update, prompt = entry.get("update"), entry.get("prompt")
    if isinstance(update, dict):
        return [update]
    if isinstance(prompt, list):
        return [{"sessionUpdate": "user_message_chunk", "content": block} for block in prompt]  # pyright: ignore[reportUnknownVariableType]  # as above
    return []


def _row(about: About, *, transcript: bool) -> dict[str, object]:
    return {
        "sessionId": about.session_id,
        "agent": about.agent,
        "cwd": about.cwd,
        **_titles(about),
        "open": False,
        "running": False,
        "turn": about.turn,
        "transcript": transcript,
        "listed": False,
        "loads": about.loads,
        "forks": about.forks,
    }


def _titles(about: About) -> dict[str, str]:
    texts = {"title": about.title, "updatedAt": about.updated or about.created}
    return {key: text for key, text in texts.items() if text}


def _now(session: Session) -> dict[str, object]:
    return {"open": True, "running": session.running, "turn": session.turn, **_choices(session)}


def _choices(session: Session) -> Json:
    return {} if session.opened is None else session.opened.choices


def _within(path: str, folders: Sequence[str]) -> bool:
    path = os.path.normpath(path)
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def _id_of(agent: str, reference: str) -> str:
    """Return an id that is stable, so that it identifies the session's changes. Agents' own ids never leave `acp/`."""
    return hashlib.blake2b(
        f"{agent}\0{reference}".encode("utf-8", "surrogatepass"), digest_size=6
    ).hexdigest()
