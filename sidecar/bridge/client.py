"""Client: one blocking connection to a running sidecar, for the command line.

    with Client.connect(entry) as sidecar:
        sidecar.call("status")

Until the other side has proved that it is the sidecar of the entry, only a nonce is sent.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any, Self

from sidecar.bridge import UNSUPPORTED, peer, proof
from sidecar.bridge.entry import SidecarEntry
from sidecar.bridge.limits import MESSAGE_BYTES, BridgeLimits
from sidecar.bridge.wire import Lines, Malformed, Message, decode, encode

READ = 256 * 1024


class BridgeError(Exception):
    """The message is for the user."""


class Unreachable(BridgeError):
    """No sidecar answers at the other end."""


class Lost(BridgeError):
    """The connection ended or timed out. Whether the request was carried out is unknown."""


class Failed(BridgeError):
    """The sidecar answered with an error."""


class Client:
    """Use it from one thread. It cannot be used after Lost."""

    def __init__(self, connection: socket.socket, entry: SidecarEntry) -> None:
        """Use `connect` instead."""
        self.entry = entry
        self._connection = connection
        self._lines = Lines(BridgeLimits().handshake_bytes)
        self._serial = 0

    @classmethod
    def connect(cls, entry: SidecarEntry, timeout: float = BridgeLimits().handshake) -> Client:
        """Connect. Returns once both sides have proved who they are. Raises Unreachable. `timeout`: seconds for all of it."""
        if UNSUPPORTED:
            raise Unreachable(UNSUPPORTED)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client = cls(connection, entry)
        try:
            deadline = time.monotonic() + timeout
            connection.settimeout(timeout)
            connection.connect(entry.socket)
            client._shake_hands(deadline)
        except (OSError, Malformed, BridgeError) as error:
            client.close()
            raise Unreachable(
                f"the sidecar with process id {entry.pid} does not answer: {_words(error)}"
            ) from error
        except BaseException:
            client.close()
            raise
        client._lines.limit = MESSAGE_BYTES
        return client

    def call(self, method: str, params: Mapping[str, object] | None = None, timeout: float = 330.0) -> Any:
        """Call a method and return its result as plain JSON. `timeout` in seconds. Raises Lost, and Failed, also for a request
        that is too large to send."""
        self._serial += 1
        request = encode({"id": self._serial, "method": method, "params": dict(params or {})})
        if len(request) > MESSAGE_BYTES:
            raise Failed(f"that is more than {MESSAGE_BYTES} bytes, the most that can be sent to the sidecar")
        deadline = time.monotonic() + timeout
        try:
            self._send(request, deadline)
            while (answer := self._receive(deadline)).get("id") != self._serial:
                pass  # the answer to a request that timed out earlier
        except (OSError, Malformed) as error:
            self.close()
            raise Lost(f"the sidecar with process id {self.entry.pid} was lost: {_words(error)}") from error
        if "result" in answer:
            return answer["result"]
        match answer.get("error"):
            case {"message": str(words)}:
                raise Failed(words)
            case _:
                raise Failed("the sidecar reported an error without a message")

    def detach(self) -> socket.socket:
        """The connection, for a caller that continues with it. This Client cannot be used any more. Call this only while no
        request is unanswered."""
        detached = self._connection.dup()
        self._connection.close()
        return detached

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _shake_hands(self, deadline: float) -> None:
        """Perform the handshake of proof.py."""
        entry = self.entry
        ours = proof.new_nonce()
        self._send(encode({"v": proof.VERSION, "nonce": ours}), deadline)
        hello = self._receive(deadline)
        theirs = str(hello.get("nonce"))
        expected = proof.prove(entry.secret, "server", ours, theirs, entry.socket)
        if not proof.is_nonce(theirs) or not proof.is_proof(hello.get("proof"), expected):
            raise Malformed("what listens there is not the sidecar")
        if not peer.is_same_user(self._connection):
            raise Malformed("another user's process listens there")
        mine = proof.prove(entry.secret, "client", ours, theirs, entry.socket)
        self._send(encode({"proof": mine}), deadline)
        if self._receive(deadline).get("ok") is not True:
            raise Malformed("it did not accept the proof")

    def _send(self, data: bytes, deadline: float) -> None:
        self._patient_until(deadline)
        self._connection.sendall(data)

    def _receive(self, deadline: float) -> Message:
        while (line := self._lines.next()) is None:
            self._patient_until(deadline)
            data = self._connection.recv(READ)
            if not data:
                raise Malformed("it hung up")
            self._lines.feed(data)
        return decode(line)

    def _patient_until(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)


def _words(error: Exception) -> str:
    match error:
        case TimeoutError():
            return "it did not answer in time"
        case OSError(strerror=str() as words):
            return words
        case _:
            return str(error)
