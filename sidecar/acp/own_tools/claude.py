"""Claude Code (claude-agent-acp): aliases of its SDK. Our tool with the same schema carries out a call of Read, Edit or Write. To the model,
to the user and in tool calls, the tool stays Read, Edit or Write."""

from __future__ import annotations

from sidecar.acp.own_tools.row import OwnTools
from sidecar.core.json_types import Json

ALIASED = ("Read", "Edit", "Write")


def _meta(server: str) -> Json:
    ours = {name: f"mcp__{server}__{name}" for name in ALIASED}
    # our tools ask the user themselves, by the sidecar's settings
    return {"claudeCode": {"options": {"toolAliases": ours, "allowedTools": list(ours.values())}}}


CLAUDE = OwnTools(
    names=frozenset({"claude", "claude-code", "claude-agent-acp", "claude-code-acp"}),
    seen=("0.100.0",),
    meta=_meta,
    arguments=("--numbered",),  # its Read numbers lines, and its model is told so
    by_server=True,
)
