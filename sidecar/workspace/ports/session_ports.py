"""Values that cross the ports between workspace, editor and agents, besides prompts.

The Protocols that carry them are in ports.py. Agents' shapes (modes, config options, MCP servers) are ACP's own, as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sidecar.core.json_types import Json


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A stored conversation that an agent listed."""

    reference: str
    """The agent's own id for it; only `acp/` understands it."""
    cwd: str
    additional_directories: tuple[str, ...] = ()
    title: str = ""
    updated_at: str = ""
    """ISO 8601, or empty."""
    forks: bool = False
    """The agent can begin another conversation with what was said in this one."""


@dataclass(frozen=True, slots=True)
class AgentState:
    """The state of an agent's process."""

    agent: str
    state: Literal["starting", "running", "stopped", "failed"]
    name: str = ""
    version: str = ""
    message: str = ""
    """failed: the reason, for a person."""
    sessions: tuple[str, ...] = ()
    """failed: sessions that lost their conversation."""


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command in a terminal ended: with a code, or by a signal. Both are None if that is not known."""

    code: int | None = None
    signal: str | None = None
    """The signal's name ("SIGTERM"), or its number if it has no name."""
    stopped: bool = False
    """The user stopped this command, and not the whole turn."""


@dataclass(frozen=True, slots=True)
class Elicitation:
    """An agent asks the user for more than yes or no. Texts are escaped; the schema is the agent's own."""

    id: str
    agent: str
    mode: Literal["form", "url"]
    message: str
    session_id: str | None = None
    """None: it belongs to no session (a login)."""
    tool_call_id: str | None = None
    schema: Json = field(default_factory=dict[str, object])
    """form: ACP's restricted JSON Schema."""
    url: str = ""
    elicitation_id: str = ""
    """url: identifies it when its end is reported."""


@dataclass(frozen=True, slots=True)
class Elicited:
    """The answer. `content` is set only with accept, and is never recorded anywhere."""

    action: Literal["accept", "decline", "cancel"]
    content: Json | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """One answered read or write by an agent."""

    session_id: str
    turn: int
    kind: Literal["read", "write"]
    uri: str
    outcome: str
    line: int | None = None
    """From 0."""
    tool_call_id: str | None = None
