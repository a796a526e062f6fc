"""Limits of the bridge: times in seconds, sizes in bytes, and counts."""

from __future__ import annotations

from dataclasses import dataclass

MESSAGE_BYTES = 64 * 1024 * 1024
"""The most bytes of one message in either direction. Two escaped texts of the largest file that is served by default fit."""


@dataclass(frozen=True, slots=True)
class BridgeLimits:
    handshake: float = 5.0
    """For the whole handshake, from accepting the connection to the last line."""
    line: float = 30.0
    """From the first bytes of a message to its end. Between messages, a client may be silent for any time."""
    send: float = 30.0
    """Within this time, a client must accept an answer."""
    request: float = 300.0
    """For one request: an editor may be asking its user (60 s), after another write to the same document (120 s)."""
    clients: int = 32
    """The most at the same time. Further clients are turned away at once."""
    requests: int = 16
    """The most at the same time from one client. Nothing more is read from it meanwhile."""
    handshake_bytes: int = 4096
    message_bytes: int = MESSAGE_BYTES
    text: int = 10 * 1024 * 1024
    """The longest text in a request, as UTF-8: the default limit of a file. Its parts are joined in a single step of the loop."""
