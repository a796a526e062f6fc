"""`acp-sidecar relay`: runs where an agent runs, and carries the connections to its socket there over its stdin and stdout.

The socket is in a folder that is the user's alone (bridge/folder.py), like those of sidecars. The relay reads nothing of what it carries, and
knows no secret. It ends with its input, and its connections end with it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import BinaryIO, NoReturn

from sidecar import __version__
from sidecar.bridge import folder, peer
from sidecar.bridge.registry import Claim, sweep, sweep_one
from sidecar.bridge.wire import Lines, Malformed
from sidecar.own_program import own_program
from sidecar.relayed.numbered_lines import LONGEST, MOST, NUMBER, VERSION, Hello, joined, parted

READ = 256 * 1024
SEND_SECONDS = 10.0
"""The seconds after which a connection that does not accept its answers is ended: the others wait for it."""


def run(streams: tuple[int, int], relay_id: str, env: Mapping[str, str]) -> NoReturn:
    """Run the relay, and end the process. `relay_id`: the socket's name, as in `bridge.entry.is_id`. A relay that is started again gets the
    same id, so that the tools that are running find it again."""
    lines, out = os.fdopen(streams[0], "rb"), os.fdopen(streams[1], "wb", buffering=0)
    try:
        place = folder.made(env)
        sweep(place)
        if not sweep_one(place, relay_id):
            raise OSError("the one before it still runs")
        claim = Claim.take(place, relay_id)
    except (OSError, folder.NoFolder) as error:
        sys.stderr.write(f"acp-sidecar relay: there is no place for its socket: {error}\n")
        sys.stderr.flush()
        os._exit(1)
    code = 1
    try:
        hello = Hello(VERSION, __version__, claim.socket_path, own_program(sys.orig_argv))
        Relay(claim.listen(), out, hello).carry(lines)
        code = 0
    except OSError as error:
        sys.stderr.write(f"acp-sidecar relay: {error}\n")
        sys.stderr.flush()
    finally:
        claim.release()
        os._exit(code)  # threads that wait for a connection cannot be ended


class Relay:
    """One thread for each connection, and one for new ones."""

    def __init__(self, listener: socket.socket, out: BinaryIO, hello: Hello) -> None:
        """Raises OSError."""
        self._out = out
        self._writing = threading.Lock()
        self._connections: dict[int, socket.socket] = {}
        out.write(hello.line())  # before any connection's line: a process may be waiting already
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def carry(self, lines: BinaryIO) -> None:
        """Carry lines until the input ends."""
        while line := lines.readline(LONGEST + NUMBER + 1):
            found = parted(line)
            if found is None or not line.endswith(b"\n"):
                return  # the other end is not reach
            number, rest = found
            connection = self._connections.get(number)
            if connection is None:
                continue  # it has ended meanwhile
            try:
                if not rest:
                    raise OSError
                connection.sendall(rest + b"\n")
            except OSError:
                _hang_up(connection)

    def _accept(self, listener: socket.socket) -> None:
        number = 0
        while True:
            connection, _ = listener.accept()
            if len(self._connections) >= MOST or not peer.is_same_user(connection):
                connection.close()
                continue
            number += 1
            connection.settimeout(SEND_SECONDS)
            self._connections[number] = connection
            threading.Thread(target=self._read, args=(number, connection), daemon=True).start()

    def _read(self, number: int, connection: socket.socket) -> None:
        lines = Lines(LONGEST)
        with suppress(OSError, Malformed):
            while data := _received(connection):
                lines.feed(data)
                while (line := lines.next()) is not None:
                    if line:  # an empty one would mean the connection's end
                        self._write(joined(number, line))
        del self._connections[number]
        connection.close()
        self._write(joined(number, b""))

    def _write(self, line: bytes) -> None:
        try:
            with self._writing:
                left = memoryview(line)
                while left:
                    left = left[self._out.write(left) or 0 :]
        except OSError:  # nobody is at the other end any more; the input has ended, too, or will soon
            pass


def _received(connection: socket.socket) -> bytes:
    """The next bytes, however long they take."""
    while True:
        with suppress(TimeoutError):
            return connection.recv(READ)


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
