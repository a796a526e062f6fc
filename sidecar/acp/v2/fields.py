"""Fields of JSON objects that came from outside and may have any shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sidecar.core.json_types import Json


def object_of(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def objects(value: object) -> list[Json]:
    """The objects in a list. Anything else is left out."""
    if not isinstance(value, list):
        return []
    return [cast("Json", one) for one in cast("list[object]", value) if isinstance(one, dict)]


def text_of(fields: Json, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


_LONGEST_ID = 4096
"""In code points. The limit exists because ids are kept."""


def id_of(fields: Json, name: str) -> str | None:
    """An id that can be kept. None if there is none."""
    value = text_of(fields, name)
    return value if value is not None and len(value) <= _LONGEST_ID else None


def renamed(fields: Json, old: str, new: str) -> Json:
    """A copy in which one field has another name, in the same place."""
    return {new if name == old else name: value for name, value in fields.items()}


def joined(blocks: Iterable[Json]) -> list[Json]:
    """Content blocks, with consecutive ones that contain nothing but text joined."""
    found: list[Json] = []
    texts: list[str] = []
    for block in blocks:
        text = block.get("text")
        if isinstance(text, str) and len(block) == 2 and "type" in block:
            texts.append(text)
            continue
        found += _text(texts)
        texts = []
        found.append(block)
    return [*found, *_text(texts)]


def _text(texts: list[str]) -> list[Json]:
    return [{"type": "text", "text": "".join(texts)}] if texts else []
