"""`acp-sidecar websocket URL`: the program that stands for an agent that is already running and is reached at a WebSocket.

It carries messages between its stdin and stdout and the WebSocket: a line is a text frame, as in ACP's draft of the transport. It is a
process of its own, so that all agents are started, bounded and ended in the same way, and no frame costs the language server anything.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from typing import BinaryIO, NoReturn, TextIO

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect

from sidecar import __version__
from sidecar.acp.elsewhere.headers import taken
from sidecar.acp.frames import frame_of, line_of

LONGEST = 64 * 1024 * 1024
"""The most bytes of a message, as `limits.WireLimits.line`. A longer message ends the connection (code 1009)."""
_OPEN_SECONDS, _CLOSE_SECONDS = 20, 2
_TOO_LONG = 1009
_CLEAN = frozenset({1000, 1001})


def run(url: str, environ: Mapping[str, str]) -> NoReturn:
    """End the process when either side has ended: with 0 if that side said so, with 1 if the connection was never there or broke. stderr
    says why."""
    code = carry(url, taken(environ), sys.stdin.buffer, sys.stdout.buffer, sys.stderr)
    sys.stderr.flush()
    os._exit(
        code
    )  # The thread that waits for input cannot be ended, and an ordinary exit waits for a lock that it holds


def carry(url: str, headers: Mapping[str, str], lines: BinaryIO, out: BinaryIO, said: TextIO) -> int:
    try:
        with connect(
            url,
            additional_headers=headers,
            user_agent_header=f"acp-sidecar/{__version__}",
            max_size=LONGEST,
            open_timeout=_OPEN_SECONDS,
            close_timeout=_CLOSE_SECONDS,
        ) as socket:
            threading.Thread(target=_outward, args=(lines, socket), daemon=True).start()
            return _inward(url, socket, out, said)
    except (OSError, InvalidURI, InvalidHandshake) as error:
        print(f"{url} {_not_there(error)}", file=said)
        return 1


def _outward(lines: BinaryIO, socket: ClientConnection) -> None:
    """Send the lines. Closes the connection at their end."""
    try:
        for line in lines:
            if line.strip():
                socket.send(frame_of(line))
        socket.close()
    except ConnectionClosed:
        pass  # `_inward` reports it
    except ValueError:
        socket.close(1007, "not UTF-8")


def _inward(url: str, socket: ClientConnection, out: BinaryIO, said: TextIO) -> int:
    told = False
    try:
        while True:
            frame = socket.recv()
            if isinstance(frame, str):
                out.write(line_of(frame))
                out.flush()
            elif not told:
                told = True
                print(f"{url} sent binary frames, which are no messages and are left out", file=said)
    except ConnectionClosed as closed:
        got, sent = closed.rcvd, closed.sent
        if got is not None and got.code in _CLEAN:
            return 0
        if got is not None:
            print(f"{url} ended the connection: {got.reason or 'no reason given'} ({got.code})", file=said)
        elif sent is not None and sent.code == _TOO_LONG:
            print(f"{url} sent a message of more than {LONGEST} bytes; the connection was ended", file=said)
        else:
            print(f"the connection to {url} broke", file=said)
        return 1


def _not_there(error: Exception) -> str:
    """A message that follows the address."""
    match error:
        case InvalidURI():
            return "is not a WebSocket address: it must begin with ws:// or wss://"
        case InvalidStatus():
            status = error.response.status_code
            help_ = " Check the headers in the settings." if status in (401, 403) else ""
            return f"answered {status} {error.response.reason_phrase} instead of opening a WebSocket.{help_}"
        case InvalidHandshake():
            return f"does not answer as a WebSocket does: {error}"
        case TimeoutError():
            return f"did not answer within {_OPEN_SECONDS} seconds"
        case OSError():
            return f"cannot be reached: {error.strerror or error}"
        case _:
            return f"cannot be reached: {error}"
