"""What JSON-RPC 2.0 demands of a message from an agent, whatever the agent sent. Pure: the caller answers and logs.

The SDK assumes all of this. A request that breaks it is answered with one of JSON-RPC's codes ("5.1 Error object"); a notification is dropped.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias, cast

from sidecar.acp.errors import INTERNAL, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from sidecar.acp.messages import Message
from sidecar.core.json_limits import NotJson, Unusable

RequestId: TypeAlias = int | str | None

LONGEST_NAME = 4096
"""The most characters of a request's id, which its answer repeats, and of a method's name."""


class MessageFault(NamedTuple):
    """Why a request or a notification cannot be used."""

    request_id: RequestId
    """Its id, for the answer. None also if the id itself cannot be repeated."""
    code: int
    words: str


def fault_in(message: Message) -> MessageFault | None:
    """What is wrong with a message that has a method. None: its method is a string, its id a string, a number or missing, its params an object or
    missing."""
    request_id, method, values = message.get("id"), message["method"], message.get("params")
    if request_id is not None:
        if isinstance(request_id, (bool, float, dict, list)):
            return MessageFault(
                None, INVALID_REQUEST, "Invalid request: the id is neither a string nor a number"
            )
        if isinstance(request_id, str) and len(request_id) > LONGEST_NAME:
            return MessageFault(None, INVALID_REQUEST, "Invalid request: the id is too long")
    if not isinstance(method, str):
        return MessageFault(request_id, INVALID_REQUEST, "Invalid request: the method is not a string")
    if len(method) > LONGEST_NAME:
        return MessageFault(
            request_id, INVALID_REQUEST, "Invalid request: the name of the method is too long"
        )
    if values is None or isinstance(values, dict):
        return None
    if "id" not in message:
        return MessageFault(None, INVALID_PARAMS, "sent params that are not an object")
    if isinstance(values, NotJson):
        return MessageFault(request_id, PARSE_ERROR, f"Parse error: {values}")
    why = values if isinstance(values, Unusable) else "not an object"
    return MessageFault(request_id, INVALID_PARAMS, f"Invalid params: {why}")


def answer_for_sdk(message: Message, request_id: int) -> Message:
    """The answer to our request with this id, in place: it has a result, or an error that is an error object."""
    message["id"] = request_id
    error = message.get("error")
    if error is None:
        message.pop("error", None)
    else:
        message.pop("result", None)
        message["error"] = _error(error)
    return message


def _error(value: object) -> dict[str, object]:
    """A JSON-RPC error object, whatever the agent sent."""
    if isinstance(value, dict):
        given = cast("dict[str, object]", value)
        code, message = given.get("code"), given.get("message")
        return {
            "code": code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL.code,
            "message": message if isinstance(message, str) and message else "Error",
            "data": given.get("data"),
        }
    return {
        "code": INTERNAL.code,
        "message": value if isinstance(value, str) and value else "Error",
        "data": None,
    }


def in_words(value: object) -> str:
    """An id or a method for the log. For anything else, only its type, because it may be of any size."""
    return str(value)[:1000] if isinstance(value, (str, int, float)) else f"<{type(value).__name__}>"
