"""Inserts one table at the end of a TOML text, and removes it again. Everything else stays unchanged, to the byte."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from sidecar.connect.piece import SettingsPiece
from sidecar.core.json_types import Json

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class NotToml(Exception):
    """The message is for the user."""


def parse(text: str) -> dict[str, object]:
    """The text's tables. Raises NotToml."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise NotToml(f"{error}") from None


def find(text: str, container: str, name: str) -> object:
    """The entry with this name. None if there is none. Raises NotToml."""
    table = parse(text).get(container, {})
    if not isinstance(table, dict):
        raise NotToml(f'"{container}" in it is not a table')
    return cast("dict[str, object]", table).get(name)


def inserted(text: str, container: str, name: str, entry: Json) -> SettingsPiece:
    """The piece to insert. The text must not have the entry. Raises NotToml, also if it cannot be added as a table."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    before = "" if not text or text.endswith("\n") else line_end
    lines = [
        *([""] if text.strip() else []),
        f"[{container}.{name}]",
        *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()),
    ]
    piece = SettingsPiece(len(text), before + line_end.join(lines) + line_end)
    old, new = parse(text), _parsed_with(piece, text, container)
    expected = {**old, container: {**cast("Json", old.get(container, {})), name: dict(entry)}}
    if new != expected:
        raise NotToml(f'"{container}" is written there in a way that does not allow another table')
    return piece


def taken_out(text: str, container: str, name: str) -> str:
    """The text without the entry's tables, wherever they are by now. Raises NotToml if they are written in another way."""
    old = parse(text)
    head = re.compile(rf"\s*\[\s*{re.escape(container)}\s*\.\s*\"?{re.escape(name)}\"?\s*[.\]]")
    table = {key: value for key, value in cast("Json", old.get(container, {})).items() if key != name}
    empty = {**old, container: table}
    expected = [empty] if table else [empty, {key: old[key] for key in old if key != container}]
    lines: list[str] = _LINE.findall(text)
    for number, line in enumerate(lines):
        if head.match(line):  # or it is a line of a text that looks like one
            left = "".join([*lines[:number], *_rest(lines[number:], head)])
            with suppress(NotToml):
                if parse(left) in expected:
                    return left
    raise NotToml(f'the entry "{name}" is written there in another way; remove it by hand')


def _rest(lines: Sequence[str], head: re.Pattern[str]) -> list[str]:
    """These lines without the tables with which they begin. Blank lines and comments stay: they may be about what follows."""
    kept: list[str] = []
    inside = True
    for line in lines:
        if line.lstrip().startswith("["):
            inside = inside and head.match(line) is not None
        if not inside or not line.strip() or line.lstrip().startswith("#"):
            kept.append(line)
    return kept


def _parsed_with(piece: SettingsPiece, text: str, container: str) -> dict[str, object]:
    try:
        return parse(piece.put_into(text))
    except NotToml:
        raise NotToml(f'"{container}" is written there in a way that does not allow another table') from None
