"""TreeLooks: one look at a folder, shared by all who ask for it before it begins.

Each look builds on the results of the last one, and shares with it what did not change.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.from_thread
import anyio.to_thread

from sidecar import disk
from sidecar.disk import folder_files, git_index
from sidecar.disk.folder_files import Tree, Trees
from sidecar.workspace.behind import tree_notes
from sidecar.workspace.behind.tree_notes import NOTHING, LeftToRead, Touched, TreeNote

log = logging.getLogger(__name__)

LARGE = 250
"""Files of a folder above which nobody waits for a look at it. A look at fewer takes about a hundredth of a second of processor time."""
GATHER_SECONDS = 0.005
"""How long a look waits for others who ask for it."""
GATHER_LARGE_SECONDS = 0.05
"""The same for a large folder. Nobody waits for the look, and the prompt is to be sent first."""


@dataclass(slots=True)
class Found:
    """What was found in one folder."""

    notes: list[TreeNote] = field(default_factory=list[TreeNote])
    unseen: list[str] = field(default_factory=list[str])
    """Folders of trees that are not looked at: too large, or too many."""


@dataclass(slots=True)
class _Batch:
    """Those who asked for a look before it began."""

    since: int
    touched: Touched = NOTHING
    long: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    found: Found | None = None

    def tell_long(self) -> None:
        """Calls each waiting callback once."""
        waiting, self.long = self.long, []
        for tell in waiting:
            tell()


class TreeLooks:
    """One per workspace, for all its sessions. The work is done in threads."""

    def __init__(self) -> None:
        self._next: dict[str, _Batch] = {}
        """By folder: the look that has not begun yet."""
        self._one_at_a_time: dict[str, anyio.Lock] = {}
        self._notes: dict[str, TreeNote] = {}
        """By the folder of a tree: its last note."""
        self._large: set[str] = set()
        self._too_large: dict[str, list[str]] = {}
        """Folders that had too many files, or took git too long, and are not tried again; each with the folders of the
        trees that were found in it."""
        self.looks = 0
        """The number of looks so far."""

    def knows(self, top: str) -> bool:
        """Whether this folder was looked at."""
        return top in self._notes or top in self._too_large

    def is_large(self, top: str) -> bool:
        return top in self._large

    async def look(self, top: str, since: int, touched: Touched, long: Callable[[], None]) -> Found:
        """Looks at what is in a folder (canonical).

        `since`: when that was asked for (acts.py). `long`: called, in the loop, when the look is known to take long.
        """
        batch = self._next.get(top)
        if batch is None:
            batch = self._next[top] = _Batch(since)
        batch.since = min(batch.since, since)
        batch.touched = Touched({*batch.touched.open, *touched.open}, {*batch.touched.made, *touched.made})
        batch.long.append(long)
        if top in self._large:
            batch.tell_long()
        async with self._one_at_a_time.setdefault(top, anyio.Lock()):
            if batch.found is None:
                if top in self._large:
                    batch.tell_long()
                await anyio.sleep(GATHER_LARGE_SECONDS if top in self._large else GATHER_SECONDS)
                if self._next.get(top) is batch:
                    del self._next[top]
                batch.found = await anyio.to_thread.run_sync(
                    self.now,
                    top,
                    batch.since,
                    batch.touched,
                    _in_loop(batch.tell_long),
                    abandon_on_cancel=True,
                )
        return batch.found

    def now(
        self, top: str, since: int, touched: Touched = NOTHING, long: Callable[[], None] = lambda: None
    ) -> Found:
        """As `look`, but at once and in the calling thread."""
        self.looks += 1
        found, left = Found(), LeftToRead()

        def told(files: int) -> None:
            if files > LARGE and top not in self._large:
                self._large.add(top)
                long()

        if not self.knows(top):
            told(git_index.size(top))
        trees = self.trees(top, told)
        for tree in _with_open(trees.found, touched.open):
            note = tree_notes.take(tree, left, self._notes.get(tree.folder), since, touched)
            self._notes[tree.folder] = note
            found.notes.append(note)
        is_large = sum(len(note.files) for note in found.notes) > LARGE
        (self._large.add if is_large else self._large.discard)(top)
        found.unseen += trees.too_large
        return found

    def trees(self, top: str, counted: Callable[[int], None] = lambda _: None) -> Trees:
        """The trees in a folder (canonical)."""
        inner = self._too_large.get(top)
        if inner is not None:
            own = (folder_files.own(folder, alone=True)[0] for folder in inner)
            return Trees([tree for tree in own if tree is not None], [top])
        found = folder_files.trees(top, counted)
        for folder in found.too_large:
            if folder not in self._too_large:
                self._too_large[folder] = [tree.folder for tree in found.found] if folder == top else []
                log.warning(
                    "%s has too many files to find changes by commands; changes to files that tool calls name are found",
                    folder,
                )
        return found


def _with_open(trees: Sequence[Tree], is_open: Collection[str]) -> list[Tree]:
    """The trees, with the open files (canonical paths) that they leave out, because git ignores them: somebody works on these."""
    left_out: dict[str, set[str]] = {tree.folder: set() for tree in trees}
    for path in is_open:
        folder = next((folder for folder in disk.folders_above(path) if folder in left_out), None)
        if folder is not None and os.path.lexists(path):
            left_out[folder].add(os.path.relpath(path, folder))
    found: list[Tree] = []
    for tree in trees:
        names = left_out[tree.folder].difference(tree.names) if left_out[tree.folder] else ()
        names = [name for name in names if ".git" not in name.split(os.sep)]
        found.append(tree._replace(names=[*tree.names, *names]) if names else tree)
    return found


def _in_loop(tell: Callable[[], None]) -> Callable[[], None]:
    """A function that a thread started by this loop can call to run `tell` in the loop."""
    return lambda: anyio.from_thread.run_sync(tell)
