"""Turns: prompts on their way to an agent and back, one at a time for each session."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

import anyio

from sidecar.core.json_types import Json
from sidecar.core.uri import DocumentUri
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import AgentFailed, Agents, Editor, Progress
from sidecar.workspace.state.sessions import Session, Sessions

log = logging.getLogger(__name__)

TurnOutcome = dict[str, object]
"""`{sessionId, turn, stopReason, changes: [{uri, added, removed}]}`, with `error` as a message if the turn failed."""

FAILED = "failed"
"""The stop reason of a turn that ended without one: the agent died, or answered with an error."""
CANCELLED = "cancelled"
"""ACP's stop reason."""


class Turns:
    """Runs turns as tasks of their own, so that a prompt returns at once."""

    def __init__(self, agents: Agents, editor: Editor, sessions: Sessions, tasks: Background) -> None:
        self._agents = agents
        self._editor = editor
        self._sessions = sessions
        self._tasks = tasks
        self._progress: dict[str, Progress] = {}
        self._done: dict[str, anyio.Event] = {}
        self._preparing: dict[str, anyio.CancelScope] = {}
        """The turns whose prompt the agent does not have yet. The agent cannot be asked to stop them, so they are stopped here."""
        self.asked: list[Callable[[Session], None]] = []
        """Called when an agent is given a turn's prompt."""
        self.finishing: list[Callable[[Session], Awaitable[None]]] = []
        """Awaited as the last part of a turn, once the agent has ended it or failed."""
        self.ended: list[Callable[[Session, TurnOutcome], None]] = []
        """Called at the end of each turn, before its outcome is published."""

    def start(
        self,
        session: Session,
        before: Callable[[], Awaitable[Sequence[Json]]],
        work: Callable[[Sequence[Json]], Awaitable[str]] | None = None,
    ) -> tuple[int, Awaitable[TurnOutcome]]:
        """Start a turn. `before` is its first step and returns the prompt to send. `work` runs for the length of the turn and returns its stop
        reason, in place of a prompt to one of our agents. Raises AgentFailed while the session's previous turn is running."""
        if session.running:
            raise AgentFailed(
                "refused",
                f"{session.agent} is still working on the previous prompt; wait for it or cancel it first",
            )
        turn = session.begin_turn()
        self._sessions.used(session)
        done = self._done[session.id] = anyio.Event()
        self._preparing[session.id] = anyio.CancelScope()
        outcome: TurnOutcome = {"sessionId": session.id, "turn": turn}
        self._progress[session.id] = self._editor.progress(session.agent, lambda: self.cancel(session))

        async def prompt(blocks: Sequence[Json]) -> str:
            return await self._agents.prompt(session.id, blocks)

        async def run() -> None:
            try:
                await self._run(session, outcome, before, work or prompt)
            finally:
                done.set()
                if self._done.get(session.id) is done:
                    del self._done[session.id]

        async def end() -> TurnOutcome:
            await done.wait()
            return outcome

        self._tasks.start_soon(run)
        return turn, end()

    async def end_of(self, session: Session) -> None:
        """Wait until the session's running turn has ended."""
        done = self._done.get(session.id)
        if done is not None:
            await done.wait()

    def cancel(self, session: Session) -> None:
        """Ask the agent to stop. Open questions are withdrawn at once. A turn that has not reached the agent ends here."""
        if session.running:
            if session.id in self._preparing:
                self._preparing[session.id].cancel()
            session.stop()
            session.withdraw_questions()
            self._agents.cancel(session.id)

    def update(self, session: Session, update: Json) -> None:
        """Show a session update of the agent."""
        session.observe(update)
        progress = self._progress.get(session.id)
        title = update.get("title")
        if progress is not None and update.get("sessionUpdate") == "tool_call" and isinstance(title, str):
            progress.report(title)
        self._editor.session_update(session.id, update)

    async def _run(
        self,
        session: Session,
        outcome: TurnOutcome,
        before: Callable[[], Awaitable[Sequence[Json]]],
        work: Callable[[Sequence[Json]], Awaitable[str]],
    ) -> None:
        failure = ""
        stop_reason, asked = FAILED, False
        try:
            try:
                blocks = await self._prepared(session, before)
                asked = blocks is not None
                if blocks is not None:
                    session.prompted()
                    for told in self.asked:
                        told(session)
                    stop_reason = await work(blocks)
                else:
                    stop_reason = CANCELLED
            except AgentFailed as failed:
                failure = failed.message
                outcome["errorKind"] = failed.kind
                if "methods" in failed.data:
                    outcome["methods"] = failed.data["methods"]
            except Exception:
                log.exception("a turn of %s failed", session.agent)
                failure = _fault(session)
            session.answered()
            if asked:  # also for a turn that failed: what it changed until then is its work
                for finish in self.finishing:
                    await finish(session)
        except Exception:
            log.exception("a turn of %s failed", session.agent)
            failure = _fault(session)
        finally:
            session.end_turn()
            outcome["stopReason"] = stop_reason
            outcome["changes"] = [_change(uri, counts) for uri, counts in session.touched.items()]
            if failure:
                outcome["error"] = failure
                self._editor.show("error", failure)
            for end in self.ended:
                end(session, outcome)
            progress = self._progress.pop(session.id, None)
            if progress is not None:
                progress.end(failure or summary(stop_reason, outcome["changes"]))
            with contextlib.suppress(Exception):
                self._editor.turn_ended(outcome)

    async def _prepared(
        self, session: Session, before: Callable[[], Awaitable[Sequence[Json]]]
    ) -> Sequence[Json] | None:
        """The prompt to send. None if the turn was cancelled first. Nothing may be awaited between this and sending it."""
        scope = self._preparing[session.id]
        blocks = None
        try:
            with scope:
                blocks = await before()
        except AgentFailed:
            if not scope.cancel_called:  # otherwise it is about what the cancel withdrew: a question, a start
                raise
        finally:
            del self._preparing[session.id]
        return None if scope.cancel_called else blocks


def _fault(session: Session) -> str:
    return f"The turn of {session.agent} failed because of a fault in acp-sidecar; see its log."


def _change(uri: DocumentUri, counts: tuple[int, int]) -> Json:
    return {"uri": uri, "added": counts[0], "removed": counts[1]}


def summary(stop_reason: str, changes: object) -> str:
    """One line for a progress message."""
    count = len(changes) if isinstance(changes, list) else 0  # pyright: ignore[reportUnknownArgumentType] - of JSON
    files = "no file changed" if not count else "1 file changed" if count == 1 else f"{count} files changed"
    words = {"end_turn": "done", "cancelled": "cancelled", "refusal": "the agent refused"}.get(
        stop_reason, stop_reason
    )
    return f"{words}, {files}"
