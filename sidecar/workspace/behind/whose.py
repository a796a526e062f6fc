"""Whose: decides who made a change on the disk that is not accounted for. The rules, in this order:

1. Some changes are nobody's, that is, nothing to review: a change to a text that the file had when the turn began, or that `acp-sidecar` itself put
   back; a text with which the user closed the document, because a save was on its way.
   A removed file that is back with a text from before an agent changed it is nobody's change either. The exception is an act of an agent that may
   have brought it back while the removal is under review: rejecting both then restores what was there before.
   A removed file that did not exist when the turn began is nobody's change only if an agent made all that is gone, or if nobody is known to have made
   or removed it. Otherwise somebody's work is gone with it (unopened.py).
2. If tool calls that name the file say what they made of it, that change is their agent's.
3. If the file changed while an act of one agent ran that may have changed it, and no other agent's act did, the change is that agent's (evidence.py).
   A call is not the author of a text that it says it began with, even if nobody else has seen that text: it lies between the text that was known
   before and the text that is there now.
4. All other changes have no known author. They are listed separately while an agent acts. Otherwise they are the user's, and not listed.
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
    """A change, or one step of it: the one that led to `after` (compared form; None: the file is gone)."""

    after: str | None
    session: Session | None
    """Whose session made it; None: the author is not known."""
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What a file said at some time (compared form; None: there was no file)."""

    text: str | None
    at: int = 0
    """Since when (acts.py); 0: unknown."""


class Whose:
    """Applies the rules; one per workspace."""

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
        """The steps of the change from `before` to `after` (compared form), which was last made at `at` (acts.py).
        Empty if there is nothing to review.

        `start`: what the file said when the turn began, if that is known and counts. `was_removed`: an agent removed
        the file, and the removal is under review. `is_told`: a tool call says that it began with `after`. What other
        calls say they began with is not asked then, since their statements may form a cycle.
        """
        if not self._evidence.is_acting():
            return []
        if start is not None and start.text == after:
            return []
        if after is not None and self._disk.was_closed_with(uri, after, at):
            return []
        began = self._evidence.since()
        # What was taken back before the turn did not lead to a change in it
        if await self._journal.put_back(path, after, began if at > began else 0):
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
        """The file now says what this session wrote."""
        self._evidence.had_read.wrote(session.id, uri)

    def _began_with(
        self, session: Session, uri: DocumentUri, before: str | None, after: str | None
    ) -> str | None:
        """The text from which the session's calls say they made `after`. None if the calls do not say, if the file is
        known to have held that text only before `before` (the agent had read it earlier), or if the text is not nearer
        to `after` than `before` is. All texts are in the compared form."""
        began = None if after is None else self._evidence.made_from(session, uri, after)
        if began is None or after is None or before is None:
            return None
        if self._disk.knows(uri, began) and not self._disk.came_after(uri, began, before):
            return None
        return began if _apart(began, after) < _apart(before, after) else None


def _apart(one: str, other: str) -> int:
    """The number of characters between the first and the last difference, in both texts together."""
    alike = common_prefix(one, other)
    alike += min(common_suffix(one, other), min(len(one), len(other)) - alike)
    return len(one) + len(other) - 2 * alike
