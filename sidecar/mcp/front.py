"""Front: answers the handshake and the list of tools at once, before the library is imported, which takes longer than agents like to
wait. The answers are the library's (tests/mcp/test_front.py compares them). The library answers everything else.

Sans-IO except for `serve`, which reads and writes lines until one comes that it does not answer, or it has listed the tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from sidecar import __version__
from sidecar.core.json_types import JsonDict
from sidecar.mcp.schemas import INSTRUCTIONS, TOOLS

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of MCP with a handshake. The library answers a client that names none of these."""
STATELESS = "2026-07-28"
"""The version without a handshake: each request carries what the handshake would say. Claude asks for it first (`server/discover`),
gives up within seconds, and then performs the handshake."""
_ENVELOPE = "io.modelcontextprotocol/"
MAX_LINE = 64 * 1024 * 1024
"""The most bytes of one message, as on the bridge."""

SERVER: JsonDict = {"name": "acp-sidecar", "title": "acp-sidecar", "version": __version__}


@dataclass(slots=True)
class Front:
    """`said`: the lines of the handshake so far, for the library, which has to know them; `left`: the line that the library must
    answer."""

    tools: Sequence[JsonDict] = TOOLS
    said: list[bytes] = field(default_factory=list[bytes])
    left: bytes | None = None
    done: bool = False
    """Whether nothing more is to be answered here."""

    def heard(self, line: bytes) -> bytes | None:
        """The answer to a line, as a line. None if there is none."""
        message = _message(line)
        match message.get("method"):
            case "initialize" if not self.said and _version(message) in VERSIONS:
                self.said.append(line)
                return _answer(message, handshake(str(_version(message))))
            case "notifications/initialized" if len(self.said) == 1:
                self.said.append(line)
                return None
            case "ping" if self.said:
                return _answer(message, {})
            case "server/discover" if not self.said and _is_stateless(message):
                return _answer(message, stateless(handshake(STATELESS)))
            case "tools/list" if (
                not self.said and _is_stateless(message) and not _params(message).get("cursor")
            ):
                self.done = True
                return _answer(message, stateless({"tools": list(self.tools)}))
            case "tools/list" if len(self.said) == 2 and not _params(message).get("cursor"):
                self.done = True
                return _answer(message, {"tools": list(self.tools)})
            case _:
                self.left, self.done = line, True
                return None


def serve(front: Front, lines: BinaryIO, write: Callable[[bytes], None]) -> bool:
    """Serve until the front is done. False if the client hung up before. Raises OSError."""
    while not front.done:
        line = lines.readline(MAX_LINE)
        if not line:
            return False
        answer = front.heard(line)
        if answer is not None:
            write(answer)
    return True


def handshake(version: str) -> JsonDict:
    """The answer to `initialize`."""
    return {
        "protocolVersion": version,
        "capabilities": {
            "tools": {"listChanged": False},
        },
        "serverInfo": SERVER,
        "instructions": INSTRUCTIONS,
    }


def stateless(result: JsonDict) -> JsonDict:
    """A result in the form of the stateless version."""
    kept = {name: value for name, value in result.items() if name not in ("protocolVersion", "serverInfo")}
    return {
        **kept,
        **({"supportedVersions": [STATELESS]} if "protocolVersion" in result else {}),
        "resultType": "complete",
        "cacheScope": "private",
        "ttlMs": 0,
        "_meta": {f"{_ENVELOPE}serverInfo": SERVER},
    }


def _is_stateless(message: JsonDict) -> bool:
    """Whether the message is a complete request of the stateless version. The library says what is wrong with others."""
    meta = _params(message).get("_meta")
    if not isinstance(meta, dict):
        return False
    told = cast("JsonDict", meta)
    client = told.get(f"{_ENVELOPE}clientInfo")
    named = isinstance(client, dict) and all(
        isinstance(cast("JsonDict", client).get(n), str) for n in ("name", "version")
    )
    return (
        told.get(f"{_ENVELOPE}protocolVersion") == STATELESS
        and isinstance(told.get(f"{_ENVELOPE}clientCapabilities"), dict)
        and named
    )


def _message(line: bytes) -> JsonDict:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("JsonDict", value) if isinstance(value, dict) else {}


def _params(message: JsonDict) -> JsonDict:
    params = message.get("params")
    return cast("JsonDict", params) if isinstance(params, dict) else {}


def _version(message: JsonDict) -> object:
    return _params(message).get("protocolVersion") if _id(message) is not None else None


def _id(message: JsonDict) -> object:
    return message.get("id")


def _answer(message: JsonDict, result: JsonDict) -> bytes | None:
    if _id(message) is None:
        return None
    answer = {"jsonrpc": "2.0", "id": _id(message), "result": result}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
