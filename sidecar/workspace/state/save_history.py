"""SaveHistory: which of a document's texts is on the disk, and whether the user typed since.

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
from sidecar.workspace.state.acts import now_at_most

MAX_BASES = 32
"""The most texts among which the base of a change from outside is looked for: the newest of those that may have been saved before it."""

MAX_TIMES = 16_384
"""The times of at least this many of the newest texts are known."""

ENCODINGS = (
    *("cp1252", "latin-1", "iso8859-15", "cp1250", "iso8859-2", "cp1251", "koi8-r", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "cp1257", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
"""The encodings that editors offer besides Unicode's."""

Explained = Literal["saved", "typed since", "now"]


class SaveHistory:
    """The texts of one open document since it was opened, numbered as in `Past`. Times are file times (acts.py)."""

    def __init__(self, text: Text) -> None:
        self._past = Past(text)
        self._tells: list[int] = []
        """The number of the newest text at each report of a save since the disk was last looked at; of many, the newest. None of the bytes was found."""
        self.told_at = 0
        """When the last save was reported, found on the disk or not."""
        self.told_by = 0
        """The latest time that a file changed before that can have."""
        self._known = 0
        """The number of the text that the disk was last found to hold, or of the newest one when it was found to hold none."""
        self._saved = -1
        """The number of the text that the disk was last found to hold and whose save was reported by then: what is reported later is the save of a later
        text. -1: there is none, or somebody else has written the file since, and any text may be saved over that."""
        self._outside = 0
        """The number of the newest text when the disk was last found to hold none of the texts. This text and those before it can be on the disk again
        only through a save."""
        self._users = 0
        """The number of the newest text that an edit by the user led to."""
        self._taken_back = 0
        """The number of the text to which the user's last taking back of agents' work led."""
        self._telling = anyio.Event()
        self.opened_at = file_time()
        """When the document was opened."""
        self.is_opened_empty = len(text) <= 1 and not str(text).strip("\n")
        """Whether the document had no text when it was opened."""
        self.emptied = 0 if self.is_opened_empty else None
        """The number of the text that the last edit that left nothing led to, or of the empty text with which it was opened. None: there never was any."""
        self.emptied_by = now_at_most() if self.is_opened_empty else None
        """The latest time that a file changed before the last edit that left nothing, or before the document was opened empty, can have. None: it
        never was."""
        self._times = array("q")
        """When each of the newest texts came up."""
        self._versions = array("q")
        """The document's version in the notification that led to each of them."""
        self._encoding: str | None = None
        """The file's encoding, once bytes that are not UTF-8 were found to be one of the texts in that encoding."""

    def decode(self, data: bytes, *, unended: bool) -> str | None:
        """Decode bytes that are not UTF-8 as the editor does, into the compared form: in the encoding in which they are one of the texts. None if no
        such encoding was ever found, for example because the editor reads the file in a wrong encoding."""
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

    def edited(self, document: Rope, edit: Edit, version: int) -> None:
        """Record an edit that led to the current text of `document`, told under that version."""
        self._past.edited(document, edit)
        self._times.append(file_time())
        self._versions.append(version)
        if len(document) <= 1 and not document.slice(0, len(document)).strip("\n"):
            self.emptied, self.emptied_by = self._past.newest, now_at_most()
        if len(self._times) > 2 * MAX_TIMES:
            del self._times[:MAX_TIMES], self._versions[:MAX_TIMES]

    @property
    def newest(self) -> int:
        """The number of the document's current text."""
        return self._past.newest

    @property
    def edited_at(self) -> int:
        """When the document was last edited, or opened."""
        return self._times[-1] if self._times else self.opened_at

    def said_at(self, text: str) -> int | None:
        """The earliest time at which the document got `text` (compared form). None if it has not had it since its last known save."""
        number = self._past.find(text)
        if number is None:
            return None
        place = len(self._times) - 1 - (self._past.newest - number)
        return self._times[place] if place >= 0 else self.opened_at

    def number(self, text: str) -> int | None:
        """The number of the oldest text that equals `text` (compared form), except forgotten ones."""
        return self._past.find(text)

    def text(self, number: int) -> Text | None:
        """The text with this number; None if it is forgotten."""
        return next(iter(self._past.texts(number, number)), None)

    def before_newest(self) -> Text | None:
        """The text that the newest edit changed; None if it is forgotten."""
        return self._past.before_newest()

    def users_edit(self) -> None:
        """Record that the newest edit, or one before it, was the user's."""
        self._users = self._past.newest

    def taken_back(self, number: int) -> None:
        """Record that the user took agents' work back, which led to the text with this number: earlier texts have something that the user does not
        want, even if one of them was saved."""
        self._taken_back = number

    def had(self, text: str, *, unended: bool = False) -> bool:
        """Whether the document has `text` (raw), or had it at some time since its last known save. `unended` as in `Past.find`."""
        return self._past.find(normal(text), unended=unended) is not None

    def is_after_save(self, text: str) -> bool:
        """Whether the document got `text` (compared form) after the last reported save, whose bytes nobody has seen."""
        number = self._past.find(text)
        return number is not None and self._told is not None and number > self._told

    def told(self) -> None:
        """Record a didSave."""
        self._tells = [*self._tells[1 - MAX_BASES :], self._past.newest]
        self.told_at, self.told_by = file_time(), now_at_most()
        self._telling.set()
        self._telling = anyio.Event()

    @property
    def _told(self) -> int | None:
        return self._tells[-1] if self._tells else None

    @property
    def is_told(self) -> bool:
        """Whether a save was reported whose bytes nobody has found on the disk yet."""
        return bool(self._tells)

    def told_text(self) -> Text | None:
        """The document's text when such a save was last reported. None if there is none, or the text is forgotten."""
        return None if self._told is None else self.text(self._told)

    def untold(self) -> None:
        """Record that no save reported since the disk was last read was made."""
        self._tells = []

    def explains(self, disk: str, *, unended: bool) -> tuple[int, Explained] | None:
        """The number of the text that equals the disk's text, `disk` (compared form), and how that is explained. None if no text does.

        "saved": it is a save that was reported. "now": the document has this text. "typed since": the document had it before it was edited. In the last
        two cases no save was reported: one is on its way, or the editor took the text over from the disk. `unended` as in `Past.find`."""
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
        """Wait for a save to be reported, at most `seconds`. Returns whether one was."""
        with anyio.move_on_after(seconds):
            await self._telling.wait()
            return True
        return False

    def is_on_disk(self, number: int, *, by_editor: bool) -> tuple[bool, bool]:
        """Record that the text with this number is on the disk. Returns whether the document was edited since, and whether by the user.

        `by_editor`: a save put it there. Otherwise, a reported save of this or a later text stays open: it was reported only after the disk was read,
        and nobody has seen its bytes."""
        self._past.saved(number)
        self._known = number
        self._saved = number if by_editor else self._saved
        self._tells = [] if by_editor else [told for told in self._tells if told >= number]
        return number != self._past.newest, number < self._users

    def base(self, disk: str, known: str | None) -> str | None:
        """The base of a change from outside that led to `disk`, which the editor has not taken over; all texts in the compared form. `known`: the text last
        found on the disk. If a save was reported since and nobody saw its bytes, the base is the closest of the texts that it may have saved: it may have saved
        an older one than that of the report, and what was typed since is in the document. `known` is one of them unless the save of that was reported
        before: the disk has had that, and an agent that has read it writes what is closer to it than to the save."""
        if self._told is None or known is None:
            return known
        saveable = self._saveable(self._told)
        if self._known != self._saved or not saveable:
            saveable.append(known)
        return _closest(saveable, disk)

    def written_over(self, taken: int | None) -> None:
        """Record that the disk holds what somebody else wrote over all reported saves. `taken`: the number of the text as which the editor has taken that
        over; None: it has not."""
        self._tells, self._known = [], self._past.newest if taken is None else taken
        if taken is None:
            self.put_there()

    def put_there(self) -> None:
        """Record that somebody else wrote or removed the file: its text is none of the document's saves, even if the document had it."""
        self._outside, self._saved = self._past.newest, -1

    def saved_before(self, taken: int) -> str | None:
        """The text (compared form) that was saved before the editor took over from the disk the text with this number. None if no save was reported by then
        whose bytes nobody saw.

        An editor does that by itself only with a document that has nothing unsaved. So that had the saved text right before, even if another one was newest
        when the save was reported. If what it had was not typed since the save before, it came from the disk, too, or the user threw away what they had
        typed since the report."""
        tells = [told for told in self._tells if told < taken]
        if not tells:
            return None
        told, known = tells[-1], max([self._known, *tells[:-1]])
        if self.emptied is not None and told < self.emptied < taken:
            taken = self.emptied  # it took that first
        before = taken - 1
        while before > told and self._came_with(before) == self._came_with(before + 1):
            before -= 1
        text = self.text(before)
        number = None if text is None else self._past.find(normal(str(text)), since=known + 1)
        if number is None or number > told:
            text = self.text(told)
        return None if text is None else normal(str(text))

    def _came_with(self, number: int) -> int | None:
        """The version of the notification that led to the text with this number; None if it is not known any more."""
        place = len(self._versions) - 1 - (self._past.newest - number)
        return self._versions[place] if place >= 0 else None

    def saved_at(self, over: int) -> int:
        """The latest time at which the last reported save can have been made, if somebody wrote the file over it at the time `over`."""
        return min(self.told_at, over - 1)

    def _saveable(self, told: int) -> list[str]:
        """The texts that a save may have saved if it was reported when `told` was the newest text; oldest first. Without those from before the user
        last took agents' work back: measured from these, that work would be there again. And without those whose save was reported before."""
        first = max(
            told - MAX_BASES + 1, self._taken_back if self._taken_back <= told else 0, self._saved + 1
        )
        return [normal(str(text)) for text in self._past.texts(first, told)]


def _closest(texts: Iterable[str], disk: str) -> str:
    """The text closest to `disk`; of several, the first. What the user typed after the oldest one stays, or conflicts with the disk."""
    return min(texts, key=lambda text: _difference(text, disk))


def _difference(old: str, new: str) -> int:
    """The number of characters removed and inserted."""
    return sum(edit.end - edit.start + len(edit.new) for edit in diff(old, new).edits)
