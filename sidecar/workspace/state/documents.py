"""Documents: the documents that the editor has open."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakValueDictionary

import anyio

from sidecar.core.overlay import Document
from sidecar.core.uri import DocumentUri
from sidecar.workspace.state.disk_texts import DiskTexts
from sidecar.workspace.state.save_history import SaveHistory
from sidecar.workspace.state.tracked import Tracked


class Documents:
    """All tracked documents, by normalised URI."""

    def __init__(self) -> None:
        self._by_uri: dict[DocumentUri, Tracked] = {}
        self._awaited: dict[DocumentUri, list[anyio.Event]] = {}
        self._looking = WeakValueDictionary[DocumentUri, anyio.Lock]()
        self.disk = DiskTexts()

    def __iter__(self) -> Iterator[Tracked]:
        return iter(list(self._by_uri.values()))

    def get(self, uri: DocumentUri) -> Tracked | None:
        return self._by_uri.get(uri)

    def opened(self, document: Document) -> Tracked:
        """Record that the document was opened: nothing is known about the disk yet. If it was already open, the rest of its state stays."""
        known = self._by_uri.get(document.uri)
        if known is not None and known.document is document:
            known.observed = anyio.Event()
            return known
        self.closed(document.uri)
        looking = self._looking.setdefault(document.uri, anyio.Lock())
        tracked = self._by_uri[document.uri] = Tracked(
            document, SaveHistory(document.snapshot()), looking=looking, disk=self.disk
        )
        document.listeners.append(tracked.on_edit)
        for event in self._awaited.pop(document.uri, ()):
            event.set()
        return tracked

    async def appearance(self, uri: DocumentUri) -> Tracked:
        """Wait until the editor has announced the document, and return it. The caller limits the wait."""
        while (tracked := self._by_uri.get(uri)) is None:
            event = anyio.Event()
            self._awaited.setdefault(uri, []).append(event)
            await event.wait()
        return tracked

    def closed(self, uri: DocumentUri) -> Tracked | None:
        tracked = self._by_uri.pop(uri, None)
        if tracked is not None:
            tracked.closes()
            if tracked.on_edit in tracked.document.listeners:
                tracked.document.listeners.remove(tracked.on_edit)
        return tracked
