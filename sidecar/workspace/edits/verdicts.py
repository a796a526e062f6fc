"""Verdicts: with `writes: "confirm"`, the answer to a write waits until the user has kept or rejected what it changed.

Meanwhile the text is in the editor, under review and not saved. What the user keeps is then saved as the settings say. The agent's wait ends
with the turn: if the turn is stopped or ends, the change stays under review, and is saved when it is kept.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from sidecar.core.fates import Became
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import DocumentUri
from sidecar.workspace.edits.write_task import Undecided, WriteDone
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import Editor, Opens
from sidecar.workspace.ports.prompt_context import shown
from sidecar.workspace.state.ledgers import Ledgers, Reviewed
from sidecar.workspace.state.sessions import Session

NOT_DECIDED = "the user has not decided about this change yet; it is in the file, under review"


@dataclass(slots=True, eq=False)
class _Waiting:
    """A write whose changes are under review."""

    undecided: Undecided
    uri: DocumentUri
    """The URI of the document whose ledger has the changes. It changes if the document is renamed."""
    fates: dict[int, Became]
    """The fates of the write's hunks, by their ids."""
    reasons: list[str] = field(default_factory=list[str])
    """What the user said about the rejected hunks."""
    moved: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)
    answer: WriteDone | Refusal | None = None


class Verdicts:
    """The writes whose answer is still due."""

    def __init__(self, ledgers: Ledgers, editor: Editor, tasks: Background) -> None:
        self._ledgers = ledgers
        self._editor = editor
        self._tasks = tasks
        self._waiting: set[_Waiting] = set()
        self._rejections = 0
        ledgers.on_moved.append(self._moved)

    async def on(self, session: Session, done: WriteDone) -> WriteDone | Refusal:
        """The answer to a write that took effect, once the user has decided about it; at once if nothing is to be decided."""
        undecided = done.undecided
        if undecided is None:
            return done
        waiting = _Waiting(undecided, undecided.uri, {})
        self._look(waiting)
        self._waiting.add(waiting)
        self._tasks.start_soon(self._decided, waiting)
        if any(fate == "open" for fate in waiting.fates.values()):
            self._say(
                session,
                f"{session.agent} waits until you keep or reject its change to {shown(undecided.path)}.",
                Opens.change(waiting.uri),
            )
        with anyio.CancelScope() as scope:
            session.questions.add(scope)
            try:
                await waiting.ended.wait()
            finally:
                session.questions.discard(scope)
        return waiting.answer or WriteDone(saved=False, note=NOT_DECIDED)

    def _say(self, session: Session, words: str, opens: Opens) -> None:
        """Say it in the conversation. If the conversation is shown in a panel, also as a message, because the user may be looking
        elsewhere."""
        self._editor.notice(session.id, words)
        if self._editor.capabilities.session_updates:
            self._editor.show("info", words, opens)

    def because(self, uri: DocumentUri, ids: Iterable[int], reason: str) -> set[int]:
        """Note that the user is about to reject these hunks for this reason. Returns the hunks whose agent is told the reason in the answer
        to its write."""
        told: set[int] = set()
        for waiting in self._waiting:
            own = waiting.fates.keys() & set(ids) if waiting.uri == uri else set[int]()
            if own and reason not in waiting.reasons:
                waiting.reasons.append(reason)
            told |= own
        return told

    @contextmanager
    def rejecting(self) -> Generator[None]:
        """Hold back answers while a rejection is made. The write that it affects is answered at its end, when the file is saved and closed
        as it was before."""
        self._rejections += 1
        try:
            yield
        finally:
            self._rejections -= 1
            self._wake()

    def _moved(self, reviewed: Reviewed) -> None:
        self._wake()

    def _wake(self) -> None:
        for waiting in self._waiting:
            waiting.moved.set()

    async def _decided(self, waiting: _Waiting) -> None:
        """Wait for the decision in a task of its own: the code that changed a ledger may not be done with it when it reports the change."""
        try:
            while self._look(waiting) or self._rejections:
                await waiting.moved.wait()
                waiting.moved = anyio.Event()
            self._waiting.discard(waiting)
            waiting.answer = await self._answer(waiting)
        finally:
            self._waiting.discard(waiting)
            waiting.ended.set()

    def _look(self, waiting: _Waiting) -> bool:
        """Whether anything is still to be decided. The user's edit inside a hunk may have divided it, and the document may have a new name."""
        write = waiting.undecided.write
        ledgers = [one for one in [self._ledgers.get(waiting.uri)] if one is not None] or list(self._ledgers)
        for reviewed in ledgers:
            own = reviewed.ledger.ids(lambda author: author.write == write)
            if own or reviewed.uri == waiting.uri:
                waiting.uri = reviewed.uri
                undecided = [number for number, fate in waiting.fates.items() if fate != "kept"]
                waiting.fates |= reviewed.ledger.became([*undecided, *own])
                return any(fate == "open" for fate in waiting.fates.values())
        return False

    async def _answer(self, waiting: _Waiting) -> WriteDone | Refusal:
        fates = list(waiting.fates.values())
        kept, not_kept = fates.count("kept"), len(fates) - fates.count("kept")
        saved = await waiting.undecided.save() if kept else WriteDone(saved=True)
        if not not_kept:
            return saved
        path = waiting.undecided.path
        return Refusal(
            Kind.REJECTED,
            f"{_what(path, kept, not_kept)}{_why(waiting.reasons)}. Read the file again before you go on",
        )


def _what(path: str, kept: int, not_kept: int) -> str:
    if kept:
        return f"the user kept {kept} of your {kept + not_kept} changes of {path} and did not keep the others"
    return f"the user did not keep your change of {path}"


def _why(reasons: Sequence[str]) -> str:
    """The user's reasons, quoted as they are, with or without final punctuation."""
    return "".join(f'. The user says: "{reason}"' for reason in reasons)
