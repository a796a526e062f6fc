"""units: what is taken back of one file, or of files that belong together, so that it can be done wholly or not at all. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from sidecar.core.uri import DocumentUri, from_path, to_path
from sidecar.workspace.behind.file_reviews import FileChange


@dataclass(slots=True)
class Unit:
    """No other unit has to do with any of its files."""

    rows: list[FileChange] = field(default_factory=list[FileChange])
    """Newest first: a later change of a file is in the way of an earlier one."""
    uris: list[DocumentUri] = field(default_factory=list[DocumentUri])
    """Documents with hunks."""

    def all_uris(self) -> list[DocumentUri]:
        """With those that may have hunks once the rows are taken back: the review of a file that is gone returns with it."""
        paths = [path for row in self.rows for path in (row.path, row.moved_from) if path]
        return [*self.uris, *map(from_path, paths)]


def units(rows: Sequence[FileChange], uris: Iterable[DocumentUri]) -> list[Unit]:
    """`rows`: oldest first. Files belong together where one was moved to the other, or one's path is a folder in the other's."""
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
