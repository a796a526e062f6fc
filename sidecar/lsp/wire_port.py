"""Wire: the part of the connection to the editor that this package's features need. The server implements it.

Payloads are plain JSON values (dicts, lists, strings …) both ways, never protocol objects: custom methods have none, and the answers of editors are
read leniently. What is *not* here: framing, life cycle, typed handlers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Hashable, Mapping
from typing import Protocol


class Wire(Protocol):
    """One connection. Both methods put their message into the outgoing queue before they return, and never block."""

    def request(self, method: str, params: Mapping[str, object] | None = None) -> Awaitable[object]:
        """Send a request. Awaiting gives the result, or raises EditorRefused (an error was answered) or EditorGone (the connection ended). Cancelling
        the await sends `$/cancelRequest` and forgets the answer (LSP, Cancellation Support)."""
        ...

    def notify(
        self,
        method: str,
        params: Mapping[str, object] | None = None,
        coalesce_key: Hashable | None = None,
    ) -> None:
        """Send a notification. If one with an equal `coalesce_key` is queued and unsent, this one may replace it."""
        ...
