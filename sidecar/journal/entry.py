"""Entry: one write of an agent, as the journal holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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


class JournalFailed(Exception):
    """The journal cannot be written; the change it was to hold must not be made. The message is for a person."""


EntryState = Literal["done", "failed", "unknown", "kept", "rejected", "undone"]
