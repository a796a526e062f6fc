"""Opaque: files with unsaved changes that are open in the editor outside text sync (notebooks, custom editors).

The text of such a file is neither in the mirror nor on the disk, so agents cannot read it, and a write would make the user's own
save fail. Only the client can report them (`sidecar/opaque`).
"""

from __future__ import annotations

from sidecar.core.refusal import Kind, Refusal
from sidecar.core.uri import DocumentUri, normalise, to_path
from sidecar.workspace.state.places import Place
from sidecar.workspace.state.storage import Storage


class Opaque:
    """The files known now."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._dirty: set[DocumentUri] = set()

    def told(self, client_uri: str, dirty: bool) -> None:
        """The client reports whether the file has unsaved changes."""
        uri = normalise(client_uri)
        if dirty:
            self._dirty.add(uri)
        else:
            self._dirty.discard(uri)

    def refusal(self, place: Place) -> Refusal | None:
        """Why `place` can be neither read nor written now; None if it can."""
        return self._refusal(place.requested, place.path, place.uri) if self._dirty else None

    def refusal_of(self, uri: DocumentUri) -> Refusal | None:
        path = to_path(uri)
        return self._refusal(path, path, uri) if self._dirty and path is not None else None

    def _refusal(self, requested: str, path: str, uri: DocumentUri) -> Refusal | None:
        if uri not in self._dirty and not self._is_one(path):
            return None
        return Refusal(
            Kind.OPEN_ELSEWHERE,
            f"{requested} is open with unsaved changes in a notebook or another special editor, whose text cannot be seen from "
            "here; the file on disk is older. Nothing was read or written. Ask the user to save it, then try again",
        )

    def _is_one(self, path: str) -> bool:
        """Whether the path is another name of a known file: a link, or other letter case."""
        identity = self._storage.identity(path)
        if identity is None:
            return False
        known = (to_path(uri) for uri in self._dirty)
        return any(self._storage.identity(other) == identity for other in known if other is not None)
