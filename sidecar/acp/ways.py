"""Ways: how an agent reaches the text that the user sees, in words, by what the user configured. docs/live.md explains them."""

from __future__ import annotations

import os

from sidecar.acp.command import Command
from sidecar.acp.known import KNOWN
from sidecar.acp.own_tools.table import own_tools_of
from sidecar.acp.quirks import names_of

LIVE = "live: its own tools work on the text as you see it"
CONNECTED = "its edits are live; it reads the disk"
UNKNOWN = "not tested"
DISK = "disk"
BESIDE = "disk; it also has the sidecar's tools"
ELSEWHERE = "; it runs elsewhere, where our tools are not live"
"""Follows the way of an agent that has a transport."""


def reads_disk(agent: str, command: Command) -> bool:
    """Whether the agent is known to read the disk if its own tools are not live."""
    names = names_of(agent, command)
    return any(known.reads_disk for known in KNOWN if {known.id, known.command} & names)


def way_of(
    agent: str, command: Command, *, own_tools: bool = True, asks_us: bool = True, reached: bool = False
) -> str:
    """The way of an agent. `own_tools`: the setting `ownTools` is not off. `asks_us`: the agent's version of ACP has requests for
    files. `reached`: the agent runs elsewhere, and our tools are there."""
    elsewhere = command.transport is not None
    ours = own_tools and (reached or not elsewhere)
    row = own_tools_of(agent, command)
    if ours and (row.by_server if elsewhere else row.live):
        return LIVE
    if ours and not elsewhere and row.connected is not None and row.connected({**os.environ, **command.env}):
        return CONNECTED
    names = names_of(agent, command)
    if asks_us:
        way = next((known.reads for known in KNOWN if {known.id, known.command} & names), UNKNOWN)
    else:
        way = BESIDE if ours else DISK
    return way + ELSEWHERE if elsewhere and not ours else way
