"""Limits: how much, how long and how many the bridge puts up with. Times in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass

MESSAGE_BYTES = 64 * 1024 * 1024
"""One message either way: two texts of the largest file that is served by default, escaped, have room."""


@dataclass(frozen=True, slots=True)
class Limits:
    handshake: float = 5.0
    """All of it, from accepting to the last line."""
    line: float = 30.0
    """From a message's first bytes to its end. Between messages a client may be silent for as long as it likes."""
    send: float = 30.0
    """A client has to take an answer within this time."""
    request: float = 300.0
    """One request: an editor may be asking its user (60 s), behind another write of the same document (120 s)."""
    clients: int = 32
    """At the same time; a further one is turned away at once."""
    requests: int = 16
    """At the same time, of one client; it is not read from meanwhile."""
    handshake_bytes: int = 4096
    message_bytes: int = MESSAGE_BYTES
