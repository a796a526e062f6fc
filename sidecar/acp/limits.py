"""Bounds of the agents' side, in one place. Times are seconds, sizes bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WireLimits:
    """Of one connection."""

    line: int = 64 * 1024 * 1024
    """Longest message. Agents send whole files and images in one line; no sensible message is longer."""
    texts: int = 10 * 1024 * 1024
    """Of all long texts in one message, as UTF-8: what a file may have by default. And of any one of them as a string: to make that takes up
    to 10 ms, which cannot be divided, and one emoji makes it four times as large. What is written need not be a string (long_lines.py)."""
    unfinished: int = 128
    """Unfinished messages before reading stops. Those that wait for a person do not count."""
    large: int = 8
    """Of these, messages whose answers may each be a whole file."""
    held: int = 128 * 1024 * 1024
    """Texts of writes that are not done, in bytes as Python keeps them."""
    stalled: float = 60.0
    """How long an agent may leave its input unread while something waits to be written to it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one agent."""

    initialize: float = 30.0
    silence: float = 60.0
    """`session/new` may take long (servers are started for it), so this counts from the agent's last sign of life."""
    cancel: float = 30.0
    """From the last sign of life after `session/cancel` to the end of the turn."""
    left_running: float = 3.0
    """How long commands of a stopped turn may go on after its end."""
    close: float = 5.0
    """`session/close`."""
    listing: float = 15.0
    """`session/list`, `session/delete`."""
    choice: float = 30.0
    """Choosing a mode, an option, a model; logging out."""
    login: float = 900.0
    """`authenticate`: a person needs time for a browser, a password, a phone."""
    last_words: float = 1.0
    """How long to read from a process that ended, and how long one that closed its output may take to end."""
    wire: WireLimits = WireLimits()


@dataclass(frozen=True, slots=True)
class Ladder:
    """Time for each step of ending a process; their sum is the limit."""

    close_input: float = 1.5
    terminate: float = 1.0
    kill: float = 1.5
