"""Converts refusals to JSON-RPC errors; the only module that knows both.

Agents branch on few things: -32002 (several map it to "no such file"), `data.errorKind` (qwen-code reads outside the workspace by itself if
it is `path_outside_workspace` or `symlink_escape`) and the message, which models read. So the message is the refusal's own; the system's
messages and exceptions never get here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from sidecar.acp.facts import at
from sidecar.core.refusal import Kind, Refusal

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REFUSED = -32010
"""Our own code, from JSON-RPC's range for implementations; `data.errorKind` says which kind."""
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
    """The error for a refusal; `path` is the path for which the agent asked."""
    data = {**refusal.data, "errorKind": str(refusal.kind)}
    if refusal.kind in _NOT_FOUND:
        data["uri"] = path
        message = "Resource not found" if refusal.kind is Kind.NOT_FOUND else refusal.message
        return Failure(RESOURCE_NOT_FOUND, message, data)
    return Failure(INVALID_PARAMS if refusal.kind in _INVALID else REFUSED, refusal.message, data)


def invalid(message: str, kind: Kind = Kind.BAD_PATH) -> Failure:
    """-32602, for params that do not match ACP."""
    return Failure(INVALID_PARAMS, message, {"errorKind": str(kind)})


INTERNAL = Failure(INTERNAL_ERROR, "Internal error", {"errorKind": "internal"})
"""The answer to unexpected failures. The details go to the log, never to the agent."""

_WORDS = (
    "details",
    "detail",
    "message",
    "error_description",
    "error",
    "reason",
    "description",
    "cause",
    "body",
)
"""The fields of an error's `data` in which agents, and the services of their models, say what really happened."""
_STATUS = ("statusCode", "status_code", "status", "httpStatus", "code")
_DEEPEST = 4


def own_words(data: object) -> str:
    """What an agent says in an error's `data` in addition to its message: the first text there, with its HTTP status. "" if there is none.
    ACP leaves the form of `data` to the agents: it may be a text or nested objects."""
    said = next(_texts(data), "")
    status = next(_statuses(data), "")
    if not said:
        return status and f"status {status}"
    return said if not status or status in said else f"{status}: {said}"


def _texts(data: object) -> Iterator[str]:
    return (value for value in _within(data, _DEEPEST) if isinstance(value, str) and value.strip())


def _statuses(data: object) -> Iterator[str]:
    for value in _within(data, _DEEPEST):
        for status in (at(value, name) for name in _STATUS):
            if isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599:
                yield str(status)


def _within(data: object, deep: int) -> Iterator[object]:
    """The value itself, then the values in these fields of nested objects and in the first items of lists; each value comes before those
    inside it."""
    if deep or isinstance(data, str):
        yield data
    inner: list[object] = []
    if deep and isinstance(data, list):
        inner = cast("list[object]", data[:_DEEPEST])
    elif deep and isinstance(data, dict):
        inner = [cast("dict[str, object]", data).get(name) for name in _WORDS]
    for value in inner:
        yield from _within(value, deep - 1)
