"""The audit log: one line each, for the user alone, rotated, never in anybody's way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sidecar.audit import MOST_COUNTED, AuditLog, Repeats, read_back
from tests.support.workspaces import QuietEditor, a_workspace


def lines(folder: Path) -> list[dict[str, object]]:
    return list(read_back(folder))


def test_lines_are_json_and_the_file_is_the_users(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log = AuditLog(tmp_path / "audit")
        log.record("read", path="/a\nb", outcome="ok")
        log.record("write", path="lone \ud800")
        log.close()
    finally:
        os.umask(before)
    first, second = lines(tmp_path / "audit")
    assert (first["event"], first["path"], first["pid"]) == ("read", "/a\nb", os.getpid())
    assert second["path"] == "lone \ud800"
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "audit/audit.jsonl").stat().st_mode) == 0o600


def test_it_is_rotated(tmp_path: Path) -> None:
    for number in range(8):
        log = AuditLog(tmp_path, most_bytes=200)
        log.record("read", path="x" * 300, number=number)
        log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit.jsonl",
        "audit.jsonl.1",
        "audit.jsonl.2",
        "audit.jsonl.3",
    ]
    assert [line["number"] for line in lines(tmp_path)] == [4, 5, 6, 7]


def test_reads_push_no_start_and_no_question_out(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, most_bytes=2000)
    log.record("start", agent="a")
    log.record("question", text="May it?")
    for number in range(500):
        log.record("read", path=f"{number}")
    log.close()
    told = lines(tmp_path)
    assert [line["event"] for line in told if line["event"] != "read"] == ["start", "question"]
    assert told[0]["event"] == "start", "by time"


def test_repeats_are_collapsed(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    for _ in range(2000):
        log.record("read", path="a")
        log.record("read", path="b", outcome="ok")
    log.record("write", path="a")
    log.close()
    told = lines(tmp_path)
    assert [(line["event"], line["path"], line.get("repeats")) for line in told] == [
        ("read", "a", None),
        ("read", "b", None),
        ("write", "a", None),
        ("read", "a", 1999),
        ("read", "b", 1999),
    ]


def test_the_number_of_repeats_is_written_after_a_while_and_when_there_are_too_many() -> None:
    now = [0.0]
    repeats = Repeats(60.0, lambda: now[0])
    line = {"at": 1.0, "event": "read", "path": "a"}
    assert list(repeats.new([line, {**line, "at": 2.0}])) == [line]
    assert repeats.wait() == 60.0
    now[0] = 59.0
    assert list(repeats.due()) == []
    now[0] = 60.0
    assert list(repeats.due()) == [{**line, "at": 2.0, "repeats": 1}]
    assert repeats.wait() is None
    assert list(repeats.new([line])) == [line], "it is a new one"
    assert list(repeats.new([line])) == []
    others = [{"event": "read", "path": str(number)} for number in range(MOST_COUNTED)]
    assert list(repeats.new(others))[-2:] == [{**line, "repeats": 1}, others[-1]]


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = AuditLog(tmp_path / "file" / "audit")
    log.record("read")
    log.close()


async def test_what_agents_do_is_recorded_and_texts_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the content")
    (tmp_path / ".env").write_text("KEY=secret")
    log = AuditLog(tmp_path / "audit")
    editor = QuietEditor()
    editor.answer = "reject"
    async with a_workspace(tmp_path, editor, audit=log) as bench:
        await bench.read("a.txt")
        await bench.read(".env")
        await bench.write("a.txt", "the new content")
        await bench.read("/etc/passwd")
    log.close()
    told = lines(tmp_path / "audit")
    assert [(line["event"], line.get("outcome"), line.get("answer")) for line in told] == [
        ("read", "ok", None),
        ("question", None, "reject"),
        ("read", "denied_by_user", None),
        ("write", "ok", None),
        ("read", "path_outside_workspace", None),
    ]
    assert not any("content" in path.read_text() for path in (tmp_path / "audit").iterdir())
