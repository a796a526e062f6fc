"""retold: the review of a file as its writes in the journal tell it. Pure.

What is under review is stored with the text that contains it. A file may say something else when it is seen again: an editor has kept an earlier text
unsaved, the command line has taken a write back, or the sidecar was killed between an agent's change and what it would have stored next. From the two
texts alone, what lies between them would be the user's. If one of the file's writes led to the text that is there now, these writes say what is whose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from sidecar.core.change import changes_as_steps
from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Hunk, Ledger
from sidecar.core.lineends import expand
from sidecar.core.normal import Normal, normal
from sidecar.core.text import Text

Fate = Literal["open", "kept", "taken back", "takes back"]
"""What became of a write. `takes back`: it took others back."""


class Told(NamedTuple):
    """A write of the file. The texts are raw; None: there was no file, or is none."""

    author: Author
    before: str | None
    after: str | None
    became: Fate
    whole: bool = False
    """It is under review as a change of the file as a whole (it came, went or moved), not of its text."""


def led_to(writes: Sequence[Told], text: str) -> int | None:
    """Which of the writes (oldest first) was the last that led to `text` (raw); None: none of them did."""
    compared = normal(text)
    return next(
        (
            number
            for number in reversed(range(len(writes)))
            if (after := writes[number].after) is not None and (after == text or normal(after) == compared)
        ),
        None,
    )


def retold(writes: Sequence[Told], text: str) -> list[Hunk] | None:
    """The hunks in `text` (raw), as the file's writes (oldest first) made them; None: none of them led to that text."""
    last, like = led_to(writes, text), Normal(text)
    if last is None or expand(like.text, like.terminator) != text:
        return None

    def as_there(other: str) -> Text:
        return Text.of(expand(normal(other), like.terminator))

    ledger = Ledger()
    now = as_there(writes[0].before or "")
    for write in writes[: last + 1]:
        if write.before is not None:
            now = _users(ledger, now, as_there(write.before))
        if write.whole and write.before is None and write.after:
            return None  # it was moved here, with what is under review in it
        if write.after is None:
            continue  # who makes the file anew goes on from what it said
        after = as_there(write.after)
        if write.whole:
            now = _users(ledger, now, after)
        elif write.became == "takes back":
            now = _taken_back(ledger, writes, now, after)
        else:
            now = _written(ledger, write, now, after)
    return list(ledger.hunks)


def _written(ledger: Ledger, write: Told, before: Text, after: Text) -> Text:
    author = replace(write.author, created=write.author.created and not len(before))
    ledger.agent_edit(before, diff(str(before), str(after)), after, author)
    if write.became == "kept":

        def is_its(author: Author) -> bool:
            return author.write == write.author.write

        ledger.keep(ledger.ids(is_its), is_its)
    return after


def _users(ledger: Ledger, before: Text, after: Text) -> Text:
    """What lies between two writes is the user's. A text that was there before has its hunks again."""
    ledger.may_come_back(before)
    for step in changes_as_steps(diff(str(before), str(after))):
        ledger.user_edit(step, len(after), lambda: after)
    return after


def _taken_back(ledger: Ledger, writes: Sequence[Told], before: Text, after: Text) -> Text:
    """As a rejection of all that is taken back, where that leads to the same text."""
    gone = {write.author.write for write in writes if write.became == "taken back"}

    def is_gone(author: Author) -> bool:
        return author.write in gone

    rejection = ledger.reject(len(before), ledger.ids(is_gone), is_gone)
    if rejection.changes.apply(before) != str(after):
        return _users(ledger, before, after)
    ledger.rejected(before, rejection, after)
    return after
