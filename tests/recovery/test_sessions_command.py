"""`acp-sidecar sessions`: recorded conversations listed, and deleted for good."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from sidecar.cli import main
from sidecar.records.about import About
from sidecar.records.folder import RecordFolder


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordFolder:
    """Two in the folder the command is run in, one elsewhere."""
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    here = tmp_path / "w"
    (here / "sub").mkdir(parents=True)
    monkeypatch.chdir(here)
    folder = RecordFolder()
    for name, cwd, title in (
        ("aaaa1111", here, "first\x1b[31m"),
        ("aaaa2222", here / "sub", "second"),
        ("bbbb3333", tmp_path, "elsewhere"),
    ):
        folder.write_about(About(name, "agent", str(cwd), title=title, created="2026-01-02T03:04:05Z"))
        folder.append(name, [{"type": "prompt", "prompt": "secret"}])
    return folder


def ids(folder: RecordFolder) -> set[str]:
    return {about.session_id for about in folder.abouts()}


EVERY = {"aaaa1111", "aaaa2222", "bbbb3333"}
# the words · the exit code · what is left · a part of what is said
ROWS: list[tuple[str, int, set[str], str]] = [
    ("", 0, EVERY, "aaaa1111  2026-01-02 03:04  agent"),
    ("--everywhere", 0, EVERY, "elsewhere"),
    ("--session bbbb", 0, EVERY, "bbbb3333"),
    ("--session aaaa", 1, EVERY, "names 2 sessions"),
    ("--session zzzz", 1, EVERY, "no record"),
    ("--purge", 2, EVERY, "add --yes"),
    ("--purge --json", 2, EVERY, "do not go together"),
    ("--purge --yes", 0, {"bbbb3333"}, "Records deleted: 2"),
    ("--purge --yes --session aaaa1", 0, {"aaaa2222", "bbbb3333"}, "Records deleted: 1"),
    ("--purge --yes --everywhere", 0, set(), "Records deleted: 3"),
]


@pytest.mark.parametrize(("words", "code", "left", "said"), ROWS)
def test_rows(
    records: RecordFolder,
    capsys: pytest.CaptureFixture[str],
    words: str,
    code: int,
    left: set[str],
    said: str,
) -> None:
    assert main(["sessions", *words.split()]) == code
    out, err = capsys.readouterr()
    assert said in out + err
    assert "\x1b" not in out
    assert ids(records) == left
    files = {path.name.partition(".")[0] for path in records._path.iterdir()}
    assert files == left, "nothing of them stays"


@pytest.mark.parametrize(("answer", "left"), [("y\n", 1), ("n\n", 3), ("", 3)])
def test_it_asks(records: RecordFolder, monkeypatch: pytest.MonkeyPatch, answer: str, left: int) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert main(["sessions", "--purge"]) == (0 if left == 1 else 1)
    assert len(ids(records)) == left


def test_json(records: RecordFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["sessionId"] for row in rows} == {"aaaa1111", "aaaa2222"}
    assert main(["sessions", "--purge", "--yes"]) == 0
    capsys.readouterr()
    assert main(["sessions"]) == 0
    assert "no record of a conversation" in capsys.readouterr().out
