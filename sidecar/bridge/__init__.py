"""The bridge: a local socket through which other processes of the same user reach the sidecar of a running editor.

limits.py     sizes, times and counts
folder.py     where sockets and entries are: a folder that is the user's alone, or none
entry.py      Entry: the file by which a running sidecar is found
registry.py   Claim: this process's own entry, socket and lock; sweep removes what dead sidecars left behind
proof.py      what each side proves to the other; the secret itself is never sent
peer.py       which user's process is at the other end
wire.py       JSON lines with a size limit
server.py     BridgeServer: the handshake, then requests for a table of methods
long_requests.py  LongRequest: a request that is too long to be read at once
methods.py    the table: status, openDocuments, isOpen, look, apply
client.py     Client: one connection, blocking, for the command line
pipelined.py  Pipelined: the same for a process with an event loop, many requests at a time
calling.py    connected: the same with the built-in errors, for a door that knows nothing of the bridge
finding.py    find, find_all: which running sidecar is the right one
several.py    Several: connections to whichever sidecars a process turns out to need
live.py       LiveSidecars: reverts files in the editors that have them open

Unix sockets only: no TCP, no WebSocket and no abstract socket, because others than the user can reach each of these (a
web page, another account). Before the handshake is done, nothing but the handshake is answered.
"""

from __future__ import annotations

import sys

UNSUPPORTED = (
    "The bridge is not available on Windows yet. Commands in a terminal cannot reach a running editor; "
    "they work on the files on disk."
    if sys.platform == "win32"
    else ""
)
"""Why this machine has no bridge, in words. "" if it has one."""

VARIABLE = "ACP_SIDECAR_BRIDGE"
"""The environment variable with the id of the sidecar that started a process."""
