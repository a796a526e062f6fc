"""A review that is restored from the journal while somebody holds the one before it."""

from __future__ import annotations

from sidecar.core.diff import diff
from sidecar.core.ledger import Author
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.ledgers import Ledgers

URI = DocumentUri("file:///a.txt")
BASE, AGENTS = "one\ntwo\n", "ONE\ntwo\n"


def test_whoever_holds_it_goes_on_with_what_was_restored() -> None:
    """A rejection that is on its way would otherwise be made in a review that nobody has any more (hands, Emacs 30, seed 3025055)."""
    ledgers = Ledgers()
    held = ledgers.at(URI, Text.of(BASE), live=True)
    held.ledger.agent_edit(
        Text.of(BASE), diff(BASE, AGENTS), Text.of(AGENTS), Author("s", 1, "w1", agent="agent")
    )
    hunks = held.ledger.hunks
    restored = ledgers.restore(URI, AGENTS, hunks)
    restored.opened(Text.of(AGENTS))
    rejection = held.ledger.reject(len(AGENTS), [hunk.id for hunk in hunks])
    held.ledger.rejected(Text.of(AGENTS), rejection, Text.of(rejection.changes.apply(AGENTS)))
    found = ledgers.get(URI)
    assert found is not None
    assert not found.ledger.hunks
