"""Messages: parses the body of a frame into JSON-RPC 2.0 messages. No I/O and no LSP types; only the top level is looked at.

It recovers as much as possible: a body that is not UTF-8 may still contain an id to answer, and a body with a wrong length may contain a second
message or the start of the next header.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from sidecar.lsp.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

Id = int | str


@dataclass(frozen=True, slots=True)
class LspRequest:
    id: Id
    method: str
    params: object


@dataclass(frozen=True, slots=True)
class Notification:
    method: str
    params: object
    flaw: str | None = None
    """Why the params are unusable."""


@dataclass(frozen=True, slots=True)
class Response:
    id: object
    result: object
    error: object
    """None: there was no error."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Input to be answered with an error. `id` is None if no id is recognisable (JSON-RPC 2.0 §5.1)."""

    id: Id | None
    code: int
    reason: str
    text: str = ""
    """For PARSE_ERROR: the body, as far as it can be read."""


Message = LspRequest | Notification | Response | Broken

_decoder = json.JSONDecoder()
_blanks = re.compile(r"[ \t\r\n]*")
_absent = object()


def parse(body: bytes) -> tuple[list[Message], bytes]:
    """Return at least one message, and the bytes that follow them in `body` if its announced length was too long. Never raises."""
    flaw = None
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        flaw = f"not UTF-8 at byte {error.start}"
        text = body.decode("utf-8", "replace")
    messages: list[Message] = []
    position = _after_blanks(text, 0)
    while True:
        try:
            value, position = _decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            messages.append(Broken(None, PARSE_ERROR, flaw or f"not JSON: {error}", text[position:]))
            return messages, b""
        messages.append(_message(value, flaw))
        position = _after_blanks(text, position)
        if position == len(text):
            return messages, b""
        if text[position] != "{":  # not a second message but the beginning of the next header
            return messages, text[position:].encode()


def _message(value: object, flaw: str | None) -> Message:
    if not isinstance(value, dict):
        return Broken(None, INVALID_REQUEST, "a message is an object (LSP has no batches)")
    fields = cast("dict[str, Any]", value)
    method = fields.get("method", _absent)
    given = fields.get("id", _absent)
    if method is _absent and given is not _absent and ("result" in fields or "error" in fields):
        return Response(given, fields.get("result"), fields.get("error"))
    msg_id = valid_id(given)
    if not isinstance(method, str):
        return Broken(msg_id, INVALID_REQUEST, "a message without a method")
    if given is _absent:
        return Notification(method, fields.get("params"), flaw)
    if msg_id is None:
        return Broken(None, INVALID_REQUEST, "the id of a request is an integer or a string")
    if flaw is not None:
        return Broken(msg_id, INVALID_PARAMS, flaw)
    return LspRequest(msg_id, method, fields.get("params"))


def valid_id(value: object) -> Id | None:
    """Return the id if it is valid in LSP: an integer or a string. JSON's true is not an integer, although Python's True is 1."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _after_blanks(text: str, position: int) -> int:
    blanks = _blanks.match(text, position)
    return position if blanks is None else blanks.end()
