"""Answer: a tool's answer, as it crosses the bridge: MCP's content blocks, and whether it is an error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.core.json_types import Json
from sidecar.core.refusal import Refusal


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    content: Sequence[Json]
    is_error: bool = False
    structured: Json | None = None

    def as_json(self) -> Json:
        found: dict[str, object] = {"content": list(self.content)}
        if self.is_error:
            found["isError"] = True
        if self.structured is not None:
            found["structuredContent"] = self.structured
        return found


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def said(text: str) -> ToolAnswer:
    return ToolAnswer((text_block(text),))


def failed(words: str) -> ToolAnswer:
    """A tool's refusal; the model reads it."""
    return ToolAnswer((text_block(words),), is_error=True)


def refused(refusal: Refusal, path: str) -> ToolAnswer:
    words = refusal.message if path in refusal.message else f"{path}: {refusal.message}"
    return ToolAnswer((text_block(words),), True, {"errorKind": str(refusal.kind), "path": path})


def listed(value: Json) -> ToolAnswer:
    """An answer as structured content for programs, and as JSON text for models that see only text."""
    return ToolAnswer((text_block(json.dumps(value, ensure_ascii=False, indent=0)),), structured=value)
