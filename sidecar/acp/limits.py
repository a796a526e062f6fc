"""Bounds of the agents' side, in one place. Times are seconds, sizes bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WireLimits:
    """Of one connection."""

    line: int = 64 * 1024 * 1024
    """Longest message; agents send whole files and images in one line, nothing sane needs more."""
    unfinished: int = 128
    """Messages handed out and not yet dealt with before reading stops. Those that wait for a person do not count."""
    large: int = 8
    """Of them, those whose answers may each be a whole file."""
    stalled: float = 60.0
    """How long an agent may take nothing of its input while something waits to be written to it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one agent."""

    initialize: float = 30.0
    silence: float = 60.0
    """`session/new` may take long (servers are started for it), so this counts from the agent's last sign of life."""
    cancel: float = 30.0
    """From the last sign of life after `session/cancel` to the end of the turn."""
    close: float = 5.0
    """`session/close`."""
    listing: float = 15.0
    """`session/list`, `session/delete`."""
    choice: float = 30.0
    """Choosing a mode, an option, a model; logging out."""
    login: float = 900.0
    """`authenticate`: a person finds a browser, a password, a telephone."""
    last_words: float = 1.0
    """How long a process that ended may still be heard, and one that closed its output may take to end."""
    wire: WireLimits = WireLimits()


@dataclass(frozen=True, slots=True)
class Ladder:
    """Patience at each rung of ending a process; the sum is the bound."""

    close_input: float = 1.5
    terminate: float = 1.0
    kill: float = 1.5
