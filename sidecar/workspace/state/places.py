"""Places: what a requested name refers to: an open document, a file, a file that does not exist yet, or nothing.

First, the path is resolved beneath the session's roots, through one handle. Then the policy checks the requested and the
resolved name. Only then is anything opened for its content. A document is found by its normalised URI, then by (device, inode)
from a fresh stat of both sides, because a buffer may have been opened under another name (symlink, letter case). An inode is
never remembered: saving by rename changes it, and the system reuses it at once.

A document without a file has no path. It is named by its URI (`untitled:Untitled-1`), and exists only while it is open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import DocumentUri, from_path, is_untitled, normalise, to_path
from sidecar.disk import Missing, Resolved, Roots
from sidecar.workspace.state.documents import Documents
from sidecar.workspace.state.queues import Access
from sidecar.workspace.state.storage import Storage
from sidecar.workspace.state.tracked import Tracked


@dataclass(slots=True)
class Named:
    """The file or document that an agent named."""

    requested: str
    path: str
    """The canonical path; for a document without a file, its URI."""
    uri: DocumentUri
    tracked: Tracked | None
    """The document, if it is open."""


@dataclass(slots=True)
class Place(Named):
    """A place on the disk. `on_disk` holds an open handle: use a Place as a context manager."""

    on_disk: Resolved | Missing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self.on_disk, Resolved):
            self.on_disk.close()


def locate(
    storage: Storage, documents: Documents, roots: Roots, path: str, access: Access
) -> Place | Refusal:
    """What `path` refers to for a session with these roots."""
    found = storage.resolve(roots, path, access)
    if isinstance(found, Refusal):
        return found
    uri = from_path(found.path)
    tracked = _open_document(storage.identity, documents, found, uri)
    if isinstance(tracked, Refusal):
        if isinstance(found, Resolved):
            found.close()
        return tracked
    return Place(path, found.path, tracked.document.uri if tracked else uri, tracked, found)


def untitled(documents: Documents, name: str) -> Named | None:
    """The document without a file that `name` names, open or not; None for a path."""
    if not is_untitled(name):
        return None
    uri = normalise(name)
    return Named(name, uri, uri, documents.get(uri))


def _open_document(
    identity: Callable[[str], tuple[int, int] | None],
    documents: Documents,
    found: Resolved | Missing,
    uri: DocumentUri,
) -> Tracked | Refusal | None:
    for exact in (uri, from_path(found.requested)):
        tracked = documents.get(exact)
        if tracked is not None:
            return tracked
    if isinstance(found, Missing):
        return None
    same: list[Tracked] = []
    for tracked in documents:
        path = to_path(tracked.document.uri)
        if path is not None and identity(path) == found.identity:
            same.append(tracked)
    if len(same) > 1:
        return Refusal(
            Kind.AMBIGUOUS,
            f"{found.requested} is open in the editor under {len(same)} names; close all but one and try again",
        )
    return same[0] if same else None
