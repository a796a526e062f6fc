"""World: the oracle of whole turns. It knows who did what because it is told when it is done, and shares no code with the product.

Every file is a list of numbered lines, each of which is one actor's: nobody but the user changes the user's lines. So what must be there once
everything of the agents' is taken back is known without any merging: the lines and the entries of the turn's start, with what the user
did since.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

USERS = (1, 4, 7)
"""Lines that only the user changes; the others are the agents'."""
Entry = tuple[str, bytes, int]
"""Kind (file or link), contents or target, permission bits."""


def entries(folder: Path) -> dict[str, Entry]:
    """All there is beneath the folder, by name relative to it, without git's own."""
    found: dict[str, Entry] = {}
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names + [name for name in folders if os.path.islink(os.path.join(top, name))]:
            path = Path(top, name)
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                found[path.relative_to(folder).as_posix()] = "link", os.readlink(path).encode(), 0
            elif name != ".git":
                found[path.relative_to(folder).as_posix()] = "file", path.read_bytes(), mode & 0o777
    return found


def folders(folder: Path) -> set[str]:
    return {
        Path(top, name).relative_to(folder).as_posix()
        for top, names, _ in os.walk(folder)
        for name in names
        if ".git" not in Path(top, name).relative_to(folder).parts
        and not os.path.islink(os.path.join(top, name))
    }


@dataclass
class World:
    """What must be there in the end."""

    folder: Path
    wanted: dict[str, Entry] = field(default_factory=dict[str, Entry])
    wanted_folders: set[str] = field(default_factory=set[str])

    def begins(self) -> None:
        self.wanted = entries(self.folder)
        self.wanted_folders = folders(self.folder)

    def users_line(self, name: str, line: int, text: str) -> None:
        """The user made one of their lines say this, and saved it."""
        kind, data, mode = self.wanted[name]
        lines = data.decode().split("\n")
        lines[line] = text
        self.wanted[name] = kind, "\n".join(lines).encode(), mode

    def users_choice(self, name: str, text: str) -> None:
        """The user had two texts of a file, and saved this one over the other: their lines are as they are here."""
        wanted, lines = self.wanted[name][1].decode().split("\n"), text.split("\n")
        for number in USERS if len(lines) == len(wanted) else ():
            self.users_line(name, number, lines[number])

    def users_file(self, name: str, text: str) -> None:
        """The user made a file."""
        self.wanted[name] = "file", text.encode(), 0o644
        folder = os.path.dirname(name)
        while folder:
            self.wanted_folders.add(folder)
            folder = os.path.dirname(folder)

    def problems(self, unsaved: dict[str, str]) -> list[str]:
        """What is not as it must be. `unsaved`: what files say for the user that are open."""
        found = entries(self.folder)
        problems: list[str] = []
        for name in sorted(found.keys() | self.wanted.keys()):
            now, wanted = found.get(name), self.wanted.get(name)
            if name in unsaved and wanted is not None and unsaved[name].encode() != wanted[1]:
                problems.append(f"{name}: the editor says {unsaved[name]!r} for {wanted[1]!r}")
            if now == wanted:
                continue
            if now is None:
                problems.append(f"{name}: gone")
            elif wanted is None:
                problems.append(f"{name}: left behind as {_shown(now)}")
            else:
                problems.append(f"{name}: {_shown(now)} for {_shown(wanted)}")
        problems += [f"{name}/: left behind" for name in sorted(folders(self.folder) - self.wanted_folders)]
        return problems


def _shown(entry: Entry) -> str:
    kind, data, mode = entry
    return f"{kind} {mode:o} {data[:120]!r}"
