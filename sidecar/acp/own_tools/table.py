"""TABLE: the rows, and which of them a configured agent has."""

from __future__ import annotations

from sidecar.acp.command import Command
from sidecar.acp.own_tools.claude import CLAUDE
from sidecar.acp.own_tools.codex import CODEX
from sidecar.acp.own_tools.copilot import COPILOT
from sidecar.acp.own_tools.kilo import KILO
from sidecar.acp.own_tools.opencode import OPENCODE
from sidecar.acp.own_tools.pi import PI
from sidecar.acp.own_tools.row import OwnTools
from sidecar.acp.quirks import names_of

TABLE: tuple[OwnTools, ...] = (CLAUDE, OPENCODE, KILO, PI, CODEX, COPILOT)
NONE = OwnTools()


def own_tools_of(agent: str, command: Command) -> OwnTools:
    """The row for what the user configured, never for what the agent reports; see quirks.py."""
    names = names_of(agent, command)
    return next((row for row in TABLE if names & row.names), NONE)
