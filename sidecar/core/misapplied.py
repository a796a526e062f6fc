"""misapplied: finds an edit of ours that an editor put at the wrong place, and the text without it.

Some editors do not compare versions (lsp-mode), or compare with a version they have not announced yet (eglot 1.17 within its
500 ms): they take the positions that were sent for the text as it is then. What the mirror receives is then the user's typing and, later,
our edits at the very lines and columns that were sent. That run is looked for, and inverted over whatever came after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.lf_lines import offset_at
from sidecar.core.lineends import fold
from sidecar.core.text import Encoding, Position, Text


@dataclass(frozen=True, slots=True)
class SentEdit:
    """One edit as it was sent: places in the editor's encoding."""

    start: Position
    end: Position
    new: str


@dataclass(frozen=True, slots=True)
class Separated:
    """`without`: the text now, without our edits and with everything else."""

    without: str


def separate(
    before: Text,
    sent: Sequence[SentEdit],
    received: Sequence[Edit],
    encoding: Encoding,
    lf_lines: bool = False,
) -> Separated | None:
    """What the text would be without our edits; None when they are not found or newer typing reaches into them.

    `received`: every edit since `before`, each on the text that the one before left."""
    texts = _texts(before, received)
    first = _run(texts, sent, received, encoding, lf_lines)
    if first is None:
        return None
    end = first + len(sent)
    return _without(texts[first], received[first:end], received[end:])


def overwrites(
    before: Text,
    sent: Sequence[SentEdit],
    received: Sequence[Edit],
    encoding: Encoding,
    lf_lines: bool = False,
) -> bool:
    """Whether our edits were made on another text than `before`. When `received` leads to what was expected all the same, they
    took away what made the difference: somebody's typing."""
    if len(received) <= len(sent):
        return False
    texts = _texts(before, received)
    first = _run(texts, sent, received, encoding, lf_lines)
    return first is not None and texts[first] != texts[0]


def _texts(before: Text, received: Sequence[Edit]) -> list[str]:
    """The states that were received."""
    texts = [str(before)]
    for edit in received:
        texts.append(ChangeSet.of(len(texts[-1]), (edit,)).apply(texts[-1]))
    return texts


def _run(
    texts: Sequence[str],
    sent: Sequence[SentEdit],
    received: Sequence[Edit],
    encoding: Encoding,
    lf_lines: bool,
) -> int | None:
    """Where in `received` our edits begin, one after the other, in either order."""
    for first in range(len(received) - len(sent) + 1):
        for order in (list(reversed(sent)), list(sent)):
            run = received[first : first + len(sent)]
            if all(_same(texts[first + i], order[i], edit, encoding, lf_lines) for i, edit in enumerate(run)):
                return first
    return None


def looks_applied(sent: Sequence[SentEdit], received: Sequence[Edit]) -> bool:
    """Whether some of our text seems to be among what was received, though not as we sent it."""
    arrived = fold("".join(edit.new for edit in received))
    return any(len(new) > 1 and new in arrived for new in (fold(edit.new).strip() for edit in sent)) or any(
        not edit.new and any(not r.new for r in received) for edit in sent
    )


def _same(text: str, sent: SentEdit, edit: Edit, encoding: Encoding, lf_lines: bool) -> bool:
    if fold(sent.new) != fold(edit.new):
        return False
    there = Text.of(text)
    return (edit.start, edit.end) == (
        offset_at(there, sent.start, encoding, lf_lines),
        offset_at(there, sent.end, encoding, lf_lines),
    )


def _without(text: str, ours: Sequence[Edit], later: Sequence[Edit]) -> Separated | None:
    inverse = _composed(len(text), ours).invert(text)
    newer = _composed(inverse.length, later)
    for mine in inverse.edits:
        for theirs in newer.edits:
            if theirs.start < mine.end and mine.start < theirs.end:
                return None
            if theirs.start == theirs.end and mine.start < theirs.start < mine.end:
                return None
    now = newer.apply(_composed(len(text), ours).apply(text))
    return Separated(inverse.map(newer).apply(now))


def _composed(length: int, edits: Sequence[Edit]) -> ChangeSet:
    changes = ChangeSet.of(length, ())
    for edit in edits:
        changes = changes.compose(ChangeSet.of(changes.new_length, (edit,)))
    return changes
