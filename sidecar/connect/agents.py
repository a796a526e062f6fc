"""The agents that can be connected, their settings files, and what is added there. A file is named only by the user's environment and
home folder or, with `--workspace`, is the one below the current folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from sidecar.core.json_types import Json
from sidecar.mcp.schemas import SAVE

Env = Mapping[str, str]

NAME = "acp-sidecar"
"""The name of the entry. It differs from the name of the server that hosted agents get: one agent may have both."""

_PASSED_ON = ("XDG_RUNTIME_DIR", "TMPDIR", "ACP_SIDECAR_BRIDGE", "ACP_SIDECAR_STATE", "XDG_STATE_HOME")
"""The variables that Codex passes to a server only if they are named: they say how a running sidecar is found, and where the journal
is."""


@dataclass(frozen=True, slots=True)
class ConnectableAgent:
    form: Literal["json", "jsonc", "toml", "own toml"]
    """`own toml`: the whole file is ours."""
    container: str
    """The key in the file under which servers are listed by name. With `own toml`, the comment at the top of the file."""
    file: Callable[[Env, Path], Path]
    """The agent's settings file, by the environment and the home folder."""
    entry: Callable[[Sequence[str]], Json | list[Json]]
    """The entry to add, with our command."""
    then: str
    """What the user does next."""
    workspace_file: str = ""
    """The settings file for one folder. "" if there is none."""
    arguments: tuple[str, ...] = ("mcp", "--guest")
    """The arguments of `acp-sidecar`. After `--guest` comes the agent's name."""
    key: str = NAME
    """The entry's name in the container."""


def _config(env: Env, home: Path) -> Path:
    given = env.get("XDG_CONFIG_HOME", "")
    return Path(given) if os.path.isabs(given) else home / ".config"


def _own_folder(env: Env, variable: str, default: Path) -> Path:
    given = env.get(variable, "")
    return Path(given) if os.path.isabs(given) else default


def _claude(env: Env, home: Path) -> Path:
    return _own_folder(env, "CLAUDE_CONFIG_DIR", home) / ".claude.json"


def _claude_settings(env: Env, home: Path) -> Path:
    return _own_folder(env, "CLAUDE_CONFIG_DIR", home / ".claude") / "settings.json"


def _codex(env: Env, home: Path) -> Path:
    return _own_folder(env, "CODEX_HOME", home / ".codex") / "config.toml"


def _codex_environments(env: Env, home: Path) -> Path:
    return _own_folder(env, "CODEX_HOME", home / ".codex") / "environments.toml"


def _gemini(env: Env, home: Path) -> Path:
    return home / ".gemini" / "settings.json"


def _opencode(env: Env, home: Path) -> Path:
    folder = _config(env, home) / "opencode"
    return next(
        (folder / name for name in ("opencode.jsonc", "opencode.json") if os.path.lexists(folder / name)),
        folder / "opencode.json",
    )


def _vscode(env: Env, home: Path) -> Path:
    base = home / "Library" / "Application Support" if sys.platform == "darwin" else _config(env, home)
    return base / "Code" / "User" / "mcp.json"


def _stdio(command: Sequence[str]) -> Json:
    return {"type": "stdio", "command": command[0], "args": list(command[1:])}


def _environment(command: Sequence[str]) -> Json:
    """The only environment: with two of them, Codex' model would have to choose."""
    ours = {"id": NAME, "program": command[0], "args": list(command[1:])}
    return {"default": NAME, "include_local": False, "environments": [ours]}


def _saves_first(command: Sequence[str]) -> list[Json]:
    """A hook that calls a tool of the server that `claude` has. Claude waits for it, and then reads or writes the disk."""
    hook = {
        "type": "mcp_tool",
        "server": NAME,
        "tool": SAVE,
        "input": {"file_path": "${tool_input.file_path}"},
    }
    return [{"matcher": "Read|Edit|MultiEdit|Write", "hooks": [hook]}]


AGENTS: dict[str, ConnectableAgent] = {
    "claude": ConnectableAgent("json", "mcpServers", _claude, _stdio, "Restart claude; /mcp lists it."),
    "claude-hook": ConnectableAgent(
        "json",
        "hooks",
        _claude_settings,
        _saves_first,
        "Restart claude; /hooks lists it. It needs `acp-sidecar connect claude`, too: the hook calls that server.",
        arguments=(),
        key="PreToolUse",
    ),
    "codex": ConnectableAgent(
        "toml",
        "mcp_servers",
        _codex,
        lambda command: {
            "command": command[0],
            "args": list(command[1:]),
            "env_vars": list(_PASSED_ON),
        },
        "Restart codex; /mcp lists it.",
    ),
    "codex-live": ConnectableAgent(
        "own toml",
        "What Codex does goes through acp-sidecar. `acp-sidecar disconnect codex-live` takes this file out again.",
        _codex_environments,
        _environment,
        "Codex uses it from its next start. It has an effect only if an editor starts Codex.",
        arguments=("codex-environment",),
    ),
    "gemini": ConnectableAgent(
        "jsonc",
        "mcpServers",
        _gemini,
        lambda command: {"command": command[0], "args": list(command[1:])},
        "Restart gemini; /mcp lists it.",
    ),
    "opencode": ConnectableAgent(
        "jsonc",
        "mcp",
        _opencode,
        lambda command: {"type": "local", "command": list(command), "enabled": True},
        "Restart opencode; `opencode mcp list` lists it.",
    ),
    "vscode": ConnectableAgent(
        "jsonc",
        "servers",
        _vscode,
        lambda command: {**_stdio(command), "cwd": "${workspaceFolder}"},
        "In VS Code, run the command MCP: List Servers and start it.",
        ".vscode/mcp.json",
    ),
}


def started(agent: str) -> list[str]:
    """The arguments of `acp-sidecar` for this agent."""
    words = AGENTS[agent].arguments
    return [*words, agent] if words[-1:] == ("--guest",) else [*words]


def _hooks_in(groups: Sequence[object]) -> list[tuple[object, object]]:
    """The server and the tool of each hook."""
    found: list[tuple[object, object]] = []
    for group in groups:
        hooks = cast("dict[str, object]", group).get("hooks") if isinstance(group, dict) else None
        for hook in cast("list[object]", hooks) if isinstance(hooks, list) else [None]:
            fields = cast("dict[str, object]", hook) if isinstance(hook, dict) else {}
            found.append((fields.get("server"), fields.get("tool")))
    return found


def is_ours(entry: object, agent: str) -> bool:
    """Whether we added this entry: it starts our program for this agent, by any path, or calls the tool that only hooks call."""
    if isinstance(entry, list):
        return _hooks_in(cast("list[object]", entry)) == [(NAME, SAVE)]
    if not isinstance(entry, dict):
        return False
    fields = cast("dict[str, object]", entry)
    words: list[object] = []
    for name in ("command", "program", "args"):
        value = fields.get(name, [])
        words += cast("list[object]", value) if isinstance(value, list) else [value]
    ours = started(agent)
    return words[-len(ours) :] == ours
