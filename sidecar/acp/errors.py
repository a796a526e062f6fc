"""Converts refusals to JSON-RPC errors; the only module that knows both.

Agents branch on few things: -32002 (several map it to "no such file"), `data.errorKind` (qwen-code reads outside by itself
if it is `path_outside_workspace` or `symlink_escape`) and the message, which models read. So the words are the refusal's
own; the system's messages and exceptions never get here.
"""

from __future__ import annotations

from typing import NamedTuple

from sidecar.core.refusal import Kind, Refusal

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REFUSED = -32010
"""Ours, from JSON-RPC's range for implementations; `data.errorKind` says which kind."""
REQUEST_CANCELLED = -32800

_NOT_FOUND = frozenset({Kind.NOT_FOUND, Kind.OUTSIDE, Kind.SYMLINK_ESCAPE})
_INVALID = frozenset(
    {
        Kind.BAD_PATH,
        Kind.BAD_RANGE,
        Kind.BAD_PARAMS,
        Kind.NOT_A_FILE,
        Kind.BINARY,
        Kind.UNDECODABLE,
        Kind.TOO_LARGE,
        Kind.UNKNOWN_SESSION,
    }
)


class Failure(NamedTuple):
    """A JSON-RPC error object."""

    code: int
    message: str
    data: dict[str, object]


def failure(refusal: Refusal, path: str) -> Failure:
    """The error for a refusal; `path` is the path as the agent asked for it."""
    data = {**refusal.data, "errorKind": str(refusal.kind)}
    if refusal.kind in _NOT_FOUND:
        data["uri"] = path
        message = "Resource not found" if refusal.kind is Kind.NOT_FOUND else refusal.message
        return Failure(RESOURCE_NOT_FOUND, message, data)
    return Failure(INVALID_PARAMS if refusal.kind in _INVALID else REFUSED, refusal.message, data)


def invalid(message: str, kind: Kind = Kind.BAD_PATH) -> Failure:
    """-32602 for params that are not what ACP says."""
    return Failure(INVALID_PARAMS, message, {"errorKind": str(kind)})


INTERNAL = Failure(INTERNAL_ERROR, "Internal error", {"errorKind": "internal"})
"""For unexpected failures: the details go to the log, never to the agent."""
