"""OwnTools: what makes one agent's own tools ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sidecar.core.json_types import Json


def _nothing(server: str) -> Json:
    return {}


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program of ours that the agent loads into itself and that starts our server. A variable of its environment names a file that leads to
    it (plugins.py)."""

    program: str
    """A file of this folder."""
    variable: str
    file: Callable[[str], str]
    """What the file says that the variable names, from the program's path."""
    suffix: str = ".json"
    """Of that file's name."""
    starts: str | None = None
    """Where that file is itself a program, which the agent runs in place of this one."""


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

    option: str = ""
    """Of its command, with which a file names our server, for all of its sessions: it takes none with a session (plugins.py)."""

    @property
    def live(self) -> bool:
        """Its own tools are led to ours, whatever its user did; without, it is only given ours beside them."""
        return self.by_server or self.plugin is not None
