"""Asks: an agent's requests that wait for the user. Other messages continue meanwhile. A request can be withdrawn by the agent
itself (`$/cancel_request`), by the end of its turn, or by the end of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from sidecar.acp import errors
from sidecar.acp.errors import Failure
from sidecar.acp.flow import Params

T = TypeVar("T")

TAKEN_BACK: Final = Failure(errors.REQUEST_CANCELLED, "Request cancelled", {})
"""The answer to an agent that withdrew the request itself."""


class Asks:
    """The open questions of one session, or those of an agent that belong to no session."""

    def __init__(self) -> None:
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._taken_back: set[int] = set()

    async def wait(self, params: Params, work: Awaitable[T], withdrawn: Failure) -> T | Failure:
        """The work's result; `withdrawn` if our side ended it, TAKEN_BACK if the agent did."""
        params.park()
        key = id(params)
        asked = asyncio.ensure_future(work)
        self._open[key] = asked
        try:
            await asyncio.wait({asked})
            if asked.cancelled():
                return TAKEN_BACK if key in self._taken_back else withdrawn
            return asked.result()
        finally:
            asked.cancel()
            self._open.pop(key, None)
            self._taken_back.discard(key)

    def take_back(self, key: int) -> None:
        """The agent no longer wants the answer to the request with these params (by id). Unknown ids are ignored."""
        if key in self._open:
            self._taken_back.add(key)
            self._open[key].cancel()

    def withdraw(self) -> None:
        """Withdraw all open questions."""
        for asked in list(self._open.values()):
            asked.cancel()
