"""notebook: brings notebooks (nbformat 4) as text into the form in which an editor that shows their cells saves them.

VS Code reports the text of a notebook with unsaved cells as it would save it, and accepts an edit only if it leads to such a text. An agent
may write the same notebook with other blanks, escapes or order of names, or with a `source` in one piece. `as_saved` brings that into the
editor's form, so that only meaningful differences are compared, merged and sent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast
from uuid import uuid4

from sidecar.core.refusal import Kind, Refusal

LANGUAGE = "jupyter-notebook"
"""The language id of a notebook document."""

_CODE = ("cell_type", "execution_count", "id", "metadata", "outputs", "source")
_OTHER = ("attachments", "cell_type", "id", "metadata", "source")
_TOP = ("cells", "metadata", "nbformat", "nbformat_minor")
_EXACT = 16
"""Number of digits. JavaScript's integers with fewer digits are exact."""
_WHOLE, _SMALL = 1e21, 1e-6
"""The limits from which, and below which, JavaScript writes exponents."""
_INDENT = re.compile(r"\{\n?([ \t]*)")


def as_saved(path: str, content: str, like: str) -> str | Refusal:
    """`content`, an agent's text of the notebook at `path`, as the editor would save it. `like`: what the editor would save now."""
    mark = uuid4().hex

    def number(digits: str) -> object:
        return int(digits) if digits.isdigit() and len(digits) < _EXACT else f"{mark}{_number(digits)}"

    try:
        found = json.loads(
            content.removeprefix("\ufeff"), parse_float=number, parse_int=number, parse_constant=_number
        )
    except (ValueError, RecursionError):
        return _refused(path, "the new text is not JSON")
    notebook = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    cells = notebook.get("cells")
    if not isinstance(cells, list) or not all(map(_is_cell, cast("list[object]", cells))):
        return _refused(path, "the new text is not a notebook")
    of_cells = cast("list[dict[str, Any]]", cells)
    has_ids = (
        (notebook.get("nbformat"), notebook.get("nbformat_minor")) >= (4, 5)
        if _has_format(notebook)
        else False
    )
    known = {cell["id"] for cell in of_cells if isinstance(cell.get("id"), str)}
    notebook["cells"] = [_cell(cell, known if has_ids else None) for cell in of_cells]
    notebook.setdefault("metadata", {})
    indent = _INDENT.match(like)
    text = json.dumps(
        {name: notebook[name] for name in _TOP if name in notebook},
        ensure_ascii=False,
        sort_keys=True,
        indent=indent[1] if indent is not None and indent[1] else None,
        separators=(",", ": ") if indent is not None and indent[1] else (",", ":"),
    )
    return re.sub(rf'"{mark}([^"]*)"', r"\1", text) + "\n"


def _number(digits: str) -> str:
    """The number as JavaScript writes it. ValueError for a value that is not a JSON number."""
    value = float(digits)
    if value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    if _SMALL <= abs(value) < _WHOLE:
        return format(Decimal(repr(value)), "f")
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent):+d}"


def _cell(cell: Mapping[str, Any], ids: set[str] | None) -> dict[str, Any]:
    """The cell in the editor's form. `ids`: the ids in use; None for a format without ids."""
    made: dict[str, Any] = {"metadata": {}, **cell}
    source = made["source"]
    made["source"] = _lines(source if isinstance(source, str) else "".join(source))
    if ids is not None and not isinstance(made.get("id"), str):
        made["id"] = _new_id(json.dumps(made, sort_keys=True, default=repr), ids)
    if made["cell_type"] == "code":
        made = {"execution_count": None, "outputs": [], **made}
    return {name: made[name] for name in (_CODE if made["cell_type"] == "code" else _OTHER) if name in made}


def _new_id(said: str, ids: set[str]) -> str:
    """An id that is always the same for the same cell. Otherwise the editor would choose one, which would be another change."""
    number = 0
    while (name := hashlib.sha256(f"{number}{said}".encode(errors="surrogatepass")).hexdigest()[:8]) in ids:
        number += 1
    ids.add(name)
    return name


def _lines(source: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", source.replace("\r\n", "\n"))


def _has_format(notebook: Mapping[str, Any]) -> bool:
    return all(type(notebook.get(name)) is int for name in ("nbformat", "nbformat_minor"))


def _is_cell(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    cell = cast("dict[str, object]", value)
    source = cell.get("source")
    parts = cast("list[object]", source) if isinstance(source, list) else [source]
    return cell.get("cell_type") in ("code", "markdown", "raw") and all(isinstance(p, str) for p in parts)


def _refused(path: str, why: str) -> Refusal:
    return Refusal(Kind.BAD_PARAMS, f"{path} is open as a notebook, and {why}; nothing was written")
