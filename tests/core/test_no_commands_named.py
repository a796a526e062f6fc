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


EXTENSION = ROOT.parent / "editor-extension"


def test_nor_does_the_extension() -> None:
    files = [
        *sorted((EXTENSION / "src").rglob("*.ts*")),
        *sorted((EXTENSION / "media").rglob("*.md")),
        EXTENSION / "package.json",
        EXTENSION / "package.nls.json",
    ]
    assert len(files) > 50
    assert [path.name for path in files if NAMED.search(path.read_text("utf-8"))] == []


ASKS = re.compile(
    r"save it yourself|[Cc]ompare|[Dd]ecide there|Check the lines|keep or reject|can be rejected|did\. Your text stays"
)
"""The user is to look at a file, which the editor can show."""


def without_a_button(tree: ast.AST) -> Iterator[str]:
    """What is shown (`Editor.show`) to that end, and opens nothing."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "show":
            texts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
            words = " ".join(text for text in texts if isinstance(text, str))
            if len(call.args) < 3 and ASKS.search(words):
                yield words


def test_a_message_that_asks_the_user_to_look_somewhere_has_a_button() -> None:
    assert [one for path in files() for one in without_a_button(ast.parse(path.read_text()))] == []


def test_it_sees_one_without() -> None:
    assert list(without_a_button(ast.parse('self._editor.show("warning", f"{path} changed. Compare it.")')))


@pytest.mark.parametrize("text", ["see `acp-sidecar changes`", "acp-sidecar revert f"])
def test_it_sees_one(text: str) -> None:
    assert NAMED.search(text)
