"""What a command changes in a repository within the folder (a nested one, a submodule, one of several) is found and put back; and so it
is in a checkout with line ends of Windows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.disk import folder_files
from sidecar.workspace.behind import tree_notes
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.repositories import commit, git, submodule, with_git
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, listed, play
from tests.workspace.test_found_files import files, rows_of_files, taken

pytestmark = with_git
TEXT = b"one\ntwo\nthree\n"
FILES = {"same.txt": TEXT, "image": b"\0\1", "gone.txt": TEXT, "mode.sh": b"echo\n", "deep/a.txt": TEXT}


def nested(folder: Path, outside: Path) -> str:
    commit(folder, {"a.txt": TEXT})
    commit(folder / "in", FILES)
    return "in"


def a_submodule(folder: Path, outside: Path) -> str:
    commit(folder, {"a.txt": TEXT})
    submodule(folder, "in", outside / "lib", FILES)
    assert (folder / "in" / ".git").is_file()
    return "in"


def two_deep(folder: Path, outside: Path) -> str:
    commit(folder, {"a.txt": TEXT})
    commit(folder / "mid", {"a.txt": TEXT})
    commit(folder / "mid" / "in", FILES)
    return "mid/in"


def one_of_several(folder: Path, outside: Path) -> str:
    """The folder itself is no repository."""
    (folder / "a.txt").write_bytes(TEXT)
    commit(folder / "other", {"a.txt": TEXT})
    commit(folder / "in", FILES)
    return "in"


def a_git_that_is_none(folder: Path, outside: Path) -> str:
    one_of_several(folder, outside)
    shutil.rmtree(folder / "in" / ".git")
    (folder / "in" / ".git").mkdir()
    return "in"


def without_a_commit(folder: Path, outside: Path) -> str:
    commit(folder, {"a.txt": TEXT})
    commit(folder / "in", FILES)
    shutil.rmtree(folder / "in" / ".git")
    git(folder / "in", "init", "-q")
    return "in"


EVERY = [nested, a_submodule, two_deep, one_of_several, a_git_that_is_none, without_a_commit]
Kind = Callable[[Path, Path], str]


def modes(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mode for name in files(folder)}


@pytest.mark.parametrize("custom", [True, False], ids=["through the editor", "on the disk"])
@pytest.mark.parametrize("kind", EVERY)
def test_is_listed_and_taken_back(tmp_path: Path, kind: Kind, custom: bool) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    within = folder / kind(folder, tmp_path)
    (within / "differs.txt").write_bytes(b"mine\r\n" + TEXT)
    before = files(folder), modes(folder)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        for name in ("same.txt", "differs.txt", "deep/a.txt"):
            (within / name).write_bytes((within / name).read_bytes().replace(b"two", b"TWO"))
        (within / "image").write_bytes(b"\0\2")
        (within / "gone.txt").unlink()
        (within / "mode.sh").chmod(0o755)
        (within / "new.txt").write_bytes(b"new\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert sorted(n for n, _, _ in listed(bench)) == ["a.txt", "differs.txt", "new.txt", "same.txt"]
        assert rows_of_files(bench) == [("gone.txt", "deleted"), ("image", "changed"), ("mode.sh", "mode")]
        result = await bench.workspace.review.reject(Selector(everything=True))
        assert not result.impossible
        assert (files(folder), modes(folder)) == before

    play(folder, VSCODE, script, after=after, custom=custom)


@pytest.mark.parametrize("kind", [nested, a_submodule, two_deep, one_of_several])
def test_its_commit_holds_its_files_and_its_git_says_what_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    """Whatever is around it. Nothing can be kept beside the commits."""
    folder = tmp_path / "w"
    folder.mkdir()
    within = folder / kind(folder, tmp_path)
    commit(within, {".gitignore": b"*.log\n"})
    monkeypatch.setattr(tree_notes, "MAX_KEPT", 0)
    before = files(folder)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (within / "same.txt").write_bytes(b"other\n")
        (within / "image").write_bytes(b"\0\2")
        (within / "gone.txt").unlink()
        (within / "build.log").write_bytes(b"log\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = bench.workspace.review.changes(Selector())
        assert {os.path.basename(str(row["uri"])) for row in rows} == {"same.txt", "image", "gone.txt"}
        result = await bench.workspace.review.reject(Selector(everything=True))
        assert not result.impossible
        (within / "build.log").unlink()
        assert files(folder) == before

    play(folder, VSCODE, script, after=after, custom=False)


@pytest.mark.parametrize("kind", [nested, a_submodule])
def test_a_repository_that_is_removed(tmp_path: Path, kind: Kind) -> None:
    """A submodule's objects are elsewhere. With a nested one they are gone, which is said of each file that only they held."""
    folder = tmp_path / "w"
    folder.mkdir()
    within = folder / kind(folder, tmp_path)
    (within / "untracked.txt").write_bytes(TEXT)
    before = files(folder)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        shutil.rmtree(within)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        lost = sorted(one["changeId"].rpartition("/")[2] for one in result.impossible)
        if kind is a_submodule:
            assert (lost, files(folder)) == ([], before)
        else:
            assert lost == sorted(os.path.basename(name) for name in FILES)
            assert (within / "untracked.txt").read_bytes() == TEXT

    play(folder, VSCODE, script, after=after)


def test_what_a_removed_git_folder_uncovers_is_not_the_agents(tmp_path: Path) -> None:
    """The files are the outer repository's then."""
    within = tmp_path / nested(tmp_path, tmp_path)
    before = files(tmp_path)
    tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        shutil.rmtree(within / ".git")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert not bench.workspace.review.changes(Selector())
        await bench.workspace.review.reject(Selector(everything=True))
        assert files(tmp_path) == before

    play(tmp_path, VSCODE, script, after=after)


def test_a_repository_that_an_agent_makes(tmp_path: Path) -> None:
    commit(tmp_path, {"a.txt": TEXT})

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        commit(tmp_path / "clone", {"b.txt": TEXT})
        tick()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [n for n, _, _ in listed(bench)] == ["b.txt"]
        await bench.workspace.review.reject(Selector(everything=True))
        assert files(tmp_path) == {"a.txt": TEXT}

    play(tmp_path, VSCODE, script, after=after)


def test_more_than_are_looked_at_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_files, "MAX_TREES", 2)
    commit(tmp_path, {"a.txt": TEXT})
    for name in ("in1", "in2"):
        commit(tmp_path / name, {"a.txt": TEXT})

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute", "in2/a.txt")
        tick()
        for name in ("in1", "in2"):
            (tmp_path / name / "a.txt").write_bytes(b"other\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(listed(bench)) == 2, "the one that is not looked at was named by the call"
        await bench.workspace.review.reject(Selector(everything=True))
        assert (tmp_path / "in2" / "a.txt").read_bytes() == TEXT

    editor = play(tmp_path, VSCODE, script, after=after)
    assert any("in2 has too many files" in words for _, words in editor.shown)


@pytest.mark.parametrize("by", ["the repository", "the user"])
def test_windows_line_ends_are_compared_as_git_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Nothing of a checkout with CRLF is kept: the commit has it. All but one file are beyond the bound on what is kept. `by` a `.gitattributes`, or by
    `core.autocrlf`, as git for Windows has it by default."""
    monkeypatch.setattr(tree_notes, "MAX_KEPT", 1)
    names = [f"{number}.txt" for number in range(5)]
    attributes = b"*.txt eol=crlf\n" if by == "the repository" else b"lf eol=lf\n"
    commit(
        tmp_path,
        {".gitattributes": attributes, "empty.txt": b"", "lf": TEXT} | dict.fromkeys(names, TEXT),
    )
    if by == "the user":
        git(tmp_path, "config", "core.autocrlf", "true")
    for name in names:
        (tmp_path / name).unlink()
    git(tmp_path, "checkout", "--", ".")
    assert (tmp_path / "0.txt").read_bytes() == TEXT.replace(b"\n", b"\r\n")
    (tmp_path / "4.txt").write_bytes(b"one\ntwo\r\nthree\n")
    before = files(tmp_path)
    start = taken(tmp_path)["."]
    assert start.same == {".gitattributes", "empty.txt", "lf", *names[:4]}
    assert (list(start.kept), start.for_journal().crlf) == (["4.txt"], names[:4])

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "0.txt").write_bytes(b"one\r\nTWO\r\nthree\r\n")
        (tmp_path / "1.txt").write_bytes(TEXT)
        (tmp_path / "2.txt").unlink()
        (tmp_path / "4.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert {str(row["uri"])[-5:] for row in bench.workspace.review.changes(Selector())} == {
            f"{n}.txt" for n in "0124"
        }
        result = await bench.workspace.review.reject(Selector(everything=True))
        assert not result.impossible
        assert files(tmp_path) == before

    play(tmp_path, VSCODE, script, after=after, custom=False)
