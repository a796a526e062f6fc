"""The bridge: a local socket by which other processes of the same user reach the sidecar of a running editor.

limits.py     sizes, times and counts
folder.py     where sockets and entries lie: a folder that is the user's alone, or none
entry.py      Entry: what a running sidecar leaves there to be found
registry.py   Claim: this process's own entry, socket and lock; sweep removes what the dead left behind
proof.py      what each side proves to the other; the secret itself is never sent
peer.py       whose process is at the other end
wire.py       JSON lines with a size limit
server.py     BridgeServer: handshake, then requests for a table of methods
long_requests.py  LongRequest: a request that is too long to be read at once
methods.py    the table: status, openDocuments, apply
client.py     Client: one connection, blocking, for the command line
pipelined.py  Pipelined: the same for a process with an event loop, many requests at a time
calling.py    connected: the same with the built-in errors, for a door that knows nothing of the bridge
finding.py    find, find_all: which running sidecar is meant
several.py    Several: connections to whichever sidecars a process turns out to need

Unix sockets only: no TCP, no WebSocket, no abstract socket, each of which is reachable by others than the user (a web page,
another account). Nothing but the handshake is answered before the handshake is done.
"""

from __future__ import annotations

import sys

UNSUPPORTED = (
    "The bridge is not available on Windows yet. Commands in a terminal cannot reach a running editor; "
    "they work on the files on disk."
    if sys.platform == "win32"
    else ""
)
"""Why this machine has no bridge, in words; "" if it has one."""

VARIABLE = "ACP_SIDECAR_BRIDGE"
"""The environment variable with the id of the sidecar that started a process."""
