"""The names of the files in a folder that people work on: those that git tracks or does not ignore. Without git, all files of a small folder.

A folder with its own `.git` is a separate tree: a nested repository, a submodule, or one of several repositories in a folder that is not a repository
itself.

The work is bounded: a tree with too many files is treated as having none.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from sidecar.disk import git_head
from sidecar.disk.resolve import Stat

MAX_FILES = 300_000
"""The limit for one folder with git, and for all trees in a folder together."""
MAX_TREES = 200
"""The limit of trees in one folder: git takes about ten milliseconds for each."""
MAX_FILES_WITHOUT_GIT = 100_000
MAX_FOLDERS_WITHOUT_GIT = 50_000
"""Folders take time too, even empty ones."""
COUNTED = 250
"""The number of files after which their count is reported while they are found."""
SKIPPED = frozenset({"node_modules", "__pycache__", "target", "venv", "dist", "build"})
"""Folders that are not walked where git does not say what to ignore. Hidden folders are not walked either."""


class Entries(NamedTuple):
    """What exists under some names in a folder."""

    stats: dict[str, Stat]
    """The stats of regular files."""
    modes: dict[str, int]
    """Their permission bits."""
    links: dict[str, str]
    """The targets of symbolic links, as stored in them."""


class Tree(NamedTuple):
    """The files of one repository, or of a folder without git."""

    folder: str
    """An absolute path."""
    names: list[str]
    """Relative to `folder`, without the files of other trees in it."""


class Trees(NamedTuple):
    found: list[Tree]
    """The folder's own tree first; each tree before those in it."""
    too_large: list[str]
    """The folders of trees that have too many files, or exceed the number of trees."""


Counted = Callable[[int], None]
"""Called with the least number of files, as soon as it is known."""


def _tell_nobody(_: int) -> None: ...


def trees(folder: str, counted: Counted = _tell_nobody) -> Trees:
    """Return the trees in a folder (an absolute path), including its own."""
    all_trees = Trees([], [])
    left = [folder]
    files = 0
    for top in left:  # the list grows meanwhile
        if len(all_trees.found) == MAX_TREES:
            all_trees.too_large.append(top)
            continue
        tree, inner = own(top, alone=top != folder, counted=lambda more, before=files: counted(before + more))
        left += [os.path.join(top, name) for name in inner]
        files += 0 if tree is None else len(tree.names)
        if tree is None or files > MAX_FILES:
            all_trees.too_large.append(top)
        else:
            all_trees.found.append(tree)
    return all_trees


def own(
    folder: str, *, alone: bool = False, counted: Counted = _tell_nobody
) -> tuple[Tree | None, list[str]]:
    """Return the folder's own tree (an absolute path), and the names of the trees in it. None if it has too many files. `alone`: it does not belong
    to a repository around it."""
    known = git_head.names(folder, alone=alone)
    if known is not None:
        counted(len(known.files))
        few = len(known.files) <= MAX_FILES
        return Tree(folder, known.files) if few else None, known.repositories
    found: list[str] = []
    inner: list[str] = []
    folders = 0
    for name in _walk(folder, inner):
        if name is None:
            folders += 1
        else:
            found.append(name)
        if len(found) % COUNTED == 0:
            counted(len(found))
        if len(found) > MAX_FILES_WITHOUT_GIT or folders > MAX_FOLDERS_WITHOUT_GIT:
            return None, []
    return Tree(folder, found), inner


def names(folder: str) -> list[str] | None:
    """Return the files to look at, of all trees, relative to `folder` (an absolute path). None if the folder's own tree has too many."""
    found = trees(folder)
    if not found.found or found.found[0].folder != folder:
        return None
    return [
        os.path.relpath(os.path.join(tree.folder, name), folder) if tree.folder != folder else name
        for tree in found.found
        for name in tree.names
    ]


def stats(folder: str, of: Iterable[str]) -> dict[str, Stat]:
    """Return the stats of those that are regular files."""
    found: dict[str, Stat] = {}
    for name in of:
        try:
            stat = os.lstat(os.path.join(folder, name))
        except OSError:
            continue
        if modes.S_ISREG(stat.st_mode):
            found[name] = Stat.of(stat)
    return found


def entries(folder: str, of: Iterable[str]) -> Entries:
    """Return the entries of those that are regular files or symbolic links."""
    found = Entries({}, {}, {})
    top = os.path.join(folder, "") if folder else ""
    for name in of:
        try:
            stat = os.lstat(top + name)
            mode = stat.st_mode
            if modes.S_ISREG(mode):
                found.stats[name] = Stat.of(stat)
                found.modes[name] = mode & 0o777
            elif modes.S_ISLNK(mode):
                found.links[name] = os.readlink(top + name)
        except OSError:
            continue
    return found


def folders(folder: str) -> set[str] | None:
    """Return the folders in it, relative to it. Folders that are skipped by name are not entered. None: too many."""
    found: set[str] = set()
    left = [""]
    while left:
        below = left.pop()
        try:
            with os.scandir(os.path.join(folder, below)) as entries:
                inner = [os.path.join(below, e.name) for e in entries if e.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        found.update(inner)
        left += [name for name in inner if not is_skipped(os.path.basename(name))]
        if len(found) > MAX_FOLDERS_WITHOUT_GIT:
            return None
    return found


def is_left_out(folder: str, name: str) -> bool:
    """Whether `names` would leave out a file of that name, relative to the folder, if it existed."""
    ignored = git_head.is_ignored(folder, name)
    if ignored is not None:
        return ignored
    return any(is_skipped(part) for part in name.split(os.sep)[:-1])


def is_skipped(name: str) -> bool:
    """Whether a folder with this name is skipped where git does not say what to ignore."""
    return name in SKIPPED or name.startswith(".")


def _walk(folder: str, repositories: list[str]) -> Iterator[str | None]:
    """Yield files by name, and None for each folder entered. Folders with a `.git` are added to `repositories` instead. Uses a list instead of
    recursion, because folders can be nested as deeply as a path allows.
    """
    left = [""]
    while left:
        below = left.pop()
        yield None
        try:
            with os.scandir(os.path.join(folder, below)) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        if below and any(entry.name == ".git" for entry in listed):
            repositories.append(below)
            continue
        inner: list[str] = []
        for entry in listed:
            name = os.path.join(below, entry.name)
            if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield name
            elif entry.is_dir(follow_symlinks=False) and not is_skipped(entry.name):
                inner.append(name)
        left += reversed(inner)
