"""How an edit of an open document ended, and what is said of that: the same words for an agent's write, a rejection, a revert, a decided conflict
and a change from the disk.

An edit that may still reach the document, or may be in it unseen, is never called one that was not made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from sidecar.core.inflight import Phase
from sidecar.core.normal import normal
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.edits.sending import Sent, Stop
from sidecar.workspace.edits.write_task import Misplaced
from sidecar.workspace.state.tracked import Tracked


@dataclass(frozen=True, slots=True)
class Landed:
    """The document has the planned text."""

    tracked: Tracked
    """The document at the end. It is a different one if it was closed and opened again meanwhile."""


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The editor refused every attempt; nothing was changed."""

    tracked: Tracked
    reason: str
    """The editor's reason, or "" if it gives none."""
    stood_still: bool = False
    """The document did not change either, so nothing explains the refusals."""


@dataclass(frozen=True, slots=True)
class TakenOut:
    """The editor applied the edit, where or when it was not wanted. The document has nothing of it any more."""

    tracked: Tracked
    reason: str
    """What became of it, in words."""


@dataclass(frozen=True, slots=True)
class LeftAstray:
    """The edit is at a wrong place, and cannot be taken out with certainty. The user was told."""

    tracked: Tracked


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The editor has not said whether it applied an edit to the document. It may still apply it."""

    sent: Sent | None = None
    """This edit; None if it was not sent because an earlier one is unanswered."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The document was closed, or the editor has disconnected."""

    tracked: Tracked
    reason: str
    may_be_made: bool = False
    """The edit may be in a buffer that nobody sees."""
    misplaced: Misplaced | None = None
    """The edit had reached the document before, at a wrong place, and may have been saved there."""


Unmade: TypeAlias = NotTaken | TakenOut | LeftAstray | Unanswered | Gone
Ended: TypeAlias = Landed | Unmade


def ended(sent: Sent) -> Ended:
    """How an edit ended of which everything that must not stay was taken out (`Sender.put`)."""
    flight, tracked = sent.flight, sent.tracked
    if not flight.has_ended:
        return Unanswered(sent)
    if sent.left:
        return LeftAstray(tracked)
    if sent.is_unwanted:
        return taken_out(sent)
    if sent.landed:
        return Landed(tracked)
    return NotTaken(tracked, sent.reason) if flight.phase is Phase.REFUSED else gone(sent)


def taken_out(sent: Sent) -> TakenOut:
    """The end of an edit that the editor said it applied, and of which the document has nothing any more."""
    flight = sent.flight
    if flight.phase is not Phase.DISPLACED:
        what = "you saved the file while the edit was on its way"
    elif flight.looks_made:
        what = "the editor applied the edit in the wrong place"
    else:
        return TakenOut(sent.tracked, sent.reason)
    return TakenOut(sent.tracked, f"{what}, and it is no longer in your text")


def gone(sent: Sent) -> Gone:
    """The end of an edit whose document, or whose editor, is gone."""
    tracked, without = sent.tracked, sent.flight.without() if sent.tracked.closed else None
    if without is not None:
        return Gone(tracked, sent.reason, misplaced=Misplaced(tracked.text(), normal(without)))
    return Gone(tracked, sent.reason, sent.flight.is_unseen or sent.request.answer is None)


def why(end: Stop[str] | Unmade) -> str:
    """Why an edit was not made or, if that is not known, why not."""
    match end:
        case Stop(end=reason):
            return reason
        case NotTaken(reason=reason):
            return f"the editor did not accept the edit{reason and f': {reason}'}"
        case TakenOut(reason=reason):
            return reason
        case LeftAstray():
            return "the editor applied the edit in the wrong place, and it could not be taken out again with certainty"
        case Unanswered():
            return "the editor has not answered whether it applied an edit, and may still apply it"
        case Gone(reason=reason, misplaced=Misplaced()):
            return f"the editor applied the edit in the wrong place, and {reason}"
        case Gone(reason=reason, may_be_made=True):
            return f"{reason}, and the editor does not say whether it applied the edit"
        case Gone(reason=reason):
            return reason
        case _:
            assert_never(end)


def told(end: Stop[str] | Unmade) -> str:
    """The same for the user, with what to do next."""
    match end:
        case LeftAstray() | Unanswered() | Gone(misplaced=Misplaced()) | Gone(may_be_made=True):
            return f"{why(end)}; look at the file before you try again"
        case TakenOut():
            return why(end)
        case _:
            return f"{why(end)}; your text is unchanged"


def refusal(path: str, end: LeftAstray | Unanswered | Gone) -> Refusal:
    """The same for the agent that asked for an edit of `path`, if it is not known whether the edit was made."""
    kind = Kind.EDITOR_MISAPPLIED if isinstance(end, LeftAstray) else Kind.OUTCOME_UNKNOWN
    return Refusal(kind, f"{path}: {why(end)}. Read the file again before writing to it")
