"""OwnTools: how one agent's own tools are redirected to ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sidecar.core.json_types import Json


def _nothing(server: str) -> Json:
    return {}


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program of ours that the agent loads into itself and that starts our server. An environment variable of the agent names a file
    that leads to the program (plugins.py)."""

    program: str
    """A file in this folder."""
    variable: str
    file: Callable[[str], str]
    """The content of the file that the variable names, from the program's path."""
    suffix: str = ".json"
    """The suffix of that file's name."""
    starts: str | None = None
    """The program in whose place the agent runs that file. None if the file is not a program."""


@dataclass(frozen=True, slots=True)
class OwnTools:
    """`names`: the names of the agent, its program and its package, in lower case, as in quirks.py."""

    names: frozenset[str] = frozenset()
    seen: tuple[str, ...] = ()
    """The versions of the agent with which the row was seen to work."""
    meta: Callable[[str], Json] = _nothing
    """The `_meta` of `session/new` and similar requests, from our server's name."""
    arguments: tuple[str, ...] = ()
    """Further arguments of our server."""
    by_server: bool = False
    """Whether the agent's own tools are redirected to our MCP server, which the agent starts for each session."""
    plugin: Plugin | None = None
    """The program that redirects the agent's own tools to ours, for all of its sessions."""
    connected: Callable[[Mapping[str, str]], bool] | None = None
    """Whether the agent starts a program of ours because its user has connected it (connect/), by the agent's environment. In that
    environment, the program also finds what it needs. None if this agent has no such connection."""

    option: str = ""
    """The option of the agent's command that takes a file that names our server, for all of the agent's sessions: it accepts no server
    with a session (plugins.py)."""

    @property
    def live(self) -> bool:
        """Whether the agent's own tools are redirected to ours without any action of its user. Otherwise the agent can only get ours
        beside its own."""
        return self.by_server or self.plugin is not None
