"""OwnTools: what makes one agent's own tools ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sidecar.workspace.ports import Json


def _nothing(server: str) -> Json:
    return {}


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
    live: bool = False
    """Its own tools are led to ours; without, it is only given ours beside them."""
