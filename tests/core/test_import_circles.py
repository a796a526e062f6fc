"""No module imports another that leads back to it, at its top or inside a function. What is imported for the type checker only does not
count."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.core.test_tidy import MODULES, ROOT


def run(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below this one that may be run, so nothing under TYPE_CHECKING."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from run(other)
        else:
            yield child
            yield from run(child)


def imported(tree: ast.AST, modules: Container[str]) -> Iterator[str]:
    """Those of the modules that are imported. A module that is imported from its package does not count as an import of the package."""
    for node in run(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found = {name if name in modules else node.module for name in names}
            yield from (name for name in found if name in modules)


def circles(sources: Mapping[str, str | bytes]) -> list[str]:
    """`sources`: the text of each module by its dotted name. A circle: the modules in the order in which they import each other."""
    graph = {
        name: {other for other in imported(ast.parse(source), sources) if other != name}
        for name, source in sources.items()
    }
    found: list[str] = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle = list(reversed(error.args[1]))  # it lists what is imported before what imports it
            first = circle.index(min(circle))
            found.append(" → ".join([*circle[first:-1], *circle[:first], circle[first]]))
            graph[circle[0]].discard(circle[1])
        else:
            return sorted(found)


def dotted(name: str) -> str:
    return name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def test_no_module_imports_itself_by_others() -> None:
    sources = {dotted(path.relative_to(ROOT.parent).as_posix()): path.read_bytes() for path in MODULES}
    assert len(sources) > 300
    assert circles(sources) == []


TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import A\n"


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"p.a": "import p.b", "p.b": "import re"}, []),
        ({"p.a": "import p.b", "p.b": "import p.a"}, ["p.a → p.b → p.a"]),
        ({"p.a": "from p import b", "p.b": "from p.a import A"}, ["p.a → p.b → p.a"]),
        ({"p.a": "from p import b", "p.b": "def f():\n    from p.a import A"}, ["p.a → p.b → p.a"]),
        ({"p": "import p.a", "p.a": "from p import b", "p.b": ""}, []),
        ({"p": "import p.a", "p.a": "from p import A"}, ["p → p.a → p"]),
        ({"p.a": "import p.b", "p.b": TYPES}, []),
        ({"p.a": "import p.b", "p.b": f"{TYPES}else:\n    import p.a"}, ["p.a → p.b → p.a"]),
        (
            {"p.c": "import p.b", "p.a": "import p.c", "p.b": "import p.a", "p.d": "import p.a"},
            ["p.a → p.c → p.b → p.a"],
        ),
        (
            {"p.a": "import p.b", "p.b": "import p.a", "p.c": "import p.d", "p.d": "import p.c"},
            ["p.a → p.b → p.a", "p.c → p.d → p.c"],
        ),
    ],
)
def test_it_finds_circles(sources: dict[str, str], expected: list[str]) -> None:
    assert circles(sources) == expected
