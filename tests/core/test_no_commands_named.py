"""What an editor shows, and what an agent reads, names no command of ours: users of an extension have none installed, and no agent is to run them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sidecar

ROOT = Path(sidecar.__file__).parent
SPEAK_TO_EDITORS = ["core", "disk", "journal", "workspace", "lsp", "acp", "connection.py"]
SPEAK_TO_EDITORS += [
    f"recovery/{name}.py" for name in ("settle", "cut_off", "leftovers", "torn", "files", "plan")
]


IN_A_TERMINAL = ROOT / "lsp" / "main.py"
"""Says to who starts the server by hand what it is."""
NAMED = re.compile(r"acp-sidecar (changes|revert|sessions|audit|doctor|setup|connect|disconnect)\b")


def said(tree: ast.AST) -> Iterator[str]:
    """The texts in a file that are no docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def files() -> Iterator[Path]:
    for name in SPEAK_TO_EDITORS:
        path = ROOT / name
        assert path.exists(), name
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        yield from (one for one in found if one != IN_A_TERMINAL)


def test_no_message_names_a_command() -> None:
    found = [
        (path.name, text)
        for path in files()
        for text in said(ast.parse(path.read_text()))
        if NAMED.search(text)
    ]
    assert found == []


@pytest.mark.parametrize("text", ["see `acp-sidecar changes`", "acp-sidecar revert f"])
def test_it_sees_one(text: str) -> None:
    assert NAMED.search(text)
