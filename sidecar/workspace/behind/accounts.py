"""Accounts: the texts that files are known to have on the disk since the running turns began. A text is known if the
sidecar or the editor wrote it, or if it was found on the disk and entered as somebody's.

If the disk says something else, that is a new change. It is measured from the account or, if there is none, from what
the file said when the turn began (turn_starts.py). It is never measured from what the file said at the time of some
look.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from sidecar.core.kept import Kept
from sidecar.core.normal import normal, says
from sidecar.core.sharing import sharing
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.acts import is_before
from sidecar.workspace.state.acts import now as file_time

MAX_TEXT = 64 * 1024 * 1024
"""Code points of all texts that are kept."""
MAX_BEFORE = 8
"""The number of files whose account from before the last write is kept: an editor may report a save that it did not
make. The newest ones."""


@dataclass(slots=True)
class Account:
    """What is known of one file. The text is as its last writer gave it; `exact` says whether its line ends are the
    file's."""

    text: Text | None
    """None: there is no file. If `lost`: the text is not known."""
    exact: bool = False
    at: int = 0
    """The file has said this since then, or earlier; see acts.py."""
    lost: bool = False
    """There was no room left to keep the text."""


@dataclass(slots=True)
class _Opening:
    """A document was opened, and it is not known yet who wrote the text that its file had then."""

    times: int = 0
    """How many openings are not settled yet: the document may be closed and opened again meanwhile."""
    wrote: list[Text | str | None] = field(default_factory=list["Text | str | None"])
    """What was written over that text since, oldest first; None: the file was removed."""


class Accounts:
    """The accounts of all files of one workspace, while turns run."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[DocumentUri, Account] = OrderedDict()
        self._before: OrderedDict[DocumentUri, Account | None] = OrderedDict()
        """The accounts from before the newest writes by the editor or the sidecar; None: there was none."""
        self._size = 0
        self.open = False
        """Turns run, or ended a moment ago. Otherwise nothing is kept."""
        self._opening: dict[DocumentUri, _Opening] = {}

    def get(self, uri: DocumentUri) -> Account | None:
        return self._accounts.get(uri)

    def has_newer(self, uri: DocumentUri, at: int) -> bool:
        """Whether the account is newer than what the file said since `at`."""
        known = self._accounts.get(uri)
        return known is not None and is_before(at, known.at)

    def says(
        self, uri: DocumentUri, text: Text | str | None, *, exact: bool = False, at: int | None = None
    ) -> None:
        """Notes what the file says now. It is known who wrote that.

        `text`: raw if `exact`, otherwise in any form; None: the file is gone. `at`: since when (acts.py); None: since
        just now.
        """
        if not self.open:
            return
        known = self._accounts.get(uri)
        like = Text() if known is None or known.text is None else known.text
        self._drop(uri)
        kept = sharing(text, like) if isinstance(text, str) else text
        self._accounts[uri] = Account(kept, exact, file_time() if at is None else at)
        self._size += _length(kept)
        for old in self._accounts.values():
            if self._size <= MAX_TEXT:
                break
            self._size -= _length(old.text)
            old.lost, old.text = old.lost or old.text is not None, None

    def opening(self, uri: DocumentUri) -> None:
        """A document was opened. Until `opened`, writes over the text that its file had then do not count."""
        self._opening.setdefault(uri, _Opening()).times += 1

    def opened(self, uri: DocumentUri) -> None:
        """It is now known who wrote that text, or it will never be. Writes since then count now."""
        opening = self._opening[uri]
        opening.times -= 1
        if not opening.times:
            del self._opening[uri]
            for text in opening.wrote:
                self.wrote(uri, text)

    def wrote(self, uri: DocumentUri, text: Text | str | None) -> None:
        """The editor or the sidecar wrote the file; None: removed it."""
        if uri in self._opening:
            self._opening[uri].wrote.append(text)
            return
        before = self._accounts.get(uri)
        if text is None:
            self.says(uri, None, exact=True)
        else:
            self._says_else(uri, text, None)
        if self._accounts.get(uri) is not before:
            self._before[uri] = before
            self._before.move_to_end(uri)
            if len(self._before) > MAX_BEFORE:
                self._before.popitem(last=False)

    def not_entered(self, uri: DocumentUri, text: str | None, start: str) -> None:
        """`text`, which the account says the file has, could not be entered as anybody's. The next look measures from
        `start`, the file's text before it."""
        known = self._accounts.get(uri)
        if known is not None and known.text is not None and text is not None and says(known.text, text):
            self.says(uri, start, at=0)

    def unwritten(self, uri: DocumentUri, text: Text) -> None:
        """The editor reported that it wrote `text` (raw), but did not."""
        known = self._accounts.get(uri)
        if known is None or known.text is None or Kept.of_raw(known.text) != Kept.of_raw(text):
            return
        self._drop(uri)
        before = self._before.pop(uri, None)
        if before is not None:
            self._accounts[uri] = before
            self._size += _length(before.text)

    def closed(self, uri: DocumentUri, text: Text | str, at: int) -> None:
        """A document was closed. Its file was last found to say `text`, since `at`.

        Nothing is noted if the document was opened only a moment ago, because it is not known yet who wrote that text.
        Nor if the account is newer, from a save that nobody has looked at yet.
        """
        if uri not in self._opening and not self.has_newer(uri, at):
            self._says_else(uri, text, at)

    def _says_else(self, uri: DocumentUri, text: Text | str, at: int | None) -> None:
        """As `says`, unless the account already has the same text, perhaps more exactly."""
        known = self._accounts.get(uri)
        if known is None or known.text is None or not says(known.text, normal(text)):
            self.says(uri, text, at=at)

    def renamed(self, old: DocumentUri, new: DocumentUri) -> None:
        """The user renamed the file in the editor."""
        if old in self._accounts:
            self._accounts[new] = self._accounts.pop(old)

    def clear(self) -> None:
        self._accounts.clear()
        self._before.clear()
        self._size = 0

    def _drop(self, uri: DocumentUri) -> None:
        known = self._accounts.pop(uri, None)
        if known is not None:
            self._size -= _length(known.text)


def _length(text: Text | None) -> int:
    return 0 if text is None else len(text)
