"""Job, Rejected: the hunks of one document to be reverted, the outcome, and what all ways of reverting share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sidecar.core.any_text import AnyText
from sidecar.core.file_state import FileState
from sidecar.core.ledger import Hunk, Rejection
from sidecar.journal.entry import Entry
from sidecar.workspace.state.ledgers import Reviewed

Plan = Callable[[int], Rejection]
"""Returns the rejection for a text of that length (code points), as the ledger stands."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The outcome of a job. `why`: nothing was reverted, and the reason as a message. `impossible`: hunks that later work keeps in
    place. `emptied`: nothing is left in the document, although an editor whose buffers are lists of lines may show one empty line. `made_room`: the document
    could not take what its file says, and has it now."""

    why: str = ""
    impossible: tuple[Hunk, ...] = ()
    emptied: bool = False
    made_room: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """The hunks of one document to be reverted."""

    reviewed: Reviewed
    plan: Plan
    emptied: str | None = None
    """The text with which the editor saved the file when nothing was left in it. Such a file is removed if an agent created it."""

    @property
    def created(self) -> bool:
        """Whether an unreviewed write by an agent created the file."""
        return self.emptied is not None or created(self.reviewed)


def created(reviewed: Reviewed) -> bool:
    """Whether an unreviewed write by an agent created the file."""
    return any(not h.was and h.versions[0].author.created for h in reviewed.ledger.hunks)


def entry(
    path: str,
    before: AnyText | None,
    after: AnyText | None,
    via: Literal["editor", "disk"],
    encoding: str = "utf-8",
    bom: bytes = b"",
    states: tuple[FileState | None, FileState | None] | None = None,
) -> Entry:
    """The journal's entry for a rejection. `states`: what was and is at the path as a whole, if texts do not tell it."""
    return Entry(
        session="",
        agent="reject",
        turn=0,
        tool_call=None,
        root=os.path.dirname(path),
        path=path,
        before=before,
        after=after,
        encoding=encoding,
        bom=bom,
        via=via,
        states=states,
    )
