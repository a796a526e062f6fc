"""OwnServer: how a session's agent starts our MCP server, in the form of ACP's `session/new`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from sidecar.core.json_types import Json
from sidecar.mcp.tokens import Tokens
from sidecar.mcp.tool_process import TOKEN
from sidecar.own_program import own_program
from sidecar.workspace.state.sessions import Session

NAME = "sidecar"
"""Claude names its tools `mcp__sidecar__Read`. No server of the user should have this name by chance; if one does, it
takes precedence."""
BRIDGE = "ACP_SIDECAR_BRIDGE"
"""The variable that names the running sidecar; see `bridge.VARIABLE`."""
PLACES = ("XDG_RUNTIME_DIR", "TMPDIR")
"""The variables that say where the sidecar's socket is looked for: agents start servers with hardly any environment."""


class OwnServer:
    def __init__(
        self, tokens: Tokens, bridge_id: str, command: Sequence[str] = (), env: Mapping[str, str] = os.environ
    ) -> None:
        """`command`: used instead of the command with which this process was started."""
        self._tokens = tokens
        self._bridge_id = bridge_id
        self._command = tuple(command) or (*own_program(sys.orig_argv), "mcp")
        self._env = env

    def __call__(self, session: Session) -> Json | None:
        """The server with a new token, so that only what this session's agent starts speaks for it. None if there is no
        bridge."""
        return None if sys.platform == "win32" else self._with(self._tokens.make(session.id))

    def for_agent(self, agent: str) -> Json | None:
        """The server for all sessions of an agent's process."""
        return None if sys.platform == "win32" else self._with(self._tokens.make_for_agent(agent))

    def _with(self, token: str) -> Json:
        env = {BRIDGE: self._bridge_id, TOKEN: token}
        env |= {name: self._env[name] for name in PLACES if name in self._env}
        return {
            "name": NAME,
            "command": self._command[0],
            "args": list(self._command[1:]),
            "env": [{"name": name, "value": value} for name, value in env.items()],
        }
