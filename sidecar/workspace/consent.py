"""Consent: what may be read or written without asking, what must be asked, and the asking.

The policy (`core.policy`) decides; the user answers what it leaves open. A question is built from the request that will be
executed: the canonical path, never what an agent says about it. "Always" means this path, for this session.
"""

from __future__ import annotations

import itertools

import anyio

from sidecar.core.escape import escape
from sidecar.core.policy import Allow, Ask, Decision, Deny, Matchers, decide
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Missing
from sidecar.workspace.places import Place
from sidecar.workspace.ports import Editor, Option, Question
from sidecar.workspace.queues import Access
from sidecar.workspace.sessions import Session
from sidecar.workspace.state import State

_REASONS = {
    "secret": "it looks like a file with secrets",
    "protected": "programs run what this file says",
    "hard link": "the file has another name, perhaps outside the workspace",
}

OPTIONS = (
    Option("reject", "reject_once", "Reject"),
    Option("allow", "allow_once", "Allow once"),
    Option("always", "allow_always", "Allow this file for this session"),
)


class Consent:
    """Asks the user through the editor. Every question can be withdrawn by its session."""

    def __init__(self, state: State, editor: Editor, matchers: Matchers) -> None:
        self._state = state
        self._editor = editor
        self._matchers = matchers
        self._numbers = itertools.count(1)

    async def to_read(self, session: Session, place: Place) -> Refusal | None:
        """None when the place may be read."""
        return await self._check(session, place, "read", "")

    async def to_write(self, session: Session, place: Place) -> Refusal | None:
        """None when the place may be written."""
        match self._state.settings.writes:
            case "deny":
                return Refusal(Kind.DENIED_BY_POLICY, "writing is switched off by the user's settings")
            case "ask":
                return await self._check(session, place, "write", "the settings ask before every write")
            case "review":
                return await self._check(session, place, "write", "")

    async def to_write_behind(self, session: Session, place: Place, reason: str) -> Refusal | None:
        """None when a clean open document's file may be written behind the editor, which takes no edits itself."""
        words = f"the editor did not take the edit ({reason or 'no reason given'}), so the file would be written on disk"
        return await self._check(session, place, "write", words)

    async def ask(self, question: Question) -> str | None:
        """The id of the chosen option; None when dismissed or withdrawn."""
        session = self._state.sessions.get(question.session_id)
        if session is None or not session.alive:
            return None
        answer: str | None = None
        with anyio.CancelScope() as scope:
            session.questions.add(scope)
            try:
                answer = await self._editor.ask(question)
            finally:
                session.questions.discard(scope)
        if scope.cancelled_caught or not session.alive:
            return None
        return answer if any(option.id == answer for option in question.options) else None

    def must_ask(self, place: Place, access: Access) -> bool:
        """Whether the policy leaves anything open about this place."""
        return not isinstance(self._decide(place, access), Allow)

    def _decide(self, place: Place, access: Access) -> Decision:
        links = 1 if isinstance(place.on_disk, Missing) else place.on_disk.links
        roots = place.on_disk.root.spellings
        return decide(place.requested, place.path, access, self._matchers, roots=roots, links=links)

    async def _check(self, session: Session, place: Place, access: Access, always: str) -> Refusal | None:
        match self._decide(place, access):
            case Deny():
                return Refusal(
                    Kind.DENIED_BY_POLICY, f"{place.requested} belongs to the system and is never served"
                )
            case Ask(reason=reason):
                why = _REASONS[reason]
            case Allow():
                if not always:
                    return None
                why = always
        if (access, place.path) in session.grants:
            return None
        verb = "read" if access == "read" else "create" if isinstance(place.on_disk, Missing) else "change"
        answer = await self.ask(
            Question(
                f"{session.id}-{next(self._numbers)}",
                session.id,
                access,
                f"{escape(session.agent)} wants to {verb} {escape(place.path)}: {why}.",
                OPTIONS,
                why,
                {"target": place.path},
            )
        )
        if answer == "always":
            session.grants.add((access, place.path))
        if answer in ("allow", "always"):
            return None
        return Refusal(Kind.DENIED_BY_USER, f"the user did not allow to {verb} {place.requested}")
