"""Written: what the sidecar writes for agents into the files of documents that are open or being opened, until the
documents have it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property

from sidecar.core.ledger import Author
from sidecar.core.normal import normal, says
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.behind.legs import Leg
from sidecar.workspace.behind.whose import Part
from sidecar.workspace.edits.recording import DiskChange
from sidecar.workspace.state.acts import now as file_time
from sidecar.workspace.state.sessions import Session


@dataclass
class Write:
    """One journalled write. The compared forms are computed only when a document needs them: a large file is rarely
    open."""

    part: Part
    author: Author
    at: int
    """When it began; see acts.py."""
    before_it: Text
    after_it: Text
    is_there: bool = False
    """The write is done. Even before that, the file may already have the text."""

    @cached_property
    def before(self) -> str:
        return normal(str(self.before_it))

    @cached_property
    def leg(self) -> Leg:
        return Leg(normal(str(self.after_it)), self.at, self.part, self.author, is_ours=True)

    def led_to(self, disk: str) -> bool:
        return says(self.after_it, disk)


class Written:
    """The writes by document, oldest first."""

    def __init__(self) -> None:
        self._writes: dict[DocumentUri, list[Write]] = {}

    def __contains__(self, uri: object) -> bool:
        return uri in self._writes

    def begins(self, session: Session, uri: DocumentUri, author: Author, change: DiskChange) -> None:
        """The file is about to be written."""
        write = Write(Part(None, session), author, file_time(), change.before, change.after)
        self._writes.setdefault(uri, []).append(write)

    def ends(self, uri: DocumentUri, author: Author) -> bool:
        """The file is written. Returns False if the write is not held here any more: a document has it, and it is
        entered."""
        found = next((one for one in self._writes.get(uri, ()) if one.author == author), None)
        if found is not None:
            found.is_there = True
        return found is not None

    def forget(self, uri: DocumentUri, author: Author) -> None:
        """The write failed, or is entered."""
        self._keep(uri, [one for one in self._writes.get(uri, ()) if one.author != author])

    def takes(self, uri: DocumentUri, start: str | None, disk: str) -> list[Leg]:
        """The steps that led from `start`, the file's earlier text, to `disk`. They end with the newest write that led
        to `disk` or, if others have written over it, with the newest write that is done.

        The caller enters these steps, and they are no longer held here. Newer writes stay.
        """
        writes = self._writes.get(uri, [])
        last = max((n for n, one in enumerate(writes) if one.led_to(disk)), default=-1)
        if last >= 0:
            self._keep(uri, writes[last + 1 :])
            return _steps(start, writes[: last + 1])
        done = [one for one in writes if one.is_there]
        self._keep(uri, [one for one in writes if not one.is_there])
        # writes that do not begin at `start` were saved over
        return _steps(start, done) if done and done[0].before == start else []

    def left(self, uri: DocumentUri, start: str | None) -> tuple[str, list[Leg]]:
        """The text before the first step, and the steps of the finished writes. The document was closed without them,
        and the caller enters them.

        `start`: the text to which the steps of others led that the document could not take; None: there are none.
        """
        writes = self._writes.get(uri, [])
        done = [one for one in writes if one.is_there]
        self._keep(uri, [one for one in writes if not one.is_there])
        start = done[0].before if start is None and done else start
        return start or "", _steps(start, done)

    def opened_with(self, uri: DocumentUri, disk: str) -> Write | None:
        """The newest write that led to `disk`, the file's text."""
        return next((one for one in reversed(self._writes.get(uri, [])) if one.led_to(disk)), None)

    def again(
        self, uri: DocumentUri, start: str, legs: Sequence[Leg], *, but_for: Container[Author | None]
    ) -> None:
        """The steps that `takes` returned could not be entered: they are held again. They are among `legs`, which start
        from `start`. `but_for`: the authors of steps that are kept elsewhere."""
        writes: list[Write] = []
        for leg in legs:
            is_new = leg.is_ours and leg.author not in but_for
            if is_new and leg.part is not None and leg.author is not None:
                texts = Text.of(start), Text.of(leg.after)
                writes.append(Write(leg.part, leg.author, leg.at, *texts, is_there=True))
            start = leg.after
        self._keep(uri, [*writes, *self._writes.get(uri, [])])

    def _keep(self, uri: DocumentUri, writes: list[Write]) -> None:
        if writes:
            self._writes[uri] = writes
        else:
            self._writes.pop(uri, None)


def _steps(start: str | None, writes: list[Write]) -> list[Leg]:
    """The writes as steps from `start`. A text in between that no write led to is a step of nobody's."""
    steps: list[Leg] = []
    for one in writes:
        if one.before != start:
            steps.append(Leg(one.before, one.at))
        steps.append(one.leg)
        start = one.leg.after
    return steps
