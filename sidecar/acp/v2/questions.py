"""Questions to the user (ACP v2, "Tool Calls", requesting permission), as version 1 asks them about a tool call.

A question may be about a tool call, a command, something of a later version, or nothing.
"""

from __future__ import annotations

import itertools

from sidecar.acp.v2 import calls
from sidecar.acp.v2.fields import id_of, object_of, text_of
from sidecar.core.json_types import Json

_serial = itertools.count(1)


def request(params: Json) -> Json:
    """The params of the question. Its title takes precedence over the call's: it says what is asked for."""
    subject = object_of(params.get("subject"))
    match subject.get("type"):
        case "tool_call":
            call = calls.fields(object_of(subject.get("toolCall")))
        case "command":
            run = {name: subject[name] for name in ("command", "cwd") if name in subject}
            call = {"kind": "execute", "rawInput": run, **_id(subject)}
        case _:
            call = {"kind": "other"}
    if "toolCallId" not in call:
        call = {**call, "toolCallId": f"question:{next(_serial)}"}
    title, more = text_of(params, "title"), text_of(params, "description")
    if title is not None:
        call = {**call, "title": f"{title}: {more}" if more else title}
    asked = {name: params[name] for name in ("sessionId", "options", "_meta") if name in params}
    return {**asked, "toolCall": call}


def _id(subject: Json) -> Json:
    call = id_of(subject, "toolCallId")
    return {} if call is None else {"toolCallId": call}
