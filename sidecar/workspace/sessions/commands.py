"""Commands: decides whether an agent's command may run now, and saves what must be on the disk first.

A command sees only the disk. So the agent's own unsaved changes are saved first, but only in documents where that saves nothing of the user's: text
that the user has not saved stays unsaved. A running command is not sandboxed. It may read and change files behind us, and the session is told that it
runs.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence

from sidecar.core.escape import plain
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.files.saving import Saver
from sidecar.workspace.ports.ports import Audit
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.storage import Storage


class Commands:
    """Consulted before every command of every session."""

    def __init__(
        self,
        state: State,
        storage: Storage,
        consent: Consent,
        saver: Saver,
        audit: Audit,
        noted: Callable[[Session], Awaitable[None]],
    ) -> None:
        """`noted`: waits until the session's files have been noted, so that the command's changes can be told from what was there before."""
        self._state = state
        self._storage = storage
        self._consent = consent
        self._saver = saver
        self._audit = audit
        self._noted = noted

    async def may_run(
        self, session_id: str, argv: Sequence[str], cwd: str | None, env: Sequence[str]
    ) -> str | Refusal:
        """Return the folder to run the command in (canonical), or why it may not run. `env`: the names of the variables that it sets."""
        session = self._state.sessions.get(session_id)
        if session is None:
            return Refusal(Kind.UNKNOWN_SESSION, "there is no such session")
        found = await self._check(session, argv, cwd, env)
        outcome = found.kind.value if isinstance(found, Refusal) else "ok"
        self._audit.record(
            "command", session=session.id, argv=list(argv), cwd=cwd, env=list(env), outcome=outcome
        )
        return found

    async def _check(
        self, session: Session, argv: Sequence[str], cwd: str | None, env: Sequence[str]
    ) -> str | Refusal:
        if not session.acting:
            return _withdrawn(argv)
        turn = session.turn
        requested = os.path.join(session.cwd, cwd or "")
        folder = self._storage.folder(session.roots, requested)
        if isinstance(folder, Refusal):
            return folder
        if not self._was_allowed(session, argv, folder, env):
            refused = await self._consent.to_run(session, argv, folder, env)
            if refused is not None:
                return refused
        await self._noted(session)
        await self._save(session)
        return folder if session.may_act(turn) else _withdrawn(argv)

    def _was_allowed(self, session: Session, argv: Sequence[str], folder: str, env: Sequence[str]) -> bool:
        """Whether the user allowed this command a moment ago, when the agent itself asked about it."""
        if env or self._state.settings.writes == "deny":
            return False
        return folder == self._storage.folder(session.roots, session.cwd) and session.allowed.take(argv)

    async def _save(self, session: Session) -> None:
        """Save what this agent changed, except documents that the user has since worked on. Saves nothing if the settings forbid it."""
        if self._state.settings.after_write == "never":
            return
        for uri in [*session.unsaved, *(uri for uri in session.touched if uri not in session.unsaved)]:
            tracked = self._state.documents.get(uri)
            if tracked is None or tracked.is_clean() or tracked.is_user_dirty():
                continue
            done = await self._saver.save_by_policy(tracked, was_user_dirty=False)
            if done.saved:
                session.unsaved.discard(uri)


def _withdrawn(argv: Sequence[str]) -> Refusal:
    words = f"{plain(argv[0], 60)} was not run: commands run only while a turn does, and it has ended or was stopped"
    return Refusal(Kind.WITHDRAWN, words)
