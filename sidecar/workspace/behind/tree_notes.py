"""TreeNote: the state of all files of one repository, or of a folder without git, at some moment. It is found out once
for all turns that begin then.

Files are noted by their stat. The last commit holds the contents of files that are as in it, with its line ends or with
CRLF. The contents of other files are kept, within bounds: open files first, then those that changed last.
"""

from __future__ import annotations

import heapq
import logging
import os
import sys
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from sidecar.core.refusal import Refusal
from sidecar.disk import Resolved, Roots, Stat, folder_files, git_head, git_index, line_ends, resolve
from sidecar.disk.file_table import COMMITTED, COMPARED, CRLF, SAME, FileTable, listed
from sidecar.disk.folder_files import Tree
from sidecar.disk.git_head import Blob, Commit
from sidecar.workspace.behind.gone import gone_at
from sidecar.workspace.state.acts import changed_at
from sidecar.workspace.state.acts import now as file_time

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_TEXT = 4 * 1024 * 1024
"""Bytes of one file's contents."""
MAX_TEXTS = 32 * 1024 * 1024
"""Bytes of all contents kept for one turn, and as much again for files that agents made."""
MAX_KEPT = 2_000
"""Files whose contents are kept for one turn, and as many again that agents made."""
MAX_COMPARED = 64 * 1024 * 1024
"""Bytes read at one turn's start to compare files with the last commit. The result of a comparison is kept as long as
the file's stat stays."""
MAX_READ = 20_000
"""Files that are read for that at one turn's start."""
MIN_INDEX = 100
"""From this number of files on, git's index is asked about them: reading so many files takes longer."""
MAX_WITH_FOLDERS = 5_000
"""Files of a tree up to which its folders, including empty ones, are noted."""
MAX_WATCHED = 4_096
"""Folders of one tree that are offered to the watcher. Further ones are not watched."""


@dataclass(slots=True)
class Room:
    """What may still be kept: the bytes of contents, and the number of files."""

    texts: int = field(default_factory=lambda: MAX_TEXTS)
    kept: int = field(default_factory=lambda: MAX_KEPT)


@dataclass(slots=True)
class LeftToRead:
    """What one look may still read (bytes) and keep, in all its trees together."""

    compared: int = field(default_factory=lambda: MAX_COMPARED)
    room: Room = field(default_factory=Room)
    room_for_made: Room = field(default_factory=Room)


class Touched(NamedTuple):
    """Files (canonical paths) that somebody is known to work on, or that agents made, when a look begins."""

    open: Collection[str] = ()
    made: Collection[str] = ()
    """Made by agents and not reviewed. Their number is unlimited, so they take no room from the user's files."""
    made_folders: Collection[str] = ()
    """Folders (canonical) that agents made, and that go with the last file that an agent put there."""


NOTHING = Touched()


class _Committed(NamedTuple):
    """What the commit has of the files that are not known to be as in it."""

    flags: dict[str, int]
    """By file: its flags, as far as they are known now."""
    blobs: dict[str, Blob]
    """By file that the commit has and that is to be compared: its blob."""
    absent: set[str]
    """Names that the commit has and the folder does not."""


@dataclass(frozen=True, slots=True)
class TreeNote:
    """The note. Names are relative to `folder`. It is immutable: sessions share it."""

    folder: str
    """Canonical."""
    commit: Commit | None
    """The last commit; None: there is none."""
    files: FileTable
    links: Mapping[str, str]
    kept: Mapping[str, bytes]
    """Contents of files that are not as in the commit."""
    absent: frozenset[str]
    """Files of the commit that do not exist."""
    recent: Mapping[str, int]
    """Files that changed or went since the look was asked for, with when; see acts.py."""
    folders: frozenset[str] | None
    """Names of all folders; None: too many to know."""
    watched: Sequence[str]
    """Folders (canonical) that contain files, shallow ones first."""
    began: int
    """When the look began; see acts.py."""

    @property
    def commit_id(self) -> str:
        """Empty if there is no commit."""
        return "" if self.commit is None else self.commit.id

    def flags(self, name: str) -> int:
        entry = self.files.get(name)
        return 0 if entry is None else entry.flags


def take(
    tree: Tree, left: LeftToRead, before: TreeNote | None, since: int, touched: Touched = NOTHING
) -> TreeNote:
    """Notes the state of a tree. Blocks for the disk; any thread.

    `before`: the note of an earlier look at the same tree. `since`: when the look was asked for (acts.py).
    """
    commit = git_head.commit(tree.folder)
    began = file_time()
    there = listed(tree.folder, tree.names, since)
    look = _Look(tree.folder, commit.id if commit else "", left, there.files, dict(there.recent), before)
    look.compare()
    look.keep(_names_in(tree.folder, touched.open), _names_in(tree.folder, touched.made))
    files = look.files if before is None else look.files.sharing(before.files)
    gone = {*there.missing, *look.gone, *(() if before is None else before.links)}
    gone -= there.links.keys() | (frozenset() if before is None else before.absent)
    look.recent |= _moved_along(files, there.moved, before)
    for name in gone:
        path = os.path.join(tree.folder, name)
        if not os.path.lexists(path) and (at := gone_at(path)) > since:
            look.recent[name] = at
    return TreeNote(
        tree.folder,
        commit,
        files,
        there.links,
        look.kept if before is None else _or_equal(look.kept, before.kept),
        frozenset(look.absent),
        look.recent,
        _folders(tree) if before is None else _or_equal(_folders(tree), before.folders),
        _watched(tree.folder, files, before),
        began,
    )


class _Look:
    """A look that is under way. `files` is updated as it goes on."""

    def __init__(
        self,
        folder: str,
        commit: str,
        left: LeftToRead,
        files: FileTable,
        recent: dict[str, int],
        before: TreeNote | None,
    ) -> None:
        self._folder = folder
        self._commit = commit
        self._left = left
        self._before = before
        self._read: dict[str, bytes] = {}
        """By name: contents that were read to be compared, and are not as in the commit."""
        self.files = files
        self.recent = recent
        self.kept: dict[str, bytes] = {}
        self.absent: set[str] = set()
        self.gone: list[str] = []
        """Names of an earlier look that do not exist any more."""

    def compare(self) -> None:
        """Finds out which files are as in the commit, and which files of the commit do not exist."""
        before, changed = self._before, None
        if before is not None:
            self.gone = [name for name in before.files.differing(self.files) if name not in self.files]
            is_same = before.commit_id == self._commit
            changed = (
                [] if is_same else git_head.changed_between(self._folder, before.commit_id, self._commit)
            )
        if before is not None and changed is not None:
            self.files = self.files.like(before.files, changed)
        if not self._commit:
            return
        unsure = list(self.files.unlike(lambda flags: flags & COMPARED))
        if before is None or changed is None or len(unsure) + len(changed) > MIN_INDEX:
            found = self._all(unsure)
        else:
            found = self._some(before, unsure, changed)
        if found is None:
            return
        self.absent = found.absent
        flags, blobs = found.flags, found.blobs
        may_be_same = [name for name in blobs if self._may_be_same(name, blobs[name])]
        flags.update(dict.fromkeys(blobs.keys() - set(may_be_same), COMPARED | COMMITTED))
        with Roots([self._folder]) as roots:
            for name in self._newest_first(may_be_same, (), MAX_READ):
                flags[name] = self._compared(roots, name, blobs[name])
        self.files = self.files.with_flags(flags)

    def _all(self, unsure: Sequence[str]) -> _Committed | None:
        """Goes through all entries of the commit and of the index, side by side; None: git fails."""
        found = _Committed(dict.fromkeys(unsure, COMPARED), {}, set())
        converted = git_index.converted(self._folder, unsure)
        try:
            index = git_index.entries(self._folder)
            staged = next(index, None)
            for raw, blob in git_head.committed(self._folder, self._commit):
                while staged is not None and staged[0] < raw:
                    staged = next(index, None)
                name = os.fsdecode(raw)
                entry = self.files.get(name)
                if entry is None:
                    found.absent.add(name)
                elif entry.flags & COMPARED:
                    continue
                elif staged is not None and staged[0] == raw and _is_clean(staged[1], entry.stat, blob):
                    is_plain = converted is not None and name not in converted
                    found.flags[name] = SAME | COMPARED | COMMITTED if is_plain else 0
                else:
                    found.flags[name] = 0
                if found.flags.get(name) == 0:
                    found.blobs[name] = blob
        except OSError as error:
            log.warning("the last commit of %s cannot be read: %s", self._folder, error)
            return None
        return found

    def _some(self, before: TreeNote, unsure: Sequence[str], changed: Sequence[str]) -> _Committed:
        """Uses the results of an earlier look, and the commit's blobs of the names that changed since."""
        unknown = {name for name in self.gone if not before.flags(name) & COMPARED}
        asked = dict.fromkeys([*unsure, *changed, *unknown])
        blobs = git_head.blobs(self._folder, self._commit, list(asked))
        were = {
            *before.absent,
            *(name for name in self.gone if before.flags(name) & COMMITTED),
        } - asked.keys()
        absent = {name for name in (*were, *blobs) if name not in self.files}
        flags = {name: 0 if name in blobs else COMPARED for name in unsure}
        return _Committed(flags, {name: blob for name, blob in blobs.items() if name in flags}, absent)

    def _may_be_same(self, name: str, blob: Blob) -> bool:
        """Whether the sizes allow the file to be as in the commit. Files that are too large are never read."""
        entry = self.files.get(name)
        size = MAX_TEXT + 1 if entry is None else entry.stat.size
        return size <= MAX_TEXT and line_ends.may_be_same(blob.size, size)

    def _compared(self, roots: Roots, name: str, blob: Blob) -> int:
        """The flags of a file that the commit has. The file is compared if there is still room for that."""
        entry = self.files.get(name)
        if entry is None:
            return 0
        if entry.stat.size > self._left.compared:
            return COMMITTED
        self._left.compared -= entry.stat.size
        data = self._bytes(roots, name, entry.stat)
        if data is None:
            return COMMITTED
        if git_head.object_id(data, blob.object_id) == blob.object_id:
            return COMPARED | COMMITTED | SAME
        without = line_ends.from_crlf(data)
        if without is not None and git_head.object_id(without, blob.object_id) == blob.object_id:
            return COMPARED | COMMITTED | SAME | CRLF
        self._read[name] = data
        return COMPARED | COMMITTED

    def keep(self, first: Container[str], made: Container[str]) -> None:
        """Keeps the contents of files that are not as in the commit, while there is room."""
        names = list(self.files.unlike(lambda flags: flags & SAME))
        self._keep([name for name in names if name not in made], first, self._left.room)
        self._keep([name for name in names if name in made], first, self._left.room_for_made)

    def _keep(self, names: Iterable[str], first: Container[str], left: Room) -> None:
        before = self._before
        with Roots([self._folder]) as roots:
            for name in self._newest_first(names, first, left.kept):
                entry = self.files.get(name)
                if entry is None or entry.stat.size > left.texts:
                    continue
                was = None if before is None else before.files.get(name)
                data = before.kept.get(name) if before and was and was.stat == entry.stat else None
                if data is None:
                    data = self._read.pop(name, None)
                if data is None:
                    data = self._bytes(roots, name, entry.stat)
                if data is not None:
                    self.kept[sys.intern(name)] = data  # interned: other looks keep the name, too
                    left.texts -= len(data)
                    left.kept -= 1

    def _newest_first(self, names: Iterable[str], first: Container[str], most: int) -> list[str]:
        """At most `most` names, without files that are too large: those in `first`, then those that changed last, which
        is what people and agents work on."""
        entries = ((name, self.files.get(name)) for name in names)
        keys = (
            (name not in first, -changed_at(entry.stat), name)
            for name, entry in entries
            if entry is not None and entry.stat.size <= MAX_TEXT
        )
        return [name for _, _, name in heapq.nsmallest(most, keys)]

    def _bytes(self, roots: Roots, name: str, stat: Stat) -> bytes | None:
        data = _read(roots, os.path.join(self._folder, name), stat)
        if data is None:
            self.recent[name] = file_time()
        return data


def _names_in(folder: str, paths: Iterable[str]) -> set[str]:
    top = os.path.join(folder, "")
    return {path[len(top) :] for path in paths if path.startswith(top)}


def _is_clean(staged: git_index.Staged, stat: Stat, blob: Blob) -> bool:
    return staged.object_id == blob.object_id and stat.size == blob.size and staged.is_still(stat)


def _read(roots: Roots, path: str, stat: Stat) -> bytes | None:
    """The file's bytes, if its stat is still this one."""
    found = resolve(roots, path, access="read")
    if not isinstance(found, Resolved):
        return None
    with found:
        if found.stat != stat:
            return None
        data = found.read_bytes(MAX_TEXT)
        return None if isinstance(data, Refusal) else bytes(data)


def _moved_along(files: FileTable, moved: Mapping[str, int], before: TreeNote | None) -> dict[str, int]:
    """By name: when an unchanged file arrived because its folder was moved here. Only files that are in neither the
    commit nor the earlier look: nobody knows that they were there before."""
    found: dict[str, int] = {}
    for name in files.unlike(lambda flags: flags & COMMITTED) if moved else ():
        folder = os.path.dirname(name)
        while folder and folder not in moved:
            folder = os.path.dirname(folder)
        if folder and (before is None or name not in before.files):
            found[name] = moved[folder]
    return found


def _or_equal(found: T, before: T) -> T:
    """`before` if the two are equal, so that the value is kept only once."""
    return before if before == found else found


def _folders(tree: Tree) -> frozenset[str] | None:
    found = folder_files.folders(tree.folder) if len(tree.names) <= MAX_WITH_FOLDERS else None
    return None if found is None else frozenset(found)


def _watched(folder: str, files: FileTable, before: TreeNote | None) -> Sequence[str]:
    if before is not None and before.files.folders.keys() == files.folders.keys():
        return before.watched
    names = sorted(files.folders, key=lambda name: name.count(os.sep))[:MAX_WATCHED]
    return [os.path.join(folder, name) if name else folder for name in names]
