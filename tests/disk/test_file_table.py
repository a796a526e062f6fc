"""A FileTable says what each file's stat is, as a dict of stats would, and shares what did not change."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from sidecar.disk import folder_files
from sidecar.disk.file_table import COMPARED, SAME, FileTable, listed

NEVER = 2**63
NAMES = ["a", "b.txt", "é", "d/a", "d/e/f", "d/e/g", "d-/x", "z/long name"]


def names_in(folder: Path) -> list[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return [str(name) for name in found]


def table(folder: Path) -> FileTable:
    return listed(str(folder), names_in(folder), NEVER).files


def change(folder: Path, random: Random) -> None:
    for name in random.sample(NAMES, random.randint(1, len(NAMES))):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match random.choice(["write", "write", "mode", "remove", "link"]):
            case "write":
                path.unlink(missing_ok=True)
                path.write_text(str(random.random()))
            case "mode" if path.is_file() and not path.is_symlink():
                path.chmod(random.choice([0o600, 0o644, 0o755]))
            case "link":
                path.unlink(missing_ok=True)
                path.symlink_to("elsewhere")
            case _:
                path.unlink(missing_ok=True)


@pytest.mark.parametrize("seed", range(30))
def test_it_says_what_a_dict_of_stats_says(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    change(tmp_path, random)
    before, stats = table(tmp_path), folder_files.entries(str(tmp_path), names_in(tmp_path))
    assert {name: (one.stat, one.mode) for name, one in before.entries()} == {
        name: (stat, stats.modes[name]) for name, stat in stats.stats.items()
    }
    assert len(before) == len(stats.stats)
    assert listed(str(tmp_path), names_in(tmp_path), NEVER).links == stats.links
    for name in [*NAMES, "none", "d", "d/e", "z/long nam", "z/long name2"]:
        entry = before.get(name)
        assert (None if entry is None else entry.stat) == stats.stats.get(name)
        assert (name in before) == (name in stats.stats)
    flagged = before.with_flags({name: SAME | COMPARED for name in stats.stats if random.random() < 0.5})
    change(tmp_path, random)
    now, later = table(tmp_path), folder_files.entries(str(tmp_path), names_in(tmp_path))
    differing = {
        name
        for name in stats.stats.keys() | later.stats.keys()
        if (stats.stats.get(name), stats.modes.get(name)) != (later.stats.get(name), later.modes.get(name))
    }
    assert set(now.differing(flagged)) == set(flagged.differing(now)) == differing
    assert set(now.missing(NAMES)) == set(NAMES) - later.stats.keys()
    but = random.sample(NAMES, 2)
    like = now.like(flagged, but)
    for name, entry in like.entries():
        was = flagged.get(name)
        known = was is not None and name not in differing and name not in but
        assert entry.flags == (was.flags if known and was is not None else 0)
    assert set(like.unlike(lambda flags: flags & SAME)) == {
        n for n, e in like.entries() if not e.flags & SAME
    }


def test_what_did_not_change_is_shared(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    before = table(tmp_path).with_flags({"d/e/f": SAME})
    (tmp_path / "d" / "a").write_text("other")
    now = table(tmp_path).like(before, ()).sharing(before)
    assert {folder for folder in now.folders if now.folders[folder] is before.folders[folder]} == {
        "", "d/e", "d-", "z",
    }  # fmt: skip


def test_what_changed_lately_and_what_is_not_there(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
    os.symlink("old", tmp_path / "link")
    since = os.lstat(tmp_path / "new").st_ctime_ns - 1
    found = listed(str(tmp_path), ["old", "new", "link", "gone", "."], since)
    assert found.recent.keys() >= {"new", "link"}
    assert found.recent["new"] == since + 1
    assert sorted(found.missing) == [".", "gone"]
    assert listed(str(tmp_path), ["old", "new", "link"], NEVER).recent == {}
