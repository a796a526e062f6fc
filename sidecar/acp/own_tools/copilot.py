"""Copilot CLI: it takes no MCP server that is a program with its sessions, only one that a file names when it is started. Its own tools stay its own."""

from __future__ import annotations

from sidecar.acp.own_tools.row import OwnTools

COPILOT = OwnTools(
    names=frozenset({"copilot", "copilot-cli"}), seen=("1.0.102",), option="--additional-mcp-config"
)
