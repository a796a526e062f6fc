"""SavedAs: documents without a file that the user saves as a file. Their review goes on in the file.

No editor reports this. VS Code opens the new file empty, inserts the text, saves it, and then empties and closes the document without a file
(observed, 1.139). So a file that gets the whole text of such a document at once is noted. If the document then ends with that text, it was
saved as that file.
"""

from __future__ import annotations

from sidecar.core.belief import Beliefs
from sidecar.core.change import Edit
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, is_untitled
from sidecar.workspace.state.documents import Documents
from sidecar.workspace.state.ledgers import Ledgers
from sidecar.workspace.state.tracked import Tracked


class SavedAs:
    def __init__(self, documents: Documents, ledgers: Ledgers, beliefs: Beliefs) -> None:
        self._documents = documents
        self._ledgers = ledgers
        self._beliefs = beliefs
        self._files: dict[DocumentUri, tuple[DocumentUri, Text]] = {}
        """For each document without a file: the file that got its whole text, and that text."""

    def edited(self, tracked: Tracked, edit: Edit, length: int) -> None:
        """Note an edit that gave a file the whole text of a document without a file. The edit is not by an agent; `length` is the
        document's new length in code points."""
        if is_untitled(tracked.document.uri) or edit.start != 0 or len(edit.new) != length or not length:
            return
        text = tracked.document.snapshot()
        for reviewed in self._ledgers:
            other = self._documents.get(reviewed.uri)
            if is_untitled(reviewed.uri) and other is not None and other.document.snapshot() == text:
                self._files[reviewed.uri] = tracked.document.uri, text

    def ends(self, uri: DocumentUri, last: Text) -> bool:
        """A document without a file, whose last text was `last`, is emptied or closed. Returns whether its review, and what agents believe
        about it, belong to a file now."""
        new, text = self._files.pop(uri, (None, None))
        file = None if new is None else self._documents.get(new)
        if new is None or file is None or text != last or self._ledgers.get(new) is not None:
            return False
        reviewed = self._ledgers.renamed(uri, new)
        if reviewed is None:
            return False
        self._beliefs.renamed(uri, new)
        reviewed.closed(last)
        reviewed.opened(file.settled_text())
        self._ledgers.moved(reviewed)
        return True
