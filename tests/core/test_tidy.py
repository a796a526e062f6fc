"""Tidy: which package may import which, and who may open files. ARCHITECTURE.md's import order, kept by reading the code."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import sidecar
from sidecar.workspace.state.tracked import Tracked

ROOT = Path(sidecar.__file__).parent

LAYERS = [
    {"core", "windows_processes"},
    {
        "config",
        "given_back",
        "lasting",
        "long_json",
        "matchers",
        "own_program",
        "processes",
        "state_folder",
        "stderr_log",
    },
    {"disk", "journal", "records", "approvals", "audit"},
    {"workspace", "recovery"},
    {"lsp", "acp", "mcp", "bridge", "demo"},  # the doors
    {"proxy"},  # made of several doors
    {"attach", "relayed"},
    {"connection", "alone", "doctor", "setup", "connect", "completion"},
    {"cli"},
    {"__main__"},
]
"""Parts (packages and modules directly in sidecar/) may import those of the layers listed before their own, and no others:
parts of one layer, so the doors too, never import each other."""

MAY_IMPORT = {
    part: set[str]().union(*LAYERS[:number]) for number, layer in enumerate(LAYERS) for part in layer
}
MAY_IMPORT["__init__"] = set()

ROOMS = ["ports", "state", "consent", "edits", "behind", "files", "review", "sessions", "service", "on_disk"]
"""Rooms of workspace/, and its two modules of their own: each may import those before it, and itself."""

ONLY_IN: dict[str, set[str]] = {
    "lsprotocol": {"lsp"},
    "pygls": {"lsp"},
    "acp": {"acp", "demo"},
    "mcp": {"mcp"},
    "pathspec": {"matchers"},
    "sqlite3": {"journal"},
    "shtab": {"completion"},
    "watchfiles": {"disk"},
}
"""Libraries that one part knows, so that a new version of theirs costs one folder."""

OPENS_FILES: dict[str, str] = {
    "disk": "workspace files",
    "journal": "its own database and locks",
    "records": "what was said in sessions, in the state folder",
    "approvals": "what the user approved, in the state folder",
    "audit": "its log, in the state folder",
    "state_folder": "the state folder",
    "bridge": "its registry and lock, in a folder of the user's",
    "lsp/kept_code.py": "byte code, beside Python's own",
    "lsp/stdio.py": "the null device",
    "lsp/transcript_folder.py": "transcripts, in the state folder",
    "lsp/whole_text.py": "long commands while they are asked about, in the state folder",
    "acp/reaper.py": "/proc and its pipes",
    "processes.py": "/proc",
    "acp/pipes.py": "pipes to agents",
    "acp/own_tools/plugins.py": "programs for agents, in the state folder",
    "acp/own_tools/codex.py": "whether Codex' own settings name our program",
    "mcp/codex_environment.py": "its own stdin and stdout",
    "relayed/relay_there.py": "its own stdin and stdout",
    "mcp/tool_process.py": "its own stdin and stdout",
    "connect/notes.py": "what was put into which settings file, in the state folder",
    "setup": "its set-up files; with --write, a new file in an editor's folder",
    "demo": "its own sample project: it plays the editor and the agent, which have their own files",
}
"""Files and parts that may open anything at all. What reads or writes a *workspace* file goes through disk/."""

OPENERS = {
    ("os", "open"),
    ("os", "fdopen"),
    ("io", "open"),
    ("shutil", "copyfile"),
    ("shutil", "copy"),
    ("shutil", "move"),
    ("os", "replace"),
    ("os", "rename"),
    ("os", "unlink"),
    ("os", "remove"),
    ("os", "truncate"),
    ("tempfile", "mkstemp"),
    ("tempfile", "NamedTemporaryFile"),
}
PATH_OPENERS = {"read_text", "read_bytes", "write_text", "write_bytes"}

MODULES = sorted(ROOT.rglob("*.py"))
LIBRARIES = {
    "lsprotocol",
    "pygls",
    "acp",
    "mcp",
    "msgspec",
    "anyio",
    "pathspec",
    "platformdirs",
    "rich",
    "shtab",
    "pydantic",
    "watchfiles",
}


TRACKED = {field.name for field in fields(Tracked)}


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every imported module's dotted name, and where; imports inside functions and under TYPE_CHECKING too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, (
                f"a relative import in line {node.lineno}"
            )  # this test could not follow it
            name = node.module or ""
            yield from (
                (f"{name}.{alias.name}" if name == "sidecar" else name, node.lineno) for alias in node.names
            )
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in (
            "import_module",
            "__import__",
        ):
            yield from ((str(a.value), node.lineno) for a in node.args if isinstance(a, ast.Constant))


def opens(tree: ast.AST) -> Iterator[int]:
    """Lines that open, make, move or remove a file."""
    paths = any(module == "pathlib" for module, _ in imports(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="open"):
                yield node.lineno
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (module, name) in OPENERS:
                yield node.lineno
            case ast.Attribute(attr="read_bytes") if not paths:
                pass  # that of disk's Resolved: the door through which it should go
            case ast.Attribute(attr=name) if name in PATH_OPENERS:
                yield node.lineno
            case _:
                pass


def sets(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The fields of an open document (`Tracked`) that are set from outside, and where. The names under which the code has such a document are few."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(
                attr=field, ctx=ast.Store(), value=ast.Name(id=name) | ast.Attribute(attr=name)
            ):
                if field in TRACKED and name in {"tracked", "again", "opened"}:
                    yield field, node.lineno
            case _:
                pass


def room_of(name: str) -> int | None:
    """The number in ROOMS of `workspace.ROOM…`; None for anything else."""
    names = name.split(".")
    return ROOMS.index(names[1]) if names[0] == "workspace" and len(names) > 1 and names[1] in ROOMS else None


def complaints(path: Path, tree: ast.AST) -> Iterator[str]:
    part, name = part_of(path), path.relative_to(ROOT).as_posix()
    room = room_of(name.removesuffix(".py").replace("/", "."))
    for module, line in imports(tree):
        top, _, rest = module.partition(".")
        if top == "sidecar":
            other = rest.partition(".")[0]
            if other not in {"", "__version__", part} | MAY_IMPORT[part]:
                yield f"{name}:{line}: {part} may not import {module}"
            other_room = room_of(rest)
            if room is not None and other_room is not None and other_room > room:
                yield f"{name}:{line}: {ROOMS[room]} may not import {module}"
        elif top in ONLY_IN and part not in ONLY_IN[top]:
            yield f"{name}:{line}: only {', '.join(sorted(ONLY_IN[top]))} may import {top}"
        elif part == "core" and (top in LIBRARIES or top not in sys.stdlib_module_names):
            yield f"{name}:{line}: core imports the standard library only, not {module}"
        elif part == "core" and top in NOT_PURE:
            yield f"{name}:{line}: core does no IO: {module}"
    yield from (f"{name}:{line}: Tracked has a method that sets {field}" for field, line in sets(tree))
    if part not in OPENS_FILES and name not in OPENS_FILES:
        yield from (f"{name}:{line}: files are opened in disk/ only" for line in opens(tree))


NOT_PURE = {
    "asyncio",
    "io",
    "os",
    "pathlib",
    "select",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_and_files(path: Path) -> None:
    assert part_of(path) in MAY_IMPORT, f"say in LAYERS where {part_of(path)} belongs"
    assert list(complaints(path, ast.parse(path.read_bytes()))) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("core/x.py", "import re", None),
        ("core/x.py", "from sidecar.core.text import Text", None),
        ("core/x.py", "import os.path", "core does no IO"),
        ("core/x.py", "from pathlib import Path", "core does no IO"),
        ("core/x.py", "def f():\n    import asyncio", "core does no IO"),
        ("core/x.py", "import anyio", "standard library only"),
        ("core/x.py", "from sidecar.workspace import ports", "core may not import"),
        ("core/x.py", "open('x')", "opened in disk/ only"),
        ("config.py", "from sidecar import disk", "config may not import sidecar.disk"),
        ("disk/x.py", "from sidecar.workspace.ports.ports import Clock", "disk may not import"),
        ("disk/x.py", "from sidecar.journal import x", "disk may not import"),
        ("disk/x.py", "import os\nos.open('x', 0)", None),
        ("workspace/x.py", "from sidecar.disk import x", None),
        ("workspace/x.py", "from sidecar.lsp import x", "workspace may not import"),
        ("workspace/x.py", "path.read_text()", "opened in disk/ only"),
        ("workspace/x.py", "from pathlib import Path\nPath('x').read_bytes()", "opened in disk/ only"),
        ("workspace/x.py", "resolved.read_bytes(limit)", None),
        ("workspace/x.py", "tracked.saved = text", "Tracked has a method"),
        ("workspace/x.py", "conflict.tracked.apart, x = False, 1", "Tracked has a method"),
        ("workspace/x.py", "session.saved = tracked.saved", None),
        ("workspace/edits/x.py", "from sidecar.workspace.state.tracked import Tracked", None),
        ("workspace/edits/x.py", "from sidecar.workspace.behind.legs import Leg", "edits may not import"),
        ("workspace/review/x.py", "from sidecar.workspace.service import Workspace", "review may not import"),
        ("acp/x.py", "from sidecar import __version__", None),
        ("lsp/x.py", "from lsprotocol import types", None),
        ("lsp/x.py", "from sidecar.acp import x", "lsp may not import"),
        ("acp/x.py", "import acp.schema", None),
        ("acp/x.py", "from pygls import x", "only lsp may import pygls"),
        ("acp/x.py", "importlib.import_module('sidecar.lsp.x')", "acp may not import"),
        ("demo/x.py", "from sidecar.lsp import x", "demo may not import"),
        ("cli.py", "from sidecar.lsp import x\nfrom sidecar.acp import y", None),
    ],
)
def test_it_complains_of_what_it_should(path: str, source: str, complaint: str | None) -> None:
    found = list(complaints(ROOT / path, ast.parse(source)))
    assert bool(found) == (complaint is not None)
    assert complaint is None or complaint in found[0]


def test_every_room_has_a_map() -> None:
    """What `ROOMS` lists is what there is, and the docstring of each room names each of its modules."""
    workspace = ROOT / "workspace"
    found = {path.name.removesuffix(".py") for path in workspace.iterdir() if path.name[0] != "_"}
    assert found == set(ROOMS)
    for room in (workspace / name for name in ROOMS if (workspace / name).is_dir()):
        doc = ast.get_docstring(ast.parse((room / "__init__.py").read_bytes())) or ""
        named = [line.split()[0] for line in doc.splitlines()[2:]]
        assert named == sorted(path.name for path in room.glob("*.py") if path.name != "__init__.py"), room


PACKAGES = sorted(path.parent for path in ROOT.rglob("__init__.py") if path.parent != ROOT)


MAP_LINE = re.compile(r"^ *((?:[\w-]+(?:\.py|\.mjs|\.json|/)(?:, | |$))+)", re.MULTILINE)
"""The names with which a line of a map begins."""


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.relative_to(ROOT).as_posix())
def test_every_package_has_a_map(package: Path) -> None:
    """The docstring has a line for each module and each room; several may share one. It names no module that is gone.
    ARCHITECTURE.md is the map of `sidecar/` itself."""
    doc = ast.get_docstring(ast.parse((package / "__init__.py").read_bytes())) or ""
    there = {path.name for path in package.glob("*.py") if path.name != "__init__.py"}
    there |= {f"{path.name}/" for path in package.iterdir() if path.is_dir() and path.name[0] not in "._"}
    listed = {name for names in MAP_LINE.findall(doc) for name in names.replace(",", " ").split()}
    assert there - listed == set()
    assert {name for name in listed - there if not (package / name).is_file()} == set()
    named = re.findall(r"(?<![\w/.-])[\w-]+\.py\b", doc)
    assert [name for name in named if name not in MODULE_NAMES] == []


MODULE_NAMES = {path.name for path in MODULES}


def test_what_is_allowed_still_exists() -> None:
    """An exception for something that is gone would let the next thing of that name through."""
    names = {path.relative_to(ROOT).as_posix() for path in MODULES} | {part_of(path) for path in MODULES}
    assert set(OPENS_FILES) <= names
