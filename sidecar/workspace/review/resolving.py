"""Resolver: carries out the user's decision about a conflict: `mine`, `agent`, or `ask` the agent once more.

The decision applies to the lines that both changed; the agent's other changes are made either way. The result is made through the
editor as one undoable edit and journalled, and the agent's part of it is under review like its other work. Nothing is saved: the
document has unsaved text of the user, whichever side's lines stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, cast

import anyio

from sidecar.core.escape import escape, shorten
from sidecar.core.json_types import Json
from sidecar.core.ledger import Author
from sidecar.core.normal import Normal
from sidecar.core.refusal import Refusal
from sidecar.core.settle import settle
from sidecar.core.uri import to_path
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.conflicts import Conflicts, Open
from sidecar.workspace.edits.door import Door, Intent, Planned
from sidecar.workspace.edits.ends import Ended, Landed, Unanswered, Unmade, told
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.edits.sending import Stop
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import AgentFailed, Editor
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.tracked import Landing, Tracked

Take = Literal["mine", "agent", "ask"]

_MAX_QUOTED = 4000
"""The most code points of a place that are quoted to the agent."""
_MAX_PLACES = 10
"""The most places that are quoted to the agent."""


class Resolver:
    """Carries out decisions about conflicts. Raises AgentFailed with a message for the user if one cannot be carried out."""

    def __init__(
        self,
        conflicts: Conflicts,
        editor: Editor,
        door: Door,
        reconciler: Reconciler,
        recorder: Recorder,
        prompt: Callable[[Session, Sequence[Json]], object],
        tasks: Background,
    ) -> None:
        self._tasks = tasks
        self._conflicts = conflicts
        self._editor = editor
        self._door = door
        self._reconciler = reconciler
        self._recorder = recorder
        self._prompt = prompt
        """Starts a turn of that session once the session is free; returns at once."""

    async def resolve(self, conflict_id: str, take: Take) -> Json:
        """Decide one conflict. Returns `{conflictId, outcome}`; the outcome is `mine`, `agent`, `asked` or `gone`."""
        conflict = self._conflicts.get(conflict_id)
        if conflict is None:
            raise AgentFailed(
                "refused", f'there is no open conflict "{conflict_id}"; it may have been decided already'
            )
        _check_is_free(conflict)
        if conflict.origin == "disk":
            await self._reconciler.look(conflict.tracked)  # the file may have changed by now
        if self._conflicts.get(conflict_id) is None:
            return {"conflictId": conflict_id, "outcome": "gone"}
        _check_is_free(conflict)
        if take == "ask":
            self._ask(conflict)
            return {"conflictId": conflict_id, "outcome": "asked"}
        carried = _Carried(conflict, take)
        conflict.on_its_way = True
        try:
            await self._tasks.to_its_end(self._carry_out, carried)
        finally:
            carried.left()
        if not isinstance(carried.end, Landed):
            raise _failed(conflict, carried.end)
        return {"conflictId": conflict_id, "outcome": take}

    async def _carry_out(self, carried: _Carried) -> None:
        conflict, take = carried.conflict, carried.take
        try:
            with carried.scope:
                if conflict.origin == "disk":
                    ended_late = partial(self._ended, conflict, take)
                    carried.end = await self._reconciler.resolve(conflict, take, carried.is_begun, ended_late)
                else:
                    is_mine = take == "mine"
                    carried.end = Landed(conflict.tracked) if is_mine else await self._write(carried)
        finally:
            self._ended(conflict, take, carried.end)

    def _ended(self, conflict: Open, take: Literal["mine", "agent"], end: Ended | Stop[str]) -> None:
        """The edit that was to carry out the decision has ended, or is overdue."""
        conflict.on_its_way = conflict.is_overdue = isinstance(end, Unanswered) and end.sent is not None
        if isinstance(end, Landed):
            self._conflicts.end(conflict, take)
        elif conflict.tracked.closed and not conflict.on_its_way:
            self._conflicts.end(conflict, "closed")

    async def _write(self, carried: _Carried) -> Ended | Stop[str]:
        """Make the refused write after all, over the user's lines where they clash."""
        conflict = carried.conflict
        if conflict.session is None:
            return Stop("it is not known whose change it is")

        def ended_late(landed: Landed | None) -> None:
            self._ended(conflict, "agent", landed or Stop("it was not made"))

        intent = _Decision(self._recorder, carried, conflict.session, ended_late)
        result = await self._door.edit(conflict.tracked, intent)
        if not isinstance(result, Stop):
            return result
        return Stop(result.end) if isinstance(result.end, str) else result.end

    def _ask(self, conflict: Open) -> None:
        if conflict.refused:
            words = f"your editor refuses the change of {_name(conflict)}, and would refuse the agent's, too; take one side"
            raise AgentFailed("refused", words)
        session = conflict.session
        if session is None or not session.alive:
            raise AgentFailed(
                "refused",
                f"there is no agent to ask about {_name(conflict)} any more; keep your lines or take the agent's",
            )
        self._prompt(session, [{"type": "text", "text": self._words(conflict)}])
        conflict.asked = True
        if conflict.origin == "write":
            self._conflicts.end(conflict, "gone")
        else:
            self._conflicts.moved(self._conflicts.row(conflict))

    def _words(self, conflict: Open) -> str:
        row = self._conflicts.row(conflict)
        hunks = cast("list[Json]", row["hunks"])
        path = to_path(conflict.tracked.document.uri) or conflict.tracked.document.uri
        words = (
            f"While you worked on {path}, the user changed the same lines, which they have not saved. Their lines stay; yours are "
            "not in the editor. Read the file again, and make your change so that it fits with theirs."
        )
        parts = [
            f"Before:\n{_quoted(hunk['base'])}\nThe user's:\n{_quoted(hunk['mine'])}\nYours:\n{_quoted(hunk['agent'])}"
            for hunk in hunks[:_MAX_PLACES]
        ]
        return "\n\n".join([words, *parts])


@dataclass(slots=True)
class _Carried:
    """A decision that is being carried out. Whoever waits for it may leave: until something is about to be sent, that ends it; later it goes on to its end,
    as the editor makes the edit anyhow."""

    conflict: Open
    take: Literal["mine", "agent"]
    end: Ended | Stop[str] = field(default_factory=lambda: Stop("it was interrupted"))
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _is_begun: bool = False

    def is_begun(self) -> None:
        """Something is about to be sent."""
        self._is_begun = True

    def left(self) -> None:
        """Nobody waits for it any more."""
        if not self._is_begun:
            self.scope.cancel()


class _Decision(Intent["str | Landed"]):
    """Makes a refused write over the user's lines."""

    def __init__(
        self,
        recorder: Recorder,
        carried: _Carried,
        session: Session,
        ended_late: Callable[[Landed | None], None],
    ) -> None:
        self.label = session.agent
        self.path = carried.conflict.tracked.name
        self._recorder = recorder
        self._carried = carried
        self._conflict = carried.conflict
        self._session = session
        self._ended_late = ended_late
        self._author: Author | None = None

    def plan(self, tracked: Tracked) -> Planned | Stop[str | Landed]:
        now = Normal(str(tracked.document.snapshot()))
        settled = settle(self._conflict.base, now.text, self._conflict.theirs, "theirs")
        if settled is None:
            return Stop("your text and the agent's do not fit together there any more")
        return Planned.of(now.raw, now.changes_in_raw(settled))

    def already(self, tracked: Tracked, planned: Planned) -> Landed:
        return Landed(tracked)

    async def journal(self, planned: Planned) -> str | Stop[str | Landed]:
        self._carried.is_begun()
        begun = await self._recorder.begin(self._session, self.path, planned.before, planned.after, "editor")
        if isinstance(begun, Refusal):
            return Stop(begun.message)
        self._author = begun
        return begun.write

    def landing(self, tracked: Tracked, planned: Planned) -> Landing:
        assert self._author is not None, "journalled first"
        return self._recorder.live_edit(self._session, tracked.document.uri, self._author)

    def what(self) -> str:
        return f"{self.label}'s edit"

    async def ended_late(self, landed: Landed | None) -> None:
        self._ended_late(landed)


def _check_is_free(conflict: Open) -> None:
    """Raises AgentFailed if a decision of the conflict is being carried out."""
    if conflict.is_overdue:
        raise _failed(conflict, Unanswered())
    if conflict.on_its_way:
        words = f"{_name(conflict)}: a decision about it is being carried out"
        raise AgentFailed("refused", words)


def _failed(conflict: Open, end: Unmade | Stop[str]) -> AgentFailed:
    return AgentFailed("refused", f"{_name(conflict)}: {told(end)}")


def _quoted(text: object) -> str:
    return f"```\n{shorten(str(text), _MAX_QUOTED)}\n```"


def _name(conflict: Open) -> str:
    uri = conflict.tracked.document.uri
    return shorten(escape(to_path(uri) or uri), 300)
