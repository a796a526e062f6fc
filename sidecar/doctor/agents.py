"""Agents known to speak ACP: those on PATH, and those that are installed where a program started from a desktop does
not look.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping

from sidecar.acp.command import elsewhere, managed_folders
from sidecar.acp.known import KNOWN
from sidecar.acp.ways import way_of
from sidecar.config import AgentCommand
from sidecar.doctor.finding import Finding


def look(env: Mapping[str, str] | None = None) -> Iterator[Finding]:
    area = "agents"
    env = os.environ if env is None else env
    managed = managed_folders(env)
    found = 0
    for agent in KNOWN:
        where = shutil.which(agent.command, path=env.get("PATH"))
        if where is not None:
            found += 1
            words = f"{agent.name}: {where} {' '.join(agent.arguments)}".rstrip()
            way = way_of(agent.id, AgentCommand(where, agent.arguments))
            yield Finding(area, "ok", f"{words} — its files: {way}")
            continue
        hidden = elsewhere(agent.command, managed)
        if hidden is not None:
            found += 1
            words = f"{agent.name} is at {hidden}, which is not on your PATH"
            yield Finding(area, "warn", words, f'"command": "{hidden}" in the settings starts it anyway')
    if not found:
        some = "; ".join(f"{agent.name}: {agent.install}" for agent in KNOWN[:3])
        yield Finding(area, "note", "no known ACP agent was found on PATH", f"for example {some}")
    yield Finding(area, "ok", 'the agent "demo" is always there: scripted, no AI')
