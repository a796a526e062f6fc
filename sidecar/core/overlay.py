"""The overlay: an exact copy of every document that is open in the editor. Only the editor's messages change it.

Every event becomes one `Modification` and goes through one door, `Overlay.apply`, which is synchronous and must be called before any `await`.
It never raises for anything an editor may send. An impossible change marks the document as desynchronised, with the reason: do not use its
text until the editor has sent the whole text. Odd but harmless events are described in `Applied.note`, for the log. The values here are named
tuples: one of each is created for every keystroke, and frozen dataclasses take three times as long to create.

| event                                              | what it means                                                 |
|----------------------------------------------------|---------------------------------------------------------------|
| open                                               | the text is as sent                                           |
| open again                                         | the same, tolerated: eglot does it to hidden buffers          |
| change, version as before, with nothing in it      | tolerated: Neovim 0.7 does it when a request meets its timer  |
| change, version as before or lower, ranges         | desynchronised: something was lost or came twice              |
| change, version as before or lower, whole text     | believed: a new incarnation                                   |
| change, version higher by more than one            | legal (LSP 3.17, TextDocumentItem.version)                    |
| change with a negative place or end before start   | desynchronised, nothing of it applied                         |
| change of a document that is not open              | desynchronised; kept until it is opened (Helix)               |
| open after changes                                 | changes with higher versions are applied (Helix, observed)    |
| change, version too high by some, `in_any_order`   | kept until the missing ones have come (Helix), or `close_gap` |
| change past the end of a line or of the text       | legal: it means that end                                      |
| change with ranges while desynchronised            | only its version is noted                                     |
| whole text in a change, or in a save               | ends a desynchronisation                                      |
| save with a text that the document never had       | the editor's is right (else state.py leaves the text out)     |
| close                                              | the document is forgotten                                     |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import NamedTuple

from sidecar.core.change import Edit
from sidecar.core.lf_lines import LfLines
from sidecar.core.rope import Rope
from sidecar.core.sharing import sharing
from sidecar.core.text import Encoding, Range, Text
from sidecar.core.uri import DocumentUri

MAX_EARLY = 256
"""The most changes of one document that are kept because earlier ones are missing. A burst of typing is a few dozen."""
_BEFORE_OPEN = "changed before it was opened"
_SAVED_DIFFERS = "the saved text differs from the mirror; the saved text was taken"


class Notified(Enum):
    """What happened to a document, named as in LSP's `textDocument/did…`."""

    OPEN = auto()
    CHANGE = auto()
    SAVE = auto()
    CLOSE = auto()


class ContentChange(NamedTuple):
    """One entry of `contentChanges`: replaces `range` (in the editor's encoding) by `text`, or the whole text if there is no range."""

    range: Range | None
    text: str


class Modification(NamedTuple):
    """One event from the editor."""

    uri: DocumentUri
    action: Notified
    version: int | None = None
    changes: tuple[ContentChange, ...] = ()
    """CHANGE: in order, each applied to the result of the one before."""
    text: str | None = None
    """OPEN: the text. SAVE: the text, if the editor includes it."""
    language_id: str = ""
    client_uri: str = ""
    """The URI in the editor's spelling, which is sent back to it."""
    divided: Text | None = None
    """OPEN: the text as it is kept, if somebody has made that already."""


class Document:
    """One open document."""

    __slots__ = (
        "announced",
        "client_uri",
        "desynchronised",
        "early",
        "incarnation",
        "is_open",
        "language_id",
        "lf_lines",
        "listeners",
        "rope",
        "uri",
        "version",
    )

    def __init__(self, uri: DocumentUri, client_uri: str, incarnation: int) -> None:
        self.uri = uri
        self.client_uri = client_uri
        self.language_id = ""
        self.version = 0
        """The editor's version. It never decreases within one incarnation, except while desynchronised."""
        self.rope = Rope()
        self.desynchronised: str | None = None
        """Why the text cannot be trusted. None if it is the editor's text."""
        self.incarnation = incarnation
        """Counts, over all documents, how often a whole text arrived: on open, and when it ended a desynchronisation.
        (incarnation, version) never goes backwards."""
        self.is_open = True
        self.announced = False
        """The didOpen was received."""
        self.early: dict[int, tuple[ContentChange, ...]] = {}
        """Changes that arrived before earlier ones, by version."""
        self.lf_lines: LfLines | None = None
        """Reads the changes of an editor to which only "\\n" ends a line."""
        self.listeners: list[Callable[[Document, Edit], None]] = []
        """Called after every single content change, with its edit. `version` is then already that of the notification."""

    def snapshot(self) -> Text:
        return self.rope.snapshot()

    def __repr__(self) -> str:
        return f"Document({self.uri!r}, version={self.version}, incarnation={self.incarnation})"


class Applied(NamedTuple):
    """What a modification did."""

    document: Document | None
    """The document; on CLOSE, the closed one. None if there was none."""
    edits: tuple[Edit, ...] = ()
    """In order, each on the result of the one before, without edits that changed nothing."""
    note: str | None = None
    """Something odd, as a message for the log, without text from the document."""
    early: tuple[Edit, ...] = ()
    """On OPEN: those of `edits` that arrived before the opening and apply to its text."""


class Overlay:
    """The open documents by normalised URI."""

    def __init__(self, encoding: Encoding = Encoding.UTF_16) -> None:
        self.encoding = encoding
        """The encoding negotiated at `initialize`; LSP's default is UTF-16."""
        self.lf_lines = False
        """For this editor only "\\n" ends a line (Neovim, Emacs, Helix; see lf_lines.py)."""
        self.in_any_order = False
        """This editor numbers its changes one by one and may send them out of order (Helix 25.01)."""
        self.like: Callable[[DocumentUri], Text | None] = lambda uri: None
        """Returns a text that exists anyway and is probably equal or similar to a document that is being opened. Equal parts are then
        stored once."""
        self._documents: dict[DocumentUri, Document] = {}
        self._incarnations = 0

    def get(self, uri: DocumentUri) -> Document | None:
        return self._documents.get(uri)

    def documents(self) -> Iterable[Document]:
        """The documents in the order in which they were opened. Safe to iterate while modifications are applied."""
        return tuple(self._documents.values())

    def apply(self, modification: Modification) -> Applied:
        """Apply one event. Raises only what a listener raised, after the whole event was applied."""
        match modification.action:
            case Notified.OPEN:
                return self._open(modification)
            case Notified.CHANGE:
                return self._change(modification)
            case Notified.SAVE:
                return self._save(modification)
            case Notified.CLOSE:
                return self._close(modification)

    def _open(self, modification: Modification) -> Applied:
        text = modification.text or ""
        known = self._documents.get(modification.uri)
        document = known or self._new(modification)
        note = None if known is None or known.desynchronised is not None else "opened again while open"
        early = {} if known is None else known.early
        document.client_uri = modification.client_uri or modification.uri
        document.language_id = modification.language_id
        document.version = modification.version or 0
        document.announced = True
        if self.lf_lines:
            document.lf_lines = LfLines(text)
        if known is None:
            like = self.like(modification.uri)
            divided = modification.divided
            if like is None:
                document.rope = Rope(text) if divided is None else Rope.of(divided)
            else:
                document.rope = Rope.of(sharing(text if divided is None else divided, like))
            return Applied(document)
        self._restart(document)
        edits = self._edit(document, [ContentChange(None, text)])
        document.early = early
        followed = self._follow(document)
        return Applied(document, edits + followed, note, followed)

    def _change(self, modification: Modification) -> Applied:
        document = self._documents.get(modification.uri)
        changes = modification.changes
        version = modification.version
        odd = None
        if document is None:
            document = self._new(modification)
            odd = _BEFORE_OPEN
        elif version is not None and version == document.version and not changes:
            return Applied(document)  # told once more, with nothing in it (Neovim 0.7)
        elif version is not None and document.desynchronised is None:
            if version <= document.version:
                odd = f"version {version} after {document.version}"
            elif self.in_any_order and version > document.version + 1:
                return Applied(document, note=self._keep(document, version, changes))
        if version is not None:
            document.version = version
        if odd is None and document.desynchronised is None:
            odd = _impossible(changes)
            if odd is None:
                edits = self._edit(document, changes)
                return Applied(document, edits + self._follow(document) if document.early else edits)
        whole = _from_last_whole(changes)
        if whole and _impossible(whole) is None:
            self._restart(document)
            edits = self._edit(document, whole)
            if version is not None and not document.announced:
                self._keep(document, version, whole)  # newer than the text that its didOpen will have
            return Applied(document, edits, odd and f"{odd}; the whole text came with it")
        if odd is not None and document.desynchronised is None:
            document.desynchronised = odd
        if version is not None and document.desynchronised == _BEFORE_OPEN:
            self._keep(document, version, changes)
        return Applied(document, note=odd)

    def close_gap(self, document: Document, version: int) -> tuple[Edit, ...]:
        """Apply a waiting change, because none is missing before the one with this version: it applies to the document's current text."""
        waits = document.is_open and document.desynchronised is None and document.announced
        if not waits or not document.early or min(document.early) != version:
            return ()
        document.version = version - 1
        return self._follow(document)

    def _keep(self, document: Document, version: int, changes: tuple[ContentChange, ...]) -> str | None:
        """Keep a change until the earlier ones have arrived. Returns a note if too many are kept."""
        if len(document.early) < MAX_EARLY:
            document.early[version] = changes
            return None
        document.early.clear()
        if document.desynchronised is None:
            document.desynchronised = f"the change after version {document.version} never came"
        return document.desynchronised

    def _follow(self, document: Document) -> tuple[Edit, ...]:
        """Apply the kept changes that now follow the document's version."""
        edits: tuple[Edit, ...] = ()
        early = document.early
        while early:
            version = min(early)
            if version > document.version + 1 and self.in_any_order:
                break  # otherwise nothing comes in between: versions may have gaps
            changes = early.pop(version)
            if version <= document.version:
                continue
            document.version = version
            odd = _impossible(changes)
            if odd is not None:
                document.desynchronised = odd
                early.clear()
                break
            edits += self._edit(document, changes)
        return edits

    def _save(self, modification: Modification) -> Applied:
        document = self._documents.get(modification.uri)
        if document is None:
            return Applied(None, note="saved while not open")
        if modification.text is None:
            return Applied(document)
        was = document.desynchronised
        if was is not None:
            self._restart(document)
        elif document.early:
            return Applied(document)  # the text includes changes that have not arrived yet
        edits = self._edit(document, [ContentChange(None, modification.text)])
        differed = bool(edits) and was is None
        return Applied(document, edits, _SAVED_DIFFERS if differed else None)

    def _close(self, modification: Modification) -> Applied:
        document = self._documents.pop(modification.uri, None)
        if document is None:
            return Applied(None, note="closed while not open")
        document.is_open = False
        return Applied(document)

    def _new(self, modification: Modification) -> Document:
        self._incarnations += 1
        document = Document(modification.uri, modification.client_uri or modification.uri, self._incarnations)
        self._documents[modification.uri] = document
        return document

    def _restart(self, document: Document) -> None:
        self._incarnations += 1
        document.incarnation = self._incarnations
        document.desynchronised = None
        document.early = {}

    def _edit(self, document: Document, changes: Iterable[ContentChange]) -> tuple[Edit, ...]:
        edits: list[Edit] = []
        failure: Exception | None = None
        for change in changes:
            if document.lf_lines is None:
                edit = document.rope.apply(change.range, change.text, self.encoding)
            else:
                edit = document.lf_lines.apply(document.rope, change.range, change.text, self.encoding)
            if edit.start == edit.end and not edit.new:
                continue
            edits.append(edit)
            for listener in tuple(document.listeners):
                try:
                    listener(document, edit)
                except Exception as error:  # noqa: BLE001 - the mirror comes first: the event's rest is applied
                    failure = failure or error
        if failure is not None:
            raise failure
        return tuple(edits)


def _impossible(changes: Iterable[ContentChange]) -> str | None:
    for change in changes:
        if change.range is None:
            continue
        start, end = change.range
        if start > end:
            return "a range that ends before it starts"
        if start.line < 0 or start.character < 0 or end.character < 0:
            return "a negative position"
    return None


def _from_last_whole(changes: tuple[ContentChange, ...]) -> tuple[ContentChange, ...]:
    """The changes from the last whole text on. Earlier ones do not matter if the text before is unknown."""
    for index in range(len(changes) - 1, -1, -1):
        if changes[index].range is None:
            return changes[index:]
    return ()
