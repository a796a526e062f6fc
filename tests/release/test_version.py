"""The version stands in one place; `scripts/version.py` sees every file that says another one, and sets them all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar import __version__
from tests.support.scripts import script
from tests.support.tools import ROOT

VERSION = script("version")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (VERSION.SOURCE, *VERSION.FOLLOWERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_file_says_the_same() -> None:
    assert VERSION.declared() == __version__
    assert VERSION.differing() == []
    done = subprocess.run([sys.executable, "scripts/version.py"], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode().strip()) == (0, __version__)


@pytest.mark.parametrize("name", VERSION.MUST_NAME_IT)
def test_a_file_that_says_another_is_named(copy: Path, name: str) -> None:
    text = (copy / name).read_text()
    (copy / name).write_text(text.replace(__version__, "9.9.9", 1))
    assert VERSION.differing(copy) == [f"{name} says 9.9.9, {VERSION.SOURCE} says {__version__}"]
    (copy / name).write_text("{}")
    assert all("no version" in words for words in VERSION.differing(copy))
    assert VERSION.differing(copy)


def test_a_page_that_names_an_old_download_is_found(copy: Path) -> None:
    (copy / "README.md").write_text("code --install-extension acp-sidecar-linux-x64-0.0.1.vsix\n")
    assert len(VERSION.differing(copy)) == 1


def test_setting_it_changes_every_file_and_nothing_else_in_them(copy: Path) -> None:
    before = {name: (copy / name).read_bytes() for name in VERSION.FOLLOWERS}
    VERSION.follow("7.8.9", copy)
    assert VERSION.declared(copy) == "7.8.9"
    assert VERSION.differing(copy) == []
    for name in VERSION.MUST_NAME_IT:
        lines = zip(before[name].splitlines(), (copy / name).read_bytes().splitlines(), strict=True)
        changed = [new for old, new in lines if old != new]
        assert changed
        assert all(b'"version": "7.8.9"' in line for line in changed)
    VERSION.follow(__version__, copy)
    assert {name: (copy / name).read_bytes() for name in VERSION.FOLLOWERS} == before


@pytest.mark.parametrize("words", [["1.2"], ["v1.2.3"], ["--write"], ["1.2.3", "4"]])
def test_wrong_use_changes_nothing(words: list[str]) -> None:
    assert VERSION.main(words) == 2
    assert VERSION.declared() == __version__
