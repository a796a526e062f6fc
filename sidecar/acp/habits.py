"""Habits: translates what several agents say in fields of their own into ACP's fields or, where ACP has none, into one common field.

| meaning | translated to | sent by agents as |
|---|---|---|
| a tool's name | `name` (ACP, tool calls) | claude-agent-acp: `_meta.claudeCode.toolName` |
| the tool call whose sub-agent does or says this | `_meta.parentToolCallId` | fast-agent, qwen-code: the same; claude-agent-acp: `_meta.claudeCode.parentToolUseId` |

The shape of the data decides, not the name of the agent. Both fields affect only how something is shown: nothing is allowed or done because of them.
"""

from __future__ import annotations

from typing import Final, cast

from sidecar.acp.facts import at
from sidecar.core.json_types import Json

PARENT: Final = "parentToolCallId"
_PARENTS: Final = ((PARENT,), ("claudeCode", "parentToolUseId"))
_NAMES: Final = (("claudeCode", "toolName"),)
CALLS = frozenset({"tool_call", "tool_call_update"})
CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_LONGEST = 4096
"""The most characters of an id, as of every tool call's id."""


def told(update: Json) -> Json:
    """The update with the agent's own fields translated."""
    kind, given = update.get("sessionUpdate"), update.get("_meta")
    if not isinstance(kind, str) or not isinstance(given, dict):
        return update
    meta = cast("dict[str, object]", given)
    calls = kind in CALLS
    if not calls and kind not in CHUNKS:
        return update
    parent = _first(meta, _PARENTS)
    if parent == update.get("toolCallId"):  # fast-agent once sent this
        parent = None
    name = _first(meta, _NAMES) if calls and not isinstance(update.get("name"), str) else None
    if parent != at(meta, PARENT):
        others = {key: value for key, value in meta.items() if key != PARENT}
        update = {**update, "_meta": others if parent is None else {**others, PARENT: parent}}
    return update if name is None else {**update, "name": name}


def _first(meta: object, paths: tuple[tuple[str, ...], ...]) -> str | None:
    found = (at(meta, *path) for path in paths)
    return next((one for one in found if isinstance(one, str) and 0 < len(one) <= _LONGEST), None)
