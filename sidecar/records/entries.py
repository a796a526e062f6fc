"""Entries: what of a session's updates is kept, and how much of each. Pure: values in, values out.

Chunks of one text are joined, a tool call's updates in a row too; texts are cut in the middle, pictures and sounds left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

Json = Mapping[str, object]

TEXT: Final = 16 * 1024
"""Characters of one text that are kept: enough to read what was meant; whole files are in the journal."""
JOINED: Final = 64 * 1024
"""Characters of chunks in a row that become one entry."""
_DEEP: Final = 32
_WIDE: Final = 256
"""Members of one list that are kept."""
_CHUNKS = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})
_OF_THE_MOMENT = frozenset({"available_commands_update", "config_option_update", "usage_update"})
"""They tell how things are, not what happened."""


def kept(update: Json) -> dict[str, object] | None:
    """An update as it is recorded; None when it is not."""
    if update.get("sessionUpdate") in _OF_THE_MOMENT:
        return None
    return cast("dict[str, object]", shortened({key: update[key] for key in update if key != "_meta"}))


def joined(last: Json, update: Json) -> dict[str, object] | None:
    """Both in one; None when something would be lost by that."""
    kind = update.get("sessionUpdate")
    if last.get("sessionUpdate") != kind:
        return None
    if kind == "tool_call_update" and update.get("toolCallId") == last.get("toolCallId"):
        return {**last, **update}
    if kind not in _CHUNKS or {**last, "content": None} != {**update, "content": None}:
        return None
    first, second = last.get("content"), update.get("content")
    if not isinstance(first, dict) or not isinstance(second, dict):
        return None
    head, tail = cast("dict[str, object]", first), cast("dict[str, object]", second)
    one, two = head.get("text"), tail.get("text")
    if {**head, "text": ""} != {**tail, "text": ""} or head.get("type") != "text":
        return None
    if not isinstance(one, str) or not isinstance(two, str) or len(one) + len(two) > JOINED:
        return None
    return {**last, "content": {**head, "text": one + two}}


def shortened(value: object, depth: int = 0) -> object:
    """JSON without what is too long to keep, still in its shape."""
    if isinstance(value, str):
        if len(value) <= TEXT:
            return value
        half = TEXT // 2
        return f"{value[:half]}\n[… {len(value) - 2 * half} characters are not kept …]\n{value[-half:]}"
    if depth > _DEEP:
        return None
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [shortened(item, depth + 1) for item in items[:_WIDE]]
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        kind, data = fields.get("type"), fields.get("data")
        if kind in ("image", "audio") and isinstance(data, str) and len(data) > TEXT:
            return {"type": "text", "text": f"[{kind}, {len(data) * 3 // 4 // 1024} KiB, not kept]"}
        return {key: shortened(item, depth + 1) for key, item in fields.items()}
    return value


def title_of(prompt: object) -> str:
    """The first words of a prompt; "" when it has none."""
    for block in cast("list[object]", prompt) if isinstance(prompt, list) else []:
        text = cast("dict[str, object]", block).get("text") if isinstance(block, dict) else None
        for line in text.splitlines() if isinstance(text, str) else ():
            if words := " ".join(line.split()):
                return words if len(words) <= 80 else words[:79] + "…"
    return ""
