"""The limits of the agents' side, in one place. Times are in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WireLimits:
    """The limits of one connection."""

    line: int = 64 * 1024 * 1024
    """The longest message. Agents send whole files and images in one line; no sensible message is longer."""
    texts: int = 10 * 1024 * 1024
    """The most bytes of all long texts in one message, as UTF-8: the default limit of a file. Also the most bytes of each of them as a
    string: creating one takes up to 10 ms, which cannot be divided, and one emoji makes it four times as large. The content of a write
    need not be a string (long_lines.py)."""
    unfinished: int = 128
    """The most unfinished messages before reading stops. Those that wait for the user do not count."""
    large: int = 8
    """The most of these whose answers may each be a whole file."""
    held: int = 128 * 1024 * 1024
    """The most bytes, as Python keeps them, of unfinished requests: of the texts of writes, and of all that the others contain."""
    stalled: float = 60.0
    """How long an agent may leave its input unread while something waits to be written to it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one agent."""

    initialize: float = 30.0
    silence: float = 60.0
    """`session/new` may take long (servers are started for it), so this counts from the agent's last sign of life."""
    cancel: float = 30.0
    """From the last sign of life after `session/cancel` to the end of the turn."""
    left_running: float = 3.0
    """How long commands of a stopped turn may continue after its end."""
    close: float = 5.0
    """`session/close`."""
    listing: float = 15.0
    """`session/list`, `session/delete`."""
    choice: float = 30.0
    """Choosing a mode, an option, a model; logging out."""
    login: float = 900.0
    """`authenticate`: the user needs time for a browser, a password, a phone."""
    last_words: float = 1.0
    """How long to read from a process that ended, and how long a process that closed its output may take to end."""
    wire: WireLimits = WireLimits()


@dataclass(frozen=True, slots=True)
class Ladder:
    """The time for each step of ending a process. Their sum is the limit."""

    close_input: float = 1.5
    terminate: float = 1.0
    kill: float = 1.5
