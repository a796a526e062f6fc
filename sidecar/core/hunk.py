"""Hunk: a stretch of a text that agents changed, and how edits of the text change the hunk. Pure.

Offsets are code points in the raw text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Protocol

from sidecar.core.any_text import AnyText, begins_line, ends_line, line_end, line_start, part
from sidecar.core.change import Edit, changes_as_steps
from sidecar.core.diff import diff
from sidecar.core.hunks import lines_of
from sidecar.core.split import shared_lines, split
from sidecar.core.text import Text
from sidecar.core.versions import Author, Version

NewId = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Hunk:
    """The current text contains `text` from `start` to `end`. Before the first version, `old` was there."""

    id: int
    start: int
    end: int
    was: AnyText
    """`old` in its stored form."""
    versions: tuple[Version, ...]

    @property
    def old(self) -> str:
        return str(self.was)

    @property
    def said(self) -> AnyText:
        """`text` in its stored form."""
        return self.versions[-1].said

    @property
    def text(self) -> str:
        return self.versions[-1].text

    @property
    def changes_nothing(self) -> bool:
        """Whether there is nothing to review. If an agent put back what an unknown author had changed, there is: that may have been the user."""
        return self.was == self.said and not self.unknown_beneath

    @property
    def author(self) -> Author:
        return self.versions[-1].author

    @property
    def is_aftermath(self) -> bool:
        """True if no part of it is an agent's own work."""
        return all(version.author.aftermath for version in self.versions)

    @property
    def unknown_beneath(self) -> tuple[Author, ...]:
        """The unknown authors whose versions lie beneath all others. Empty if the last author is unknown too."""
        if self.author.unknown:
            return ()
        return tuple(takewhile(lambda author: author.unknown, (version.author for version in self.versions)))

    @property
    def was_of_known(self) -> AnyText:
        """The text before the first version that is not by an author of `unknown_beneath`."""
        beneath = len(self.unknown_beneath)
        return self.versions[beneath - 1].said if beneath else self.was

    def is_same(self, other: Hunk) -> bool:
        """Whether two hunks are equal apart from their place."""
        return self is other or (self.id, self.was, self.versions) == (other.id, other.was, other.versions)

    def moved(self, by: int) -> Hunk:
        return Hunk(self.id, self.start + by, self.end + by, self.was, self.versions) if by else self


def writes_of(hunks: Iterable[Hunk]) -> set[str]:
    """The journal's ids of the writes that the hunks come from."""
    return {version.author.write for hunk in hunks for version in hunk.versions}


def effective(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """The hunks without those whose text equals the earlier text, and without the aftermath of turns that have nothing else left."""
    found = tuple(h for h in hunks if not h.changes_nothing)
    if not any(h.is_aftermath for h in found):
        return found
    turns = {(v.author.session, v.author.turn) for h in found for v in h.versions if not v.author.aftermath}
    return tuple(h for h in found if not h.is_aftermath or (h.author.session, h.author.turn) in turns)


def parted(hunk: Hunk, new_id: NewId) -> list[Hunk]:
    """What remains of a hunk after the work of some authors in it left review. Lines that now equal the text before the remaining authors are no
    longer part of it. If one version remains, each of its changes becomes a hunk of its own."""
    texts = [hunk.old, *(version.text for version in hunk.versions)]
    if len(texts) == 2:
        changes = diff(*texts)
        ids = [hunk.id, *(new_id() for _ in changes.edits[1:])]
        starts = (hunk.start + step.start for step in changes_as_steps(changes))
        return [
            Hunk(
                number,
                at,
                at + len(edit.new),
                hunk.old[edit.start : edit.end],
                (Version(hunk.author, edit.new),),
            )
            for number, at, edit in zip(ids, starts, changes.edits, strict=False)
        ]
    begin, end = shared_lines(texts)
    old, *news = (text[begin : len(text) - end] for text in texts)
    versions = [replace(version, said=new) for version, new in zip(hunk.versions, news, strict=True)]
    return [Hunk(hunk.id, hunk.start + begin, hunk.end - end, old, tuple(versions))]


def is_put_back(hunk: Hunk, edit: Edit, after: Callable[[], Text]) -> bool:
    """Whether `edit` restored what an agent had deleted at the hunk. `edit` is in the coordinates before it, `hunk` in those after it. Rejecting the
    hunk would then insert the text twice. If the same text is inserted elsewhere, it is the user's, and the deletion stays under review."""
    if hunk.start != hunk.end or not edit.new:
        return False
    size = len(hunk.was)
    for start in (hunk.start, hunk.start - size):
        end = start + size
        if 0 <= start < edit.start + len(edit.new) and edit.start < end:
            text = after()
            if end <= len(text) and text.part(start, end) == hunk.was:
                return True
    return False


class Stretch(Protocol):
    """The place of an edit: the code points from `start` to `end`."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def touches(hunk: Hunk, edit: Stretch) -> bool:
    if hunk.start == hunk.end:  # something was deleted here
        return edit.start <= hunk.start <= edit.end
    if edit.start == edit.end:
        return hunk.start < edit.start < hunk.end
    return hunk.start < edit.end and edit.start < hunk.end


def _cut(hunk: Hunk, edit: Stretch) -> tuple[int, int]:
    """The lines of the hunk's text that `edit` lies on, as offsets in that text."""
    text = hunk.said
    low = max(edit.start, hunk.start) - hunk.start
    high = min(edit.end, hunk.end) - hunk.start
    start = line_start(text, low)
    return start, high if high > low and begins_line(text, high) else line_end(text, high)


def _changed(hunk: Hunk, edit: Edit) -> tuple[int, int]:
    """Like `_cut`, but an empty range if the edit only inserts text at the start of a line, which changes no line."""
    start, end = _cut(hunk, edit)
    return (start, start) if edit.start == edit.end == hunk.start + start else (start, end)


def _as_whole_lines(hunk: Hunk, edit: Edit) -> Edit:
    """The same insertion at the start of a line, if it can be read as one of whole lines there: editors find it by comparing texts, and may say that it
    begins inside a line of the hunk whose start or end equals its own."""
    if edit.start != edit.end or not ends_line(hunk.said) or not hunk.start < edit.start < hunk.end:
        return edit
    start, end = _cut(hunk, edit)
    at, text = edit.start - hunk.start, hunk.said
    head, tail = str(part(text, start, at)), str(part(text, at, end))
    first, last = head + edit.new, edit.new + tail
    if first.endswith(head) and ends_line(first[: len(edit.new)]):
        return Edit(hunk.start + start, hunk.start + start, first[: len(edit.new)])
    if last.startswith(tail):
        return Edit(hunk.start + end, hunk.start + end, last[len(tail) :])
    return edit


def _divided(text: AnyText, lines: tuple[int, int]) -> tuple[AnyText, AnyText, AnyText]:
    """The text before these lines, the lines, and the text after them."""
    start, end = lines
    return part(text, 0, start), part(text, start, end), part(text, end, len(text))


def _old_of(hunk: Hunk, first: AnyText, last: AnyText) -> tuple[AnyText, AnyText]:
    """Divide the replaced text between the first and the last part of a hunk. Whole lines go to the first part. A final line without a line end goes
    to the last part if that has no line end either."""
    old, size = hunk.was, len(hunk.was)
    if not first:
        return "", old
    at = size if ends_line(last) else line_start(old, size)
    return part(old, 0, at), part(old, at, size)


def isolate(hunk: Hunk, edit: Stretch, new_id: NewId) -> tuple[list[Hunk], Hunk, list[Hunk]]:
    """Divide the hunk into up to three: before, on and after the lines of the edit. A hunk with several versions is not divided."""
    if len(hunk.versions) > 1:  # work by several authors is not divided here
        return [], hunk, []
    left, middle, right = _divided(hunk.said, _cut(hunk, edit))
    if not left and not right:
        return [], hunk, []
    at = hunk.start + len(left)
    author = hunk.author
    old, rest = _old_of(hunk, left or middle if right else left, right or middle)
    before = [replace(hunk, end=at, was=old, versions=(Version(author, left),))] if left else []
    on = Hunk(
        new_id() if left else hunk.id,
        at,
        at + len(middle),
        ("" if left else old) if right else rest,
        (Version(author, middle),),
    )
    behind = [Hunk(new_id(), on.end, hunk.end, rest, (Version(author, right),))] if right else []
    return before, on, behind


def _gone_back(hunk: Hunk, edit: Edit) -> Hunk | None:
    """The hunk without its newest versions, if `edit` takes back exactly these; otherwise None. An undo does this even if it leads to a text that was
    never seen as a whole."""
    if len(hunk.versions) == 1 or edit.start < hunk.start or edit.end > hunk.end:
        return None
    said = hunk.text
    text = said[: edit.start - hunk.start] + edit.new + said[edit.end - hunk.start :]
    for number, version in enumerate(hunk.versions[:-1], 1):
        if version.text == text:
            return Hunk(hunk.id, hunk.start, hunk.start + len(text), hunk.was, hunk.versions[:number])
    return None


def without_edited_lines(hunk: Hunk, edit: Edit, new_id: NewId) -> list[Hunk]:
    """What remains of a hunk after an edit inside it that no agent made, in the coordinates after the edit. If the edited line is the last one, a
    replaced line without a line end leaves review with it: restoring it would join the two lines."""
    edit = _as_whole_lines(hunk, edit)
    if edit.start == edit.end and hunk.start < hunk.end and edit.start in (hunk.start, hunk.end):
        return [hunk if edit.start == hunk.end else hunk.moved(edit.growth)]
    back = _gone_back(hunk, edit)
    if back is not None:
        return [back]
    if hunk.start == hunk.end:  # the deleted text has no line of its own
        return [] if edit.new else [replace(hunk, start=edit.start, end=edit.start)]
    if len(hunk.versions) > 1:
        return _without_lines_of_several(hunk, edit, new_id)
    left, middle, right = _divided(hunk.said, _changed(hunk, edit))
    shift = len(edit.new) - (edit.end - edit.start)
    if not left and not right:
        deleted = not edit.new and edit.start <= hunk.start and hunk.end <= edit.end
        # Only the agent's new text is gone; that it removed the old text is still the agent's change.
        return (
            [Hunk(hunk.id, edit.start, edit.start, hunk.was, (Version(hunk.author, ""),))] if deleted else []
        )
    old, last = _old_of(hunk, left, right or middle)
    rest: list[Hunk] = []
    if left:
        rest.append(
            replace(hunk, end=hunk.start + len(left), was=old, versions=(Version(hunk.author, left),))
        )
    if right:
        start = hunk.start + len(left) + len(middle) + shift
        rest.append(
            Hunk(
                new_id() if left else hunk.id, start, start + len(right), last, (Version(hunk.author, right),)
            )
        )
    return rest


_MOST_COMPARED = 20_000
"""Code points of a hunk's text, old and new, up to which its lines are compared at an edit."""


def may_restore(hunk: Hunk, edit: Edit) -> bool:
    """Whether an edit that no agent made may have restored lines that the hunk replaced, and leave others of its lines."""
    is_inside = hunk.start <= edit.start and edit.end <= hunk.end
    is_small = len(hunk.was) + len(hunk.said) <= _MOST_COMPARED
    return is_inside and is_small and bool(hunk.was) and len(hunk.versions) == 1 and "\n" in hunk.text


def lines_around(text: Text, start: int, end: int) -> range:
    """The whole lines of the text from `start` to `end`, as offsets in code points."""
    return range(line_start(text, start), end if begins_line(text, end) else line_end(text, end))


def without_restored_lines(hunk: Hunk, edit: Edit, text: Text, lines: range) -> list[Hunk] | None:
    """What remains of a hunk after an edit inside it if all edited lines are as they were before the agent, at the start or the end of the hunk: these
    are nobody's change any more. None if they are not. `text` and `lines` (the hunk's) are those after the edit."""
    end = hunk.end + edit.growth
    now = lines_of(text.slice(lines.start, lines.stop))
    was = lines_of(text.slice(lines.start, hunk.start) + str(hunk.was) + text.slice(end, lines.stop))
    most = min(len(was), len(now))
    before = next((n for n in range(most) if was[n] != now[n]), most)
    behind = next((n for n in range(most - before) if was[-1 - n] != now[-1 - n]), most - before)
    rest, replaced = now[before : len(now) - behind], was[before : len(was) - behind]
    start = lines.start + sum(map(len, now[:before]))
    stop = start + sum(map(len, rest))
    made = edit.start, edit.start + len(edit.new)
    is_restored = made[0] >= stop or (made[0] < start and made[1] <= start)
    if not is_restored or not rest:
        return None
    return [Hunk(hunk.id, start, stop, "".join(replaced), (Version(hunk.author, "".join(rest)),))]


def _without_lines_of_several(hunk: Hunk, edit: Edit, new_id: NewId) -> list[Hunk]:
    """Like `without_edited_lines`, for a hunk of several versions. If the hunk cannot be divided, all of it leaves review."""
    start, end = _changed(hunk, edit)
    at_start = split(hunk.old, hunk.versions, start)
    at_end = at_start and split(*at_start[1], end - start)
    if at_start is None or at_end is None:
        return []
    left, right = at_start[0], at_end[1]
    behind = max(hunk.start + end + edit.growth, edit.start + len(edit.new))
    rest = [Hunk(hunk.id, hunk.start, hunk.start + start, *left)] if left.versions else []
    if right.versions:
        number = new_id() if rest else hunk.id
        rest.append(Hunk(number, behind, behind + len(hunk.text) - end, *right))
    return rest
