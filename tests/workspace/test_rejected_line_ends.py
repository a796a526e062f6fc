"""A rejection in a file that is not open gives every byte back, line ends as well: what the editor would even out is done on the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, play
from tests.workspace.test_whose import reject_all, rows

LF, CRLF, MIXED, NO_END = (
    b"one\ntwo\nthree\n",
    b"one\r\ntwo\r\nthree\r\n",
    b"one\r\ntwo\nthree\n",
    b"one\ntwo\nthree",
)


@pytest.mark.parametrize("custom", [True, False], ids=["through the editor", "on the disk"])
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (CRLF, LF),
        (LF, CRLF),
        (MIXED, LF),
        (MIXED, CRLF),
        (LF, MIXED),
        (MIXED, MIXED.replace(b"one", b"ONE")),
        (CRLF, CRLF.replace(b"one", b"ONE")),
        (NO_END, NO_END.replace(b"one", b"ONE")),
        (NO_END, LF),
    ],
)
def test_every_byte_is_given_back(tmp_path: Path, was: bytes, becomes: bytes, custom: bool) -> None:
    (tmp_path / "a.txt").write_bytes(was)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").write_bytes(becomes)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert rows(bench)
        await reject_all(bench)
        assert (tmp_path / "a.txt").read_bytes() == was
        assert not rows(bench)

    play(tmp_path, VSCODE, script, after=after, custom=custom)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (CRLF, CRLF.replace(b"one", b"ONE")),
        (LF, LF + b"four\n"),
        (CRLF, CRLF + b"four\r\n"),
        (NO_END, NO_END.replace(b"one", b"ONE")),
        (NO_END, NO_END + b"\n"),
        (LF, NO_END),
    ],
)
def test_every_byte_is_given_back_in_an_open_file(tmp_path: Path, was: bytes, becomes: bytes) -> None:
    """Of a file with mixed line ends, VS Code itself makes one with equal ones once it is saved."""
    (tmp_path / "a.txt").write_bytes(was)

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").write_bytes(becomes)
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert rows(bench)
        await reject_all(bench)
        await asyncio.sleep(3)
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        assert (tmp_path / "a.txt").read_bytes() == was
        assert not rows(bench)

    play(tmp_path, VSCODE, script, before=before, after=after)
