"""Entries: which of a session's updates are kept, and how much of each. Pure functions on values.

Chunks of one text are joined, and so are consecutive updates of one tool call. Long texts are cut in the middle. Images and audio are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from sidecar.core.json_types import Json

TEXT: Final = 16 * 1024
"""The number of code points that are kept of one text: enough to understand it. Whole files are in the journal."""
JOINED: Final = 32 * 1024
"""The number of code points that joined chunks may have."""
_DEEP: Final = 32
_WIDE: Final = 256
"""The number of members that are kept of one list."""
_CHUNKS = {
    "user_message_chunk": "messageId",
    "agent_message_chunk": "messageId",
    "agent_thought_chunk": "messageId",
    "compaction_summary_chunk": "compactionId",
}
"""By kind: the field that identifies the text to which a chunk belongs."""
_PLAIN = frozenset({"sessionUpdate", "content", "messageId", "compactionId", "_meta"})
_PARENT = "parentToolCallId"
"""The part of `_meta` that is kept: the tool call whose sub-agent sends this (acp/habits.py)."""
_OF_THE_MOMENT = frozenset({"available_commands_update", "config_option_update", "usage_update"})
"""These describe the current state, not an event."""


def kept(update: Json) -> dict[str, object] | None:
    """Return the form in which an update is recorded, or None if it is not."""
    if update.get("sessionUpdate") in _OF_THE_MOMENT:
        return None
    told = {key: update[key] for key in update if key != "_meta"}
    return cast("dict[str, object]", shortened(told | _below(_parent(update))))


def forked(said: Sequence[Json]) -> list[dict[str, object]]:
    """Return the entries with which a fork of a conversation begins: everything that was said. The original conversation keeps the changes of files,
    and can show and undo them."""
    return [
        {key: value for key, value in entry.items() if key != "changes"}
        for entry in said
        if entry.get("type") != "reviewed"
    ]


PartOf = tuple[str, object, str | None]
"""Identifies the running text to which a piece belongs: its kind, its id, and the tool call of the sub-agent that says it."""


def chunk(update: Json) -> tuple[PartOf, str] | None:
    """For a piece of running text, return (the text it is part of, the piece). None for everything else."""
    kind, content = update.get("sessionUpdate"), update.get("content")
    if not isinstance(kind, str) or kind not in _CHUNKS or not isinstance(content, dict):
        return None
    block = cast("dict[str, object]", content)
    text = block.get("text")
    if block.get("type") != "text" or not isinstance(text, str) or len(text) > TEXT or len(block) > 2:
        return None
    if not update.keys() <= _PLAIN:
        return None
    return (kind, update.get(_CHUNKS[kind]), _parent(update)), text


def of_chunks(part_of: PartOf, text: str) -> dict[str, object]:
    """Return the single update that contains all these chunks."""
    kind, which, parent = part_of
    more = {_CHUNKS[kind]: which} if which is not None else {}
    return {"sessionUpdate": kind, **more, "content": {"type": "text", "text": text}, **_below(parent)}


def _parent(update: Json) -> str | None:
    meta = update.get("_meta")
    parent = cast("Json", meta).get(_PARENT) if isinstance(meta, dict) else None
    return parent if isinstance(parent, str) else None


def _below(parent: str | None) -> dict[str, object]:
    return {} if parent is None else {"_meta": {_PARENT: parent}}


def joined(last: Json, update: Json) -> dict[str, object] | None:
    """Return two updates of one tool call as one, or None if they belong to different calls."""
    both = last.get("sessionUpdate"), update.get("sessionUpdate")
    if both != ("tool_call_update", "tool_call_update") or last.get("toolCallId") != update.get("toolCallId"):
        return None
    return {**last, **update}


def shortened(value: object, depth: int = 0) -> object:
    """Return JSON of the same shape, without what is too long to keep."""
    if isinstance(value, str):
        if len(value) <= TEXT:
            return value
        half = TEXT // 2
        return f"{value[:half]}\n[… {len(value) - 2 * half} characters not kept …]\n{value[-half:]}"
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
    """Return a title: the first words of a prompt; "" if it has none."""
    for block in cast("list[object]", prompt) if isinstance(prompt, list) else []:
        text = cast("dict[str, object]", block).get("text") if isinstance(block, dict) else None
        for line in text.splitlines() if isinstance(text, str) else ():
            if words := " ".join(line.split()):
                return words if len(words) <= 80 else words[:79] + "…"
    return ""
