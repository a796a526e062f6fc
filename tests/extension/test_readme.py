"""The extension's README compares us with three others: no empty cell, and it says what this extension lacks."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[2] / "editor-extension" / "README.md"
IMAGES = Path(__file__).parents[2] / "docs" / "images"


def rows() -> list[list[str]]:
    section = README.read_text().split("## Comparison", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_stands_beside_three_others_and_no_cell_is_empty() -> None:
    head, rule, *table = rows()
    for name, cell in zip(("this extension", "formulahendry", "Zed", "Claude Code"), head[1:], strict=True):
        assert name in cell
    assert all(set(cell) <= {"-"} for cell in rule)
    assert len(table) >= 15
    assert [row for row in table if len(row) != 5 or not all(row)] == []
    assert len({row[0] for row in table}) == len(table)


def test_it_says_where_this_extension_lacks() -> None:
    lacking = [row[0] for row in rows()[2:] if re.match(r"\*\*no\*\*", row[1])]
    assert lacking


def test_the_panel_is_pictured_in_light_dark_and_high_contrast() -> None:
    for theme in ("light", "dark", "hc-dark"):
        picture = IMAGES / f"vscode-panel-{theme}.png"
        assert picture.read_bytes().startswith(b"\x89PNG"), picture
