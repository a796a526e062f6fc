"""Neovim's msgpack-RPC, the requesting half, with a bound on every answer (pynvim's requests wait for ever).

Handles of buffers, windows and tabs are plain integers here.
"""

from __future__ import annotations

import socket
from typing import Any, cast

import msgpack


class Failed(AssertionError):
    """Neovim answered with an error."""


def unpack_handle(code: int, data: bytes) -> object:
    """Ext types 0, 1, 2 are buffer, window, tabpage: the packed number is the handle."""
    return msgpack.unpackb(data) if code in {0, 1, 2} else msgpack.ExtType(code, data)


class Rpc:
    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._unpacker = msgpack.Unpacker(ext_hook=unpack_handle, strict_map_key=False)
        self._next = 0

    def request(self, name: str, *arguments: object, within: float = 20) -> Any:
        """Raises Failed with Neovim's words, TimeoutError when it says nothing, EOFError when it is gone."""
        self._next += 1
        self._socket.settimeout(within)
        self._socket.sendall(cast(bytes, msgpack.packb([0, self._next, name, arguments])))
        while True:
            for message in self._unpacker:
                if message[0] == 1 and message[1] == self._next:
                    if message[2] is not None:
                        raise Failed(f"{name}: {message[2]}")
                    return message[3]
            received = self._socket.recv(65536)
            if not received:
                raise EOFError("Neovim has ended")
            self._unpacker.feed(received)

    def close(self) -> None:
        self._socket.close()
