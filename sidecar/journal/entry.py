"""Entry: one write as it is journalled before it is made; Recorded: one as the journal holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Entry:
    """One write of an agent, as it is journalled before it is made. Texts are raw, as the mirror or the decoded file has them."""

    session: str
    agent: str
    turn: int
    tool_call: str | None
    root: str
    """The session's folder."""
    path: str
    """Canonical."""
    before: str | None
    """None: the file does not exist."""
    after: str | None
    """None: the file is removed."""
    encoding: str
    bom: bytes
    via: Literal["editor", "disk"]


EntryState = Literal["done", "failed", "unknown", "kept", "rejected", "undone"]
"""What became of a write, and then of its review. `undone`: taken back by `acp-sidecar revert`."""
State = Literal["intent", EntryState]
"""`intent`: journalled, and nobody has said yet what became of it."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One write as it is found in the journal, without its texts (`Store.texts`)."""

    id: str
    """Sorts by time: 10 characters of time, 6 of chance; Crockford's base 32, lower case."""
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
    """The file existed before it."""
    exists: bool
    """The file exists after it."""
    encoding: str
    bom: bytes
    via: Literal["editor", "disk"]
    state: State
    added: int
    removed: int
    """Whole lines, as a diff counts them."""

    @property
    def short(self) -> str:
        """Enough of the id to name it, for people."""
        return self.id[-6:]


class Texts(NamedTuple):
    """Raw texts of a write; None where there was no file."""

    before: str | None
    after: str | None


class JournalFailed(Exception):
    """The journal cannot be written, or not be read; a change it was to hold must not be made.

    The message is a clause for a person, without paths of this machine: agents see it too."""


class JournalLocked(JournalFailed):
    """Another program keeps the journal locked, for longer than anybody is to wait."""

    def __init__(self) -> None:
        super().__init__("another program keeps the journal's file locked; try again")
