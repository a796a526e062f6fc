"""Codex (codex-acp): it reads and writes files, and runs commands, through an environment. Only a file in the user's own folder says which
one, so ours is used after `acp-sidecar connect codex-live` (mcp/codex_environment.py). CODEX_EXEC_SERVER_URL would need no such file, but
accepts only a WebSocket, that is, a network port."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sidecar.acp.own_tools.row import OwnTools


def _connected(env: Mapping[str, str]) -> bool:
    """Whether the user has connected our environment. If not, the agent gets no variables of ours, because its commands would inherit
    them."""
    folder = Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else Path(env.get("HOME", "")) / ".codex"
    try:
        return '"codex-environment"' in (folder / "environments.toml").read_text("utf-8")
    except (OSError, ValueError):
        return False


CODEX = OwnTools(names=frozenset({"codex", "codex-acp"}), seen=("2.6.0",), connected=_connected)
