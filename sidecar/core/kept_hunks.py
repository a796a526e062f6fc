"""Hunks in the journal's format, and stored hunks brought up to date when an agent changed the file while no sidecar watched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sidecar.core.change import changes_as_steps
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Hunk, Ledger, Version
from sidecar.core.text import Text


def to_json(hunks: Sequence[Hunk]) -> bytes:
    """Hunks for the journal."""
    return json.dumps(
        [
            {
                "id": h.id,
                "start": h.start,
                "end": h.end,
                "old": h.old,
                "versions": [
                    [
                        v.author.session,
                        v.author.turn,
                        v.author.write,
                        v.author.tool_call,
                        v.author.created,
                        v.author.agent,
                        v.author.aftermath,
                        v.author.unknown,
                        v.text,
                    ]
                    for v in h.versions
                ],
            }
            for h in hunks
        ]
    ).encode()


def from_json(raw: bytes) -> list[Hunk]:
    """Hunks from the journal. Raises ValueError, KeyError or TypeError for anything else."""
    rows: list[dict[str, Any]] = json.loads(raw)
    return [
        Hunk(
            row["id"],
            row["start"],
            row["end"],
            row["old"],
            tuple(Version(Author(*author), text) for *author, text in row["versions"]),
        )
        for row in rows
    ]


def with_edit(kept: tuple[str, Sequence[Hunk]] | None, before: str, after: str, author: Author) -> list[Hunk]:
    """The hunks in `after`, which the author made from `before`. `kept`: the earlier hunks, and the text that contains them.
    Changes between that text and `before` are the user's."""
    text = Text.of(before)
    ledger = Ledger()
    if kept is not None:
        ledger = Ledger(kept[1])
        for step in changes_as_steps(diff(kept[0], before)):
            ledger.user_edit(step, len(text), lambda: text)
    ledger.agent_edit(text, diff(before, after), Text.of(after), author)
    return list(ledger.hunks)
