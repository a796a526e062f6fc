"""Edits of the user's that the editor tells as one, which spans them."""

from __future__ import annotations

from sidecar.core.change import Edit
from sidecar.core.diff import diff
from sidecar.core.ledger import Author
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.ledgers import Reviewed


def test_a_line_between_two_edits_stays_under_review_wherever_the_texts_begin_to_differ() -> None:
    """An editor that tells whole texts has said nothing of where the user edited. What is equal at the start of both texts may end in the midst
    of a line, although the line behind it is the agent's as it was."""
    base, text, now = "first\nold\n", "first\nA1 new\nA2 new\nold\n", "first\nA2 new\nmine\n"
    reviewed = Reviewed(DocumentUri("file:///a.txt"), Text.of(base))
    reviewed.opened(Text.of(base))
    reviewed.ledger.agent_edit(Text.of(base), diff(base, text), Text.of(text), Author("s", 1, "w"))
    told = Edit(len("first\nA"), len(text) - 1, "2 new\nmine")
    assert text[: told.start] + told.new + text[told.end :] == now
    before, after = Text.of(text), Text.of(now)
    reviewed.user_edit(told, len(after), lambda: after, lambda: before)
    assert [(hunk.start, hunk.text) for hunk in reviewed.ledger.hunks] == [(6, "A2 new\n")]
