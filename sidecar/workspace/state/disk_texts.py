"""DiskTexts: the current and earlier texts of files on the disk, as far as known. An agent may have read any of them itself.

A write cannot be based on a text that reached the disk after the write was sent, so the moment of each save is kept if known.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from sidecar.core.any_text import AnyText
from sidecar.core.belief import Own
from sidecar.core.kept import Kept
from sidecar.core.normal import normal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.acts import is_before

T = TypeVar("T")

MAX_TEXTS = 8
"""The most different texts kept per file, with the moments when they were there first and last: the newest. An agent does not remember for long."""
MAX_FILES = 64
MAX_PASTS = 8
"""The most closed documents whose earlier texts are known."""
MAX_CLOSED = 1000
"""The most documents closed with unsaved changes that are remembered, with 32 bytes each."""


@dataclass(slots=True)
class _DiskText:
    text: Kept
    since: int
    """The text was not there before this moment (as in `core.belief`); 0 if unknown."""
    noticed: int = 0
    """The latest moment at which it was found there: the text before it was gone by then."""
    removed: int = 0
    """The moment at which the file was found to be gone after this text; 0 if it was not."""
    is_guess: bool = False
    """Known only because the editor opened the file with it. It may have been unsaved text."""
    by_us: bool = False
    """The last writer of this text was the editor or the sidecar."""
    by_editor: bool = False
    """The last writer was the editor."""
    found: bool = False
    """Another program wrote it before the editor or the sidecar did."""
    over: Kept | None = None
    """The text of the file when we replaced it by this one for the user."""
    unless_saved: tuple[_DiskText, ...] | None = None
    """The texts known before the editor reported that it wrote this one. Kept until somebody finds this text on the disk."""


@dataclass(slots=True)
class _LeftWith:
    """The last text of a document that was closed with unsaved changes."""

    digest: bytes
    since: int
    """When the document got that text (file time, see acts.py)."""
    was_found: bool = False
    """It has been found on the disk since: a save was on its way."""


def _digest(text: str) -> bytes:
    """The digest of a text in the compared form. The final line end does not count: some editors add it only to the file."""
    return hashlib.sha256(text.removesuffix("\n").encode("utf-8", "surrogatepass")).digest()


def _kept(text: Text | Kept | str, texts: Sequence[_DiskText]) -> Kept:
    """`text` (raw if it is a Text, otherwise in the compared form), sharing its equal parts with the newest of `texts`."""
    if isinstance(text, Kept):
        return text
    like = texts[-1].text if texts else None
    return Kept.of(text, like) if isinstance(text, str) else Kept.of_raw(text, like)


def _told(texts: Sequence[_DiskText]) -> _DiskText | None:
    """The text that the editor reported as written and that nobody has found on the disk. Others may have been found since."""
    return next((known for known in reversed(texts) if known.unless_saved is not None), None)


def _keep(kept: OrderedDict[DocumentUri, T], uri: DocumentUri, value: T, most: int) -> None:
    kept[uri] = value
    kept.move_to_end(uri)
    if len(kept) > most:
        kept.popitem(last=False)


class DiskTexts:
    """The texts of each file, oldest first; the last one is current."""

    def __init__(self, moment: Callable[[], int] = lambda: 0) -> None:
        """`moment`: returns a new moment, as `core.belief` counts them."""
        self._texts: OrderedDict[DocumentUri, list[_DiskText]] = OrderedDict()
        self._closed_with: OrderedDict[DocumentUri, _LeftWith] = OrderedDict()
        self._pasts: OrderedDict[DocumentUri, Callable[[str], int | None]] = OrderedDict()
        """For closed documents: a function that returns when the document got a text."""
        self.moment = moment
        self.wrote: Callable[[DocumentUri, Text | str | None], None] = lambda uri, text: None
        """Called with the text that the editor or the sidecar wrote; None: the sidecar removed the file."""
        self.not_wrote: Callable[[DocumentUri, Text], None] = lambda uri, text: None
        """Called with a text that the editor did not write after all."""

    def seen(self, uri: DocumentUri, text: str | Kept) -> None:
        """Record that the disk holds `text` (compared form), possibly since the last time another text was found there."""
        texts, newest = self._of(uri), self._newest(uri)
        since = 0 if newest is None else newest.noticed
        self._add(texts, _DiskText(_kept(text, texts), since, self.moment(), found=True))
        left = self._closed_with.get(uri)
        if left is not None and not left.was_found:
            left.was_found = left.digest == _digest(str(text))

    def guessed(self, uri: DocumentUri, text: Text) -> None:
        """Record that the editor opened the file with `text` (raw), which it most likely read from the disk."""
        texts, guess = self._of(uri), _DiskText(Kept.of_raw(text), 0, self.moment(), is_guess=True)
        if all(known.text != guess.text for known in texts):
            self._add(texts, guess)

    def written(self, uri: DocumentUri, text: Text | str, moment: int, *, by_editor: bool = False) -> None:
        """Record that the editor (`text` is raw) or the sidecar (compared form) wrote `text` at `moment`."""
        self.wrote(uri, text)
        texts = self._of(uri)
        if by_editor:  # whatever became of the save before this one, it is over
            for known in texts:
                known.unless_saved = None
        before = tuple(replace(known) for known in texts)
        self._add(texts, _DiskText(_kept(text, texts), moment, moment, by_us=True, by_editor=by_editor))
        texts[-1].unless_saved = before if by_editor else None

    def taken_back(self, uri: DocumentUri, text: AnyText | None) -> None:
        """Record that we put this text (raw; None: we removed the file) on the disk for the user."""
        self.wrote(uri, text)
        if text is not None:
            texts, newest, moment = self._of(uri), self._newest(uri), self.moment()
            over = None if newest is None else newest.text
            self._add(
                texts,
                _DiskText(
                    _kept(normal(text) if isinstance(text, str) else text, texts),
                    moment,
                    moment,
                    by_us=True,
                    over=over,
                ),
            )

    def was_taken_back(self, uri: DocumentUri, before: Text, after: Text) -> bool:
        """Whether the newest text is `after` and we put it there for the user in place of `before` (both raw)."""
        newest = self._newest(uri)
        over = None if newest is None else newest.over
        return (
            newest is not None
            and over is not None
            and newest.text.is_said_by(after)
            and over.is_said_by(before)
        )

    def gone(self, uri: DocumentUri) -> None:
        """Record that the file is gone."""
        newest = self._newest(uri)
        if newest is not None:
            newest.removed = newest.removed or self.moment()

    def closed(self, uri: DocumentUri, said_at: Callable[[str], int | None]) -> None:
        """Record that the document was closed. `said_at` returns when it got a text (compared form; file time, see acts.py), or None if it has not
        had the text since its last known save. A save of that text may have been on its way, whatever was typed or undone since."""
        _keep(self._pasts, uri, said_at, MAX_PASTS)

    def closed_with(self, uri: DocumentUri, text: str, at: int) -> None:
        """Record that the document was closed with unsaved changes and the text `text` (compared form), which it had since `at` (file time, see
        acts.py). A save may have been on its way; the editor then does not report it."""
        _keep(self._closed_with, uri, _LeftWith(_digest(text), at), MAX_CLOSED)

    def was_left_unsaved(self, uri: DocumentUri, text: str) -> bool:
        """Whether the document had `text` (compared form) when it was last closed with unsaved changes, and nobody has found that text on the disk
        since."""
        left = self._closed_with.get(uri)
        return left is not None and not left.was_found and left.digest == _digest(text)

    def had_when_closed(self, uri: DocumentUri, text: str) -> bool:
        """Whether the document had `text` (compared form) before it was last closed, and since its last known save."""
        past = self._pasts.get(uri)
        return past is not None and past(text) is not None

    def was_closed_with(self, uri: DocumentUri, text: str, at: int) -> bool:
        """Whether `text` (compared form), which the disk has had since `at` (file time, see acts.py), is the user's save: the document had it when it
        was last closed with unsaved changes, or earlier, and the disk did not have it first."""
        left = self._closed_with.get(uri)
        if left is not None and left.digest == _digest(text):
            return not is_before(at, left.since)
        past = self._pasts.get(uri)
        said_at = None if past is None else past(text)
        return said_at is not None and not is_before(at, said_at)

    def saved_was(self, uri: DocumentUri, text: str) -> None:
        """Record that the editor's last save wrote `text` (compared form). The text noted when the save was reported may be newer than what was
        written."""
        self.wrote(uri, text)
        texts, newest = self._of(uri), self._newest(uri)
        since = 0 if newest is None else newest.since
        told = _told(texts)
        if told is not None and told.text != text:
            self._was_not_saved(texts, told)
        kept = _kept(text, texts)
        self._add(texts, _DiskText(kept, since, self.moment(), by_us=True, by_editor=True))

    def unwritten(self, uri: DocumentUri, text: Text) -> None:
        """Record that the editor did not write `text` (raw), although it reported that it had."""
        self.not_wrote(uri, text)
        texts = self._of(uri)
        told = _told(texts)
        if told is not None and told.text.is_said_by(text):
            self._was_not_saved(texts, told)

    def between(
        self, uri: DocumentUri, since: int, moment: int, own: Own | None = None, again: int | None = None
    ) -> list[AnyText]:
        """Every text that an agent may have read after `since` and before `moment`.

        If the agent's own last write (`own`) had reached the disk by then, through the agent or through us, the texts from before it are left out:
        the agent knows that it replaced them. Texts that were still there at `again`, when the agent may have read once more after that write was
        done, are not left out: the write was then only in the editor, and reached the disk with a save."""
        texts, first = self._texts.get(uri, []), 0
        if own is not None:
            put = (
                i
                for i, known in enumerate(texts)
                if known.since <= moment
                and (known.by_us or (known.found and known.noticed <= own.done))
                and known.text == own.text
            )
            first = max(put, default=0)
        gone = [known.removed or later.noticed for known, later in pairwise(texts)]
        return [
            known.text.handed_on
            for i, known in enumerate(texts)
            if known.since <= moment
            and (i == len(gone) or gone[i] > since)
            and (i >= first or (again is not None and gone[i] > again))
        ]

    def was_put_after(self, uri: DocumentUri, text: AnyText, moment: int) -> bool:
        """Whether `text` (compared form) is the newest text, was written by a program other than the editor and the sidecar, and was found after
        `moment`."""
        newest = self._newest(uri) if len(self._texts.get(uri, ())) > 1 else None
        return newest is not None and not newest.by_us and newest.noticed > moment and newest.text == text

    def known(self, uri: DocumentUri) -> list[str]:
        """Every text that the file is known to have held (compared form), newest first."""
        return [str(known.text) for known in reversed(self._texts.get(uri, ()))]

    def known_before(self, uri: DocumentUri, text: str) -> list[str]:
        """Every text (compared form) that the file is known to have held before it held `text`, newest first."""
        known = self.known(uri)
        return known[known.index(text) + 1 :] if text in known else []

    def came_after(self, uri: DocumentUri, text: str, before: str | None) -> bool:
        """Whether the file is known to have held `before` and then `text` (compared form)."""
        return before in self.known_before(uri, text)

    def was_ours(self, uri: DocumentUri, text: str) -> bool:
        """Whether the editor or the sidecar is known to have written `text` (compared form) at some time."""
        return any(known.by_us and known.text == text for known in self._texts.get(uri, ()))

    def is_editors(self, uri: DocumentUri, text: str) -> bool:
        """Whether the newest text is `text` (compared form) and the editor saved it, so that the editor knows it. Some editors add a final line end
        without reporting it."""
        newest = self._newest(uri)
        return newest is not None and newest.by_editor and newest.text.but_for_its_end(text)

    def saved(self, uri: DocumentUri, text: str) -> bool:
        """Whether the newest text is exactly `text` (compared form), as the editor had it when it saved."""
        newest = self._newest(uri)
        return newest is not None and newest.by_editor and newest.text == text

    def is_ours(self, uri: DocumentUri, text: str) -> bool:
        """Whether the newest text is `text` (compared form) and the editor or the sidecar wrote it. A final line end does not count, because editors
        add it."""
        newest = self._newest(uri)
        return newest is not None and newest.by_us and newest.text.but_for_its_end(text)

    def says(self, uri: DocumentUri, text: str) -> bool:
        """Whether `text` (compared form) is the text last found on the disk."""
        newest = self._newest(uri)
        return newest is not None and newest.text == text

    def is_text(self, uri: DocumentUri, text: Text) -> bool:
        """Like `says`, for a raw text."""
        newest = self._newest(uri)
        return newest is not None and newest.text.is_said_by(text)

    def knows(self, uri: DocumentUri, text: str) -> bool:
        """Whether the disk ever held `text` (compared form)."""
        return any(t.text == text for t in self._texts.get(uri, ()) if not t.is_guess)

    def newest(self, uri: DocumentUri) -> Kept | None:
        """The text that the file was last known to hold."""
        texts = self._texts.get(uri)
        return texts[-1].text if texts else None

    def renamed(self, old: DocumentUri, new: DocumentUri) -> None:
        if old in self._texts:
            self._texts[new] = self._texts.pop(old)
        if old in self._closed_with:
            self._closed_with[new] = self._closed_with.pop(old)
        if old in self._pasts:
            self._pasts[new] = self._pasts.pop(old)

    def _newest(self, uri: DocumentUri) -> _DiskText | None:
        """The newest text that is known to have been on the disk; None if there is none."""
        return next((known for known in reversed(self._texts.get(uri, ())) if not known.is_guess), None)

    def _of(self, uri: DocumentUri) -> list[_DiskText]:
        texts = self._texts.setdefault(uri, [])
        self._texts.move_to_end(uri)
        while len(self._texts) > MAX_FILES:
            self._texts.popitem(last=False)
        return texts

    def _was_not_saved(self, texts: list[_DiskText], told: _DiskText) -> None:
        """Drop `told`, a save that was reported but not made. The texts known before it, and those found since, stay."""
        found_since = texts[[one is told for one in texts].index(True) + 1 :]
        texts[:] = told.unless_saved or ()
        for one in found_since:
            self._add(texts, one)

    def _add(self, texts: list[_DiskText], new: _DiskText) -> None:
        same = [known for known in texts if known.text == new.text]
        if same and same[-1] is texts[-1]:
            texts[-1].by_us = texts[-1].by_us or new.by_us
            texts[-1].by_editor = texts[-1].by_editor or new.by_editor
            texts[-1].is_guess = texts[-1].is_guess and new.is_guess
            texts[-1].removed = 0
            texts[-1].unless_saved = None
            return  # written once more
        # If the text was there before, the texts put there in between may be based on it, so its first
        # occurrence is kept too.
        known = [*(one for one in texts if not any(one is other for other in same[1:])), new]
        last = [i for i, one in enumerate(known) if all(one.text != later.text for later in known[i + 1 :])]
        gone = last[:-MAX_TEXTS]
        texts[:] = known[gone[-1] + 1 :] if gone else known
