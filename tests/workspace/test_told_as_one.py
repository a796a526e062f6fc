"""Edits that an editor tells as one, which spans them: it tells whole texts, and what these have in common at their start and end may end in the
midst of a line."""

from __future__ import annotations

from sidecar.core.diff import diff
from sidecar.core.ledger import Author
from sidecar.core.rope import Rope
from sidecar.core.text import Encoding, Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.ledgers import Reviewed


def _written(base: str, text: str) -> Reviewed:
    """A document that an agent changed."""
    reviewed = Reviewed(DocumentUri("file:///a.txt"), Text.of(base))
    reviewed.opened(Text.of(base))
    reviewed.ledger.agent_edit(Text.of(base), diff(base, text), Text.of(text), Author("s", 1, "w"))
    return reviewed


def _become(reviewed: Reviewed, *texts: str) -> list[str]:
    """The document's hunks after the editor told these whole texts; the first is the one that it has."""
    rope = Rope(texts[0])
    for text in texts[1:]:
        before = rope.snapshot()
        edit = rope.apply(None, text, Encoding.UTF_16)
        after = rope.snapshot()
        reviewed.user_edit(edit, len(after), lambda after=after: after, lambda before=before: before)
        assert all(text[hunk.start : hunk.end] == hunk.text for hunk in reviewed.ledger.hunks)
    return [hunk.text for hunk in reviewed.ledger.hunks]


def test_a_line_between_two_edits_stays_under_review() -> None:
    """The user removes the line before it, which begins as it does, and changes the one behind it. (Seed 2000006281 of the fuzzer.)"""
    text = "first\nA1 new\nA2 new\nold\n"
    reviewed = _written("first\nold\n", text)
    assert _become(reviewed, text, "first\nA2 new\nmine\n") == ["A2 new\n"]
