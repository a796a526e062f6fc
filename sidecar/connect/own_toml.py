"""A TOML file that is ours as a whole: it is written only if there was no content before, and removed only if it is
unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from sidecar.connect.piece import SettingsPiece
from sidecar.connect.toml_edit import NotToml
from sidecar.core.json_types import Json


def inserted(text: str, head: str, entry: Json) -> SettingsPiece:
    """The piece to insert: plain values, then lists of tables. Raises NotToml if the text has any content already."""
    if text.strip():
        raise NotToml("it says something already")
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = [
        f"# {head}",
        *_pairs({key: value for key, value in entry.items() if not isinstance(value, list)}),
    ]
    for key, value in entry.items():
        for row in cast("list[Json]", value) if isinstance(value, list) else []:
            lines += ["", f"[[{key}]]", *_pairs(row)]
    return SettingsPiece(len(text), line_end.join(lines) + line_end)


def _pairs(values: Mapping[str, object]) -> list[str]:
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]


def only_environment(found: object) -> object:
    """The only table of such a file. None if there are others."""
    rows = cast("Json", found).get("environments") if isinstance(found, dict) else None
    tables = cast("list[object]", rows) if isinstance(rows, list) else []
    return tables[0] if len(tables) == 1 else None
