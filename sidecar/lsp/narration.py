"""Narrator: turns ACP session updates into text for the user. Pure: values in, pieces of text out.

Agents send more than the protocol says: repeated ids, missing titles and statuses, unknown kinds (docs/clients.md). Every member is read leniently;
an update that is not understood produces no text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from sidecar.core.escape import plain, shorten
from sidecar.core.json_types import Json
from sidecar.core.lineends import fold

_TITLE_LIMIT = 200
_LONGEST = 64 * 1024
"""The number of characters of one piece of prose. Of a longer piece, which nobody reads, the head and the tail are kept."""
_REMEMBERED_CALLS = 256
"""The number of tool calls of a turn whose titles are kept; the oldest are forgotten."""
_RANGES = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0x200E, 0x200F), (0x202A, 0x202E), (0x2028, 0x2029), (0x2066, 0x2069), (0xFEFF, 0xFEFF),
    (0xD800, 0xDFFF),
)  # fmt: skip
_HIDDEN = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _RANGES)}]")
_ESCAPES = {code: f"\\u{code:04x}" for first, last in _RANGES for code in range(first, last + 1)}
"""A table instead of a pattern's replacements, because a text may consist entirely of such characters."""


@dataclass(frozen=True, slots=True)
class Piece:
    """`agent` and `thought` are parts of a running text, to be joined unchanged; `event` is a line of its own."""

    kind: Literal["agent", "thought", "event"]
    text: str


def visible(text: str) -> str:
    """Return prose with `\\n` as line end, and with control and bidi characters and lone surrogates escaped, so that no text can disguise itself as
    another. Milder than `core.escape`: tabs, unusual blanks and joined emoji are ordinary text."""
    text = fold(text)
    return text if _HIDDEN.search(text) is None else text.translate(_ESCAPES)


def one_line(text: str, limit: int = _TITLE_LIMIT) -> str:
    """Return a name or a title on one line, strictly escaped, with at most about `limit` characters."""
    return plain(" ".join(text.split()), limit)


class Narrator:
    """The narration of one session."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, str]] = {}
        self._compactions: dict[str, str] = {}
        """The last state of each compaction."""
        self._summarised: set[str] = set()
        """Compactions whose summary was narrated as it arrived."""

    def tell(self, update: Json) -> list[Piece]:
        """Return the text of one update; often there is none. A sub-agent's messages are thoughts: it does not speak to the user."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                return _spoken("thought" if _below(update) else "agent", update.get("content"))
            case "agent_thought_chunk":
                return _spoken("thought", update.get("content"))
            case "tool_call" | "tool_call_update":
                return self._tool_call(update)
            case "plan":
                return _plan(update.get("entries"))
            case "current_mode_update":
                mode = _text(update.get("currentModeId"))
                return [Piece("event", f"mode: {one_line(mode)}")] if mode else []
            case "notice":
                return _notice(update)
            case "compaction_update":
                return self._compaction(update)
            case "compaction_summary_chunk":
                if (compaction := _text(update.get("compactionId"))) in self._compactions:
                    self._summarised.add(compaction)
                return _spoken("thought", update.get("content"))
            case _:
                return []

    def _tool_call(self, update: Json) -> list[Piece]:
        call = _text(update.get("toolCallId"))
        title, status = self._calls.get(call, ("", ""))
        new_title = _title(update, title) or title or call or "tool call"
        new_status = _text(update.get("status")) or status or "pending"
        self._calls.pop(call, None)
        self._calls[call] = (new_title, new_status)
        if len(self._calls) > _REMEMBERED_CALLS:
            del self._calls[next(iter(self._calls))]
        if not title:
            return [Piece("event", f"{new_title}{_ending(new_status)}")]
        if new_status != status and _ending(new_status):
            return [Piece("event", f"{new_title}{_ending(new_status)}")]
        return []

    def _compaction(self, update: Json) -> list[Piece]:
        compaction, status = _text(update.get("compactionId")), _text(update.get("status"))
        said: list[Piece] = []
        if self._compactions.get(compaction) != status:
            self._compactions[compaction] = status
            if len(self._compactions) > _REMEMBERED_CALLS:
                forgotten = next(iter(self._compactions))
                del self._compactions[forgotten]
                self._summarised.discard(forgotten)
            error = one_line(_text(update.get("error")))
            words = _COMPACTED.get(status) or f"compacting the conversation: {one_line(status)}"
            said.append(Piece("event", f"{words}: {error}" if error else words))
        summary = update.get("summary")
        if isinstance(summary, list) and compaction not in self._summarised:
            for block in cast("list[object]", summary):
                said += _spoken("thought", block)
        return said


_COMPACTED = {
    "in_progress": "compacting the conversation",
    "completed": "the conversation was compacted",
    "failed": "the conversation could not be compacted",
    "cancelled": "compacting the conversation was stopped",
}


def _below(update: Json) -> bool:
    """Whether the update comes from a sub-agent (acp/habits.py)."""
    meta = update.get("_meta")
    return isinstance(meta, dict) and isinstance(cast(Json, meta).get("parentToolCallId"), str)


def _title(update: Json, known: str) -> str:
    """Return the title, with the tool's name if the title does not contain it; a sub-agent's is marked with an arrow. "" if there is nothing new."""
    title, name = one_line(_text(update.get("title"))), one_line(_text(update.get("name")), 60)
    if known and not title:
        return ""
    if name and name.lower() not in title.lower():
        title = f"{title} ({name})" if title else name
    return f"↳ {title}" if title and _below(update) else title


def _notice(update: Json) -> list[Piece]:
    title, more = one_line(_text(update.get("title"))), one_line(_text(update.get("description")), 1000)
    severity = _text(update.get("severity"))
    lead = severity if severity in ("warning", "error") else "notice"
    return [Piece("event", f"{lead}: {title}" + (f" — {more}" if more else ""))] if title else []


def _ending(status: str) -> str:
    return {"completed": " — done", "failed": " — failed"}.get(status, "")


def _spoken(kind: Literal["agent", "thought"], content: object) -> list[Piece]:
    if not isinstance(content, Mapping):
        return []
    block = cast(Json, content)
    match block.get("type"):
        case "text":
            text = visible(shorten(_text(block.get("text")), _LONGEST))
        case "resource_link":
            text = f"[{one_line(_text(block.get('name')) or _text(block.get('uri')))}]"
        case "resource" | "image" | "audio" as other:
            text = f"[{other}]"
        case _:
            text = ""
    return [Piece(kind, text)] if text else []


def _plan(entries: object) -> list[Piece]:
    marks = {"completed": "x", "in_progress": "~"}
    lines: list[str] = []
    for entry in cast("Sequence[object]", entries) if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            step = cast(Json, entry)
            lines.append(
                f"[{marks.get(_text(step.get('status')), ' ')}] {one_line(_text(step.get('content')))}"
            )
    return [Piece("event", "plan: " + " · ".join(lines))] if lines else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
