"""Running sidecars, from their entries for the local socket, and the folder of these entries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sidecar.bridge import UNSUPPORTED, folder
from sidecar.bridge.client import BridgeError, Client
from sidecar.bridge.finding import find_all
from sidecar.core.escape import plain
from sidecar.doctor.finding import Finding

_LISTED = 20
_ANSWER = 5.0
"""Seconds for a sidecar to say what it does."""


def look(cwd: str | None = None, env: Mapping[str, str] | None = None) -> Iterator[Finding]:
    area = "running"
    if UNSUPPORTED:
        yield Finding(area, "note", UNSUPPORTED)
        return
    env = os.environ if env is None else env
    for path in folder.candidates(env):
        if os.path.lexists(path) and (why := folder.why_not(path)):
            words = f"{path} cannot hold the local socket: {why}"
            yield Finding(
                area, "warn", words, "make it a folder that only you can access (chmod 700), or remove it"
            )
    count = 0
    for client in find_all(os.getcwd() if cwd is None else cwd, env):
        with client:
            entry, ways = client.entry, list(_ways(client)) if count < _LISTED else []
        count += 1
        if count <= _LISTED:
            since = datetime.fromtimestamp(entry.started).strftime("%Y-%m-%d %H:%M")
            roots = ", ".join(plain(root) for root in entry.roots[:3]) or "no folder"
            yield Finding(area, "ok", f"process {entry.pid} since {since}, for {roots}")
            yield from ways
    if count > _LISTED:
        yield Finding(area, "note", f"and {count - _LISTED} more")
    if not count:
        yield Finding(area, "ok", "no sidecar is running")


def _ways(client: Client) -> Iterator[Finding]:
    """How each agent that is configured there gets at its files, and whether the tools of its sessions are live."""
    try:
        status: Any = client.call("status", timeout=_ANSWER)
    except BridgeError:
        return  # it has just ended
    try:
        for agent in status["agents"]:
            sessions = [row for row in status["sessions"] if row["agent"] == agent["agent"] and row["alive"]]
            if agent["source"] == "configured" or sessions:
                if needs := agent.get("needs"):
                    words = f"  {plain(agent['agent'])} cannot be started from there"
                    yield Finding("running", "warn", words, plain(str(needs), 600))
                yield Finding(
                    "running", "ok", f"  {plain(agent['agent'])}: its files: {_way(agent, sessions)}"
                )
    except (KeyError, TypeError):
        yield Finding(
            "running", "note", "  it is of another version, and does not say how its agents get at files"
        )


def _way(agent: Any, sessions: list[Any]) -> str:
    way = plain(str(agent["files"]))
    if not way.startswith("live") or not sessions:
        return way
    live = sum(bool(row["ownToolsLive"]) for row in sessions)
    return f"{way} ({live} of {len(sessions)} sessions)" if live < len(sessions) else way
