"""Resolver: carries out what the user decided about a conflict: `mine`, `agent`, or `ask` the agent once more.

Where both changed the same lines the decision counts; what else the agent changed comes along with either. It is made through the
editor as one undoable edit, journalled, and what of it is the agent's is under review like its other work. Nothing is saved:
the document has unsaved text of the user's, whoever's lines stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, cast

from sidecar.core.change import ChangeSet
from sidecar.core.escape import escape, shorten
from sidecar.core.final_end import keep_final_end
from sidecar.core.normal import Normal
from sidecar.core.refusal import Refusal
from sidecar.core.settle import settle
from sidecar.core.uri import to_path
from sidecar.workspace.conflicts import Conflicts, Open
from sidecar.workspace.ports import AgentFailed, Editor, Json
from sidecar.workspace.reconcile import Reconciler
from sidecar.workspace.recording import Recorder
from sidecar.workspace.sending import ANSWER_SECONDS, Outcome, Sender
from sidecar.workspace.sessions import Session

Take = Literal["mine", "agent", "ask"]

MAX_ATTEMPTS = 5
_MAX_QUOTED = 4000
"""Code points of a place that are quoted to the agent."""
_MAX_PLACES = 10
"""Places that are quoted to it."""


class Resolver:
    """Decisions about conflicts. Raises AgentFailed with words for a person where one cannot be carried out."""

    def __init__(
        self,
        conflicts: Conflicts,
        editor: Editor,
        sender: Sender,
        reconciler: Reconciler,
        recorder: Recorder,
        prompt: Callable[[Session, Sequence[Json]], object],
    ) -> None:
        self._conflicts = conflicts
        self._editor = editor
        self._sender = sender
        self._reconciler = reconciler
        self._recorder = recorder
        self._prompt = prompt
        """Starts a turn of that session once it is free; returns at once."""

    async def resolve(self, conflict_id: str, take: Take) -> Json:
        """Decides one conflict → `{conflictId, outcome}`, the outcome `mine`, `agent`, `asked` or `gone`."""
        conflict = self._conflicts.get(conflict_id)
        if conflict is None:
            raise AgentFailed(
                "refused", f'there is no open conflict "{conflict_id}"; it may have been decided already'
            )
        tracked = conflict.tracked
        if conflict.origin == "disk":
            await self._reconciler.look(tracked)  # the file may say something else by now
        if self._conflicts.get(conflict_id) is None:
            return {"conflictId": conflict_id, "outcome": "gone"}
        if take == "ask":
            self._ask(conflict)
            return {"conflictId": conflict_id, "outcome": "asked"}
        if conflict.origin == "disk":
            done = await self._reconciler.resolve(conflict, take)
        else:
            done = take == "mine" or await self._write(conflict)
        if not done:
            raise AgentFailed(
                "refused",
                f"{_name(conflict)} could not be changed in the editor just now; your text is untouched. Try again",
            )
        self._conflicts.end(conflict, take)
        return {"conflictId": conflict_id, "outcome": take}

    async def _write(self, conflict: Open) -> bool:
        """Makes the refused write after all, over the user's lines where they clash."""
        session, tracked = conflict.session, conflict.tracked
        path = to_path(tracked.document.uri) or tracked.document.uri
        can = self._editor.capabilities
        if session is None or not (can.apply_edit and can.document_changes):
            return False
        for _ in range(MAX_ATTEMPTS):
            if not await tracked.rest(ANSWER_SECONDS) or tracked.closed:
                return False
            changes = self._changes(conflict)
            if changes is None:
                return False
            if changes.is_empty:
                return True
            document = tracked.document
            moment = (document.incarnation, document.version)
            before = str(document.snapshot())
            author = await self._recorder.begin(session, path, before, changes.apply(before), "editor")
            if isinstance(author, Refusal):
                raise AgentFailed("refused", author.message)
            if (
                (document.incarnation, document.version) != moment
                or tracked.closed
                or tracked.watch is not None
            ):
                await self._recorder.finish(author, "failed")
                continue
            applied = self._recorder.live_edit(session, document.uri, author)
            sent = await self._sender.send(tracked, changes, session.agent, applied)
            if sent.outcome is Outcome.APPLIED:
                await self._recorder.finish(author, "done")
                return True
            await self._recorder.finish(author, "failed" if sent.outcome is Outcome.REFUSED else "unknown")
            if sent.outcome is Outcome.UNCLEAR:
                await self._sender.take_back_or_tell(sent, "Taken back", f"{session.agent}'s edit", path)
            if sent.outcome is not Outcome.REFUSED:
                return False
        return False

    def _changes(self, conflict: Open) -> ChangeSet | None:
        """Of the raw text as it is now."""
        now = Normal(str(conflict.tracked.document.snapshot()))
        settled = settle(conflict.base, now.text, conflict.theirs, "theirs")
        if settled is None:
            return None
        changes = now.changes_in_raw(settled)
        return keep_final_end(now.raw, changes) if self._editor.capabilities.keeps_lines else changes

    def _ask(self, conflict: Open) -> None:
        session = conflict.session
        if session is None or not session.alive:
            raise AgentFailed(
                "refused",
                f"there is no agent to ask about {_name(conflict)} any more; take your lines or the agent's",
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
            f"While you worked on {path}, the user changed the same lines, which they have not saved. Their lines stand; yours are "
            "not in the editor. Read the file as it is now and make your change again so that it goes together with theirs."
        )
        parts = [
            f"Before:\n{_quoted(hunk['base'])}\nThe user's:\n{_quoted(hunk['mine'])}\nYours:\n{_quoted(hunk['agent'])}"
            for hunk in hunks[:_MAX_PLACES]
        ]
        return "\n\n".join([words, *parts])


def _quoted(text: object) -> str:
    return f"```\n{shorten(str(text), _MAX_QUOTED)}\n```"


def _name(conflict: Open) -> str:
    uri = conflict.tracked.document.uri
    return shorten(escape(to_path(uri) or uri), 300)
