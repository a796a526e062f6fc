"""The audit log: one line each, for the user alone, rotated, never in anybody's way."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from sidecar.audit import AuditLog
from tests.support.workspaces import QuietEditor, a_workspace


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]


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
    assert lines(tmp_path)[0]["number"] == 7


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
    assert "content" not in (tmp_path / "audit/audit.jsonl").read_text()
