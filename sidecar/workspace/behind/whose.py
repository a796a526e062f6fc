"""Whose: who made a change that the disk shows and nobody has accounted for. The rules, in this order:

1. A text that the file had when the turn began, or that `acp-sidecar` itself put back, is nobody's change. Nor is a file that was
   removed and is back with a text that it had before an agent changed it, unless an agent's act ran that may have brought it back, and the removal is
   under review: rejecting both then leads to what was there before that. That there is no file, as when the turn began, is nobody's change only
   where an agent made all of what is gone, or nobody is known to have made or removed it: else somebody's work went with it (unopened.py). A
   text with which the user closed the file is the user's: a save that was on its way.
2. What tool calls that name the file say they made of it is that agent's.
3. What changed while an act of an agent ran that may have done it, and no other agent's, is that agent's (evidence.py). A call is not the
   author of a text that it says it began with, also where nobody else has seen that text: it lies between what was known before and what is there now.
4. Everything else is not known to be anybody's. While an agent acts, it is listed apart; else it is the user's, and not listed.
"""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.core.chunks import common_prefix, common_suffix
from sidecar.core.uri import DocumentUri
from sidecar.workspace.behind.evidence import Evidence
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.disk_texts import DiskTexts
from sidecar.workspace.state.sessions import Session


@dataclass(frozen=True, slots=True)
class Part:
    """A change, or the part of it that led to `after` (compared form; None: the file is gone)."""

    after: str | None
    session: Session | None
    """None: it is not known whose it is."""
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What a file said at some time (compared form; None: there was no file)."""

    text: str | None
    at: int = 0
    """Since when (acts.py); 0: that is not known."""


class Whose:
    """Of one workspace."""

    def __init__(self, evidence: Evidence, journal: Journal, disk: DiskTexts) -> None:
        self._evidence = evidence
        self._disk = disk
        self._journal = journal

    async def parts(
        self,
        uri: DocumentUri,
        path: str,
        before: str | None,
        after: str | None,
        at: int,
        start: Known | None,
        *,
        was_removed: bool = False,
        is_told: bool = False,
    ) -> list[Part]:
        """The change from `before` to `after` (compared form), last made `at` (acts.py); empty when it is nobody's who is to be told of.

        `start`: what the file said when the turn began, where that is known, and counts; `was_removed`: by an agent, which is under review. `is_told`: a call
        says that `after` is what it began with. What others say of that is not asked: they may go round."""
        if not self._evidence.is_acting():
            return []
        if start is not None and start.text == after:
            return []
        if after is not None and self._disk.was_closed_with(uri, after, at):
            return []
        if await self._journal.put_back(path, after):
            return []
        whose = self._evidence.whose(uri, path, at, at, after)
        is_decided = whose is None or not was_removed
        if before is None and after is not None and is_decided and await self._journal.held(path, after):
            return []
        found: list[Part] = []
        if after is not None and (told := self._evidence.explained(uri, before, after)) is not None:
            session, text, call = told
            found.append(Part(text, session, call))
            if text == after:
                return found
        if whose is not None:
            began = None if is_told else self._began_with(whose[0], uri, before, after)
            first = (
                [] if began is None else await self.parts(uri, path, before, began, at, start, is_told=True)
            )
            return [*first, Part(after, *whose)]
        if self._evidence.during(path) is not None:
            return [*found, Part(after, None)]
        return found

    def wrote(self, session: Session, uri: DocumentUri) -> None:
        """What the file says now is its."""
        self._evidence.had_read.wrote(session.id, uri)

    def _began_with(
        self, session: Session, uri: DocumentUri, before: str | None, after: str | None
    ) -> str | None:
        """From what, by what they say, the session's calls made `after`, where that is no text that the file is known to have held before `before` (it
        had read that earlier) and is nearer to it than `before`; all in the compared form."""
        began = None if after is None else self._evidence.made_from(session, uri, after)
        if began is None or after is None or before is None:
            return None
        if self._disk.knows(uri, began) and not self._disk.came_after(uri, began, before):
            return None
        return began if _apart(began, after) < _apart(before, after) else None


def _apart(one: str, other: str) -> int:
    """How many characters lie between the first and the last difference, in both together."""
    alike = common_prefix(one, other)
    alike += min(common_suffix(one, other), min(len(one), len(other)) - alike)
    return len(one) + len(other) - 2 * alike
