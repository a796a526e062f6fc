"""A question in the form of ACP's `session/request_permission`. It says what the editor's box says, in the same words.

The title is the question's whole text, for clients that show only the title.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import Question

_KINDS: Mapping[str, str] = {"read": "read", "write": "edit", "execute": "execute"}


def permission(question: Question) -> Json:
    """`{id, sessionId, toolCall, options}` of a question."""
    details = question.details
    call = details.get("toolCallId")
    words = "\n".join(part for part in (question.text, question.reason) if part)
    content: list[Json] = [{"type": "content", "content": {"type": "text", "text": words}}]
    if question.whole:
        whole = {"type": "text", "text": f"In full: {question.whole}"}
        content.append({"type": "content", "content": whole})
    diffs = details.get("diff")
    content += [
        {"type": "diff", **diff}
        for diff in cast("list[dict[str, object]]", diffs if isinstance(diffs, list) else [])
        if isinstance(diff.get("newText"), str)
    ]
    tool: dict[str, object] = {
        "toolCallId": call if isinstance(call, str) and call else question.id,
        "title": question.text,
        "kind": _KINDS.get(question.action, "other"),
        "status": "pending",
        "content": content,
    }
    if isinstance(target := details.get("target"), str):
        tool["locations"] = [{"path": target}]
    # what may not be shown whole must not be allowed for good
    options = [one for one in question.options if not (question.whole and one.kind == "allow_always")]
    return {
        "id": question.id,
        "sessionId": question.session_id,
        "toolCall": tool,
        "options": [{"optionId": one.id, "name": one.label, "kind": one.kind} for one in options],
    }
