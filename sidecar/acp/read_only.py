"""ReadOnly: how an agent is started so that it can neither change files nor run commands, for `"writes": "deny"`.

The sidecar then refuses what an agent asks it to do, and answers "no" to what the agent asks its user (workspace/consent). A row is for an agent
that would not ask, either always or if its user's own settings say so. An agent that cannot be started as its row says is not started at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sidecar.acp.command import Command
from sidecar.acp.quirks import ALL, names_of, quirks_of
from sidecar.core.json_types import Json


def _nothing(server: str) -> Json:
    return {}


def _claude(server: str) -> Json:
    """A rule that denies takes precedence over any that allows, in every mode. For a tool that is redirected to ours, the rule for ours counts."""
    own = ("Bash", "PowerShell", "Monitor", "Edit", "Write", "NotebookEdit", "EnterWorktree", "ExitWorktree")
    ours = [f"mcp__{server}__{name}" for name in ("Edit", "Write") if server]
    return {"claudeCode": {"options": {"disallowedTools": [*own, *ours]}}}


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """`names`: the names of the agent, its program and its package, in lower case, as in quirks.py."""

    names: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    """Further arguments of the agent's command."""
    mode: str = ""
    """The mode in which all of its sessions are, and stay."""
    offered: tuple[str, ...] = ()
    """Used if there is no `mode`: the first of these modes that a session offers."""
    meta: Callable[[str], Json] = _nothing
    """The `_meta` of `session/new` and similar requests, from the name of our server, to which the agent's own tools may be redirected."""
    plugin: bool = False
    """Whether the program that the agent loads for its own tools (own_tools/) refuses changes and commands if its environment has READ_ONLY."""
    is_offered_writing: bool = True
    """Whether the agent is told that it may ask us to write files, although we refuse. Otherwise it would write to the disk with its own tools,
    and nothing else prevents that."""

    def mode_of(self, modes: Sequence[object]) -> str:
        """The mode that a session with these modes must have. "" for any mode."""
        return self.mode or next((mode for mode in self.offered if mode in modes), "")


READ_ONLY = "ACP_SIDECAR_READ_ONLY"
DENIED = "your settings deny writing and commands"

TABLE: tuple[ReadOnly, ...] = (
    ReadOnly(
        frozenset({"claude", "claude-code", "claude-agent-acp", "claude-code-acp"}),
        meta=_claude,
        is_offered_writing=False,
    ),
    ReadOnly(
        frozenset({"copilot", "copilot-cli"}),
        arguments=("--deny-tool=write", "--deny-tool=shell"),
        is_offered_writing=False,
    ),
    # in its other modes, a model decides or nobody
    ReadOnly(frozenset({"codex", "codex-acp"}), mode="read-only", is_offered_writing=False),
    # the mode in which it asks, except for tools that its user's settings allow
    ReadOnly(frozenset({"gemini", "gemini-cli"}), mode="default"),
    # permissions in its environment take second place to those that its user gave one of its agents
    ReadOnly(
        frozenset({"opencode", "opencode-ai", "kilo", "kilocode", "pi", "pi-acp"}),
        plugin=True,
        is_offered_writing=False,
    ),
)
AS_EVER = ReadOnly()
"""For agents that are known to have the sidecar make all of their changes and run all of their commands: the sidecar refuses those."""
OTHERS = ReadOnly(offered=("read-only", "read_only", "readonly", "plan", "ask"))
"""For agents of which nothing is known. ACP gives modes no meaning; these are the ids that agents use for modes in which they do not write, or ask
first. An agent without such a mode is started as usual: most agents ask. An agent that is then seen to write is not used any more
(workspace/consent/denied_writers.py)."""


def read_only_of(agent: str, command: Command) -> ReadOnly:
    """The row for what the user configured, never for what the agent reports; see quirks.py."""
    names = names_of(agent, command)
    others = AS_EVER if quirks_of(agent, command).asks_for_ours == ALL else OTHERS
    return next((row for row in TABLE if names & row.names), others)
