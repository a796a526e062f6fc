"""TreeStart: the state of all files of one repository, or of a folder without git, when a session's turn began. It
consists of a note (tree_notes.py) and what the user has saved since.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal, NamedTuple

from sidecar.core.file_state import FileState, link
from sidecar.disk import Decoded, Stat, decode, git_head, line_ends
from sidecar.disk.file_table import CRLF, SAME
from sidecar.journal.turns import BYTES, FolderStart, PreImage
from sidecar.workspace.behind.tree_notes import MAX_TEXTS, TreeNote

LATE = "it changed before it could be noted"
NOT_KEPT = "it was too large to keep, or too many files differed from the last commit"
LOST = "the commit that holds its text is gone"


@dataclass(frozen=True, slots=True)
class Before:
    """What was under a name when the turn began."""

    state: FileState | None
    """None: there was nothing, or it is not known (`why`)."""
    stat: Stat | None = None
    """A file's stat; None: there was no file, or a link."""
    why: str = ""
    asked: int = 0
    """When the agent got its prompt (acts.py), if the file changed after that and before it was looked at; else 0."""

    @property
    def is_unseen(self) -> bool:
        """Whether it was not looked at in time. Others who saw the file then may know what it said."""
        return self.asked > 0


class SavedFile(NamedTuple):
    """A file that the user saved while the turn runs, or what we put back under its name for the user."""

    stat: Stat | None
    """None: there is no file."""
    data: bytes
    """The file's content, or the link's target."""
    mode: int
    put_back: Literal["", "file", "link", "none", "mode"] = ""
    """What was put back; empty: the user saved the file. "mode": nothing but the mode counts here."""


@dataclass(slots=True)
class TreeStart:
    """Names are relative to `folder`. Everything here except `name`, `has`, `stat`, `mode` and `is_late` blocks for the
    disk; any thread."""

    note: TreeNote
    asked: int | None = None
    """When the agent was given its prompt (acts.py), if the look was not over by then. What changed between that and
    the look is not known."""
    saves: dict[str, SavedFile] = field(default_factory=dict[str, SavedFile])
    modes: dict[str, int] = field(default_factory=dict[str, int])
    """By name of a file: the mode that was put back since."""
    seen: dict[str, Stat | str | None] = field(default_factory=dict[str, "Stat | str | None"])
    """By name of a file or a link that changed or came since: the file's stat, or the link's target, when it was last asked for."""
    came: set[str] = field(default_factory=set[str])
    """Names of files that were found since."""
    _held: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """By name: contents from the last commit that were asked for. Git is started once for many files, and not for each request."""
    _room: int = MAX_TEXTS
    """Bytes of such contents that may still be kept."""
    _wanted: dict[str, None] = field(default_factory=dict[str, None])
    """Names that are asked for, and that git has not been asked for yet."""
    _asking: Lock = field(default_factory=Lock)

    @property
    def folder(self) -> str:
        return self.note.folder

    @property
    def same(self) -> set[str]:
        """Names of files that are as in the last commit, except perhaps for their line ends."""
        return set(self.note.files.unlike(lambda flags: not flags & SAME)) - self.saves.keys()

    @property
    def kept(self) -> Mapping[str, bytes]:
        return {**self.note.kept, **{name: save.data for name, save in self.saves.items()}}

    def __len__(self) -> int:
        return len(self.note.files)

    def names(self) -> Iterator[str]:
        """All names that are known, each once: files, links, and those that changed or went before they could be noted."""
        yield from self.note.files
        for name in dict.fromkeys([*self.saves, *self.note.links, *self.late()]):
            if name not in self.note.files:
                yield name

    def late(self) -> list[str]:
        """Names whose state at the turn's start is not known, because they changed or went before they could be noted."""
        return [name for name in self.note.recent if self.is_late(name)]

    def is_late(self, name: str) -> bool:
        return (
            self.asked is not None and self.note.recent.get(name, 0) > self.asked and name not in self.saves
        )

    def saved(self, name: str, save: SavedFile) -> None:
        """Later changes of the file's text are measured from `save`.

        The mode stays what it was when the turn began, unless it was put back, too. If there was no file then, the mode
        of `save` counts.
        """
        if save.put_back == "mode":
            self.modes[name] = save.mode
            return
        if save.put_back:
            self.modes.pop(name, None)
        mode = None if save.put_back else self.mode(name)
        self.saves[name] = save if mode is None else save._replace(mode=mode)

    def comes(self, name: str, stat: Stat) -> None:
        """A file was found, with this stat, that did not exist."""
        self.came.add(name)
        self.seen[name] = stat

    def name(self, path: str) -> str | None:
        """The path relative to the folder; None if it is not beneath it."""
        prefix = os.path.join(self.folder, "")
        return path[len(prefix) :] if path.startswith(prefix) else None

    def has(self, name: str) -> bool:
        return name in self.saves or name in self.note.files or name in self.note.links or self.is_late(name)

    def stat(self, name: str) -> Stat | None:
        """A file's stat; None: there was no file."""
        if name in self.saves:
            return self.saves[name].stat
        entry = self.note.files.get(name)
        return None if entry is None else entry.stat

    def mode(self, name: str) -> int | None:
        """A file's permission bits; None: there was no file, or they are not known."""
        if name in self.modes:
            return self.modes[name]
        if name in self.saves:
            save = self.saves[name]
            return None if save.stat is None else save.mode
        entry = self.note.files.get(name)
        return None if entry is None or self.is_late(name) else entry.mode

    def link(self, name: str) -> str | None:
        """A symbolic link's target; None: it was no link."""
        save = self.saves.get(name)
        if save is None:
            return self.note.links.get(name)
        return os.fsdecode(save.data) if save.put_back == "link" else None

    def links(self) -> list[str]:
        """The names of all symbolic links."""
        known = dict.fromkeys([*self.note.links, *self.saves])
        return [name for name in known if self.link(name) is not None]

    def had_folder(self, name: str) -> bool:
        """Whether this folder existed, as far as folders are noted."""
        save = self.saves.get(name)
        is_gone = save is not None and save.put_back == "none"
        return self.note.folders is not None and name in self.note.folders and not is_gone

    def held(self, names: Iterable[str]) -> dict[str, bytes]:
        """By name: what the last commit holds of those of these files that are as in it."""
        if self.note.commit is None:
            return {}
        same = self.wants(names)
        with self._asking:  # whoever waits here finds its names asked for already
            if all(name in self._held for name in same):
                return {name: self._held[name] for name in same}
            wanted, self._wanted = self._wanted if self._room > 0 else {}, {}
            asked = [name for name in {**wanted, **dict.fromkeys(same)} if name not in self._held]
            found = git_head.contents_in(self.note.commit, asked)
            for name, data in found.items():
                if self._room >= len(data):
                    self._room -= len(data)
                    self._held[name] = data
            return {
                name: data for name in same if (data := found.get(name, self._held.get(name))) is not None
            }

    def wants(self, names: Iterable[str]) -> list[str]:
        """Note that `held` will be called for these files: the next call asks git for all of them. Returns those that the commit may hold."""
        same = [name for name in names if name not in self.saves and self.note.flags(name) & SAME]
        self._wanted.update(dict.fromkeys(same))
        return same

    def before(self, name: str, held: Mapping[str, bytes]) -> Before:
        """What was under the name. `held`: as `held` returned it for this name."""
        if self.is_late(name):
            return Before(None, self.stat(name), LATE, self.asked or 0)
        target, stat = self.link(name), self.stat(name)
        if target is not None:
            return Before(link(target))
        if stat is None:
            return Before(None)
        flags = 0 if name in self.saves else self.note.flags(name)
        data = self.saves[name].data if name in self.saves else self.note.kept.get(name)
        if flags & SAME:
            data = held.get(name)
            data = line_ends.to_crlf(data) if data is not None and flags & CRLF else data
        if data is None:
            noted = LATE if name in self.note.recent else NOT_KEPT
            return Before(None, stat, LOST if flags & SAME else noted)
        mode = self.mode(name)
        return Before(FileState(data, 0o644 if mode is None else mode), stat)

    def for_journal(self, made_folders: Collection[str] = ()) -> FolderStart:
        """`made_folders`: see `Touched`. Whoever goes on after this process learns that agents made them only from the files in them that this turn
        makes: to the journal, they were not there when it began."""
        texts: dict[str, PreImage] = {}
        unknown = self.late()
        for name in self.note.files.unlike(lambda flags: flags & SAME):
            data = None if self.is_late(name) else self.note.kept.get(name)
            image = None if data is None else decode(data)
            if isinstance(image, Decoded):
                texts[name] = PreImage(image.text, image.encoding, image.bom)
            elif data is not None:
                texts[name] = PreImage(data.decode("latin-1"), BYTES, b"")
            else:
                unknown.append(name)
        crlf = self.note.files.unlike(lambda flags: not flags & CRLF)
        absent = [name for name in self.note.absent if not self.is_late(name)]
        return FolderStart(
            self.folder,
            self.note.commit_id,
            texts,
            absent,
            list(dict.fromkeys(unknown)),
            sorted(crlf),
            self._folders_less(made_folders),
            {name: target for name, target in self.note.links.items() if not self.is_late(name)},
            self._modes(),
        )

    def _folders_less(self, made: Collection[str]) -> list[str] | None:
        folders = self.note.folders
        return None if folders is None else sorted(folders - {self.name(folder) for folder in made})

    def _modes(self) -> dict[int, list[str]] | None:
        """The modes in the form of `FolderStart.modes`. Only for trees that are small enough to note their folders."""
        if self.note.folders is None:
            return None
        found: dict[int, list[str]] = {}
        for name, entry in self.note.files.entries():
            found.setdefault(entry.mode, []).append(name)
        commonest = max(found, key=lambda mode: len(found[mode]), default=0o644)
        return {**found, commonest: [""]}
