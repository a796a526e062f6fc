"""Conflicts: places where an agent and the user changed the same lines, until somebody decides.

There are two kinds. `disk`: an agent (or anybody else) wrote the file where the user has unsaved changes, or the editor refuses to take the file's text over.
The buffer stays as it is, and the file differs. `write`: an agent's write through us was refused because of the user's changes, and the agent was told. Each
conflict stores the common base text and the text that the agent wants. The user's text is the document's current text, so the places are computed on request. A
conflict ends when it is decided (resolving.py), when the user saves or closes the document, or when the texts no longer conflict.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sidecar.core.hunks import line_hunks
from sidecar.core.json_types import Json
from sidecar.core.ledger import Author
from sidecar.core.merge import Conflict, ConflictHunk, Merged, merge
from sidecar.core.normal import Normal
from sidecar.core.text import Encoding, Position, Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.ports.ports import EditorCapabilities
from sidecar.workspace.state.sessions import Session
from sidecar.workspace.state.tracked import Tracked

Origin = Literal["disk", "write"]
Outcome = Literal["mine", "agent", "saved", "closed", "gone"]
"""How a conflict ended: `mine`, `agent`: decided for one side; `saved`, `closed`: the user saved over it or closed the document; `gone`: both sides fit
together again."""

MAX_OPEN = 200
"""How many conflicts are kept: the newest."""


@dataclass(slots=True)
class Open:
    """One document's conflict with one session, or with an unknown author. Texts are in the compared form."""

    id: str
    tracked: Tracked
    origin: Origin
    base: str
    theirs: str
    """The text that the agent wants."""
    session: Session | None
    author: Author | None = None
    """The author of the change on the disk, which is already journalled."""
    said: str = ""
    """The text of the file before the change. The document has the same text unless it has unsaved work. It differs from `base` where the author had not
    read it."""
    refused: bool = False
    """The texts fit together, but the editor does not take the disk's text over."""
    asked: bool = False
    """The agent was asked to make its change again."""
    on_its_way: bool = False
    """The conflict is decided, but it is not known yet whether the editor applied the decision."""
    is_overdue: bool = False
    """The editor has not answered in time whether it applied the decision."""
    places: tuple[Text, Sequence[ConflictHunk]] | None = None
    """The document's text when the places to decide were last computed, and these places."""

    @property
    def is_brought_together(self) -> bool:
        """Whether the document and its file are being brought together as decided. Editors report a reload as closing and opening (Neovim, eglot)."""
        return self.on_its_way and self.tracked.looking.locked()

    def start(self, disk: str, now: str) -> str:
        """The text from which to measure the change that led to `disk`, in a document with the text `now`. This is the text that the author had read, so
        that the change comes beside what others wrote. If the editor has taken the change over already, the change replaced the whole text of the file, and
        the measure is `said`."""
        merged = merge(self.base, now, disk)
        is_taken = isinstance(merged, Merged) and merged.changes.is_empty
        return self.said if is_taken else self.base


class Conflicts:
    """All open conflicts of a workspace. Synchronous."""

    def __init__(self, capabilities: Callable[[], EditorCapabilities]) -> None:
        self._capabilities = capabilities
        self._open: dict[str, Open] = {}
        self._ids = itertools.count(1)
        self.fits_again: Callable[[Tracked], None] = lambda tracked: None
        """Called to request that a document and its file are reconciled."""
        self.moved: Callable[[Json], None] = lambda row: None
        """Called for each conflict that is found, changes or ends, with its row as in `rows`. The row has `outcome` when the conflict ends."""

    def __iter__(self) -> Iterator[Open]:
        return iter(list(self._open.values()))

    def get(self, conflict_id: str) -> Open | None:
        return self._open.get(conflict_id)

    def on_disk(self, tracked: Tracked) -> Open | None:
        """The document's conflict with its file."""
        return next((c for c in self if c.tracked is tracked and c.origin == "disk"), None)

    def found(
        self,
        tracked: Tracked,
        origin: Origin,
        base: str,
        theirs: str,
        session: Session | None,
        author: Author | None = None,
        *,
        said: str | None = None,
        refused: bool = False,
        places: Conflict | None = None,
    ) -> Open:
        """Add a conflict of this document. It replaces one of the same kind with the same session. A write both on the disk and through us is one conflict,
        with the disk (opencode writes both ways). `places`: the places to decide in the current text, if known."""
        known = self.on_disk(tracked) if origin == "disk" else self._of_write(tracked, session)
        twin = self._twin(tracked, origin, theirs)
        if twin is not None:
            if origin == "write":
                return twin
            if known is not None:
                self.end(twin, "gone")
            else:
                known, twin.origin = twin, "disk"
        if known is None:
            known = Open(f"c{next(self._ids)}", tracked, origin, base, theirs, session, author)
            self._open[known.id] = known
            while len(self._open) > MAX_OPEN:
                self.end(next(iter(self._open.values())), "gone")
        else:
            known.base, known.theirs, known.asked = base, theirs, False
            if session is not None:
                known.session, known.author = session, author or known.author
        known.refused = refused
        known.places = None if places is None else (tracked.document.snapshot(), places.hunks)
        known.said = base if said is None else said
        self.moved(self.row(known))
        return known

    def written(self, session: Session, uri: DocumentUri) -> None:
        """This session's write to this document succeeded, so its earlier refused write no longer matters."""
        for conflict in self:
            if (
                conflict.origin == "write"
                and conflict.session is session
                and conflict.tracked.document.uri == uri
            ):
                self.end(conflict, "gone")

    def ended(self, tracked: Tracked, outcome: Outcome) -> None:
        """End every conflict of this document with its file; if the document was closed, also those about writes. Closing does not end a conflict with the
        file that is being decided."""
        for conflict in self:
            if outcome == "closed" and conflict.origin == "disk" and conflict.is_brought_together:
                continue
            if conflict.tracked is tracked and (conflict.origin == "disk" or outcome == "closed"):
                self.end(conflict, outcome)

    def end(self, conflict: Open, outcome: Outcome) -> None:
        if self._open.pop(conflict.id, None) is not None:
            self.moved({**self.row(conflict), "state": "closed", "outcome": outcome})

    def rows(self, uri: DocumentUri | None = None) -> list[Json]:
        """Open conflicts with their current places in the documents. Those that are no longer conflicts end here."""
        found: list[Json] = []
        for conflict in self:
            if uri is not None and conflict.tracked.document.uri != uri:
                continue
            row = self.row(conflict)
            if row["hunks"] or conflict.on_its_way or conflict.tracked.looking.locked():
                found.append(row)  # or its new text is on the way
            else:
                self.end(conflict, "gone")
                if conflict.origin == "disk":  # mirror and disk can be merged but still differ
                    conflict.tracked.fits()
                    conflict.tracked.not_yet(conflict.start(conflict.theirs, conflict.tracked.text()))
                    self.fits_again(conflict.tracked)
        return found

    def row(self, conflict: Open) -> dict[str, object]:
        """`{conflictId, uri, version, state, origin, sessionId?, agent?, asked, hunks: [{range, base, mine, agent}]}`."""
        document = conflict.tracked.document
        snapshot = document.snapshot()
        row: dict[str, object] = {
            "conflictId": conflict.id,
            "uri": document.client_uri or document.uri,
            "version": document.version,
            "state": "open",
            "origin": conflict.origin,
            "asked": conflict.asked,
        }
        if conflict.session is not None:
            row |= {"sessionId": conflict.session.id, "agent": conflict.session.agent}
        now = Normal(str(snapshot))
        if conflict.places is None or conflict.places[0] is not snapshot:
            conflict.places = snapshot, _hunks(conflict, now.text)
        hunks = conflict.places[1]
        can = self._capabilities()
        place = can.coordinates.places(snapshot)
        shown: list[Json] = []
        for hunk in hunks:
            start = snapshot.compared().offset_at(Position(hunk.start_line, 0), Encoding.UTF_32)
            first = place(now.offset_in_raw(start))
            last = place(now.offset_in_raw(start + len(hunk.ours)))
            shown.append(
                {
                    "range": {
                        "start": {"line": first.line, "character": first.character},
                        "end": {"line": last.line, "character": last.character},
                    },
                    "base": hunk.base,
                    "mine": hunk.ours,
                    "agent": hunk.theirs,
                }
            )
        row["hunks"] = shown
        return row

    def _twin(self, tracked: Tracked, origin: Origin, theirs: str) -> Open | None:
        """The conflict about the same change that arrived the other way. Editors and agents differ in the final line end."""
        wish = theirs.rstrip("\n")
        return next(
            (
                c
                for c in self
                if c.tracked is tracked and c.origin != origin and c.theirs.rstrip("\n") == wish
            ),
            None,
        )

    def _of_write(self, tracked: Tracked, session: Session | None) -> Open | None:
        return next(
            (c for c in self if c.tracked is tracked and c.origin == "write" and c.session is session), None
        )


def _hunks(conflict: Open, now: str) -> Sequence[ConflictHunk]:
    """The places to decide in the current text `now` (compared form)."""
    merged = merge(conflict.base, now, conflict.theirs)
    if isinstance(merged, Conflict):
        return merged.hunks
    if not conflict.refused:
        return ()
    wanted = merged.apply(now)
    return [
        ConflictHunk(mine, mine, wanted[hunk.new_start : hunk.new_end], now.count("\n", 0, hunk.old_start))
        for hunk in line_hunks(now, wanted)
        for mine in (now[hunk.old_start : hunk.old_end],)
    ]
