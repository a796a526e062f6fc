"""Reviews that are restored from the journal."""

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


def test_what_an_editor_kept_unsaved_comes_back_with_all_that_is_under_review_in_it() -> None:
    """The file was never saved, and the user had typed right beside two of the changes. Only what stood alone came back."""
    ledgers = Ledgers()
    base, agents = "one\ntwo\nthree\nfour\nfive\nsix\n", "ONE\ntwo\nthree\nFOUR\nfive\nSIX\n"
    before = ledgers.at(URI, Text.of(base), live=True)
    before.ledger.agent_edit(
        Text.of(base), diff(base, agents), Text.of(agents), Author("s", 1, "w1", agent="agent")
    )
    restored = Ledgers().restore(URI, agents, before.ledger.hunks)
    restored.seen(Text.of(base))
    assert not restored.ledger.hunks
    restored.opened(Text.of(agents.replace("two", "mine").replace("five", "mine")))
    assert [hunk.said for hunk in restored.ledger.hunks] == ["ONE", "FOUR", "SIX"]
