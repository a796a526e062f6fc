"""through_relay: the connection of `acp-sidecar mcp` to the sidecar if the agent runs elsewhere: through the socket of a relay
there."""

from __future__ import annotations

import socket
from contextlib import closing

import anyio.to_thread

from sidecar.bridge import UNSUPPORTED, peer
from sidecar.bridge.calling import Calling
from sidecar.bridge.pipelined import Pipelined

OPEN_SECONDS = 5.0
LOST = (
    "the connection to the machine where the editor runs was lost, and whether this call was carried out is not known: read the file again "
    "before you repeat a change"
)


async def connected(path: str) -> Calling:
    """Connect to the relay's socket at `path`. Raises ConnectionError."""
    if UNSUPPORTED:
        raise ConnectionError(UNSUPPORTED)
    return Calling(Pipelined(await anyio.to_thread.run_sync(_connection, path), LOST))


def _connection(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(OPEN_SECONDS)
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise ConnectionError(
            f"there is no connection to the machine where the editor runs: {error.strerror or error}"
        ) from error
    if not peer.is_same_user(connection):
        with closing(connection):
            raise ConnectionError(f"another user's process listens at {path}")
    return connection
