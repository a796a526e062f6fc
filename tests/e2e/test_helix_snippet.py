"""Helix with the project's languages.toml against a server that only asks: what the sidecar may rely on."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.helix import Helix
from tests.e2e.probe import Probe, replace_line
from tests.support import tools
from tests.support.waiting import eventually


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


@pytest.fixture
def helix(tmp_path: Path, workspace: Path, probe: Probe, file: Path) -> Generator[Helix]:
    tool, tmux = tools.require("hx"), tools.require("tmux")
    probe.any_order = True
    with Helix(tool, tmux, tmp_path / "hx", workspace, probe.command, file) as editor:
        probe.wait_for("textDocument/didOpen")
        yield editor


def test_typing_arrives_without_saving(helix: Helix, probe: Probe, file: Path) -> None:
    helix.type("mine ")
    eventually(
        lambda: probe.text(file) == "mine one\ntwo\nthree\n", "the typing was told", otherwise=helix.log
    )
    assert file.read_text() == "one\ntwo\nthree\n"


def test_a_buffer_without_a_file_is_not_told(helix: Helix, probe: Probe, file: Path, workspace: Path) -> None:
    """docs/editors.md says so."""
    other = workspace / "other.txt"
    other.write_text("x\n")
    helix.command("new")
    helix.type("typed")
    helix.command("open other.txt")
    told = [m["params"]["textDocument"]["uri"] for m in probe.wait_for("textDocument/didOpen", 2)]
    assert told == [file.as_uri(), other.as_uri()]


def test_edit_then_one_undo_and_typing_stays(helix: Helix, probe: Probe, file: Path) -> None:
    helix.type("mine ")
    eventually(
        lambda: probe.text(file) == "mine one\ntwo\nthree\n", "the typing was told", otherwise=helix.log
    )
    version = probe.version(file.as_uri())
    assert probe.apply(file, version, replace_line(1, "TWO\nand a half\n"))["applied"] is True
    eventually(lambda: probe.text(file) == "mine one\nTWO\nand a half\nthree\n", "the edit was told")
    helix.undo()
    eventually(lambda: probe.text(file) == "mine one\ntwo\nthree\n", "the undo was told", otherwise=helix.log)
    helix.write(file, "mine one\ntwo\nthree\n")


def test_edit_for_a_version_that_was_typed_over_is_refused(helix: Helix, probe: Probe, file: Path) -> None:
    version = probe.version(file.as_uri())
    helix.type("mine ")
    eventually(
        lambda: probe.text(file) == "mine one\ntwo\nthree\n", "the typing was told", otherwise=helix.log
    )
    answer = probe.apply(file, version, replace_line(0, "theirs\n"))
    assert answer["applied"] is False
    helix.write(file, "mine one\ntwo\nthree\n")
