"""Resolver: carries out the user's decision about a conflict: `mine`, `agent`, or `ask` the agent once more.

The decision applies to the lines that both changed; the agent's other changes are made either way. The result is made through the
editor as one undoable edit and journalled, and the agent's part of it is under review like its other work. Nothing is saved: the
document has unsaved text of the user, whichever side's lines stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, cast

from sidecar.core.escape import escape, shorten
from sidecar.core.json_types import Json
from sidecar.core.ledger import Author
from sidecar.core.normal import Normal
from sidecar.core.refusal import Refusal
from sidecar.core.settle import settle
from sidecar.core.uri import to_path
from sidecar.workspace.behind.reconcile import Reconciler
from sidecar.workspace.edits.conflicts import Conflicts, Open
from sidecar.workspace.edits.door import Door, Gone, Intent, Landed, NotTaken, Planned, Stop, Unanswered
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.ports.ports import AgentFailed, Editor
from sidecar.workspace.state.documents import Landing, Tracked
from sidecar.workspace.state.sessions import Session

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
    ) -> None:
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
        if conflict.on_its_way:
            raise _unanswered(conflict)
        if conflict.origin == "disk":
            await self._reconciler.look(conflict.tracked)  # the file may have changed by now
        if self._conflicts.get(conflict_id) is None:
            return {"conflictId": conflict_id, "outcome": "gone"}
        if take == "ask":
            self._ask(conflict)
            return {"conflictId": conflict_id, "outcome": "asked"}
        if conflict.origin == "disk":
            done = await self._take(conflict, take)
        else:
            done = take == "mine" or await self._write(conflict)
        if not done:
            raise AgentFailed(
                "refused",
                f"{_name(conflict)} could not be changed in the editor just now; your text is unchanged. Try again",
            )
        self._conflicts.end(conflict, take)
        return {"conflictId": conflict_id, "outcome": take}

    async def _take(self, conflict: Open, take: Literal["mine", "agent"]) -> bool:
        """Bring the document and its file together."""
        conflict.on_its_way = True
        try:
            done = await self._reconciler.resolve(conflict, take)
        finally:
            conflict.on_its_way = False
        if not done and conflict.tracked.closed:
            self._conflicts.end(conflict, "closed")
        return done

    async def _write(self, conflict: Open) -> bool:
        """Make the refused write after all, over the user's lines where they clash."""
        session = conflict.session
        if session is None:
            return False
        intent = _Decision(self._conflicts, self._recorder, conflict, session)
        conflict.on_its_way = True
        try:
            result = await self._door.edit(conflict.tracked, intent)
        except BaseException:
            conflict.on_its_way = False
            raise
        conflict.on_its_way = isinstance(result, Unanswered) and result.sent is not None
        match result:
            case Stop():
                if isinstance(result.end, Refusal):
                    raise AgentFailed("refused", result.end.message)
                return result.end
            case Landed():
                return True
            case Unanswered():
                raise _unanswered(conflict)
            case Gone() | NotTaken():
                return False

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


class _Decision(Intent["bool | Refusal"]):
    """Makes a refused write over the user's lines."""

    def __init__(self, conflicts: Conflicts, recorder: Recorder, conflict: Open, session: Session) -> None:
        self.label = session.agent
        self.path = conflict.tracked.name
        self._conflicts = conflicts
        self._recorder = recorder
        self._conflict = conflict
        self._session = session
        self._author: Author | None = None

    def plan(self, tracked: Tracked) -> Planned | Stop[bool | Refusal]:
        now = Normal(str(tracked.document.snapshot()))
        settled = settle(self._conflict.base, now.text, self._conflict.theirs, "theirs")
        if settled is None:
            return Stop(False)
        return Planned.of(now.raw, now.changes_in_raw(settled))

    def already(self, tracked: Tracked, planned: Planned) -> bool:
        return True

    async def journal(self, planned: Planned) -> str | Stop[bool | Refusal]:
        begun = await self._recorder.begin(self._session, self.path, planned.before, planned.after, "editor")
        if isinstance(begun, Refusal):
            return Stop(begun)
        self._author = begun
        return begun.write

    def landing(self, tracked: Tracked, planned: Planned) -> Landing:
        assert self._author is not None, "journalled first"
        return self._recorder.live_edit(self._session, tracked.document.uri, self._author)

    def what(self) -> str:
        return f"{self.label}'s edit"

    def left_there(self) -> bool:
        return False

    async def ended_late(self, landed: Landed | None) -> None:
        self._conflict.on_its_way = False
        if landed is not None:
            self._conflicts.end(self._conflict, "agent")


def _unanswered(conflict: Open) -> AgentFailed:
    return AgentFailed(
        "refused",
        f"the editor has not answered whether it made the agent's change to {_name(conflict)}; it may still make it. "
        "Look at the file before you decide again",
    )


def _quoted(text: object) -> str:
    return f"```\n{shorten(str(text), _MAX_QUOTED)}\n```"


def _name(conflict: Open) -> str:
    uri = conflict.tracked.document.uri
    return shorten(escape(to_path(uri) or uri), 300)
