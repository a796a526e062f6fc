"""Scene: what a whole turn is played with, from its seed, and what is there at the moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal

from tests.support.editor_fake import FakeEditor
from tests.support.workspaces import Bench
from tests.turns import killed
from tests.turns.commands import Commands
from tests.turns.doors import CommandLine
from tests.turns.journals import Fuse
from tests.turns.world import USERS, World

LINES = 9

TOOLS_FROM = 1885160000
"""The first seed whose agents may have tools of their own that edit files. Seeds before it are played as they always were."""


@dataclass(slots=True)
class Report:
    seed: int
    moment: int | None = None
    """In which a sidecar was to be killed (see `play`); None: as the seed says."""
    in_the_middle: bool = False
    """It was: there were as many."""
    problems: list[str] = field(default_factory=list[str])
    refused: bool = False
    """The command line said that it could not take back everything, whatever the order; the review was to."""

    def __str__(self) -> str:
        killed = "" if self.moment is None else f", killed at moment {self.moment}"
        return f"seed {self.seed}{killed}: " + ("; ".join(self.problems) or "nothing wrong")


Ending = Literal["", "shut down", "killed in a turn", "killed taking back"]
ENDINGS: tuple[Ending, ...] = ("", "", "", "shut down", "killed in a turn", "killed taking back")
"""How a sidecar ends before everything is taken back; "": it does not."""


def ending_of(seed: int) -> Ending:
    return Random(f"ending {seed}").choice(ENDINGS)


class Scene:
    def __init__(
        self, seed: int, folder: Path, journal: Path, say: Callable[[str], None], report: Report
    ) -> None:
        self.seed = seed
        self.random = Random(f"turns {seed}")
        self.folder = folder
        self.outside = folder.parent
        self.world = World(folder)
        self.say = say
        self.report = report
        self.editor: FakeEditor
        self.bench: Bench
        self.journal = journal
        self.command_line = CommandLine(journal, say)
        self.ending = ending_of(seed)
        if self.ending.startswith("killed") and not killed.CAN:
            self.ending = "shut down"
        self.fuse: Fuse | None = None
        self.attached = False
        """The editor has its documents, and has told a sidecar of them."""
        self.documents: dict[str, str | None] = {}
        self.seen: dict[str, bytes | None] = {}
        self.makes_anew = Random(f"anew {seed}").random() < 0.5
        self.fills_made = Random(f"fills {seed}").random() < 0.3
        self.disk_seconds = Random(f"disk seconds {seed}").choice([0, 0.05, 0.3])
        self.reviews = Random(f"reviews {seed}")
        self.reviews_meanwhile = self.reviews.random() < 0.5
        kinds = Random(f"kinds {seed}")
        self.names_late = kinds.random() < 0.3
        self.session_count = kinds.choice([1, 1, 2])
        self.more_acts = kinds.sample(["formats", "checks_out", "generates"], kinds.choice([0, 1, 2]))
        self.open_too = Random(f"open too {seed}").random() < 0.3
        """Agents also move and remove files that are open, and make bytes of texts; and the user leaves text unsaved."""
        self.tools = Random(f"tools {seed}")
        self.has_tools = seed >= TOOLS_FROM and self.tools.random() < 0.4
        self.sessions: list[str] = []
        self.commands = Commands(folder, Random(f"commands {seed}"), self._there, self._changed, say)
        self.words = 0
        self.calls = 0
        self.running: set[str] = set()
        """The calls of the turn of which the agent has not said yet that they are over."""
        self.gone: dict[str, bytes] = {}
        """What an agent removed, as it was when the turn began."""
        self.names = [f"f{i}.txt" for i in range(3)] + ["sub/g.txt", "sub/deep/h.txt"]
        self.others = ["image", "run.sh", "link"]
        self.within: list[str] = []
        """Folders of a repository in the folder."""

    def word(self, who: str) -> str:
        self.words += 1
        return f"{who}{self.words}"

    def _there(self) -> list[str]:
        return [name for name in self.names if not (self._data(name) or b"\0").startswith(b"\0")]

    def _changed(self, data: bytes) -> bytes:
        """An agent's lines in it are others now."""
        lines = data.decode().split("\n")
        for i in self.random.sample(range(LINES), 3):
            if i not in USERS and i < len(lines) - 1:
                lines[i] = self.word("agent")
        return "\n".join(lines).encode()

    def _open(self) -> list[str]:
        return [name for name in self.names if self.editor.uri(name) in self._documents()]

    def _documents(self) -> set[str]:
        return {uri for uri, buffer in self.editor.model.documents.items() if not buffer.hidden}

    def _data(self, name: str) -> bytes | None:
        path = self.folder / name
        return path.read_bytes() if path.is_file() else None

    def _is_unsaved(self, name: str) -> bool:
        if name not in self._open():
            return False
        data = self._data(name)
        return data is None or _lines(self.editor.text(name)) != _lines(data.decode(errors="replace"))

    def _is_bytes(self, name: str) -> bool:
        """Whether the file is no text; editors show it in another way."""
        return (self._data(name) or b"").startswith(b"\0")

    def _acts_run(self) -> bool:
        """Whether an act of the agent's may be running by what it said: then nobody could tell. (Nor can what finds the changes of a turn in which the
        sidecar was killed.)"""
        return bool(self.running)


def _lines(text: str) -> list[str]:
    """Other line ends are no other text: editors show each as the end of a line, also those among bytes that are no text (seed 1885220292)."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
