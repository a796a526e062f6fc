"""ReadOnly: how an agent is started so that it can neither change files nor run commands, for `"writes": "deny"`.

What an agent asks the sidecar to do is refused then, and what it asks its user about is answered "no" (workspace/consent). A row is for an agent that
would not ask, always or where its user's own settings say so. One that cannot be started as its row says is not started at all.
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
    offered: tuple[str, ...] = ()
    """Where there is no such one: the first of these that a session offers."""
    meta: Callable[[str], Json] = _nothing
    """`_meta` of `session/new` and its kin, from the name of our server, to which its own tools may be led."""
    plugin: bool = False
    """The program that it loads for its own tools (own_tools/) refuses for it, when its environment has READ_ONLY."""
    is_offered_writing: bool = True
    """It is told that it may ask us to write a file, though that is refused: without being told, it would write the disk with tools of its own,
    which nothing else keeps it from."""

    def mode_of(self, modes: Sequence[object]) -> str:
        """In which a session with these modes is to be; "" for any."""
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
    # the one in which it asks, but for tools that its user's settings allow
    ReadOnly(frozenset({"gemini", "gemini-cli"}), mode="default"),
    # permissions in its environment count less than those that its user gave one of its agents
    ReadOnly(
        frozenset({"opencode", "opencode-ai", "kilo", "kilocode", "pi", "pi-acp"}),
        plugin=True,
        is_offered_writing=False,
    ),
)
AS_EVER = ReadOnly()
"""For agents that are known to have the sidecar make all of their changes and run all of their commands: those are refused."""
OTHERS = ReadOnly(offered=("read-only", "read_only", "readonly", "plan", "ask"))
"""For agents of which nothing is known. ACP gives modes no meaning; the ids are those that agents use for modes in which they do not write,
or ask first. One without such a mode is started as ever: most agents ask. One that is then seen to write is not used any more
(workspace/consent/denied_writers.py)."""


def read_only_of(agent: str, command: Command) -> ReadOnly:
    """By what the user configured, never by what the agent reports; see quirks.py."""
    names = names_of(agent, command)
    others = AS_EVER if quirks_of(agent, command).asks_for_ours == ALL else OTHERS
    return next((row for row in TABLE if names & row.names), others)
