"""ReadOnly: how an agent is started so that it can neither change files nor run commands, for `"writes": "deny"`.

What an agent asks the sidecar to do is refused then, and what it asks its user about is answered "no" (workspace/consent). A row is for an agent that
would not ask, always or where its user's own settings say so. One that cannot be started as its row says is not started at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sidecar.acp.command import Command
from sidecar.acp.quirks import names_of
from sidecar.core.json_types import Json


def _nothing(server: str) -> Json:
    return {}


def _claude(server: str) -> Json:
    """A rule that denies counts more than any that allows, in every mode. Of a tool that is led to ours, the rule about ours counts."""
    own = ("Bash", "PowerShell", "Monitor", "Edit", "Write", "NotebookEdit", "EnterWorktree", "ExitWorktree")
    ours = [f"mcp__{server}__{name}" for name in ("Edit", "Write") if server]
    return {"claudeCode": {"options": {"disallowedTools": [*own, *ours]}}}


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """`names`: of the agent, its program and its package, in lower case, as in quirks.py."""

    names: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    """Further ones of its command."""
    mode: str = ""
    """In which all of its sessions are, and stay."""
    meta: Callable[[str], Json] = _nothing
    """`_meta` of `session/new` and its kin, from the name of our server, to which its own tools may be led."""
    plugin: bool = False
    """The program that it loads for its own tools (own_tools/) refuses for it, when its environment has READ_ONLY."""


READ_ONLY = "ACP_SIDECAR_READ_ONLY"
DENIED = "your settings deny writing and commands"

TABLE: tuple[ReadOnly, ...] = (
    ReadOnly(frozenset({"claude", "claude-code", "claude-agent-acp", "claude-code-acp"}), meta=_claude),
    ReadOnly(frozenset({"copilot", "copilot-cli"}), arguments=("--deny-tool=write", "--deny-tool=shell")),
    # in its other modes, a model decides or nobody
    ReadOnly(frozenset({"codex", "codex-acp"}), mode="read-only"),
    # the one in which it asks
    ReadOnly(frozenset({"gemini", "gemini-cli"}), mode="default"),
    # permissions in its environment count less than those that its user gave one of its agents
    ReadOnly(frozenset({"opencode", "opencode-ai", "kilo", "kilocode", "pi", "pi-acp"}), plugin=True),
)
AS_EVER = ReadOnly()


def read_only_of(agent: str, command: Command) -> ReadOnly:
    """By what the user configured, never by what the agent reports; see quirks.py."""
    names = names_of(agent, command)
    return next((row for row in TABLE if names & row.names), AS_EVER)
