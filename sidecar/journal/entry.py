"""Entry: one write to be journalled before it is made. Recorded: one write as the journal returns it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sidecar.core.any_text import AnyText
from sidecar.core.change import ChangeSet
from sidecar.core.file_state import FileState
from sidecar.core.places import Places
from sidecar.core.retold import Fate, Picked, Told
from sidecar.core.text import Text
from sidecar.core.versions import Author


@dataclass(frozen=True, slots=True)
class Entry:
    """A write by an agent, journalled before it is made. Texts are raw: exactly as in the mirror or the decoded file."""

    session: str
    agent: str
    turn: int
    tool_call: str | None
    root: str
    """The session's folder."""
    path: str
    """A canonical path."""
    before: AnyText | None
    """None: the file does not exist."""
    after: AnyText | None
    """None: the file is removed."""
    encoding: str
    bom: bytes
    via: Literal["editor", "disk"]
    states: tuple[FileState | None, FileState | None] | None = None
    """The whole state under the path before and after the write, if texts do not cover it: a mode, a link, bytes that are no text, a removal. A None
    inside means that nothing is there."""
    made: tuple[str, ...] = ()
    """The folders (canonical) that were created for the file. They are removed with it if they are otherwise empty."""
    changes: ChangeSet | Places | None = field(default=None, compare=False)
    """The changes from `before` to `after`, if known; the texts are then not compared again."""
    kept: tuple[Text | None, Text | None] = field(default=(None, None), compare=False)
    """`before` and `after`, if they stay in memory anyway: the journal then remembers these objects instead of copies."""


UNKNOWN = "unknown"
"""The agent of entries of changes that were found while agents worked and whose author is unknown. They have no session."""

TAKES_BACK = ("reject", "revert")
"""The agents of entries that take other entries back."""

EntryState = Literal["done", "failed", "unknown", "kept", "rejected", "undone"]
"""The outcome of a write, and later of its review. `undone`: taken back by `acp-sidecar revert`."""
State = Literal["intent", EntryState]
"""`intent`: journalled, with the outcome not yet known."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A write as found in the journal, without its texts (see `Store.texts`)."""

    id: str
    """Sorts by time: 10 characters of time, 6 random ones, in Crockford's base 32, lower case."""
    created: float
    """Wall clock, seconds since the epoch."""
    owner: str
    """The process that journalled it; see alive.py."""
    session: str
    agent: str
    turn: int
    tool_call: str | None
    root: str
    path: str
    existed: bool
    """Whether the file existed before the write."""
    exists: bool
    """Whether the file exists after the write."""
    encoding: str
    bom: bytes
    via: Literal["editor", "disk"]
    state: State
    added: int
    removed: int
    """`added` and `removed` are numbers of whole lines, counted as in a diff."""

    @property
    def short(self) -> str:
        """A short part of the id that identifies it, for people."""
        return self.id[-6:]

    @property
    def has_removed(self) -> bool:
        """Whether the write removed the file and was not taken back."""
        return not self.exists and self.state not in ("failed", "undone", "rejected")


class Texts(NamedTuple):
    """The raw texts of a write. None: there was no file."""

    before: str | None
    after: str | None


class JournalFailed(Exception):
    """The journal cannot be written or read. The change that it was about to record must not be made.

    The message is a clause for the user. It contains no local paths, because agents see it too.
    """


class JournalLocked(JournalFailed):
    """Another program has kept the journal locked for longer than a caller should wait."""

    def __init__(self) -> None:
        super().__init__("another program keeps the journal's file locked; try again")


def author_of(entry: Recorded, *, created: bool) -> Author:
    """Return the author of a write, for the review. `created`: the write created the file."""
    unknown = entry.agent == UNKNOWN
    agent = "" if unknown else entry.agent
    return Author(entry.session, entry.turn, entry.id, entry.tool_call, created, agent, unknown=unknown)


def told(entry: Recorded, picked: Sequence[Picked], took_back: Sequence[str], *, whole: bool) -> Told:
    """Return a write, without its texts, in the form from which the file's review is reconstructed. `picked`: the hunks that were kept one by one before
    the next write; `took_back`: the writes that it took back; `whole`: it has states."""
    fates: dict[str, Fate] = {"kept": "kept", "rejected": "taken back", "undone": "taken back"}
    # A change on the disk may not be the agent's, and is not under review
    fates["unknown"] = "perhaps made" if entry.via == "editor" else "kept"
    fate = "takes back" if entry.agent in TAKES_BACK else fates.get(entry.state, "open")
    author = author_of(entry, created=not entry.existed)
    return Told(author, None, None, fate, whole, picked, took_back, entry.via == "editor")
