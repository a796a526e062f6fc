"""One name for one concept: no two public classes of the package have the same name, except those listed with a reason.

A Protocol may have the name of a class: it is the part of that class which its module needs.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable

import pytest

from tests.core.test_tidy import MODULES, ROOT

_DEMO = "demo/ plays the editor and the agent and shares no code with what it plays against"
_WIRE = "lsp/ext.py has the form of it on the wire"
_DOORS = "two doors, each with its own word for the same kind of thing"
_PART = "the Protocols of one package, and the workspace's class"

LEFT: dict[str, str] = {
    "Agent": _DEMO,
    "Answer": _DEMO,
    "Changed": _DEMO,
    "ConflictHunk": _WIRE,
    "ContentChange": _DEMO,
    "Conversations": _PART,
    "Gone": _DEMO,
    "Guest": _DOORS,
    "OwnTools": _DOORS,
    "Refused": _DEMO,
    "Replacement": _DEMO,
    "Saved": _DEMO,
    "Step": _DEMO,
    "Story": _DEMO,
    "Turn": _DEMO,
    "Write": _DEMO,
}


def classes(tree: ast.Module) -> Iterable[tuple[str, bool]]:
    """The public classes of a module: (name, is a Protocol)."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, any("Protocol" in ast.unparse(base) for base in node.bases)


def shared(sources: Iterable[tuple[str, str | bytes]]) -> dict[str, list[str]]:
    """The names of several concepts, with the modules that have them."""
    found: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
    for module, source in sources:
        for name, is_protocol in classes(ast.parse(source)):
            found[name].append((module, is_protocol))
    return {
        name: [module for module, _ in places]
        for name, places in found.items()
        if len(places) > 1 and sum(not is_protocol for _, is_protocol in places) != 1
    }


def test_no_name_stands_for_two_classes() -> None:
    found = shared((path.relative_to(ROOT).as_posix(), path.read_bytes()) for path in MODULES)
    assert {name: modules for name, modules in found.items() if name not in LEFT} == {}
    assert set(LEFT) - set(found) == set(), "these are mended: take them out of LEFT"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("class A: ...", "class B: ...", {}),
        ("class A: ...", "class A: ...", {"A": ["one", "other"]}),
        ("class A: ...", "class A(Protocol): ...", {}),
        ("class A(Protocol): ...", "class A(Protocol[T]): ...", {"A": ["one", "other"]}),
        ("class _A: ...", "class _A: ...", {}),
        ("class A: ...", "def f():\n    class A: ...", {}),
    ],
)
def test_it_finds_them(one: str, other: str, expected: dict[str, list[str]]) -> None:
    assert shared([("one", one), ("other", other)]) == expected
