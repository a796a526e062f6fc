"""Quirks: what single agents do that has to be met in a way of its own, by the `agentInfo.name` they give at `initialize`.

A row is here only when meeting it for everybody would be wrong; what many do is tolerated for all of them, where it arrives. Each has its
observed reason, and a test (tests/acp/test_tolerance.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sidecar.acp.facts import at


@dataclass(frozen=True, slots=True)
class Quirks:
    """Everything defaults to what ACP says."""

    missing_reads_empty: bool = False
    """Reading a file that does not exist succeeds with ""."""
    asks_for_ours: bool = False
    """It asks for permission before requests that come to us: what is allowed it does not do by itself."""
    rereads: bool = False
    """Its program reads a file just before it writes it, which the model does not see; what the model reads is announced as a tool call,
    or comes another way."""
    reason: str = ""


TABLE: Mapping[str, Quirks] = {
    "gemini-cli": Quirks(
        missing_reads_empty=True,
        rereads=True,
        reason="its tool that creates a file reads it first, and gives up when that fails, instead of taking it for a new one; its model "
        "reads the disk, and only its tools that edit read and write through the client",
    ),
    "fast-agent-acp": Quirks(
        asks_for_ours=True,
        rereads=True,
        reason="its read_text_file, write_text_file and execute are the client's fs and terminals; it asks before each by itself, "
        "and reads a file once more before it writes it",
    ),
}
NONE = Quirks()


def quirks_of(answer: object) -> Quirks:
    """By the answer to `initialize`."""
    name = at(answer, "agentInfo", "name")
    return TABLE.get(name.strip().lower(), NONE) if isinstance(name, str) else NONE
