"""The tools of the end-to-end tests bring all they need: a machine that has a library by chance must not hide that it is missing."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support import tools

if not sys.platform.startswith("linux"):
    pytest.skip("the tools are installed on Linux only", allow_module_level=True)

from scripts.tools import browser, debian, elf, self_contained
from scripts.tools.base import TOOLS
from scripts.tools.self_contained import LIBC, Part

PARTS = self_contained.parts()


@pytest.mark.parametrize("name", PARTS)
def test_a_tool_takes_nothing_of_the_machine_but_what_is_listed(name: str) -> None:
    part = PARTS[name]
    for tool in part.tools:
        tools.require(tool)
    assert list(self_contained.files(part)), "nothing was looked at"
    assert list(map(str, self_contained.gaps(part))) == []


def test_every_exception_is_still_one() -> None:
    """A name on a list that nothing needs any more would let something else by."""
    for name, part in PARTS.items():
        for tool in part.tools:
            tools.require(tool)
        needed = {need for binary in self_contained.files(part) for need in binary.needs}
        taken = {need for need in needed if self_contained.matches(need, part.machine)}
        assert bool(taken) == bool(part.machine), name
        for pattern in part.never_loaded:
            without = Part(part.tools, part.programs, part.libraries, part.machine)
            assert self_contained.gaps(without), pattern


def test_the_browser_has_fonts_of_its_own() -> None:
    launcher = Path(tools.require("chromium").command).read_text()
    assert f"export FONTCONFIG_FILE={browser.FONTS}\n" in launcher
    assert "FONTCONFIG_SYSROOT" not in launcher
    folders = [Path(str(folder.text)) for folder in ElementTree.parse(browser.FONTS).iter("dir")]
    assert all(folder.is_relative_to(TOOLS) for folder in folders)
    assert {path.name for folder in folders for path in folder.rglob("*.ttf")} >= {
        *("DejaVuSans.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf")
    }


@pytest.mark.parametrize(
    ("printed", "archive"),
    [
        ("'https://a.test/debian/dists/bookworm/InRelease' x 0 ", "https://a.test/debian/"),
        (
            "'https://b.test/debian/20260101T000000Z/dists/trixie/InRelease' x 0 ",
            "https://b.test/debian/20260101T000000Z/",
        ),
        ("'https://c.test/other/dists/stable/InRelease' x 0 ", None),
        ("", None),
    ],
)
def test_the_archive_is_read_from_apts_sources(
    monkeypatch: pytest.MonkeyPatch, printed: str, archive: str | None
) -> None:
    """And not from its lists: a container has none before `apt-get update`, and is set up all the same."""
    asked: list[list[str]] = []

    def run(command: list[str]) -> str:
        asked.append(command)
        return f"{printed}\n"

    monkeypatch.setattr(debian, "run", run)
    monkeypatch.setattr(debian.shutil, "which", lambda name: f"/usr/bin/{name}")
    if archive is None:
        with pytest.raises(debian.Problem, match="name no archive of Debian"):
            debian.mirror()
    else:
        assert debian.mirror() == archive
    assert asked == [["apt-get", "update", "--print-uris"]]


# what the check finds


@pytest.fixture
def chromium_without_sound(tmp_path: Path) -> Part:
    """The libraries of chromium but one, which libpulse finds in a sub-folder of the system."""
    tools.require("chromium")
    for link in browser.LIBRARIES.iterdir():
        if not link.name.startswith("libpulsecommon"):
            (tmp_path / link.name).symlink_to(link.resolve())
    return Part(("chromium",), (tmp_path,), lambda: [tmp_path], machine=LIBC)


def test_a_library_that_is_left_out_is_named(chromium_without_sound: Part) -> None:
    (library,) = {gap.library for gap in self_contained.gaps(chromium_without_sound)}
    assert library.startswith("libpulsecommon-")


def test_the_problem_names_the_package_that_would_bring_it(
    chromium_without_sound: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    def packages_with(names: list[str]) -> dict[str, list[str]]:
        return {name: ["libpulse0"] for name in names}

    monkeypatch.setattr(debian, "packages_with", packages_with)
    with pytest.raises(
        self_contained.Problem,
        match=r"lacks libpulsecommon-\S+, which \S+ needs \(Debian's package: libpulse0\)",
    ):
        self_contained.require(chromium_without_sound)


def test_a_libc_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tools.require("nvim-0.11")
    self_contained.require(PARTS["nvim-0.11"])
    monkeypatch.setattr(self_contained, "machines_glibc", lambda: (2, 1))
    with pytest.raises(self_contained.Problem, match=r"needs glibc 2\.\d+ or newer; this machine has 2\.1"):
        self_contained.require(PARTS["nvim-0.11"])


def binary(folder: Path, *search: str) -> elf.Binary:
    return elf.Binary(folder / "program", ("libx.so.1",), search)


def test_where_a_library_is_looked_for(tmp_path: Path) -> None:
    for name in ("own/lib", "given"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "libx.so.1").touch()
    own, given = tmp_path / "own", tmp_path / "given"
    assert binary(own).unresolved([]) == ["libx.so.1"]
    assert binary(own).unresolved([given]) == []
    assert binary(own, "$ORIGIN/lib").unresolved([]) == []
    assert binary(own, "${ORIGIN}/../given").unresolved([]) == []
    assert binary(own, str(own / "lib")).unresolved([]) == ["libx.so.1"], (
        "a folder of the system counts for nothing"
    )


def test_what_is_no_program_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "broken").write_bytes(b"\x7fELF and no more")
    assert elf.read(tmp_path / "script") is None
    assert elf.read(tmp_path / "broken") is None
    shutil.copy(sys.executable, tmp_path / "python")
    found = elf.read(tmp_path / "python")
    assert found is not None
    assert any(self_contained.is_libc(name) for name in found.needs)
