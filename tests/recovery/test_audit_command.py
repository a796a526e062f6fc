"""`acp-sidecar audit`: where the audit log is, and its last lines for a person and for a program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidecar import audit
from sidecar.audit import AuditLog
from sidecar.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACP_SIDECAR_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state" / "audit"


@pytest.fixture
def log(folder: Path, tmp_path: Path) -> Path:
    """Three lines of two sessions, written as the sidecar writes them."""
    log = AuditLog()
    log.record("read", session="aaaa1111", path=str(tmp_path / "a.txt"), outcome="ok")
    log.record("question", session="bbbb2222", action="read", text="May it\x1b[2J read?", answer=None)
    log.record("command", session="bbbb2222", argv=["make", "test"], cwd=None, env=[], outcome="ok")
    log.close()
    return folder


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert main(["audit", *words]) == code
    return capsys.readouterr()


def test_a_person_reads_the_last_lines_and_where_they_are(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said(capsys)
    assert err == f"The audit log is in {log}\n"
    rows = [line.split(None, 2)[2] for line in out.splitlines()]  # without the day and the time
    assert rows == [
        "aaaa1111  read      ok        a.txt",
        "bbbb2222  question  -         action=read  text=May it\\x1b[2J read?",
        'bbbb2222  command   ok        argv=["make", "test"]  env=[]',
    ]
    out, _ = said(capsys, "-n", "1")
    assert out.splitlines()[0].endswith(rows[-1])


@pytest.mark.parametrize(("words", "events"), [("aaaa", ["read"]), ("bbbb2222", ["question", "command"])])
def test_one_session_for_a_program(
    log: Path, capsys: pytest.CaptureFixture[str], words: str, events: list[str]
) -> None:
    out, _ = said(capsys, "--json", "--session", words)
    assert [json.loads(line)["event"] for line in out.splitlines()] == events
    _, err = said(capsys, "--session", "cccc", code=1)
    assert 'no line of a session "cccc"' in err


def test_where_it_is(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (log / "audit.jsonl.1").write_text("")
    names = ["questions.jsonl", "audit.jsonl.1", "audit.jsonl"]
    assert said(capsys, "--path") == ("".join(f"{log / name}\n" for name in names), "")


def test_nothing_was_logged_yet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys)[0] == "Nothing is in it yet.\n"
    out, err = said(capsys, "--path")
    assert (out, str(folder) in err) == ("", True)
    assert not folder.exists()  # looking leaves nothing behind


def test_older_files_come_first_and_half_lines_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        log = AuditLog(most_bytes=1)
        log.record("read", number=number)
        log.close()
    with (folder / "audit.jsonl").open("ab") as file:
        file.write(b'["no object"]\n{"event": "wri')
    assert [line["number"] for line in audit.read_back(folder)] == [0, 1, 2, 3]
    out, _ = said(capsys)
    assert out.count("read") == 4


@pytest.mark.parametrize("at", [None, "soon", True, 1e300, float("nan"), float("-inf")])
def test_a_line_that_says_no_time(folder: Path, capsys: pytest.CaptureFixture[str], at: object) -> None:
    folder.mkdir(parents=True)
    (folder / "audit.jsonl").write_text(json.dumps({"at": at, "event": "read"}) + "\n")
    assert said(capsys)[0].endswith("-         read      -\n")


def test_a_log_that_cannot_be_read(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (log / "audit.jsonl").unlink()
    (log / "audit.jsonl").mkdir()
    _, err = said(capsys, code=1)
    assert err.startswith(f"acp-sidecar audit: the audit log in {log} cannot be read (")
