"""What a file of a large folder costs: memory, and calls of the system at the first look. Counts, not times; `make bench BENCH=growth` has those."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.disk import folder_files, git_head, git_index
from sidecar.disk.git_head import Names
from sidecar.workspace.behind import tree_notes
from sidecar.workspace.behind.tree_looks import TreeLooks
from sidecar.workspace.behind.tree_starts import TreeStart
from tests.support.repositories import commit, with_git

FILES = 1_200
IN_A_FOLDER = 20
MOST = 100
"""Bytes of memory a file."""
AGAIN = 8
"""The same for each further look of a session that finds nothing changed."""
KEPT = 145
"""Bytes, besides its contents, of a file that no commit has: its name, and what Python needs for the contents."""
NEVER = 2**63
LONG_AGO = 1_000_000_000
"""Seconds since the epoch."""


def make(folder: Path, count: int, *, in_git: bool) -> str:
    for number in range(count):
        part = number // IN_A_FOLDER
        path = folder / f"part{part // 50}" / f"module{part}" / f"name{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line = {number}\n")
        os.utime(path, (LONG_AGO, LONG_AGO))
    if in_git:
        commit(folder)
    return str(folder)


def measure(folder: str, most_kept: int) -> dict[str, int]:
    """The bytes of the first look at a folder, without the contents it keeps, and of nine more; and how many files are noted, and kept."""
    tree_notes.MAX_KEPT = most_kept
    TreeLooks().now(folder, NEVER)  # what comes only once
    gc.collect()
    tracemalloc.start()
    nothing = tracemalloc.get_traced_memory()[0]
    looks = TreeLooks()
    (note,) = looks.now(folder, NEVER).notes
    starts = [TreeStart(note)]
    gc.collect()
    one = tracemalloc.get_traced_memory()[0]
    contents = sum(KEPT + len(data) for data in note.kept.values())
    for _ in range(9):
        starts += [TreeStart(note) for note in looks.now(folder, NEVER).notes]
    gc.collect()
    nine = tracemalloc.get_traced_memory()[0] - one
    return {"files": len(note.files), "kept": len(note.kept), "one": one - nothing - contents, "nine": nine}


@pytest.mark.parametrize("in_git", [pytest.param(True, marks=with_git), False], ids=["git", "no git"])
def test_bytes_a_file(tmp_path: Path, in_git: bool) -> None:
    """In a process of its own: in this one, what threads of other tests take meanwhile would count, too."""
    folder = make(tmp_path, FILES, in_git=in_git)
    words = [sys.executable, "-m", __name__, folder, str(FILES // 2)]
    root = Path(__file__).parents[2]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["files"], found["kept"]) == (FILES, 0 if in_git else FILES // 2)
    assert found["one"] <= MOST * FILES
    assert found["nine"] <= 9 * AGAIN * FILES, "what does not change is shared"


@with_git
def test_the_first_look_asks_for_each_file_once_and_starts_git_as_often_for_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, opened, started = list[str](), list[str](), list[str]()
    lstat, resolve, ask = os.lstat, tree_notes.resolve, git_head.ask

    def counted_lstat(path: Any, *more: Any, **named: Any) -> os.stat_result:
        asked.append(os.fsdecode(path))
        return lstat(path, *more, **named)

    def counted_ask(folder: str, *words: str, **more: Any) -> bytes | None:
        started.append(words[0])
        return ask(folder, *words, **more)

    def counted_resolve(roots: Any, path: str, *, access: Any) -> Any:
        opened.append(path)
        return resolve(roots, path, access=access)

    costs: list[list[str]] = []
    for count in (300, 900):
        folder = make(tmp_path / f"{count}", count, in_git=True)
        for each in (asked, opened, started):
            each.clear()
        with monkeypatch.context() as patched:
            patched.setattr(os, "lstat", counted_lstat)
            patched.setattr(git_head, "ask", counted_ask)
            patched.setattr(tree_notes, "resolve", counted_resolve)
            (note,) = TreeLooks().now(folder, NEVER).notes
        assert len(note.files) == count
        assert opened == [], "git knows that they are as in the commit"
        files = [path for path in asked if path.endswith(".py")]
        assert len(files) == len(set(files)) == count
        costs.append([*started])
    few, many = costs
    assert few == many


@pytest.mark.parametrize("more", [0, 1])
def test_so_many_files_are_looked_at_with_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    """Names are enough to find out which folders nobody looks into; the files need not be there."""
    names = [f"{number}" for number in range(300_000 + more)]
    monkeypatch.setattr(git_head, "names", lambda folder, **more: Names(names, []))
    monkeypatch.setattr(git_index, "size", lambda folder: len(names))
    found = folder_files.trees(str(tmp_path))
    assert (len(found.found), len(found.too_large)) == (1 - more, more)


@pytest.mark.parametrize("more", [0, 1])
def test_so_many_files_are_looked_at_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    def walk(folder: str, inner: list[str]) -> Iterator[str | None]:
        yield None
        yield from map(str, range(100_000 + more))

    monkeypatch.setattr(folder_files, "_walk", walk)
    found = folder_files.trees(str(tmp_path))
    assert (len(found.found), len(found.too_large)) == (1 - more, more)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
