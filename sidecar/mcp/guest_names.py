"""The names by which guests are shown: what the user connected says which, never what a client says of itself."""

from __future__ import annotations

GUESTS = {
    "claude": "claude (terminal)",
    "codex": "codex (terminal)",
    "gemini": "gemini (terminal)",
    "opencode": "opencode (terminal)",
    "vscode": "VS Code (agent mode)",
}
"""By the word after `acp-sidecar connect`, which is also the one after `acp-sidecar mcp --guest`."""

BEHIND = "proxy"
SHOWN = {**GUESTS, BEHIND: "an agent (proxy)"}
"""Also one that is behind our proxy, where its tools work on the disk alone; a running sidecar knows it by its own name."""

LIVE = "codex-live"
"""The same word for Codex' own tools, which are no guest's: they are led to the sidecar that starts Codex."""

HOOK = "claude-hook"
"""The same word for a hook of Claude's, which calls the server that `claude` has."""
