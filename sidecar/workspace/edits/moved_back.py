"""moved_back: finds a file that an agent had moved and that the command line has moved back."""

from __future__ import annotations

from collections.abc import Collection

from sidecar.core.normal import normal
from sidecar.core.refusal import Refusal
from sidecar.core.uri import DocumentUri, from_path
from sidecar.workspace.ports.ports import Journal
from sidecar.workspace.state.state import State


async def moved_back(
    state: State, journal: Journal, uri: DocumentUri, text: str, writes: Collection[str]
) -> DocumentUri | None:
    """The old name of a file that is no longer at `uri`. It is a path for which the journal has `writes` of the file (ids) and whose
    file has the same `text` (raw). The review of the file belongs there. None if there is no such file."""
    for path in await journal.paths(writes):
        old = from_path(path)
        reviewed = state.ledgers.get(old)
        if old == uri or (reviewed is not None and reviewed.ledger.hunks):
            continue
        now = None if state.storage.stat(path) is None else await state.storage.read_named(path)
        if now is not None and not isinstance(now, Refusal) and normal(now.text) == normal(text):
            return old
    return None
