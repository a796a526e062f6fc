"""Calls: tool calls (ACP v2, "Tool Calls"). Version 1 distinguishes a call's beginning from its updates, and has no pieces of
content."""

from __future__ import annotations

from collections import OrderedDict
from typing import cast

from sidecar.acp.v2 import diffs, displays
from sidecar.acp.v2.fields import id_of, joined, object_of, objects, text_of
from sidecar.core.json_size import size_of
from sidecar.core.json_types import Json

_MOST, _MOST_PIECES = 256, 16
"""The most calls that are remembered for each session, and the most whose content is remembered."""
_PIECES = 64
"""The most pieces of content that are kept for each call: the last ones."""
_LARGEST = 64 * 1024
"""The most bytes of those pieces, as kept."""
_KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)
_STATUS = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "failed",
}
_OVER = frozenset({"completed", "failed"})


def fields(call: Json) -> Json:
    """A tool call's fields. Null clears a field. In version 1, an empty list clears a list, and other fields cannot be cleared."""
    told: dict[str, object] = {
        name: value
        for name, value in call.items()
        if value is not None and name not in ("content", "locations", "kind", "status", "capabilities")
    }
    if (kind := text_of(call, "kind")) is not None:
        told["kind"] = kind if kind in _KINDS else "other"
    if (status := text_of(call, "status")) in _STATUS:
        told["status"] = _STATUS[str(status)]
    named: list[Json] = []
    if "content" in call:
        told["content"], named = content(objects(call["content"]))
    if "locations" in call or named:
        places = objects(call.get("locations"))
        known = {text_of(place, "path") for place in places}
        told["locations"] = [*places, *(place for place in named if place["path"] not in known)]
    return told


def content(items: list[Json]) -> tuple[list[Json], list[Json]]:
    """Translate content. Returns the content of version 1, and the locations of the files that its diffs name."""
    told: list[Json] = []
    places: list[Json] = []
    patches = diffs.ToldDiffs()
    for item in items:
        match item.get("type"):
            case "diff":
                told += patches.of(item)
                places += [{"path": path} for path in diffs.paths(item)]
            case "terminal":
                told.append(displays.reference(item))
            case _:
                told.append(item)
    return told, places


class SessionCalls:
    """The calls of one session."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, None] = OrderedDict()
        """The calls that were reported."""
        self._pieces: OrderedDict[str, list[Json]] = OrderedDict()
        """The content to which later pieces are added."""
        self._cancel: set[str] = set()

    def update(self, update: Json) -> list[Json]:
        call = id_of(update, "toolCallId")
        if call is None:
            return []
        told = {**fields(update), "sessionUpdate": "tool_call_update"}
        if call not in self._known:
            name = text_of(update, "name") or text_of(update, "kind") or "tool"
            told = {"title": name, **told, "sessionUpdate": "tool_call"}
            self._known[call] = None
            if len(self._known) > _MOST:
                self._forget(self._known.popitem(last=False)[0])
        if "content" in told:
            self._keep(call, objects(told["content"]))
        if told.get("status") in _OVER:
            self._forget(call)
        if "capabilities" in update:
            can = isinstance(object_of(update["capabilities"]).get("cancel"), dict)
            (self._cancel.add if can else self._cancel.discard)(call)
        return [told]

    def chunk(self, update: Json) -> list[Json]:
        """`tool_call_content_chunk`: one more piece of a call's content."""
        call, piece = id_of(update, "toolCallId"), update.get("content")
        if call is None or not isinstance(piece, dict):
            return []
        begun = [] if call in self._known else self.update({"toolCallId": call})
        more, places = content([object_of(cast("object", piece))])
        kept = self._keep(call, [*self._pieces.get(call, ()), *more])
        told: dict[str, object] = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": call,
            "content": list(kept) or more,  # a piece that is too large to be kept is shown once
        }
        if places:
            told["locations"] = places
        return [*begun, told]

    def cancellable(self, terminal: str) -> str | None:
        """The call that shows this terminal, if the agent can cancel it. None otherwise."""
        shown: Json = {"type": "terminal", "terminalId": terminal}
        found = (
            call
            for call in self._cancel
            if any(one.items() >= shown.items() for one in self._pieces.get(call, ()))
        )
        return next(found, None)

    def _keep(self, call: str, content: list[Json]) -> list[Json]:
        kept = self._pieces[call] = _last(content)
        self._pieces.move_to_end(call)
        if len(self._pieces) > _MOST_PIECES:
            self._pieces.popitem(last=False)
        return kept

    def _forget(self, call: str) -> None:
        """Forget the call's content, and that it can be cancelled."""
        self._pieces.pop(call, None)
        self._cancel.discard(call)


def _last(pieces: list[Json]) -> list[Json]:
    """As many of the last pieces as are kept. Consecutive texts become one."""
    kept: list[Json] = []
    size = 0
    for piece in reversed(pieces[-_PIECES:]):
        size += size_of(piece)
        if size > _LARGEST:
            break
        kept.append(piece)
    kept.reverse()
    if not all(_is_content(piece) for piece in kept):
        return kept
    blocks = joined(object_of(piece["content"]) for piece in kept)
    return [{"type": "content", "content": block} for block in blocks]


def _is_content(piece: Json) -> bool:
    return (
        set(piece) == {"type", "content"}
        and piece["type"] == "content"
        and isinstance(piece["content"], dict)
    )
