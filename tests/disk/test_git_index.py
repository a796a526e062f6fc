"""git's index is believed where a file is what git saw, and nowhere else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.disk import Stat, git_head, git_index
from tests.support.repositories import commit, git, with_git

pytestmark = with_git
FILES = {"a.txt": b"one\n", "sub/b é.txt": b"\0\xff", "c\nd.txt": b"two\n", "e.txt": b""}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """git looked at its files after they had been written: their times are older than the index's."""
    folder = tmp_path / "repo"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        os.utime(folder / name, (1_000_000_000, 1_000_000_000))
    commit(folder)
    return folder


def known(folder: Path) -> dict[str, str]:
    """The object ids of the files that are what git saw."""
    names = [*FILES, "new.txt"]
    return {
        name: one.object_id
        for name, one in git_index.staged(str(folder), names).items()
        if one.is_still(Stat.of((folder / name).lstat()))
    }


def test_what_git_saw(repository: Path) -> None:
    head = git_head.head(str(repository))
    assert known(repository) == {name: head[name].object_id for name in FILES}
    (repository / "sub" / "x.txt").write_text("x")
    within = git_index.staged(str(repository / "sub"), ["b é.txt", "x.txt"])
    assert set(within) == {"b é.txt"}, "names are relative to the folder"


def changed(repository: Path) -> None:
    (repository / "a.txt").write_bytes(b"eno\n")


def changed_with_its_old_time(repository: Path) -> None:
    changed(repository)
    os.utime(repository / "a.txt", (1_000_000_000, 1_000_000_000))


def another_in_its_place(repository: Path) -> None:
    (repository / "new").write_bytes(b"eno\n")
    os.utime(repository / "new", (1_000_000_000, 1_000_000_000))
    (repository / "new").replace(repository / "a.txt")


def flagged(repository: Path) -> None:
    git(repository, "update-index", "--assume-unchanged", "a.txt")


def in_conflict(repository: Path) -> None:
    object_id = git_head.head(str(repository))["a.txt"].object_id
    git(repository, "rm", "-q", "--cached", "a.txt")
    entries = "".join(f"100644 {object_id} {stage}\ta.txt\n" for stage in (1, 2, 3))
    subprocess.run(
        ["git", "update-index", "--index-info"], cwd=repository, input=entries.encode(), check=True
    )


def without_an_inode(repository: Path) -> None:
    object_id = git_head.head(str(repository))["a.txt"].object_id
    git(repository, "update-index", "--cacheinfo", f"100644,{object_id},a.txt")


@pytest.mark.parametrize(
    "does",
    [changed, changed_with_its_old_time, another_in_its_place, flagged, in_conflict, without_an_inode],
)
def test_what_may_be_something_else(repository: Path, does: Callable[[Path], None]) -> None:
    assert "a.txt" in known(repository), "a case that shows nothing"
    does(repository)
    assert set(known(repository)) == FILES.keys() - {"a.txt"}


def test_what_was_written_in_the_moment_in_which_git_looked(repository: Path) -> None:
    """It may be written once more in that moment, and have the same time."""
    index = repository / ".git" / "index"
    os.utime(index, (1_000_000_000, 1_000_000_000))
    assert known(repository) == {}


@pytest.mark.parametrize(
    "attributes",
    [
        "a.txt filter=rot13",
        "a.txt ident",
        "a.txt working-tree-encoding=latin-1",
        "[attr]odd filter=rot13\na.txt odd",
    ],
)
@pytest.mark.parametrize("where", [".gitattributes", ".git/info/attributes"])
def test_where_git_may_keep_other_bytes(repository: Path, attributes: str, where: str) -> None:
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / where).write_text(attributes + "\n")
    assert set(known(repository)) == FILES.keys() - {"a.txt"}


def test_where_there_is_no_index(tmp_path: Path) -> None:
    assert git_index.staged(str(tmp_path), ["a.txt"]) == {}
    git(tmp_path, "init", "-q")
    assert git_index.staged(str(tmp_path), ["a.txt"]) == {}
