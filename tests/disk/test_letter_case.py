"""Roots named in other letters, as on macOS. A link in other letters stands for the file system that takes both for the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Resolved, Roots, resolve, roots
from sidecar.disk.folders import folder

pytestmark = pytest.mark.skipif(
    roots.sys.platform == "win32", reason="it has rules of its own: test_disk_windows.py"
)


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `Ws` and `ws` are one folder, and `Other` and `OTHER` are two."""
    monkeypatch.setattr(roots, "FOLDS_CASE", True)
    for name in ("Ws/src", "Other", "OTHER"):
        (tmp_path / name).mkdir(parents=True)
    if not (tmp_path / "ws").exists():  # on macOS it is there already
        (tmp_path / "ws").symlink_to("Ws")
    for name in ("Ws/src/a", "Other/a", "OTHER/a"):
        (tmp_path / name).write_text(name)
    return tmp_path


TABLE = [
    # what is asked for, what is found beneath the folder
    ("Ws/src/a", "Ws/src/a"),
    ("ws/src/a", "Ws/src/a"),
    ("ws//src/./a", "Ws/src/a"),
    ("ws/src/../../Ws/src/a", "Ws/src/a"),
    ("ws/../Other/a", Kind.OUTSIDE),
    ("OTHER/a", Kind.OUTSIDE),  # another folder where letters count
    ("wS/src/a", Kind.OUTSIDE),  # there is no such folder
    ("ws-2/src/a", Kind.OUTSIDE),
    ("ws", Kind.NOT_A_FILE),
    ("OTHER", Kind.OUTSIDE),
]


@pytest.mark.parametrize(("asked", "expected"), TABLE)
def test_a_root_in_other_letters(volume: Path, asked: str, expected: str | Kind) -> None:
    with Roots([str(volume / "Ws")] + ([str(volume / "Other")] if asked.startswith("OTHER") else [])) as held:
        found = resolve(held, f"{volume}/{asked}", access="read")
        if isinstance(found, Resolved):
            found.close()
            assert found.path == f"{volume}/{expected}"
            assert found.requested == f"{volume}/{asked}"
        else:
            assert isinstance(found, Refusal)
            assert found.kind is expected


def test_a_command_runs_there_and_nowhere_else(volume: Path) -> None:
    with Roots([str(volume / "Ws"), str(volume / "Other")]) as held:
        assert folder(held, f"{volume}/ws/src") == f"{volume}/Ws/src"
        assert folder(held, f"{volume}/ws/") == f"{volume}/Ws"
        outside = folder(held, f"{volume}/OTHER")
        assert isinstance(outside, Refusal)
        assert outside.kind is Kind.OUTSIDE
