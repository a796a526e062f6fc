"""WriteTask, Replacing, WriteDone and the texts of refusals, shared by buffer_writes.py and disk_writes.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sidecar.core.any_text import AnyText
from sidecar.core.belief import Beliefs, Candidate
from sidecar.core.diff import diff
from sidecar.core.kept import Kept
from sidecar.core.merge import Conflict
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.core.writes import EditText, NoChange, Plan, plan_write
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.sessions import Session


@dataclass(slots=True)
class Replacing:
    """A change that is made in the text as it is at the moment of sending, whatever the agent saw before.

    No text counts as seen by the agent, so there is nothing to merge and no conflict. The texts are in the compared form of `core.normal`."""

    change: Callable[[str], str | Refusal]
    """Returns the new text for the current text. Pure: it is called for each attempt."""
    before: str = ""
    """The text before the newest attempt."""
    after: str = ""

    def plan(self, now: str) -> Plan | Refusal:
        after = self.change(now)
        if isinstance(after, Refusal):
            return after
        self.before, self.after = now, after
        return NoChange() if after == now else EditText(diff(now, after), now, after)


@dataclass(frozen=True, slots=True)
class WriteTask:
    """One write request of an agent: the file at `ticket.path` should get `content` or, with `replacing`, the text that `replacing` makes of its
    text."""

    session: Session
    ticket: Ticket
    content: AnyText
    wanted: AnyText
    """`content` in the compared form of `core.normal`."""
    replacing: Replacing | None = None

    @property
    def may_begin(self) -> bool:
        """Whether the turn in which the agent asked still runs and nobody has stopped it."""
        return self.session.may_act(self.ticket.asked_in)

    @property
    def result(self) -> AnyText:
        """The text that the agent expects in the file after the write, in the compared form."""
        return self.wanted if self.replacing is None else self.replacing.after

    def content_in(self, raw: str) -> AnyText | Refusal:
        """The text that the file should get if its text is `raw`."""
        return self.content if self.replacing is None else self.replacing.change(normal(raw))

    def plan(self, candidates: Sequence[Candidate], current: AnyText) -> Plan | Refusal:
        """The plan for `current` (compared form)."""
        if self.replacing is not None:
            return self.replacing.plan(str(current))
        return plan_write(candidates, current, self.wanted)

    async def believe(
        self,
        beliefs: Beliefs,
        uri: DocumentUri,
        like: Text | Kept | None = None,
        said: Kept | None = None,
    ) -> None:
        """Record in `beliefs` that the write took effect. `like`: the current text of the document or the disk. `said`: the same text, if it is
        known to equal `wanted`."""
        if self.replacing is not None:
            beliefs.edited(self.session.id, uri, self.replacing.before, self.replacing.after)
        else:
            if said is None:
                said = await aside(len(self.wanted), lambda: Kept.of(self.wanted, like))
            beliefs.wrote(self.session.id, uri, said, self.ticket.moment)


@dataclass(frozen=True, slots=True)
class WriteDone:
    """A write that took effect. `saved`: whether it is on the disk too. If not, `note` says why."""

    saved: bool | None
    note: str = ""
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True)
class Undecided:
    """A write that the user must decide about before the agent is answered (verdicts.py)."""

    write: str
    """The write's id in the journal."""
    uri: DocumentUri
    path: str
    """The path as the agent gave it."""
    save: Callable[[], Awaitable[WriteDone]]
    """Saves what the user kept, as the settings say."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A text with an edit of ours at a wrong place, and the text without the edit; both in the compared form."""

    text: str
    without: str


def conflict(path: str, found: Conflict) -> Refusal:
    hunks = [
        {"line": hunk.start_line + 1, "base": hunk.base, "ours": hunk.ours, "theirs": hunk.theirs}
        for hunk in found.hunks
    ]
    where = ", ".join(str(hunk["line"]) for hunk in hunks[:5])
    return Refusal(
        Kind.CONFLICT,
        f"{path} was changed by somebody else in the same place (line {where}); nothing was written. "
        "Read it again and retry",
        {"hunks": hunks},
    )


def kept_changing(path: str) -> Refusal:
    return Refusal(
        Kind.CONFLICT, f"{path} kept changing in the editor; nothing was written. Read it again and retry"
    )


def deleted(path: str) -> Refusal:
    return Refusal(Kind.DELETED, f"{path} was deleted or renamed since you read it; nothing was written")


def editor_refused(path: str, reason: str) -> Refusal:
    words = f": {reason}" if reason else ""
    return Refusal(
        Kind.EDITOR_REFUSED,
        f"the editor did not accept the edit of {path}{words}. The file is unchanged; ask the user to check it",
    )


def withdrawn(path: str) -> Refusal:
    words = f"{path} was not written: agents write only while a turn runs, and it has ended or was stopped"
    return Refusal(Kind.WITHDRAWN, words)
