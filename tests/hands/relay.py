"""Between an editor and the sidecar: hands every message on, and takes commands for the sidecar from a socket.

    python relay.py SOCKET COMMAND…

Helix gives commands no arguments and shows no answers. Each connection to SOCKET (a unix socket) carries one line of JSON,
`[command, arguments]`, and gets one with the sidecar's answer. What is pending in the editor is not waited for.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from typing import Any, BinaryIO

NAME = "hands"
"""How the ids of our own requests begin."""


class Relay:
    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._to_server, self._from_server = server.stdin, server.stdout
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._answers: dict[str, queue.Queue[dict[str, Any]]] = {}

    def from_editor(self) -> None:
        while (body := message(sys.stdin.buffer)) is not None:
            self.send(body)
        self._to_server.close()

    def from_server(self) -> None:
        while (body := message(self._from_server)) is not None:
            waiting = None
            if NAME.encode() in body[:100]:
                decoded = json.loads(body)
                waiting = self._answers.pop(str(decoded.get("id")), None)
            if waiting is not None:
                waiting.put(decoded)
            else:
                sys.stdout.buffer.write(framed(body))
                sys.stdout.buffer.flush()

    def serve(self, listening: socket.socket) -> None:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as file:
            command, arguments = json.loads(file.readline())
            name = f"{NAME}{next(self._ids)}"
            answers = self._answers[name] = queue.Queue()
            params = {"command": command, "arguments": arguments}
            asked = {"id": name, "jsonrpc": "2.0", "method": "workspace/executeCommand", "params": params}
            self.send(json.dumps(asked).encode())
            file.write(json.dumps(answers.get()).encode() + b"\n")

    def send(self, body: bytes) -> None:
        with self._lock:
            self._to_server.write(framed(body))
            self._to_server.flush()


def message(stream: BinaryIO) -> bytes | None:
    length = 0
    while line := stream.readline():
        if line in (b"\r\n", b"\n"):
            return stream.read(length)
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    return None


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def main(path: str, *command: str) -> None:
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    relay = Relay(server)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    listening.listen()
    for work in (relay.from_editor, lambda: relay.serve(listening)):
        threading.Thread(target=work, daemon=True).start()
    relay.from_server()
    os._exit(server.wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
