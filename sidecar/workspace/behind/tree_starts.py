"""TreeStart: what the files of one repository, or of a folder without git, were when a turn began.

Files are noted by their stat. The last commit holds the contents of those that are as in it, in its line ends or in Windows'; the contents of the
others are kept, within bounds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sidecar.core.file_state import FileState, link
from sidecar.core.refusal import Refusal
from sidecar.disk import (
    Decoded,
    Resolved,
    Roots,
    Stat,
    decode,
    folder_files,
    git_head,
    git_index,
    line_ends,
    resolve,
)
from sidecar.disk.folder_files import Tree
from sidecar.disk.git_head import Blob
from sidecar.journal.turns import FolderStart, PreImage
from sidecar.workspace.state.acts import now as file_time

MAX_TEXT = 4 * 1024 * 1024
"""Bytes of one file's contents."""
MAX_TEXTS = 32 * 1024 * 1024
"""Bytes of all contents kept for one turn."""
MAX_KEPT = 2_000
"""Files whose contents are kept for one turn."""
MAX_COMPARED = 64 * 1024 * 1024
"""Bytes read at one turn's start to compare them with the last commit; what was compared once is known while its stat stays."""
MIN_INDEX = 100
"""Files from which on git's index is asked for them: reading so many takes longer."""
MAX_WITH_FOLDERS = 5_000
"""Files of a tree up to which it is noted which folders are in it, empty ones as well."""


@dataclass(frozen=True, slots=True)
class Before:
    """What was under a name when the turn began."""

    state: FileState | None
    """None: there was nothing, or `why` it is not known."""
    stat: Stat | None = None
    """Of the file; None: there was none, or a link."""
    why: str = ""


class Compared(NamedTuple):
    """A file that was compared with the last commit."""

    stat: Stat
    """What it was then."""
    object_id: str
    """Of what it held, without the CRs if `crlf`; "": it is none that was looked for."""
    crlf: bool
    """Every line ended in CR LF."""


@dataclass(slots=True)
class Known:
    """What was found out about the files of a folder in earlier turns, of all sessions."""

    commit: str = ""
    head: Mapping[str, Blob] = field(default_factory=dict[str, Blob])
    """What that commit holds."""
    compared: dict[str, Compared] = field(default_factory=dict[str, Compared])
    """By name relative to the folder."""

    def at(self, folder: str, commit: str) -> Mapping[str, Blob]:
        """What the commit with this id holds; "": none."""
        if commit != self.commit:
            self.commit, self.head = commit, git_head.head(folder, commit) if commit else {}
        return self.head

    def is_same(self, name: str, stat: Stat, blob: Blob) -> bool:
        """Whether the file with that stat is known to be as in the commit, where it is `blob`."""
        known = self.compared.get(name)
        return known is not None and known.stat == stat and known.object_id == blob.object_id

    def take_index(self, folder: str, stats: Mapping[str, Stat]) -> None:
        """Takes from git's index, where that knows it, which of these files are as in the commit."""
        plain = [n for n, stat in stats.items() if n in self.head and self.head[n].size == stat.size]
        for name, staged in git_index.staged(folder, plain).items() if len(plain) >= MIN_INDEX else ():
            if staged.object_id == self.head[name].object_id and staged.is_still(stats[name]):
                self.compared[name] = Compared(stats[name], staged.object_id, crlf=False)


@dataclass(slots=True)
class Left:
    """What one turn may still read and keep, of all its trees together."""

    compared: int = field(default_factory=lambda: MAX_COMPARED)
    texts: int = field(default_factory=lambda: MAX_TEXTS)
    kept: int = field(default_factory=lambda: MAX_KEPT)


@dataclass(slots=True)
class TreeStart:
    """Names are relative to `folder`. Everything here blocks for the disk; any thread."""

    folder: str
    """Canonical."""
    commit: str
    git_dir: str
    head: Mapping[str, Blob]
    stats: dict[str, Stat]
    modes: dict[str, int]
    links: dict[str, str]
    began: int
    """See acts.py."""
    kept: dict[str, bytes] = field(default_factory=dict[str, bytes])
    folders: set[str] | None = None
    """Names of the folders; None: too many to know."""
    seen: dict[str, Stat | None] = field(default_factory=dict[str, "Stat | None"])
    """What files were when they were last asked for; only of those that changed."""
    same: set[str] = field(default_factory=set[str])
    """Names of files that are as in the last commit."""
    crlf: set[str] = field(default_factory=set[str])
    """Those of `same` in which every line ends in CR LF, and in LF in the commit (git's `eol=crlf` and `core.autocrlf`)."""

    @classmethod
    def take(cls, tree: Tree, left: Left, known: Known) -> TreeStart:
        """`known`: from earlier turns; it is brought up to date."""
        commit = git_head.commit(tree.folder)
        head = known.at(tree.folder, commit.id if commit else "")
        began = file_time()
        there = folder_files.entries(tree.folder, tree.names)
        commit_id, git_dir = ("", "") if commit is None else commit
        start = cls(tree.folder, commit_id, git_dir, head, there.stats, there.modes, there.links, began)
        if len(tree.names) <= MAX_WITH_FOLDERS:
            start.folders = folder_files.folders(tree.folder)
        unsure: dict[str, Stat] = {}
        for name, stat in start.stats.items():
            blob = head.get(name)
            if blob is None or not known.is_same(name, stat, blob):
                unsure[name] = stat
            else:
                start._is_same(name, known)
                start.stats[name] = known.compared[name].stat  # it is equal, and all sessions share it
        known.take_index(tree.folder, unsure)
        with Roots([tree.folder]) as roots:
            for name, stat in unsure.items():
                start._note(name, stat, roots, left, known)
        return start

    def _is_same(self, name: str, known: Known) -> None:
        self.same.add(name)
        if known.compared[name].crlf:
            self.crlf.add(name)

    def _note(self, name: str, stat: Stat, roots: Roots, left: Left, known: Known) -> None:
        path, blob = os.path.join(self.folder, name), self.head.get(name)
        data: bytes | None = None
        if blob is not None and line_ends.may_be_same(blob.size, stat.size):
            is_new = name not in known.compared or known.compared[name].stat != stat
            if is_new and stat.size <= min(left.compared, MAX_TEXT):
                left.compared -= stat.size
                data = _read(roots, path, stat)
                if data is not None:
                    known.compared[name] = _compare(data, stat, blob)
            if known.is_same(name, stat, blob):
                self._is_same(name, known)
                return
        if stat.size > min(MAX_TEXT, left.texts) or not left.kept:
            return
        if data is None:
            data = _read(roots, path, stat)
        if data is not None:
            self.kept[name] = data
            left.texts -= len(data)
            left.kept -= 1

    def saved(self, name: str, data: bytes, stat: Stat, mode: int) -> None:
        """The user saved a file: what is done to its text now begins from there. Its mode is what it was when the turn began; `mode`: of a file
        that there was not."""
        self.stats[name], self.kept[name] = stat, data
        self.modes.setdefault(name, mode)
        self.same.discard(name)
        self.links.pop(name, None)

    def name(self, path: str) -> str | None:
        """Relative to the folder, when it is beneath it."""
        prefix = os.path.join(self.folder, "")
        return path[len(prefix) :] if path.startswith(prefix) else None

    def has(self, name: str) -> bool:
        return name in self.stats or name in self.links

    def held(self, names: Iterable[str]) -> dict[str, bytes]:
        """What the last commit holds of those of these files that are as in it, by object id."""
        ids = {self.head[name].object_id for name in names if name in self.same}
        return git_head.contents(self.folder, ids, self.git_dir)

    def before(self, name: str, held: Mapping[str, bytes]) -> Before:
        """`held`: what the last commit holds of it."""
        target, stat = self.links.get(name), self.stats.get(name)
        if target is not None:
            return Before(link(target))
        if stat is None:
            return Before(None)
        if name in self.same:
            data = held.get(self.head[name].object_id)
            if data is None:
                return Before(None, stat, "the commit that holds its text is gone")
            data = line_ends.to_crlf(data) if name in self.crlf else data
        else:
            data = self.kept.get(name)
            if data is None:
                return Before(
                    None, stat, "it was too large to keep, or too many files differed from the last commit"
                )
        return Before(FileState(data, self.modes.get(name, 0o644)), stat)

    def for_journal(self) -> FolderStart:
        texts: dict[str, PreImage] = {}
        unknown: list[str] = []
        for name in self.stats:
            if name in self.same:
                continue
            data = self.kept.get(name)
            image = None if data is None else decode(data)
            if isinstance(image, Decoded):
                texts[name] = PreImage(image.text, image.encoding, image.bom)
            else:
                unknown.append(name)
        absent = [name for name in self.head if name not in self.stats]
        return FolderStart(self.folder, self.commit, texts, absent, unknown, sorted(self.crlf))


def _compare(data: bytes, stat: Stat, blob: Blob) -> Compared:
    if len(data) == blob.size:
        return Compared(stat, git_head.object_id(data, blob.object_id), crlf=False)
    without = line_ends.from_crlf(data)
    if without is not None and len(without) == blob.size:
        return Compared(stat, git_head.object_id(without, blob.object_id), crlf=True)
    return Compared(stat, "", crlf=False)


def _read(roots: Roots, path: str, stat: Stat) -> bytes | None:
    """The file's bytes, if it still is what it was when its stat was taken."""
    found = resolve(roots, path, access="read")
    if not isinstance(found, Resolved):
        return None
    with found:
        if found.stat != stat:
            return None
        data = found.read_bytes(MAX_TEXT)
        return None if isinstance(data, Refusal) else bytes(data)
