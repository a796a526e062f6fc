"""Respelled: the hunks of a text that an editor hands over with other line ends, or without its byte order mark.

Emacs and Kate hand CRLF files over as LF; VS Code unifies mixed line ends. That is no edit: all work in the text stays under review. Offsets are
code points in the raw texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sidecar.core.any_text import AnyText
from sidecar.core.hunk import Hunk
from sidecar.core.lineends import expand, fold
from sidecar.core.normal import Normal, normal
from sidecar.core.text import BOM, Text


def spelled_as(text: str, like: str) -> str:
    """`text` with the line ends of `like`, and with a byte order mark if `like` has one. Returns `text` itself if `like` is another text with
    several kinds of line ends."""
    if "\r" not in text and "\r" not in like and text.startswith(BOM) == like.startswith(BOM):
        return text  # the usual case
    other = Normal(like)
    compared = normal(text)
    if compared == other.text:
        return like
    mark = BOM if like.startswith(BOM) else ""
    if like != mark + expand(other.text, other.terminator):
        return text
    if compared.startswith(BOM):
        mark = BOM  # without another mark before it, this would be the mark
    return mark + expand(compared, other.terminator)


def respelled(hunks: Iterable[Hunk], before: str, after: Text) -> Iterator[Hunk]:
    """The same hunks, in order of place, in `after`, which has the same compared form as `before`. A hunk that changed only line ends has equal
    old and new text in the result."""
    now = Normal(str(after))
    places = _Places(before)
    for hunk in hunks:
        start, end = now.offset_in_raw(places.of(hunk.start)), now.offset_in_raw(places.of(hunk.end))
        *earlier, last = hunk.versions
        versions = [replace(version, said=_respelled(version.said, now.terminator)) for version in earlier]
        newest = replace(last, said=after.part(start, end))
        was = _respelled(hunk.was, now.terminator)
        is_same = normal(str(was)) == normal(str(newest.said))
        yield Hunk(hunk.id, start, end, newest.said if is_same else was, (*versions, newest))


class _Places:
    """Converts offsets in a raw text, given in ascending order, to offsets in its compared form."""

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._at = 1 if raw.startswith(BOM) else 0
        self._place = 0

    def of(self, offset: int) -> int:
        """The offset in the compared form. An offset between "\\r" and "\\n" counts as before both."""
        if self._raw[offset - 1 : offset + 1] == "\r\n":
            offset -= 1
        if offset > self._at:
            self._place += len(fold(self._raw[self._at : offset]))
            self._at = offset
        return self._place


def _respelled(text: AnyText, terminator: str) -> AnyText:
    said = str(text)
    spelled = expand(said, terminator)
    return text if spelled == said else spelled
