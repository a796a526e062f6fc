"""Agents known to speak ACP: which are here, and which are here but where a program started from a desktop does not look."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sidecar.acp.command import elsewhere
from sidecar.doctor.finding import Finding


@dataclass(frozen=True, slots=True)
class KnownAgent:
    name: str
    command: str
    arguments: str
    install: str
    reads: str
    """How it comes by files, as observed."""


KNOWN = (
    KnownAgent("fast-agent", "fast-agent-acp", "", "pip install fast-agent-mcp", "through the sidecar"),
    KnownAgent(
        "Gemini CLI",
        "gemini",
        "--experimental-acp",
        "npm i -g @google/gemini-cli",
        "edits through the sidecar, reads the disk",
    ),
    KnownAgent(
        "Qwen Code", "qwen", "--experimental-acp", "npm i -g @qwen-code/qwen-code", "through the sidecar"
    ),
    KnownAgent("Kimi CLI", "kimi", "--acp", "pip install kimi-cli", "through the sidecar"),
    KnownAgent(
        "Mistral Vibe", "vibe-acp", "", "pip install mistral-vibe", "through the sidecar (2.9), the disk (3)"
    ),
    KnownAgent("goose", "goose", "acp", "see the goose project", "through the sidecar"),
    KnownAgent(
        "opencode",
        "opencode",
        "acp",
        "npm i -g opencode-ai",
        "writes the disk itself, and tells the sidecar too",
    ),
    KnownAgent(
        "Claude Code", "claude-agent-acp", "", "npm i -g @agentclientprotocol/claude-agent-acp", "the disk"
    ),
    KnownAgent("Codex", "codex-acp", "", "npm i -g @zed-industries/codex-acp", "the disk"),
    KnownAgent("GitHub Copilot CLI", "copilot", "--acp", "npm i -g @github/copilot", "the disk"),
)


def look(env: Mapping[str, str] | None = None) -> Iterator[Finding]:
    area = "agents"
    env = os.environ if env is None else env
    found = 0
    for agent in KNOWN:
        where = shutil.which(agent.command, path=env.get("PATH"))
        if where is not None:
            found += 1
            words = f"{agent.name}: {where} {agent.arguments}".rstrip()
            yield Finding(area, "ok", f"{words} — its files: {agent.reads}")
            continue
        hidden = elsewhere(agent.command, env)
        if hidden is not None:
            found += 1
            words = f"{agent.name} is at {hidden}, which is not on PATH"
            yield Finding(
                area, "warn", words, f'"command": "{hidden}" in the settings starts it all the same'
            )
    if not found:
        some = "; ".join(f"{agent.name}: {agent.install}" for agent in KNOWN[:3])
        yield Finding(area, "note", "no agent known to speak ACP was found on PATH", f"for example {some}")
    yield Finding(area, "ok", 'the agent "demo" is always there: scripted, no AI')
