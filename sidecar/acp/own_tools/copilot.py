"""Copilot CLI: with a session it accepts no MCP server that is a program, only at its start one that a file names. Its own tools are not redirected."""

from __future__ import annotations

from sidecar.acp.own_tools.row import OwnTools

COPILOT = OwnTools(
    names=frozenset({"copilot", "copilot-cli"}), seen=("1.0.102",), option="--additional-mcp-config"
)
