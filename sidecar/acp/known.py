"""The agents that are known to speak ACP, by program name, so that those on PATH can be used without configuration.

Nothing here is started automatically: an agent that was found is only listed, and starting it needs approval like any
other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sidecar.acp.command import find
from sidecar.config import AgentCommand


@dataclass(frozen=True, slots=True)
class KnownAgent:
    id: str
    """The agent's id if it is not configured."""
    name: str
    command: str
    arguments: tuple[str, ...]
    install: str
    reads: str
    """How the agent reads and writes files if its own tools are not live, as observed; docs/live.md explains the words."""
    reads_disk: bool = False
    """Whether the agent is certain to read files from the disk then."""


KNOWN = (
    KnownAgent(
        "fast-agent", "fast-agent", "fast-agent-acp", (), "pip install fast-agent-mcp", "asks the sidecar"
    ),
    KnownAgent(
        "gemini",
        "Gemini CLI",
        "gemini",
        ("--experimental-acp",),
        "npm i -g @google/gemini-cli",
        "asks the sidecar to edit, reads the disk",
        reads_disk=True,
    ),
    KnownAgent(
        "qwen",
        "Qwen Code",
        "qwen",
        ("--experimental-acp",),
        "npm i -g @qwen-code/qwen-code",
        "asks the sidecar",
    ),
    KnownAgent("kimi", "Kimi CLI", "kimi", ("--acp",), "pip install kimi-cli", "asks the sidecar"),
    KnownAgent(
        "vibe",
        "Mistral Vibe",
        "vibe-acp",
        (),
        "pip install mistral-vibe",
        "asks the sidecar (2.9), disk (3)",
    ),
    KnownAgent("goose", "goose", "goose", ("acp",), "see the goose project", "asks the sidecar"),
    KnownAgent(
        "opencode",
        "opencode",
        "opencode",
        ("acp",),
        "npm i -g opencode-ai",
        "disk; it tells the sidecar what it writes, too",
        reads_disk=True,
    ),
    KnownAgent(
        "claude-code",
        "Claude Code",
        "claude-agent-acp",
        (),
        "npm i -g @agentclientprotocol/claude-agent-acp",
        "disk",
        reads_disk=True,
    ),
    KnownAgent(
        "codex", "Codex", "codex-acp", (), "npm i -g @agentclientprotocol/codex-acp", "disk", reads_disk=True
    ),
    KnownAgent(
        "copilot",
        "GitHub Copilot CLI",
        "copilot",
        ("--acp",),
        "npm i -g @github/copilot",
        "disk",
        reads_disk=True,
    ),
    KnownAgent(
        "pi", "pi", "pi-acp", (), "npm i -g pi-acp @earendil-works/pi-coding-agent", "disk", reads_disk=True
    ),
)

NAMES = {agent.id: agent.name for agent in KNOWN}


def on_path(env: Mapping[str, str] | None = None) -> dict[str, AgentCommand]:
    """The agents on PATH by id, each with its program's absolute path: the user approves that program, not a name."""
    path = (os.environ if env is None else env).get("PATH")
    found: dict[str, AgentCommand] = {}
    for agent in KNOWN:
        program = find(agent.command, path)
        if program is not None:
            found[agent.id] = AgentCommand(program, agent.arguments)
    return found
