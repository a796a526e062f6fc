"""retold: rebuilds the review of a file from its writes in the journal. Pure.

A review is stored with the text that contains its hunks. The file may have another text when it is seen again: an editor kept an earlier text unsaved,
the command line took a write back, or the sidecar was killed between an agent's change and the next time it would have stored the review. From the two
texts alone, every difference would count as the user's. If one of the file's writes led to the current text, the writes tell whose work is whose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sidecar.core.diff import diff
from sidecar.core.ledger import Author, Hunk, Ledger
from sidecar.core.lineends import expand
from sidecar.core.merge import Conflict, merge
from sidecar.core.normal import Normal, normal
from sidecar.core.taken_back import Write, has_change, less, without_gone
from sidecar.core.text import Text

Fate = Literal["open", "kept", "taken back", "takes back", "perhaps made"]
"""What became of a write. `takes back`: it took other writes back. `perhaps made`: it went through an editor, and nobody knows whether the editor
made it. It was made, and is under review, if the current text, or the text that the next write found, is exactly its result."""


@dataclass(frozen=True, slots=True)
class Picked:
    """Hunks that the user kept while other hunks of the same writes stayed under review, with the text (raw) that contained them. They have only the
    versions that were kept."""

    text: str
    hunks: Sequence[Hunk]


@dataclass(frozen=True, slots=True)
class Told:
    """A write of the file. The texts are raw; None where there was, or is, no file."""

    author: Author
    before: str | None
    after: str | None
    became: Fate
    whole: bool = False
    """It is under review as a change of the whole file (it was created, removed or moved), not of its text."""
    picked: Sequence[Picked] = ()
    """The hunks that the user kept one by one before the next write."""
    took_back: Sequence[str] = ()
    """The writes (the journal's ids) that it took back, if known."""
    in_editor: bool = False
    """It was made in an editor, which may have left it unsaved."""


def led_to(writes: Sequence[Told], text: str) -> int | None:
    """The number of the last of the writes (oldest first) that led to `text` (raw). None if none did. A write also counts if the next write found
    `text`, because others worked on top of it."""
    left = _newest([write.after for write in writes], text)
    if left is not None:
        return left
    found = _newest([write.before for write in writes], text)
    return found - 1 if found else None


def needed_from(writes: Sequence[Told], last: int) -> int:
    """The number of the first of the writes (oldest first) on which the review of the text that write `last` led to depends. All earlier ones were
    decided by then, so that nothing of them is under review. The texts of the writes do not matter."""
    takers: dict[str, int] = {}
    for number, write in enumerate(writes):
        for taken in write.took_back:
            takers.setdefault(taken, number)
    first, still_in = 0, list[int]()
    """For each write that was taken back later: the number of the write from which on it counts as out."""
    for number, write in enumerate(writes[: last + 1]):
        if not still_in:
            first = number
        if write.became == "takes back":
            still_in = [since for since in still_in if since > number]
        elif write.became == "taken back":
            still_in.append(takers.get(write.author.write, number))
        elif write.became != "kept" or write.whole:
            break
    return first


def _newest(texts: Sequence[str | None], text: str) -> int | None:
    """The number of the last of these texts that equals `text`; None if none does."""
    compared = normal(text)
    return next(
        (
            number
            for number in reversed(range(len(texts)))
            if (one := texts[number]) is not None and (one == text or normal(one) == compared)
        ),
        None,
    )


def retold(writes: Sequence[Told], text: str) -> list[Hunk] | None:
    """The hunks in `text` (raw), as the file's writes (oldest first) made them. None if no write led to that text."""
    like, found = Normal(text), _made(writes, text)
    if found is None or expand(like.text, like.terminator) != text:
        return None
    writes, last = found
    first = needed_from(writes, last)
    writes, last = writes[first:], last - first

    def as_there(other: str) -> Text:
        return Text.of(expand(normal(other), like.terminator))

    writes = list(_known_whether_made(writes[: last + 1], text)) + list(writes[last + 1 :])
    ledger, now = Ledger(), as_there(writes[0].before or "")
    for write in _less_taken_back(writes, last):
        is_users = write.whole or write.became == "takes back"
        if write.whole and write.before is None and write.after:
            return None  # it was moved here, together with its review
        if write.before is not None:
            now = _users(ledger, now, as_there(write.before))
        if write.after is not None:  # if not, whoever creates the file again continues from its last text
            after = as_there(write.after)
            now = _users(ledger, now, after) if is_users else _written(ledger, now, after, write)
        for picked in write.picked:
            _keep(ledger, now, picked, like.terminator)
    now = _users(ledger, now, Text.of(text))
    for picked in (one for write in writes[last + 1 :] for one in write.picked):
        _keep(ledger, now, picked, like.terminator)
    return list(ledger.hunks)


def _made(writes: Sequence[Told], text: str) -> tuple[Sequence[Told], int] | None:
    """The writes as they led to `text` (raw), and the number of the last one that did. They count as writes of the file or, failing that, with the
    file's writes brought into an editor's unsaved text. None if neither leads there."""
    last, compared = led_to(writes, text), normal(text)
    if last is not None:
        return writes, last
    for number, unsaved in reversed(list(enumerate(writes, 1))):
        beside = list(_beside(unsaved, writes[number:]))
        for many, write in enumerate(beside, 1):
            if normal(write.after or "") == compared:
                return [*writes[:number], *beside[:many], *writes[number + many :]], number + many - 1
    return None


def _beside(unsaved: Told, later: Sequence[Told]) -> Iterator[Told]:
    """The writes of the file that follow an editor's unsaved write directly and found the file without it, as they look on top of it."""
    now = unsaved.after if unsaved.in_editor else None
    for write in later:
        if now is None or write.in_editor or write.before is None or write.after is None:
            return
        on_top, before = Normal(now), normal(write.before)
        if before == on_top.text or isinstance(
            merged := merge(before, on_top.text, normal(write.after)), Conflict
        ):
            return
        after = on_top.changes_in_raw(merged.changes).apply(now)
        yield replace(write, before=now, after=after)
        now = after


def _known_whether_made(writes: Sequence[Told], text: str) -> Iterator[Told]:
    """The writes with each `perhaps made` replaced by what is known. `text`: the text found after the last of them."""
    found = [*(write.before for write in writes[1:]), text]
    for write, then in zip(writes, found, strict=True):
        if write.became == "perhaps made":
            is_made = write.after is not None and then is not None and normal(then) == normal(write.after)
            yield replace(write, became="open" if is_made else "kept")
        else:
            yield write


def _less_taken_back(writes: Sequence[Told], last: int) -> Iterator[Told]:
    """The writes up to number `last` as they would have been made without those taken back by then. Of these, only what the user kept meanwhile is
    left. Of a write that took others back, what it took of writes that were not taken back as a whole is left."""
    gone: list[tuple[int, Write]] = []
    """The writes taken back by then that are in the text now, newest first, each with the number of the write that took it back."""
    for number, write in enumerate(writes[: last + 1]):
        left_out = replace(write, before=None, after=None, whole=False)
        taker = _taker(writes, number) if write.became == "taken back" else None
        if taker is not None and taker <= last:
            gone.insert(0, (taker, (write.before, write.after)))
            yield left_out
            continue
        changes = [change for _, change in gone]
        if write.became == "takes back" and not _has_all(write.before, changes):
            yield left_out  # nobody knows what its texts would be without them
        else:
            before, after = without_gone((write.before, write.after), changes)
            yield replace(write, before=before, after=after)
        gone = [(taker, change) for taker, change in gone if taker > number]


def _has_all(text: str | None, changes: Sequence[Write]) -> bool:
    """Whether the text contains all of these changes (newest first)."""
    for before, after in changes:
        if text is None or before is None or after is None or not has_change(text, (before, after)):
            return False
        text = less(text, after, before)
    return text is not None


def _taker(writes: Sequence[Told], number: int) -> int | None:
    """The number of the write that took this one back. If other writes name it as taken back, only these count: an editor may have kept a text unsaved
    in which only others' work was taken back."""
    named = (n for n, one in enumerate(writes) if writes[number].author.write in one.took_back)
    later = (n for n, one in enumerate(writes[number:], number) if one.became == "takes back")
    return next(named, next(later, None))


def _written(ledger: Ledger, before: Text, after: Text, write: Told) -> Text:
    author = replace(write.author, created=write.author.created and not len(before))
    ledger.agent_edit(before, diff(str(before), str(after)), after, author)
    if write.became == "kept":

        def is_its(author: Author) -> bool:
            return author.write == write.author.write

        ledger.keep(ledger.ids(is_its), is_its)
    return after


def _users(ledger: Ledger, before: Text, after: Text) -> Text:
    """Record the difference between two writes as the user's. A text that was there before gets its hunks back."""
    ledger.may_come_back(before)
    ledger.user_led(before, after)
    return after


def _keep(ledger: Ledger, now: Text, picked: Picked, terminator: str) -> None:
    """Keep in `now` what was kept in an earlier text, where both texts are equal."""

    def there(part: str) -> str:
        return expand(normal(part), terminator)

    changes = diff(there(picked.text), str(now))
    for hunk in picked.hunks:
        before = len(there(picked.text[: hunk.start]))
        start = changes.map_offset(before, 1)
        end = changes.map_offset(before + len(there(hunk.text)), -1)
        if start > end or now.slice(start, end) != there(hunk.text):
            continue
        writes = {version.author.write for version in hunk.versions}

        def is_kept(author: Author, writes: set[str] = writes) -> bool:
            return author.write in writes

        found = [
            one.id
            for one in ledger.hunks
            if start <= one.start and one.end <= end and (one.start == one.end) == (start == end)
        ]
        ledger.keep(found, is_kept)
