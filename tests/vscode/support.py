"""The other end of the test-support extension: JavaScript run in a window's extension host."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any


class JavaScriptError(AssertionError):
    """What was run threw; the message has its stack."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def run(path: Path, body: str, *args: Any, seconds: float = 30.0) -> Any:
    """The value of an async function's body. OSError when the extension host is not there, or does not answer in time."""
    connection = _Connection(path, seconds)
    try:
        connection.request("POST", "/", json.dumps({"body": body, "args": args}))
        said = json.loads(connection.getresponse().read())
    except http.client.HTTPException as problem:  # it ended while answering
        raise ConnectionError(str(problem)) from problem
    finally:
        connection.close()
    if "error" in said:
        raise JavaScriptError(said["error"])
    return said.get("value")
