"""The names by which guests are shown. What the user connected decides, never what a client says of itself."""

from __future__ import annotations

GUESTS = {
    "claude": "claude (terminal)",
    "codex": "codex (terminal)",
    "gemini": "gemini (terminal)",
    "opencode": "opencode (terminal)",
    "vscode": "VS Code (agent mode)",
}
"""By the word after `acp-sidecar connect`, which is also the word after `acp-sidecar mcp --guest`."""

BEHIND = "proxy"
SHOWN = {**GUESTS, BEHIND: "an agent (proxy)"}
"""Includes an agent behind our proxy, for when its tools work on the disk alone. A running sidecar knows it by its own
name."""

LIVE = "codex-live"
"""The word after `connect` for Codex' own tools. They belong to no guest: they are redirected to the sidecar that starts
Codex."""

HOOK = "claude-hook"
"""The word after `connect` for a hook of Claude, which calls the server that `claude` has."""
