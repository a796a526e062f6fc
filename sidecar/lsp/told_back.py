"""ToldBack: the editor tells back what an edit of ours has put into a document. A long text is then not made a second time.

A thread reads what the editor tells (server.py): it puts no string together that the edit has, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import ref

from sidecar.core.coordinates import TextEdit
from sidecar.core.overlay import ContentChange, Modification
from sidecar.core.text_parts import TextAgain
from sidecar.long_json import LongJson
from sidecar.lsp import sync

LONG = 1024 * 1024
"""Code points of a text of which there should not be two for a moment, at least; and bytes of a message with one."""


class ToldBack:
    """The long edits on their way to the editor, as long as somebody waits for them."""

    def __init__(self) -> None:
        self._edits: list[ref[TextEdit]] = []

    def sent(self, edits: Iterable[TextEdit]) -> None:
        self._edits = [one for one in self._edits if one() is not None]
        self._edits += [ref(edit) for edit in edits if len(edit.new_text) > LONG]

    def read(self, body: bytes) -> Modification | None:
        """What a message says, if it may tell one of them back and is a change. Never raises; a thread may call it."""
        if len(body) <= LONG:
            return None
        known = [edit.new_text for one in self._edits if (edit := one()) is not None]
        if not known:
            return None
        long = LongJson(len(body), parts=lambda: TextAgain(known))
        for _ in long.feed(body):
            pass
        try:
            found = sync.decode(long.skeleton) if long.wrong is None else None
        except (ValueError, RecursionError):  # msgspec's are ValueErrors
            return None
        if found is None or not found.changes:
            return None
        changes = tuple(ContentChange(change.range, long.meant(change.text)) for change in found.changes)
        return found._replace(changes=changes)
