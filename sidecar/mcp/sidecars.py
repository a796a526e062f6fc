"""Sidecar, Sidecars: the running sidecars, as the process that the agent starts reaches them. Imports no library: see front.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol


class Sidecar(Protocol):
    """A connection to the running sidecar."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Call a method. Raises ConnectionError with a message if the sidecar is gone, and ValueError with the sidecar's own message if
        it refuses."""
        ...


Connect = Callable[[], Awaitable[Sidecar]]
"""Raises ConnectionError."""


class Sidecars(Protocol):
    """See `bridge.several.Several`."""

    async def for_file(self, path: str) -> Sidecar | None:
        """The sidecar that serves this file. None if there is none. Raises ConnectionError if it runs and does not answer."""
        ...

    async def for_folder(self, path: str, *, within: bool) -> Sidecar | None:
        """The sidecar that serves this folder, or else (`within`) a folder in it."""
        ...
