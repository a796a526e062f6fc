"""Files open where text sync does not reach: while they have unsaved changes they are neither read nor written, by any name."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.edits.write_task import WriteDone
from sidecar.workspace.review.applying import Change, Step
from sidecar.workspace.review.review import Selector
from tests.support.editor_time import run
from tests.support.workspaces import Bench, a_workspace

TEXT = '{"cells": []}\n'


@pytest.mark.parametrize("name", ["a.ipynb", "link.ipynb", "sub/../a.ipynb"])
def test_not_read_and_not_written_until_it_is_saved(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text(TEXT)
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.ipynb").symlink_to(file)

    async def main() -> None:
        async with a_workspace(tmp_path) as bench:
            opaque = bench.workspace.state.opaque
            assert await bench.read(name) == TEXT
            opaque.told(file.as_uri(), True)
            for answer in (await bench.read(name), await bench.write(name, "{}\n")):
                assert isinstance(answer, Refusal)
                assert answer.kind is Kind.OPEN_ELSEWHERE
                assert "unsaved changes" in answer.message
            assert file.read_text() == TEXT
            opaque.told(file.as_uri(), False)
            assert await bench.read(name) == TEXT
            assert isinstance(await bench.write(name, "{}\n"), WriteDone)
            assert file.read_text() == "{}\n"

    run(main())


def test_others_are_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b\n")

    async def main() -> None:
        async with a_workspace(tmp_path) as bench:
            for uri in ((tmp_path / "gone.ipynb").as_uri(), "untitled:Untitled-1.ipynb"):
                bench.workspace.state.opaque.told(uri, True)
            assert await bench.read("b.txt") == "b\n"
            assert isinstance(await bench.write("b.txt", "c\n"), WriteDone)

    run(main())


@pytest.mark.parametrize("name", ["a.ipynb", "link.ipynb"])
def test_what_another_program_asks_for_is_refused(tmp_path: Path, name: str) -> None:
    """`acp-sidecar revert` would change the file on the disk if it heard that the editor does not have it open."""
    file = tmp_path / "a.ipynb"
    file.write_text(TEXT)
    (tmp_path / "link.ipynb").symlink_to(file)
    change = Change(str(tmp_path / name), (Step(TEXT, "{}\n"),), "revert")

    async def main() -> None:
        async with a_workspace(tmp_path) as bench:
            workspace = bench.workspace
            workspace.state.opaque.told(file.as_uri(), True)
            assert workspace.applier.is_open(change.path)
            done = await workspace.applier.apply(change)
            assert done.result == "refused"
            assert "unsaved changes in a notebook" in done.reason
            workspace.state.opaque.told(file.as_uri(), False)
            assert not workspace.applier.is_open(change.path)
            assert (await workspace.applier.apply(change)).result == "not_open"
            assert file.read_text() == TEXT

    run(main())


def test_nothing_is_put_back_either(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text(TEXT)

    async def main() -> None:
        async with a_workspace(tmp_path) as bench:
            await written(bench)
            bench.workspace.state.opaque.told(file.as_uri(), True)
            result = await bench.workspace.review.reject(Selector(everything=True))
            assert "unsaved changes in a notebook" in result.impossible[0]["reason"]
            assert file.read_text() == "{}\n"
            bench.workspace.state.opaque.told(file.as_uri(), False)
            assert (await bench.workspace.review.reject(Selector(everything=True))).impossible == []
            assert file.read_text() == TEXT

    async def written(bench: Bench) -> None:
        assert await bench.read("a.ipynb") == TEXT
        assert isinstance(await bench.write("a.ipynb", "{}\n"), WriteDone)

    run(main())
