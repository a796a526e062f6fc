"""Elicitations and activity in the shapes of ext.py: sends `sidecar/elicitation` and reads its answer leniently."""

from __future__ import annotations

import logging

import msgspec

from sidecar.lsp import ext
from sidecar.lsp.wire_port import Wire
from sidecar.workspace.ports.ports import EditorRefused
from sidecar.workspace.ports.session_ports import Activity, Elicitation, Elicited

_log = logging.getLogger(__name__)


async def ask(wire: Wire, asked: Elicitation) -> Elicited:
    """Return the user's answer, or a cancel if the client refuses or its answer is not understood. Raises EditorGone."""
    try:
        answer = await wire.request(ext.ELICITATION, params(asked))
        said = msgspec.convert(answer, ext.ElicitationAnswer)
    except EditorRefused as refusal:
        _log.warning("%s: %s", ext.ELICITATION, refusal)
        return Elicited("cancel")
    except msgspec.ValidationError as error:
        _log.warning("%s: the answer is not understood: %s", ext.ELICITATION, error)
        return Elicited("cancel")
    return Elicited(said.action, said.content if said.action == "accept" else None)


def params(asked: Elicitation) -> dict[str, object]:
    """Return the `ElicitationParams`."""
    told: dict[str, object] = {
        "requestId": asked.id,
        "agent": asked.agent,
        "mode": asked.mode,
        "message": asked.message,
    }
    if asked.session_id is not None:
        told["sessionId"] = asked.session_id
    if asked.tool_call_id is not None:
        told["toolCallId"] = asked.tool_call_id
    if asked.mode == "form":
        return told | {"requestedSchema": asked.schema}
    return told | {"url": asked.url, "elicitationId": asked.elicitation_id}


def activity(seen: Activity) -> dict[str, object]:
    """Return the `ActivityParams`."""
    told: dict[str, object] = {
        "sessionId": seen.session_id,
        "turn": seen.turn,
        "kind": seen.kind,
        "uri": seen.uri,
        "outcome": seen.outcome,
    }
    if seen.line is not None:
        told["line"] = seen.line
    if seen.tool_call_id is not None:
        told["toolCallId"] = seen.tool_call_id
    return told
