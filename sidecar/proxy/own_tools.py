"""OwnTools: redirects an agent's own tools to ours, if its program is known to permit that (acp/own_tools), as the sidecar does for agents that
it starts.

The process that the agent starts for this (`acp-sidecar mcp --joined`) speaks for the session that the proxy has joined to a sidecar. Both get
the same secret: the tools in their environment, the sidecar when the session joins.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from typing import NamedTuple, cast

import msgspec

from sidecar.acp.messages import encode
from sidecar.acp.own_tools.plugins import led_by
from sidecar.acp.own_tools.row import OwnTools as Row
from sidecar.core.json_objects import joined
from sidecar.core.json_types import Json
from sidecar.mcp.own_server import NAME, PLACES
from sidecar.mcp.tokens import BYTES
from sidecar.mcp.tool_process import JOINED
from sidecar.own_program import own_program
from sidecar.proxy.heads import Head, fields_of, value_of

_OPENING = "session/new"
"""In an earlier conversation the agent keeps its own tools: only afterwards it is known whether it has started ours."""


class Led(NamedTuple):
    line: bytes
    secret: str
    """Empty if the agent's own tools are not redirected."""


class OwnTools:
    """For one agent's process. `env`: its environment."""

    def __init__(self, row: Row, env: Mapping[str, str], *, wanted: bool = True) -> None:
        self._row = row if wanted else Row()
        self._secret = secrets.token_hex(BYTES)
        self.env: Mapping[str, str] = {}
        """The variables that are added to the environment."""
        plugin = self._row.plugin
        if plugin is not None:
            self.env = led_by(plugin, self._server(self._secret, env), env)
        self._environment = env

    def opening(self, line: bytes, head: Head, version: int) -> Led:
        """The request with which the client opens a session, in the form that the agent gets."""
        if not self._row.by_server or head.method != _OPENING:
            return Led(line, "")
        message = fields_of(msgspec.Raw(line)) or {}
        params = fields_of(message.get("params", msgspec.UNSET))
        given = None if params is None else value_of(params.get("mcpServers", msgspec.Raw(b"[]")))
        if params is None or not isinstance(given, list) or _has(NAME, cast("list[object]", given)):
            return Led(line, "")
        secret = secrets.token_hex(BYTES)
        server = {**self._server(secret, self._environment), **({"type": "stdio"} if version > 1 else {})}
        meta = value_of(params.get("_meta", msgspec.Raw(b"{}")))
        told = joined(cast("Json", meta) if isinstance(meta, dict) else {}, self._row.meta(NAME))
        params["mcpServers"] = msgspec.Raw(encode([*cast("list[object]", given), server]))
        params["_meta"] = msgspec.Raw(encode(told))
        message["params"] = msgspec.Raw(msgspec.json.encode(params))
        return Led(msgspec.json.encode(message), secret)

    def secret_of(self, led: str, session_id: str) -> str:
        """The secret that the tools of an opened session send. `led`: the secret from `opening`."""
        return led or (f"{self._secret}:{session_id}" if self.env else "")

    def _server(self, secret: str, env: Mapping[str, str]) -> Json:
        told = {JOINED: secret} | {name: env[name] for name in PLACES if name in env}
        program = own_program(sys.orig_argv)
        return {
            "name": NAME,
            "command": program[0],
            "args": [*program[1:], "mcp", "--joined", *self._row.arguments],
            "env": [{"name": name, "value": value} for name, value in told.items()],
        }


def _has(name: str, servers: list[object]) -> bool:
    return any(isinstance(one, dict) and cast("Json", one).get("name") == name for one in servers)
