"""SaveHistory: which of the texts that a document had is on the disk, and whether the user typed since.

A didSave says that some text was saved, not which one (core/past.py). The disk says which.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Literal

import anyio

from sidecar.core.change import Edit
from sidecar.core.diff import diff
from sidecar.core.normal import normal
from sidecar.core.past import Past
from sidecar.core.rope import Rope
from sidecar.core.text import Text
from sidecar.workspace.state.acts import now as file_time

MAX_BASES = 32
"""Texts among which the base of a change from outside is looked for: the newest of those that may have been saved before it."""

MAX_TIMES = 16_384
"""Texts of which it is known when they came to be."""

ENCODINGS = (
    *("cp1252", "latin-1", "iso8859-15", "cp1250", "iso8859-2", "cp1251", "koi8-r", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "cp1257", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
"""Those that editors offer beside Unicode's."""

Explained = Literal["saved", "typed since", "now"]


class SaveHistory:
    """Of one open document, from its opening on. Texts have the numbers of `Past`."""

    def __init__(self, text: Text) -> None:
        self._past = Past(text)
        self._told: int | None = None
        """The newest text when a save was told last, whose bytes nobody has found on the disk yet."""
        self._told_first: int | None = None
        """The same, when the first one was told of those that were since the disk was last found to hold one of the texts."""
        self.told_at = 0
        """When that was told, or the last one before it; see acts.py."""
        self._outside = 0
        """The newest text when the disk was last found to hold none of the texts: that and those before it are not there any more but by a save."""
        self._users = 0
        """The newest text that an edit of the user's led to."""
        self._telling = anyio.Event()
        self.opened_at = file_time()
        """See acts.py."""
        self._times = array("q")
        """When the newest of the texts came to be; see acts.py."""
        self._encoding: str | None = None
        """The file's, once bytes that are not UTF-8 were found to be one of the texts in it."""

    def decode(self, data: bytes, *, unended: bool) -> str | None:
        """Bytes that are not UTF-8, as the editor reads them, in the compared form: in the encoding in which they are one of the texts. None
        when there was never one, as where the editor reads the file with another encoding than it has."""
        known = self._encoding
        for encoding in ENCODINGS if known is None else (known, *ENCODINGS):
            try:
                text = normal(data.decode(encoding))
            except UnicodeDecodeError:
                continue
            if self._past.find(text, unended=unended) is not None:
                self._encoding = encoding
                return text
        if known is None:
            return None
        try:
            return normal(data.decode(known))
        except UnicodeDecodeError:
            return None

    def edited(self, document: Rope, edit: Edit) -> None:
        """`edit` led to what `document` says now."""
        self._past.edited(document, edit)
        self._times.append(file_time())
        if len(self._times) > 2 * MAX_TIMES:
            del self._times[:MAX_TIMES]

    @property
    def newest(self) -> int:
        """The number of what the document says now."""
        return self._past.newest

    @property
    def edited_at(self) -> int:
        """When it was edited last, or opened."""
        return self._times[-1] if self._times else self.opened_at

    def said_at(self, text: str) -> int | None:
        """When the document began to say `text` (compared form), at the earliest; None if it did not since it was last known to be saved."""
        number = self._past.find(text)
        if number is None:
            return None
        place = len(self._times) - 1 - (self._past.newest - number)
        return self._times[place] if place >= 0 else self.opened_at

    def number(self, text: str) -> int | None:
        """Of the oldest of the texts that is `text` (compared form), as far as they are not forgotten."""
        return self._past.find(text)

    def text(self, number: int) -> Text | None:
        """The text with that number; None: it is forgotten."""
        return next(iter(self._past.texts(number, number)), None)

    def before_newest(self) -> Text | None:
        """The text that the newest edit changed; None: it is forgotten."""
        return self._past.before_newest()

    def users_edit(self) -> None:
        """The newest edit, or one before it, was the user's."""
        self._users = self._past.newest

    def had(self, text: str, *, unended: bool = False) -> bool:
        """Whether the document said `text` (raw), now or at some time since it was last known to be saved. `unended` as in `Past.find`."""
        return self._past.find(normal(text), unended=unended) is not None

    def is_after_save(self, text: str) -> bool:
        """Whether the document came to say `text` (compared form) after the save that was told last, of which nobody has seen the bytes."""
        number = self._past.find(text)
        return number is not None and self._told is not None and number > self._told

    def told(self) -> None:
        """A didSave was received."""
        self._told = self._past.newest
        self.told_at = file_time()
        self._told_first = self._told if self._told_first is None else self._told_first
        self._telling.set()
        self._telling = anyio.Event()

    @property
    def is_told(self) -> bool:
        """A save was told, and nobody has found its bytes on the disk yet."""
        return self._told is not None

    def told_text(self) -> Text | None:
        """What the document said when such a save was told last; None: there is none, or the text is forgotten."""
        return None if self._told is None else self.text(self._told)

    def untold(self) -> None:
        """No save that was told since the disk was last read was carried out."""
        self._told = self._told_first = None

    def explains(self, disk: str, *, unended: bool) -> tuple[int, Explained] | None:
        """The number of the text that the disk's `disk` (compared form) is. "saved": it is a save that was told. "now", "typed since": the
        document says it, or said it before it was edited, and no save was told: one is on its way, or the editor has taken it from there.
        `unended` as in `Past.find`."""
        number = self._past.find(disk, unended=unended)
        if number is None:
            return None
        if self._told is not None and number <= self._told:
            return number, "saved"
        if number <= self._outside and number != self._past.newest:
            number = self._past.find(disk, unended=unended, since=self._outside + 1)
            if number is None:
                return None
        return number, "now" if number == self._past.newest else "typed since"

    async def until_told(self, seconds: float) -> bool:
        """Whether a save is told within that time."""
        with anyio.move_on_after(seconds):
            await self._telling.wait()
            return True
        return False

    def is_on_disk(self, number: int, *, by_editor: bool) -> tuple[bool, bool]:
        """The text with that number is on the disk. Whether the document was edited since, and whether by the user. `by_editor`: that was a save; else one
        of it, or of what came after it, was told only since the disk was read, and nobody has seen its bytes."""
        self._past.saved(number)
        if by_editor or self._told is None or self._told < number:
            self._told = self._told_first = None
        elif self._told_first is not None and self._told_first < number:
            self._told_first = self._told
        return number != self._past.newest, number < self._users

    def base(self, disk: str, known: str | None) -> str | None:
        """What a change from outside, which led to `disk`, was made of; all in the compared form. `known`: what the disk was last found to
        say. A save was told since and nobody saw its bytes: of the texts that it may have saved, that is the closest one."""
        base = self.base_now(disk, known)
        self._told, self._outside = None, self._past.newest
        return base

    def base_now(self, disk: str, known: str | None) -> str | None:
        """The same, as long as it is not known that the disk says `disk`."""
        if self._told is None or known is None:
            return known
        return _closest([*self._saveable(self._told), known], disk)

    def put_there(self) -> None:
        """Somebody else wrote the file, or removed it: what it says is none of the document's saves, though the document may have said that."""
        self._outside = self._past.newest

    def unseen_save(self, disk: str) -> str | None:
        """A text that was saved (compared form) before the disk came to say `disk`, which the document says, too; None: no save was told of
        which nobody saw the bytes."""
        told, self._told = self._told, None
        texts = [] if told is None else self._saveable(told)
        return _closest(texts, disk) if texts else None

    def saved_before(self, disk: str) -> str | None:
        """What somebody wrote `disk` over, which the document said then, too: the text before, closest to it, that the user may have saved; both in
        the compared form. None: no save was told before the document said that."""
        number, first = self._past.find(disk), self._told_first
        is_over = number is not None and first is not None and first < number
        texts = self._saveable(number - 1) if number is not None and is_over else []
        return _closest(texts, disk) if texts else None

    def saved_at(self, over: int) -> int:
        """When the save that was told last was made, at the latest, over which somebody wrote the file at the time `over` (acts.py)."""
        return min(self.told_at, over - 1)

    def _saveable(self, told: int) -> list[str]:
        """What a save may have saved that was told after the text with that number, the oldest first."""
        return [normal(str(text)) for text in self._past.texts(told - MAX_BASES + 1, told)]


def _closest(texts: Iterable[str], disk: str) -> str:
    """Of several the first: what the user typed after the oldest one stays, or is in conflict with what is on the disk."""
    return min(texts, key=lambda text: _difference(text, disk))


def _difference(old: str, new: str) -> int:
    """In characters that went or came."""
    return sum(edit.end - edit.start + len(edit.new) for edit in diff(old, new).edits)
