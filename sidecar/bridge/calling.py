"""connected: a connection to the right sidecar, for a process with an event loop. It fails with the built-in errors, which need no
import: ConnectionError if there is no sidecar, ValueError if the sidecar refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio.to_thread

from sidecar.bridge.client import BridgeError, Failed
from sidecar.bridge.finding import find
from sidecar.bridge.pipelined import Pipelined


class Calling:
    def __init__(self, sidecar: Pipelined) -> None:
        self._sidecar = sidecar

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        try:
            return await self._sidecar.call(method, params)
        except Failed as error:
            raise ValueError(str(error)) from error
        except BridgeError as error:
            raise ConnectionError(str(error)) from error

    async def aclose(self) -> None:
        await self._sidecar.aclose()


async def connected(cwd: str, env: Mapping[str, str]) -> Calling:
    """Connect to the sidecar for the folder `cwd`. Raises ConnectionError."""
    client = await anyio.to_thread.run_sync(find, cwd, env)
    if client is None:
        raise ConnectionError("no acp-sidecar is running for this folder")
    return Calling(Pipelined.of(client))
