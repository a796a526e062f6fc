"""ToldBack: recognises the text of our own long edits when the editor reports them, so that a long text is not held in memory twice.

A thread parses the editor's message (server.py). It builds no string that the edit already has.
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
"""Texts above this many code points should not exist twice, even for a moment. Messages up to this many bytes contain none."""


class ToldBack:
    """The long edits on their way to the editor, for as long as somebody waits for them."""

    def __init__(self) -> None:
        self._edits: list[ref[TextEdit]] = []

    def sent(self, edits: Iterable[TextEdit]) -> None:
        self._edits = [one for one in self._edits if one() is not None]
        self._edits += [ref(edit) for edit in edits if len(edit.new_text) > LONG]

    def read(self, body: bytes) -> Modification | None:
        """Parse a message, if it is a change that may contain one of these edits; otherwise return None. Never raises; may run in a thread."""
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
