"""WriteTask, Replacing, WriteDone and the words of refusals: what the ways of writing (buffer_writes, disk_writes) share."""

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
from sidecar.workspace.state.queues import Ticket
from sidecar.workspace.state.sessions import Session


@dataclass(slots=True)
class Replacing:
    """A change that is made in the text as it is in the moment of sending, whatever the agent saw before.

    Nobody's text is taken for the agent's: there is nothing to merge, and no conflict. The texts are in the compared form of
    `core.normal`."""

    change: Callable[[str], str | Refusal]
    """What the text is to say, from what it says. Pure: it is called for each attempt."""
    before: str = ""
    """Of the newest attempt."""
    after: str = ""

    def plan(self, now: str) -> Plan | Refusal:
        after = self.change(now)
        if isinstance(after, Refusal):
            return after
        self.before, self.after = now, after
        return NoChange() if after == now else EditText(diff(now, after), now, after)


@dataclass(frozen=True, slots=True)
class WriteTask:
    """One request of an agent's: the file at `ticket.path` is to say `content`, or, with `replacing`, what that makes of its text."""

    session: Session
    ticket: Ticket
    content: AnyText
    wanted: AnyText
    """`content` in the compared form of `core.normal`."""
    replacing: Replacing | None = None

    @property
    def may_begin(self) -> bool:
        """Whether the turn in which the agent asked still runs, and nobody has stopped it."""
        return self.session.may_act(self.ticket.asked_in)

    @property
    def result(self) -> AnyText:
        """What the agent takes the file to say once it is done, in the compared form."""
        return self.wanted if self.replacing is None else self.replacing.after

    def content_in(self, raw: str) -> AnyText | Refusal:
        """What the file that says `raw` is to say."""
        return self.content if self.replacing is None else self.replacing.change(normal(raw))

    def plan(self, candidates: Sequence[Candidate], current: AnyText) -> Plan | Refusal:
        """The edits of `current` (compared form) that this asks for."""
        if self.replacing is not None:
            return self.replacing.plan(str(current))
        return plan_write(candidates, current, self.wanted)

    def believe(
        self,
        beliefs: Beliefs,
        uri: DocumentUri,
        like: Text | Kept | None = None,
        said: Kept | None = None,
    ) -> None:
        """It took effect: the agent knows that. `like`: what the document says now, or the disk; `said`: that, where it is known to be `wanted`."""
        if self.replacing is not None:
            beliefs.edited(self.session.id, uri, self.replacing.before, self.replacing.after)
        else:
            beliefs.wrote(self.session.id, uri, said or self.wanted, self.ticket.moment, like=like)


@dataclass(frozen=True, slots=True)
class WriteDone:
    """A write that took effect. `saved`: whether the disk says it too; a note says why not."""

    saved: bool | None
    note: str = ""
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True)
class Undecided:
    """A write about which the user is to decide before the agent is answered (verdicts.py)."""

    write: str
    """Its id in the journal."""
    uri: DocumentUri
    path: str
    """As the agent named it."""
    save: Callable[[], Awaitable[WriteDone]]
    """Saves what was kept, by policy."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A text with an edit of ours at a wrong place in it, and what it would be without; both in the compared form."""

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


def misapplied(path: str) -> Refusal:
    return Refusal(
        Kind.EDITOR_MISAPPLIED,
        f"the editor applied the edit of {path} in the wrong place, among the user's own typing; "
        "the user was asked to undo it. Read the file again before writing to it",
    )


def outcome_unknown(path: str) -> Refusal:
    return Refusal(
        Kind.OUTCOME_UNKNOWN,
        f"the editor has not answered whether it applied the edit of {path}; it may be asking the user. "
        "Read the file again before writing to it",
    )


def unseen(path: str) -> Refusal:
    return Refusal(
        Kind.OUTCOME_UNKNOWN,
        f"{path} was closed while it was edited, and the editor does not say whether it applied the edit. "
        "Read the file again before writing to it",
    )


def withdrawn(path: str) -> Refusal:
    words = f"{path} was not written: agents write only while a turn runs, and it has ended or was stopped"
    return Refusal(Kind.WITHDRAWN, words)
