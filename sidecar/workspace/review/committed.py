"""Committed: a commit by the user keeps the changes in it.

Only a commit made while no agent works counts: an agent that commits its own work has not had it reviewed. Commits are looked for when the editor's
watcher reports a change in a `.git` folder, and before changes are listed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from sidecar.core.committed import committed_hunks
from sidecar.core.uri import DocumentUri, to_path
from sidecar.disk import Decoded, decode, git_head
from sidecar.disk.git_head import Blob
from sidecar.workspace.behind.file_change import FileChange
from sidecar.workspace.behind.file_reviews import FileReviews
from sidecar.workspace.edits.keeper import Keeper
from sidecar.workspace.ports.aside import aside
from sidecar.workspace.state.ledgers import Reviewed
from sidecar.workspace.state.state import State

Keep = Callable[[Iterable[str]], None]
"""Keeps changes, given by their ids."""


@dataclass(slots=True)
class _Repository:
    commit: str
    signs: dict[str, tuple[int, int] | None]
    """For each file that changes with a commit: its mtime in nanoseconds and its size in bytes. Empty: the commit is looked up again in any case."""


class Committed:
    """The commits of one workspace's repositories."""

    def __init__(self, state: State, keeper: Keeper, files: FileReviews, keep: Keep) -> None:
        self._state = state
        self._keeper = keeper
        self._files = files
        self._keep = keep
        self._known: dict[str, _Repository] = {}
        """The known repositories, by the folder of their files."""
        self._one_look = anyio.Lock()

    def concerns(self, uri: DocumentUri) -> bool:
        """Whether a change of this file may be a commit."""
        return "/.git/" in uri

    async def look(self, *, is_users: bool = True) -> None:
        """Keep what the user has committed since the last look. Without `is_users`, the commits until now were not made by the user alone, and
        are only noted."""
        async with self._one_look:
            paths = [path for one in self._reviewed() if (path := to_path(one.uri)) is not None]
            paths += [change.path for change in self._files]
            tops = await anyio.to_thread.run_sync(_tops, paths)
            for top in tops:
                before = self._known.get(top)
                now = await anyio.to_thread.run_sync(_noted, top, before)
                is_reviewed = is_users and not self._at_work()
                if now is None:
                    if not is_reviewed:  # otherwise it would count as the user's the next time
                        self._known.pop(top, None)
                    continue
                self._known[top] = now
                if before is not None and before.commit != now.commit and is_reviewed:
                    await self._keep_committed(top, before.commit, now.commit)
            self._known = {top: known for top, known in self._known.items() if top in tops}

    def _at_work(self) -> bool:
        return any(session.running or session.acting for session in self._state.sessions)

    def _reviewed(self) -> list[Reviewed]:
        return [reviewed for reviewed in self._state.ledgers if reviewed.ledger.hunks]

    async def _keep_committed(self, top: str, before: str, now: str) -> None:
        texts = {
            name: reviewed
            for reviewed in self._reviewed()
            if (name := _beneath(top, to_path(reviewed.uri))) is not None
        }
        rows = [(name, row) for row in self._files if (name := _beneath(top, row.path)) is not None]
        names = [*texts, *(name for name, _ in rows)]
        old, new, data = await anyio.to_thread.run_sync(_committed, top, before, now, names)
        for name, reviewed in texts.items():
            if name in new and new[name] != old.get(name):
                await self._keep_hunks(reviewed, decode(data.get(new[name].object_id, b"")))
        same = [
            row.change_id
            for name, row in rows
            if new.get(name) != old.get(name) and _is_committed(row, new.get(name), data)
        ]
        if same and not self._at_work():
            self._keep(same)

    async def _keep_hunks(self, reviewed: Reviewed, committed: object) -> None:
        if not isinstance(committed, Decoded):
            return
        raw, hunks = str(self._keeper.text_of(reviewed)), reviewed.ledger.hunks
        found = await aside(len(raw), lambda: committed_hunks(raw, hunks, committed.text))
        there = {hunk.id: hunk for hunk in reviewed.ledger.hunks}
        same = [
            hunk.id for hunk in found if (now := there.get(hunk.id)) is not None and now.text == hunk.text
        ]
        if same and not self._at_work():
            self._keep(map(reviewed.change_id, same))


def _is_committed(row: FileChange, blob: Blob | None, data: Mapping[str, bytes]) -> bool:
    """Whether the commit has the row's content at its path."""
    if row.after is None or blob is None:
        return row.after is None and blob is None
    return not row.after.is_link and data.get(blob.object_id) == row.after.data


def _beneath(top: str, path: str | None) -> str | None:
    """The path relative to `top`."""
    return path[len(top) + 1 :] if path is not None and path.startswith(top + os.sep) else None


def _tops(paths: Sequence[str]) -> list[str]:
    """The innermost repositories that contain these paths. Runs in any thread."""
    tops: dict[str, str | None] = {}
    for path in paths:
        folder, below = os.path.dirname(path), list[str]()
        while folder not in tops:
            below.append(folder)
            above = os.path.dirname(folder)
            if os.path.lexists(os.path.join(folder, ".git")):
                tops[folder] = folder
            elif above == folder:
                tops[folder] = None
            else:
                folder = above
        tops.update(dict.fromkeys(below, tops[folder]))
    return [top for top in dict.fromkeys(tops.values()) if top is not None]


def _noted(top: str, before: _Repository | None) -> _Repository | None:
    """The repository's commit with its signs, or None. Runs in any thread. The signs are as old as the commit, or older: a commit between the two
    is seen the next time."""
    if before is not None and before.signs and _signs(before.signs) == before.signs:
        return before
    files = git_head.commit_files(top)
    signs = _signs(files)
    commit = git_head.commit(top)
    if commit is None:
        return None
    return _Repository(commit.id, signs if git_head.commit_files(top) == files else {})


def _signs(files: Iterable[str]) -> dict[str, tuple[int, int] | None]:
    return {path: _sign(path) for path in files}


def _sign(path: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _committed(
    top: str, before: str, now: str, names: Sequence[str]
) -> tuple[dict[str, Blob], dict[str, Blob], dict[str, bytes]]:
    """The blobs of both commits under these names, and the contents of the changed ones. Runs in any thread."""
    old, new = (git_head.blobs(top, of, names) for of in (before, now))
    changed = [blob.object_id for name, blob in new.items() if blob != old.get(name)]
    return old, new, git_head.contents(top, changed)
