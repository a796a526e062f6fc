"""OwnTools: what makes one agent's own tools ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sidecar.core.json_types import Json


def _nothing(server: str) -> Json:
    return {}


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program of ours that the agent loads into itself and that starts our server. Its environment names it (plugins.py)."""

    program: str
    """A file of this folder."""
    variable: str
    """Environment variable with the path of a settings file."""
    settings: Callable[[str], Json]
    """That file, from the program's path."""


@dataclass(frozen=True, slots=True)
class OwnTools:
    """`names`: of the agent, its program and its package, in lower case, as in quirks.py."""

    names: frozenset[str] = frozenset()
    seen: tuple[str, ...] = ()
    """Versions of the agent with which it was seen to work."""
    meta: Callable[[str], Json] = _nothing
    """`_meta` of `session/new` and its kin, from our server's name."""
    arguments: tuple[str, ...] = ()
    """Further arguments of our server."""
    by_server: bool = False
    """Its own tools are led to our MCP server, which it starts for each session."""
    plugin: Plugin | None = None
    """Its own tools are led to ours by a program, for all of its sessions."""
    connected: Callable[[Mapping[str, str]], bool] | None = None
    """It starts a program of ours where its user has connected that (connect/): whether that is so, by the agent's environment. The program
    finds what it needs there, too."""

    @property
    def live(self) -> bool:
        """Its own tools are led to ours, whatever its user did; without, it is only given ours beside them."""
        return self.by_server or self.plugin is not None
