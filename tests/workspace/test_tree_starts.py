"""What the files of a folder were when a turn began is found out without reading what git knows, or what an earlier look found out."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sidecar.disk import folder_files, git_head
from sidecar.workspace.behind import tree_notes
from sidecar.workspace.behind.tree_notes import LeftToRead, TreeNote
from sidecar.workspace.behind.tree_starts import TreeStart
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.repositories import commit, git, with_git
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, listed, play
from tests.workspace.test_whose import reject_all, runs

pytestmark = with_git
MANY = tree_notes.MIN_INDEX + 20


def take(folder: Path, before: TreeNote | None = None) -> TreeStart:
    (tree,) = folder_files.trees(str(folder)).found
    return TreeStart(tree_notes.take(tree, LeftToRead(), before, 2**63))


def crlf(start: TreeStart) -> set[str]:
    return set(start.for_journal().crlf)


def committed(folder: Path, **files: bytes) -> None:
    """They, and many others, of which git looked at all after they had been written."""
    for number in range(MANY):
        files[f"f{number}"] = f"line {number}\n".encode()
    for name, data in files.items():
        (folder / name).write_bytes(data)
        os.utime(folder / name, (1_000_000_000, 1_000_000_000))
    commit(folder)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    found: list[str] = []
    read = tree_notes._read

    def noted(roots: Any, path: str, stat: Any) -> bytes | None:
        found.append(os.path.basename(path))
        return read(roots, path, stat)

    monkeypatch.setattr(tree_notes, "_read", noted)
    return found


def test_what_git_knows_is_not_read(tmp_path: Path, reads: list[str]) -> None:
    committed(tmp_path)
    (tmp_path / "f3").write_bytes(b"mine 3\n")
    (tmp_path / "f4").write_bytes(b"enil 4\n")
    git(tmp_path, "add", "f4")
    start = take(tmp_path)
    assert sorted(reads) == ["f3", "f4"]
    assert start.same == {f"f{n}" for n in range(MANY)} - {"f3", "f4"}
    assert start.kept == {"f3": b"mine 3\n", "f4": b"enil 4\n"}


def test_where_git_keeps_other_bytes_files_are_read(tmp_path: Path, reads: list[str]) -> None:
    """A filter may give as many. What is put back is what was there."""
    (tmp_path / ".gitattributes").write_text("f* filter=rot13\n")
    git(tmp_path, "init", "-q")
    for way in ("clean", "smudge"):
        git(tmp_path, "config", f"filter.rot13.{way}", "tr a-z n-za-m")
    committed(tmp_path)
    assert (
        git_head.contents(str(tmp_path), [git_head.head(str(tmp_path))["f3"].object_id]).popitem()[1]
        != b"line 3\n"
    )
    start = take(tmp_path)
    assert "f3" in reads
    assert start.kept["f3"] == b"line 3\n"
    assert not start.same & {f"f{n}" for n in range(MANY)}


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_same_whether_git_knows_it_or_not(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    if random.random() < 0.5:
        (tmp_path / ".gitattributes").write_text("*1 eol=crlf\n*2 -text\n*3 ident\n")
        git(tmp_path, "init", "-q")
    committed(tmp_path)
    for name in random.sample([f"f{n}" for n in range(MANY)], 40):
        path = tmp_path / name
        does = random.choice(
            ["longer", "as long", "gone", "touched", "crlf", "staged", "again", "link", "mode"]
        )
        match does:
            case "longer":
                path.write_bytes(b"longer\n" + path.read_bytes())
            case "as long" | "staged":
                path.write_bytes(path.read_bytes().upper())
                if does == "staged":
                    git(tmp_path, "add", name)
            case "gone":
                path.unlink()
            case "touched":
                path.touch()
            case "crlf":
                path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
            case "again":
                path.write_bytes(path.read_bytes())
            case "link":
                path.unlink()
                path.symlink_to("f0")
            case _:
                path.chmod(0o755)
    if random.random() < 0.5:
        git(
            tmp_path,
            "checkout",
            "-q",
            "--",
            *random.sample([n for n in os.listdir(tmp_path) if n[0] == "f"], 5),
        )
    known = take(tmp_path)
    monkeypatch.setattr(tree_notes, "MIN_INDEX", 10**9)
    read = take(tmp_path)
    assert known.same == read.same
    assert crlf(known) == crlf(read)
    assert known.kept == read.kept


def test_the_first_turn_of_a_session_finds_what_was_found_when_it_was_opened(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(tmp_path, **{"a.txt": b"one\ntwo\n"})
    (tmp_path / "f3").touch()  # so git does not know it
    asked: list[str] = []
    head = git_head.committed

    async def before(bench: Bench, editor: FakeEditor) -> None:
        bench.session = (await bench.workspace.new_session("agent", str(tmp_path))).session_id
        await asyncio.sleep(1)
        assert reads == ["f3"]
        reads.clear()
        monkeypatch.setattr(git_head, "committed", lambda *words: asked.append("head") or head(*words))

    async def script(turn: Turn, editor: FakeEditor) -> None:
        assert not reads
        assert not asked
        await runs(turn, "a.txt", "one\nTWO\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [name for name, _, _ in listed(bench)] == ["a.txt"]
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_bytes() == b"one\ntwo\n"

    play(tmp_path, VSCODE, script, before=before, after=after)


def test_a_commit_between_two_turns_is_seen(tmp_path: Path) -> None:
    committed(tmp_path)
    before = take(tmp_path).note
    (tmp_path / "f3").write_bytes(b"mine 3\n")
    commit(tmp_path)
    start = take(tmp_path, before)
    assert "f3" in start.same
    held = start.held(["f3"])
    state = start.before("f3", held).state
    assert state is not None
    assert state.data == b"mine 3\n"


def test_what_was_found_out_once_is_not_asked_for_again(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files that are as in the commit, in Windows' line ends, others, new ones, gone, and too large to be read."""
    monkeypatch.setattr(tree_notes, "MAX_TEXT", 100)
    committed(tmp_path, large=b"x" * 200, **{"gone.txt": b"gone\n"})
    (tmp_path / "f3").write_bytes(b"mine 3\n")
    (tmp_path / "f4").write_bytes(b"line 4\r\n")
    (tmp_path / "large").write_bytes(b"y" * 200)
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "new").write_bytes(b"new\n")
    first = take(tmp_path)
    assert (first.note.absent, crlf(first)) == ({"gone.txt"}, {"f4"})
    asked: list[str] = []
    ask = git_head.ask

    def noted(folder: str, *words: str, **more: Any) -> bytes | None:
        asked.append(words[0])
        return ask(folder, *words, **more)

    monkeypatch.setattr(git_head, "ask", noted)
    monkeypatch.setattr(git_head, "ask_in_parts", noted)
    reads.clear()
    second = take(tmp_path, first.note)
    assert asked == ["ls-files", "rev-parse"]
    assert not reads
    assert second.for_journal() == first.for_journal()
    assert all(second.note.files.folders[name] is files for name, files in first.note.files.folders.items())
    (tmp_path / "gone.txt").write_bytes(b"gone\n")
    (tmp_path / "f5").unlink()
    third = take(tmp_path, second.note)
    assert third.note.absent == {"f5"}
    assert "gone.txt" in third.same
