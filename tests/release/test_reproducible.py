"""Two builds of one commit are the same, and a difference is found and named. `make release` proves it for every .vsix too."""

from __future__ import annotations

import hashlib
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.support import tools
from tests.support.scripts import script
from tests.support.tools import ROOT

RELEASE = script("release")


def test_wheel_and_source_of_two_builds_are_the_same(tmp_path: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode:
        tools.lacking("git", f"not a clone of it: {head.stderr.strip()}")
    commit = RELEASE.head()
    one = RELEASE.build(commit, tmp_path / "one", [], RELEASE.FIRST, 0o022)
    other = RELEASE.build(commit, tmp_path / "another-place", [], RELEASE.SECOND, 0o077)
    assert len(list(one.iterdir())) == 2
    RELEASE.compare(one, other)


def packed(path: Path, **entries: tuple[str, tuple[int, ...], int]) -> None:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, (text, time, mode) in entries.items():
            info = zipfile.ZipInfo(name, (*time, 0, 0, 0))
            info.external_attr = mode << 16
            archive.writestr(info, text)


DAY, LATER = (2026, 1, 1), (2026, 1, 2)
SAME = {"a": ("1", DAY, 0o644), "b": ("2", DAY, 0o644)}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (SAME, None),
        ({**SAME, "b": ("3", DAY, 0o644)}, "b differs"),
        ({**SAME, "b": ("2", LATER, 0o644)}, "time or permissions of b differ"),
        ({**SAME, "b": ("2", DAY, 0o600)}, "time or permissions of b differ"),
        (dict(reversed(SAME.items())), "the order of the files in it differ"),
    ],
)
def test_a_difference_is_named(tmp_path: Path, entries: dict[str, object], words: str | None) -> None:
    packed(tmp_path / "one" / "x.vsix", **SAME)
    packed(tmp_path / "two" / "x.vsix", **entries)
    if words is None:
        RELEASE.compare(tmp_path / "one", tmp_path / "two")
        return
    with pytest.raises(RELEASE.Problem, match=words):
        RELEASE.compare(tmp_path / "one", tmp_path / "two")


def test_a_file_that_one_build_lacks_is_named(tmp_path: Path) -> None:
    packed(tmp_path / "one" / "x.vsix", **SAME)
    (tmp_path / "two").mkdir()
    with pytest.raises(RELEASE.Problem, match=r"x\.vsix: only one of the builds has it"):
        RELEASE.compare(tmp_path / "one", tmp_path / "two")


def test_the_sums_are_what_sha256sum_reads(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"one")
    (tmp_path / RELEASE.SUMS).write_text("old")
    RELEASE.write_sums(tmp_path)
    assert (tmp_path / RELEASE.SUMS).read_text() == f"{hashlib.sha256(b'one').hexdigest()}  a.whl\n"


def test_an_unknown_platform_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["release.py", "linux-x64", "plan9-x64"])
    assert RELEASE.main() == 1
    assert "there is no target plan9-x64" in capsys.readouterr().err


def test_what_is_bundled_and_in_no_sbom_is_named(tmp_path: Path) -> None:
    names = [f"lib{number}" for number in range(19)] + ["@scope/web", "Snake_Case"]
    notices = "contains software, each under its own licence.\n\n" + "\n\n----\n\n".join(
        f"{name} 1.0 (MIT)\n\nThe text." for name in names
    )
    with zipfile.ZipFile(tmp_path / "x.vsix", "w") as archive:
        archive.writestr("extension/dist/ThirdPartyNotices.txt", notices)
    listed: list[dict[str, str]] = [{"name": name, "version": "1.0"} for name in names[1:-2]]
    listed += [{"group": "@scope", "name": "web", "version": "1.0"}, {"name": "snake-case", "version": "2.0"}]
    (tmp_path / "a.cdx.json").write_text(json.dumps({"components": listed}))
    assert RELEASE.unlisted(tmp_path) == ["x.vsix: lib0 1.0", "x.vsix: Snake_Case 1.0"]
