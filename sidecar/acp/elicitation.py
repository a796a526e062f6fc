"""elicitation/create: an agent asks the user to fill in a form or to open a page. Checks the params, and answers as ACP
requires.

This is offered only if the editor shows it (ACP, "Elicitation": a client that cannot show who asks, and let the user decline,
must not announce it). Links are https, or http on this machine, to which logins return. No other link is ever passed to an
editor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast
from urllib.parse import urlsplit

from sidecar.acp.errors import Failure, invalid
from sidecar.core.escape import escape, plain
from sidecar.core.json_size import size_of
from sidecar.core.json_types import Json
from sidecar.core.refusal import Kind
from sidecar.workspace.ports.session_ports import Elicitation, Elicited

CREATE: Final = "elicitation/create"
COMPLETE: Final = "elicitation/complete"

CANCELLED: Final[Json] = {"action": "cancel"}

_MESSAGE = 4000
"""The most characters shown of a line of the agent's message, and of the message as a whole."""
_SCHEMA = 256 * 1024
"""The most characters of a form's schema as JSON. A form that a user fills in is far smaller."""
_IN_MEMORY = 4 * _SCHEMA
"""The approximate bytes in memory beyond which a schema is not even written as JSON."""
_WORDS = frozenset({"title", "description", "enumNames"})
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def parse(
    params: Mapping[str, object], number: str, agent: str, session_id: str | None
) -> Elicitation | Failure:
    """The form or address to show. `number` is our own id for it, `session_id` the sidecar's."""
    message, mode, call = params.get("message"), params.get("mode"), params.get("toolCallId")
    if not isinstance(message, str):
        return invalid("message must be a string", Kind.BAD_PARAMS)
    words = "\n".join(plain(line, _MESSAGE) for line in message[:_MESSAGE].splitlines())
    asked = Elicitation(
        number, agent, "form", words, session_id, call if isinstance(call, str) and session_id else None
    )
    match mode:
        case "form":
            return _form(asked, params.get("requestedSchema"))
        case "url":
            return _url(asked, params.get("url"), params.get("elicitationId"))
        case _:
            return invalid("mode must be form or url", Kind.BAD_PARAMS)


def result(asked: Elicitation, answer: Elicited) -> Json:
    """The answer as ACP requires: the requested fields and nothing else. A form that lacks a required field counts as closed."""
    if answer.action != "accept":
        return {"action": answer.action}
    if asked.mode == "url":
        return {"action": "accept"}
    wanted = cast("Mapping[str, object]", asked.schema.get("properties", {}))
    content = {key: value for key, value in (answer.content or {}).items() if key in wanted and _value(value)}
    required = asked.schema.get("required")
    for name in cast("list[object]", required) if isinstance(required, list) else ():
        if name not in content:
            return CANCELLED
    return {"action": "accept", "content": content}


def _form(asked: Elicitation, schema: object) -> Elicitation | Failure:
    if not isinstance(schema, dict):
        return invalid("requestedSchema must be an object", Kind.BAD_PARAMS)
    fields = cast("dict[str, object]", schema)
    properties = fields.get("properties", {})
    if fields.get("type", "object") != "object" or not isinstance(properties, dict):
        return invalid("requestedSchema must describe an object", Kind.BAD_PARAMS)
    if not all(isinstance(one, dict) for one in cast("dict[str, object]", properties).values()):
        return invalid("every property of requestedSchema must be an object", Kind.BAD_PARAMS)
    if size_of(fields) > _IN_MEMORY or len(json.dumps(fields)) > _SCHEMA:
        return invalid(f"requestedSchema has more than {_SCHEMA} characters", Kind.TOO_LARGE)
    whole = {**fields, "properties": cast("object", properties)}
    return replace(asked, schema=cast("dict[str, object]", _shown(whole)))


def _shown(value: object, key: str = "") -> object:
    """Escape the agent's words for the user. Names of fields and values stay, because the answer uses them."""
    if isinstance(value, str):
        return escape(value, keep_newlines=True) if key in _WORDS else value
    if isinstance(value, list):
        return [_shown(item, key) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _shown(item, name) for name, item in cast("dict[str, object]", value).items()}
    return value


def _url(asked: Elicitation, url: object, elicitation_id: object) -> Elicitation | Failure:
    if not isinstance(elicitation_id, str) or not elicitation_id:
        return invalid("elicitationId must be a string", Kind.BAD_PARAMS)
    if not isinstance(url, str) or not may_be_opened(url):
        return invalid("url must be an https URL", Kind.BAD_PARAMS)
    return replace(asked, mode="url", url=url, elicitation_id=elicitation_id)


def may_be_opened(url: str) -> bool:
    """Whether a URL is https with a host, or http on this machine, without blanks, control characters, user names or
    passwords."""
    if len(url) > 8192 or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or "@" in parts.netloc or "\\" in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOCAL)


def _value(value: object) -> bool:
    """Whether ACP allows this value in an answer (ElicitationContentValue): a string, a number, a boolean or a list of
    strings."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in cast("list[object]", value))
    return isinstance(value, str | int | float | bool)
