"""ARCHITECTURE.md names what there is: every part of the package, and no file, class or test that is gone."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from tests.support import tools

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
EXTENSION = ROOT / "editor-extension"


def files(*suffixes: str) -> list[Path]:
    folders = (ROOT / "sidecar", ROOT / "tests", ROOT / "scripts", EXTENSION / "src")
    found = [path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes]
    return [*found, *(path for path in EXTENSION.iterdir() if path.suffix in suffixes)]


def names(kind: type[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef], path: Path) -> set[str]:
    return {one.name for one in ast.walk(ast.parse(path.read_bytes())) if isinstance(one, kind)}


@pytest.mark.parametrize(
    "part", sorted(path.name for path in (ROOT / "sidecar").iterdir() if not path.name.startswith("_"))
)
def test_every_part_is_in_the_table(part: str) -> None:
    if part == "py.typed":
        return
    assert f"`{part}`" in TEXT or f"`{part}/`" in TEXT


DEPTH = {"sidecar": 3, "editor-extension": 3}
"""To how many levels the folders in a folder are named; two elsewhere."""
REPEATED = {"tests": "sidecar", "editor-extension/test": "editor-extension/src"}
"""Where a folder has the name of what it tests: that one is named, and this page says so once for all."""


def folders() -> set[PurePosixPath]:
    """The folders of the repository that this page names; by git, so that nobody's own folders are among them."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tools.lacking("git", f"not a clone of it: {done.stderr.strip()}")
    found = {
        folder for line in done.stdout.splitlines() for folder in PurePosixPath(line).parents if folder.name
    }
    return {folder for folder in found if len(folder.parts) <= DEPTH.get(folder.parts[0], 2)}


def test_every_folder_is_named() -> None:
    """Somebody who reads only this page and README can say what each folder is for."""
    there = folders()
    assert len(there) > 50
    repeated = {
        folder
        for folder in there
        if PurePosixPath(REPEATED.get(folder.parent.as_posix(), "none"), folder.name) in there
    }
    named = {folder for folder in there if re.search(rf"[`/]{re.escape(folder.name)}/`", TEXT)}
    assert {str(folder) for folder in there - repeated - named} == set()


def test_every_file_it_names_is_there() -> None:
    there = [path.as_posix() for path in files(".py", ".ts", ".toml")]
    named = set(re.findall(r"`([\w/*-]+(?:\.py|\.ts|\.toml))", TEXT))
    assert len(named) > 15
    patterns = {
        name: re.compile("(^|/)" + name.replace(".", r"\.").replace("*", r"\w*") + "$") for name in named
    }
    assert not [name for name, pattern in patterns.items() if not any(map(pattern.search, there))]


def test_every_test_it_names_is_there() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)(…?)", TEXT)
    assert len(named) > 10
    tests = {
        path.as_posix(): names(ast.FunctionDef, path) | names(ast.AsyncFunctionDef, path)
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.as_posix().endswith(tuple(f"/{file}" for file, _, _ in named))
    }
    for file, name, more in named:
        found = [one for path, all_of_it in tests.items() if path.endswith("/" + file) for one in all_of_it]
        assert any(one.startswith(name) if more else one == name for one in found), f"{file}::{name}"


def test_every_class_it_names_is_there() -> None:
    there = {name for path in (ROOT / "sidecar").rglob("*.py") for name in names(ast.ClassDef, path)}
    there |= set(
        re.findall(r"(?:class|interface) (\w+)", "".join(p.read_text("utf-8") for p in files(".ts")))
    )
    named = set(re.findall(r"`([A-Z]\w+)(?:\.\w+)?`", TEXT))
    assert len(named) > 15
    assert named <= there
