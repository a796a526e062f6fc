"""Where a file is again that an agent had moved, and that the command line has moved back."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.uri import DocumentUri, from_path
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.state import State


async def moved_back(
    state: State, journal: Journal, uri: DocumentUri, text: str, writes: Sequence[str]
) -> DocumentUri | None:
    """The old name of a file that is not at `uri` any more: one that the journal has writes of it (their ids) under, and that says the same
    `text` (raw). What is under review in it belongs there. None: there is no such file."""
    for path in await journal.paths(writes):
        old = from_path(path)
        reviewed = state.ledgers.get(old)
        if old == uri or (reviewed is not None and reviewed.ledger.hunks):
            continue
        now = None if state.storage.stat(path) is None else await state.storage.read_named(path)
        if now is not None and not isinstance(now, Refusal) and normal(now.text) == normal(text):
            return old
    return None
