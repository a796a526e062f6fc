"""Rejected: what became of putting one document's hunks back; and what all ways of doing that share."""

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
"""The rejection for a text of that length, as the ledger stands."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """`why`: nothing was put back, and the reason in words. `impossible`: hunks that later work keeps in place. `emptied`: nothing is left
    in the document, though an editor of lines may show that as one empty line."""

    why: str = ""
    impossible: tuple[Hunk, ...] = ()
    emptied: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One document's hunks that are to be put back."""

    reviewed: Reviewed
    plan: Plan
    emptied: str | None = None
    """What the file says that the editor saved when nothing was left in it. Such a file, made by an agent, is taken away."""

    @property
    def created(self) -> bool:
        """Whether an agent's unreviewed write made the file."""
        return self.emptied is not None or created(self.reviewed)


def created(reviewed: Reviewed) -> bool:
    """Whether an agent's unreviewed write made the file."""
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
    """What the journal is told of a rejection. `states`: what was and is under the path as a whole, where texts do not say it."""
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
