"""Guests: agents that somebody else started (`claude` in a terminal) and that reach us only through tool calls, or through the proxy.

A guest has a session like any other, so its reads and writes are treated like any other agent's. It has no prompts: nothing says what it is doing, or
when it is done. So a guest's turn lasts from a call until the guest has been quiet for a while.

Nothing is done for a guest before the user has said yes. A call that gets no answer waits for a while and is then refused; the question stays open.
After a stop, the user is asked again, even if they had said yes permanently.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from sidecar.core.escape import escape
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.consent.consent import Consent
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import AgentFailed, OpenedSession, SessionRequest
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.state import State
from sidecar.workspace.state.storage import Storage

QUIET_SECONDS = 60.0
"""Seconds without a call after which a guest's turn is over."""
PATIENCE_SECONDS = 50.0
"""Seconds that a call waits for the user's answer. Clients give up after a minute, and nothing may be done after that."""


@dataclass(slots=True)
class _Guest:
    session: Session
    allowed: bool | None
    """The user's answer. None: the next call asks."""
    wants: str
    """What the question says that the guest wants. "": the usual."""
    prompted: bool = False
    """Its turns are reported, so none are guessed from its calls."""
    line: anyio.Lock = field(default_factory=anyio.Lock)
    """Held by the call that waits for the user's answer, so that calls are carried out in the order in which they came."""
    came: int = 0
    """The number of calls so far."""
    dismissed: int = 0
    """The number of the last call that was covered by a question closed without an answer."""
    answered: anyio.Event | None = None
    """Set when the open question is answered or closed. None: no question is open."""
    stopped: bool = False
    calls: int = 0
    """The number of calls in progress."""
    quiet_since: float = 0.0


class Guests:
    def __init__(
        self,
        state: State,
        storage: Storage,
        consent: Consent,
        tasks: Background,
        folders: Callable[[], Sequence[str]],
    ) -> None:
        """`folders`: returns the editor's folders, absolute."""
        self._state = state
        self._storage = storage
        self._consent = consent
        self._tasks = tasks
        self._folders = folders
        self._guests: dict[str, _Guest] = {}

    def open(
        self,
        agent: str,
        folder: str,
        *,
        allowed: bool | None = None,
        rereads: bool = False,
        wants: str = "",
        prompted: bool = False,
    ) -> str:
        """Open a session for a guest and return its id. `agent`: the name that is shown. `folder`: where it works, absolute; if that is in none of
        the editor's folders, the first of these is used. `allowed`: True asks no question. `rereads`: as in OpenedSession. `wants`: as in
        Consent.to_admit. `prompted`: its turns are reported (prompted.py), and it changes nothing between them. Raises AgentFailed."""
        folders = [*self._folders()]
        if not folders:
            raise AgentFailed("refused", "the editor has no folder open")
        roots = self._storage.roots((*folders, *self._state.settings.allowed_roots))
        if isinstance(roots, Refusal):
            raise AgentFailed("refused", roots.message)
        real = os.path.realpath(folder)
        cwd = real if roots.is_root(real) or roots.match(real) is not None else folders[0]
        session_id = uuid.uuid4().hex[:12]
        request = SessionRequest(session_id, agent, cwd)
        session = Session(
            session_id,
            agent,
            cwd,
            roots,
            request,
            opened=OpenedSession(session_id, agent, rereads=rereads),
            moment=self._state.beliefs.moment,
            guest=True,
        )
        self._state.sessions.add(session)
        self._guests[session_id] = _Guest(session, allowed, wants, prompted)
        return session_id

    def session(self, session_id: str) -> Session:
        """Return the open session of a guest."""
        return self._guests[session_id].session

    def is_let_in(self, session_id: str) -> bool:
        """Whether the user has said yes and has not stopped the guest since."""
        guest = self._guests.get(session_id)
        return guest is not None and guest.allowed is True and guest.session.alive

    async def admitted(self, session_id: str) -> Refusal | None:
        """Return why nothing is done for a guest, or None once the user has let it in. Asks and waits as `call` does; waiting calls go on in order."""
        guest = self._guests.get(session_id)
        if guest is None:
            return Refusal(Kind.UNKNOWN_SESSION, "this session was closed")
        return await self._admitted(guest)

    def close(self, session_id: str) -> None:
        """Close the session of a guest that is gone. An open question is withdrawn."""
        if self._guests.pop(session_id, None) is not None:
            self._state.sessions.remove(session_id)
            self._state.beliefs.forget_session(session_id)

    def stop(self, session: Session) -> None:
        """Stop a guest: calls that have not begun are refused, and the user is asked before anything else is done for it."""
        guest = self._guests[session.id]
        guest.allowed, guest.stopped = None, True
        session.stop()
        session.withdraw_questions()

    @asynccontextmanager
    async def call(self, session_id: str) -> AsyncGenerator[Refusal | None]:
        """Surround each call of a tool. Yields why the call is not carried out, or None if it may be. For a session that is not a guest's, it yields
        None without waiting."""
        guest = self._guests.get(session_id)
        if guest is None:
            yield None
            return
        refused = await self._admitted(guest)
        if refused is not None:
            yield refused
            return
        now = anyio.current_time()
        over = not guest.session.acting or (not guest.calls and now - guest.quiet_since > QUIET_SECONDS)
        if over and not guest.prompted:
            guest.session.begin_guest_turn()
        guest.calls += 1
        try:
            yield None
        finally:
            guest.calls -= 1
            guest.quiet_since = anyio.current_time()

    async def _admitted(self, guest: _Guest) -> Refusal | None:
        name, folder = guest.session.agent, guest.session.cwd
        guest.came += 1
        number = guest.came
        if guest.allowed is None:
            self._question(guest)
        with anyio.move_on_after(PATIENCE_SECONDS):
            async with guest.line:
                if guest.allowed is None and number > guest.dismissed:
                    await self._question(guest).wait()
                if guest.allowed and guest.session.alive:
                    return None
                if guest.allowed is None:
                    return _denied(
                        f"The user gave no answer to whether {name} may read and change files in {folder}. Nothing was done; "
                        "the next call asks again"
                    )
                return _denied(
                    f"The user did not allow {name} to read and change files in {folder}. Do not try again; the user is asked "
                    f"again when {name} is restarted"
                )
        return _denied(
            f"The user has not answered yet: the editor asks whether {name} may read and change files in {folder}. Ask the user "
            "to answer there, and try again"
        )

    def _question(self, guest: _Guest) -> anyio.Event:
        """Ask the user, unless the question is already open. The returned event is set when the user has answered or closed it."""
        if guest.answered is None:
            guest.answered = anyio.Event()
            self._tasks.start_soon(self._ask, guest, guest.answered)
        return guest.answered

    async def _ask(self, guest: _Guest, answered: anyio.Event) -> None:
        try:
            allowed = await self._consent.to_admit(guest.session, again=guest.stopped, wants=guest.wants)
            guest.allowed = allowed
            guest.stopped = guest.stopped and allowed is None
        finally:
            if guest.allowed is None:
                guest.dismissed = guest.came
            guest.answered = None
            answered.set()


def _denied(words: str) -> Refusal:
    return Refusal(Kind.DENIED_BY_USER, escape(words))
