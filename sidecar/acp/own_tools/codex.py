"""Codex (codex-acp): it reads and writes files, and runs commands, through an environment. Which one, only a file in the user's own folder
says, so ours is used after `acp-sidecar connect codex-live` (mcp/codex_environment.py). CODEX_EXEC_SERVER_URL would do without that file, but
takes a WebSocket only, that is, a network port."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sidecar.acp.own_tools.row import OwnTools


def _connected(env: Mapping[str, str]) -> bool:
    """Otherwise it is told nothing: what is in its environment, its commands have, too."""
    folder = Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else Path(env.get("HOME", "")) / ".codex"
    try:
        return '"codex-environment"' in (folder / "environments.toml").read_text("utf-8")
    except (OSError, ValueError):
        return False


CODEX = OwnTools(names=frozenset({"codex", "codex-acp"}), seen=("2.6.0",), connected=_connected)
