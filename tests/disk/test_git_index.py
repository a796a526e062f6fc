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


def staged(folder: Path, names: list[str]) -> dict[str, git_index.Staged]:
    """Those that the index has, without those of which git may keep other bytes."""
    converted = git_index.converted(str(folder), names)
    assert converted is not None
    found = {os.fsdecode(name): one for name, one in git_index.entries(str(folder))}
    return {name: one for name, one in found.items() if name in names and name not in converted}


def known(folder: Path) -> dict[str, str]:
    """The object ids of the files that are what git saw."""
    return {
        name: one.object_id
        for name, one in staged(folder, [*FILES, "new.txt"]).items()
        if one.is_still(Stat.of((folder / name).lstat()))
    }


def test_what_git_saw(repository: Path) -> None:
    head = git_head.head(str(repository))
    assert known(repository) == {name: head[name].object_id for name in FILES}
    (repository / "sub" / "x.txt").write_text("x")
    within = staged(repository / "sub", ["b é.txt", "x.txt"])
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
    for _ in range(2):
        assert list(git_index.entries(str(tmp_path))) == []
        assert git_index.size(str(tmp_path)) == 0
        git(tmp_path, "init", "-q")


def test_it_says_how_many_files_it_has(repository: Path) -> None:
    assert git_index.size(str(repository)) == git_index.size(str(repository / "sub")) == len(FILES)


@pytest.mark.parametrize("part", [1, 7, 100])
def test_in_parts_it_says_the_same(repository: Path, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = known(repository), list(git_head.committed(str(repository), commit_id(repository)))
    monkeypatch.setattr(git_head, "PART", part)
    assert (known(repository), list(git_head.committed(str(repository), commit_id(repository)))) == whole
    assert {os.fsdecode(name): blob for name, blob in whole[1]} == git_head.head(str(repository))


def test_a_long_entry_that_nobody_understands_is_left_out(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "update-index", "--assume-unchanged", "a.txt")
    monkeypatch.setattr(git_head, "PART", 10)
    monkeypatch.setattr(git_index, "_LONGEST", 300)
    assert set(known(repository)) == FILES.keys() - {"a.txt"}


def test_a_file_of_attributes_that_is_none_is_not_waited_for(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(repository / ".gitattributes")
    asked: list[str] = []
    ask = git_head.ask

    def noted(folder: str, *words: str, data: bytes = b"") -> bytes | None:
        asked.append(words[0])
        return ask(folder, *words, data=data)

    monkeypatch.setattr(git_head, "ask", noted)
    assert git_index.converted(str(repository), list(FILES)) is None
    assert asked == ["rev-parse"], "git would wait for it"


def commit_id(folder: Path) -> str:
    commit = git_head.commit(str(folder))
    assert commit is not None
    return commit.id
