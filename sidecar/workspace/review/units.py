"""units: groups the changes of one file, or of files that belong together, so that they can be taken back wholly or not at
all. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from sidecar.core.uri import DocumentUri, from_path, to_path
from sidecar.workspace.behind.file_change import FileChange


@dataclass(slots=True)
class Unit:
    """Changes that are taken back together. No other unit touches any of their files."""

    rows: list[FileChange] = field(default_factory=list[FileChange])
    """Newest first, because a later change of a file blocks an earlier one."""
    uris: list[DocumentUri] = field(default_factory=list[DocumentUri])
    """The documents with hunks."""

    def all_uris(self) -> list[DocumentUri]:
        """`uris`, plus the documents that may have hunks after the rows are taken back: the review of a file that is gone
        returns with it."""
        paths = [path for row in self.rows for path in (row.path, row.moved_from) if path]
        return [*self.uris, *map(from_path, paths)]


def units(rows: Sequence[FileChange], uris: Iterable[DocumentUri]) -> list[Unit]:
    """Group changes into units. `rows`: oldest first. Files belong together if one was moved to the other, or if the path of
    one is a folder above the other."""
    texts = {to_path(uri) or uri: uri for uri in uris}
    paths = {path for row in rows for path in (row.path, row.moved_from) if path} | texts.keys()
    leader = {path: path for path in paths}

    def find(path: str) -> str:
        while leader[path] != path:
            leader[path] = path = leader[leader[path]]
        return path

    for row in rows:
        if row.moved_from:
            leader[find(row.path)] = find(row.moved_from)
    for path in paths:
        above = _nearest(path, paths)
        if above:
            leader[find(path)] = find(above)
    found: dict[str, Unit] = {}
    for row in reversed(rows):
        found.setdefault(find(row.path), Unit()).rows.append(row)
    for path, uri in texts.items():
        found.setdefault(find(path), Unit()).uris.append(uri)
    return list(found.values())


def _nearest(path: str, paths: AbstractSet[str]) -> str:
    """The innermost folder above `path` that is one of `paths`; "" if none is."""
    above = os.path.dirname(path)
    while above not in paths:
        path, above = above, os.path.dirname(above)
        if path == above:
            return ""
    return above
