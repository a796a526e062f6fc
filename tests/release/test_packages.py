"""What the wheel and the source distribution hold, and what the package index will show."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from sidecar import __version__
from sidecar.setup.editors import EDITORS
from tests.support import tools
from tests.support.tools import ROOT

ADDRESS = "https://github.com/acp-sidecar/acp-sidecar"


@pytest.fixture
def about(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read(f"acp_sidecar-{__version__}.dist-info/METADATA"))


def tracked(*folders: str) -> set[str]:
    """What git knows, which is more than what is there: a generated file must not be missed."""
    done = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        tools.lacking("git", f"not a clone of it: {done.stderr.strip()}")
    return set(done.stdout.splitlines())


def test_the_wheel_holds_the_package_the_setup_files_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for editor in EDITORS.values():
            assert (
                archive.read(f"sidecar/setup/files/{editor.file}")
                == (ROOT / "editor-extension" / editor.file).read_bytes()
            )
    setup = {f"sidecar/setup/files/{editor.file}" for editor in EDITORS.values()}
    package = {name for name in names if name.startswith("sidecar/")} - setup
    assert tracked("sidecar") - package == set()
    assert [name for name in package if "__pycache__" in name] == []
    metadata = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert names - package - setup == {f"acp_sidecar-{__version__}.dist-info/{name}" for name in metadata}


def test_a_wheel_can_be_made_from_the_source_distribution(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(tmp_path)
    assert tracked() - names - {".gitignore"} == set(), "a stranger can take the project over from it"
    assert not [name for name in names if name.startswith("editor-extension/node_modules")]
    folder = tmp_path / f"acp_sidecar-{__version__}"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "again")]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=True)
    assert (tmp_path / "again" / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_index_shows_no_relative_link(about: Message) -> None:
    text = str(about.get_payload())
    links = re.findall(r"\]\(([^)\s]+)|(?:src|srcset|href)=\"([^\"]+)", text)
    found = [one or other for one, other in links]
    ours = [link for link in found if link.startswith(ADDRESS)]
    pictures = [link for link in found if link.startswith("https://raw.githubusercontent.com/")]
    assert [link for link in found if not re.match(r"https?://|#", link)] == []
    assert ours
    assert pictures
    for link in (*ours, *pictures):
        if match := re.search(r"/acp-sidecar/acp-sidecar/(?:blob/)?v([^/]+)/([^#]+)", link):
            assert match[1] == __version__
            assert (ROOT / match[2]).exists(), link


def test_one_address_everywhere(about: Message) -> None:
    urls = [words.split(", ", 1)[1] for words in about.get_all("Project-URL", [])]
    assert len(urls) == 5
    assert all(url.startswith(ADDRESS) for url in urls)
    owned = re.compile(r"https://github\.com/acp-sidecar/[\w-]+")
    pages = ("SECURITY.md", "CONTRIBUTING.md", "editor-extension/package.json", "pyproject.toml")
    text = "".join((ROOT / name).read_text("utf-8") for name in pages)
    assert set(owned.findall(text)) == {ADDRESS}


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_pages_for_maintainers_name_what_is_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    files = re.findall(r"`((?:tests|scripts|docs|sidecar|editor-extension)/[\w./*-]+)", text)
    assert links
    assert [name for name in {*links, *files} if not list(ROOT.glob(name.rstrip("/")))] == []
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert {
        word for words in re.findall(r"`make ([a-z -]+)", text) for word in words.split() if "=" not in word
    } <= {*targets, "help"}
