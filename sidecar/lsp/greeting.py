"""Greeting: answers `initialize` before the language server's libraries are imported (measured: 0.3 s for pygls and lsprotocol, 0.4 s for the agents'
side), so that the editor goes on at once.

Only the plain case is answered here: a well-formed `initialize` as the first message. Everything else waits for the protocol, which also gets the
answered message and handles it as usual, without answering. The announcement is data; the protocol logs an error if it differs from the registered
features.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from sidecar.lsp.framing import Fault, Framing, joined

READ = 64 * 1024

ENCODINGS = ("utf-8", "utf-16", "utf-32")

Announce = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Maps the params of `initialize`, as plain JSON, to its result."""


class Greeting:
    """What was read so far: the framing, its first item, and the result of `initialize` if it was answered."""

    def __init__(
        self,
        framing: Framing,
        first: bytes | Fault | None = None,
        announced: dict[str, Any] | None = None,
    ) -> None:
        self.framing, self.first, self.announced = framing, first, announced


def greet(stdin: int, stdout: int, announce: Announce | None) -> Greeting:
    """Block until the first message is there. At end of input, `first` is None."""
    greeting = Greeting(Framing())
    while (item := greeting.framing.next()) is None:
        data = os.read(stdin, READ)
        if not data:
            return greeting
        greeting.framing.feed(data)
    greeting.first = item if isinstance(item, Fault) else joined(item)
    if announce is not None and isinstance(greeting.first, bytes):
        _answer(greeting, greeting.first, announce, stdout)
    return greeting


def position_encoding(params: Mapping[str, Any]) -> str:
    """Return the client's first offer that we support, as LSP 3.17 requires, or UTF-16 without an offer."""
    capabilities = params.get("capabilities")
    general = _fields(capabilities).get("general")
    offers = _fields(general).get("positionEncodings")
    if isinstance(offers, list):
        for offer in cast("list[object]", offers):
            if offer in ENCODINGS:
                return str(offer)
    return "utf-16"


def _answer(greeting: Greeting, body: bytes, announce: Announce, stdout: int) -> None:
    try:
        fields = _fields(json.loads(body))
    except (ValueError, RecursionError):
        return
    params = fields.get("params")
    msg_id = fields.get("id")
    if fields.get("method") != "initialize" or not isinstance(params, dict):
        return
    if not isinstance(msg_id, int | str) or isinstance(msg_id, bool):
        return
    result = announce(cast("dict[str, Any]", params))
    answer = json.dumps({"jsonrpc": "2.0", "id": msg_id, "result": result}, separators=(",", ":")).encode()
    _write(stdout, b"Content-Length: %d\r\n\r\n%b" % (len(answer), answer))
    greeting.announced = result


def _fields(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
