"""The records of sessions: what is written, what is read back, what is forgotten."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from sidecar.records import About, Records
from sidecar.records.folder import RecordFolder
from sidecar.records.titles import MOST

S = "abcdef123456"
TEXT = [{"type": "text", "text": "do it"}]


def said(text: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


@pytest.fixture
def folder(tmp_path: Path) -> RecordFolder:
    return RecordFolder(tmp_path / "sessions")


@pytest.fixture
async def records(folder: RecordFolder) -> AsyncGenerator[Records]:
    records = Records(folder)
    yield records
    await records.aclose()


async def entries(records: Records, session: str = S) -> list[dict[str, Any]]:
    found = await records.read(session)
    assert found is not None
    return [{key: entry[key] for key in entry if key != "at"} for entry in found[1]]


async def test_a_turn(records: Records) -> None:
    records.begin(About(S, "fake", "/w", ("/more",), "theirs"))
    records.update(S, 0, said("before any prompt"))
    assert await records.read(S) is None
    records.prompt(S, 1, TEXT)
    for text in ("one ", "two ", "three"):
        records.update(S, 1, said(text))
    records.update(S, 1, {"sessionUpdate": "plan", "entries": []})
    records.update(S, 1, said("four"))
    records.end(S, {"turn": 1, "stopReason": "end_turn", "changes": [], "sessionId": S})
    assert await entries(records) == [
        {"type": "prompt", "turn": 1, "prompt": TEXT},
        {"type": "update", "turn": 1, "update": said("one two three")},
        {"type": "update", "turn": 1, "update": {"sessionUpdate": "plan", "entries": []}},
        {"type": "update", "turn": 1, "update": said("four")},
        {"type": "end", "turn": 1, "stopReason": "end_turn", "changes": []},
    ]
    (about,) = await records.list()
    assert (about.session_id, about.agent, about.cwd, about.reference) == (S, "fake", "/w", "theirs")
    assert (about.title, about.turn, about.additional_directories) == ("do it", 1, ("/more",))
    assert about.created <= about.updated


async def test_chunks_of_two_turns_stay_two(records: Records) -> None:
    records.begin(About(S, "fake", "/w"))
    for turn in (1, 2):
        records.prompt(S, turn, TEXT)
        records.update(S, turn, said(f"turn {turn}"))
    assert [entry.get("turn") for entry in await entries(records)] == [1, 1, 2, 2]


async def test_an_agents_title_and_a_new_reference(records: Records) -> None:
    records.begin(About(S, "fake", "/w", reference="a"))
    records.prompt(S, 1, TEXT)
    records.update(S, 1, {"sessionUpdate": "session_info_update", "title": "Named  by the agent"})
    records.reference(S, "b")
    (about,) = await records.list()
    assert (about.title, about.reference) == ("Named by the agent", "b")


async def test_history_is_kept_where_there_is_no_record(records: Records) -> None:
    records.begin(About(S, "fake", "/w"))
    records.update(S, 0, said("long ago"), history=True)
    assert await entries(records) == [{"type": "update", "turn": 0, "update": said("long ago")}]


async def test_a_session_goes_on(folder: RecordFolder, records: Records) -> None:
    records.begin(About(S, "fake", "/w"))
    records.prompt(S, 1, TEXT)
    records.close(S)
    records.update(S, 1, said("after its end"))
    again = Records(folder)
    found = await records.read(S)
    assert found is not None
    again.begin(found[0], known=True)
    again.update(S, 1, said("late"))
    again.prompt(S, 2, [{"type": "text", "text": "more"}])
    await again.aclose()
    assert [entry["type"] for entry in await entries(records)] == ["prompt", "update", "prompt"]
    (about,) = await records.list()
    assert (about.title, about.turn, about.created) == ("do it", 2, found[0].created)


async def test_deleting(folder: RecordFolder, records: Records) -> None:
    records.begin(About(S, "fake", "/w"))
    records.prompt(S, 1, TEXT)
    records.update(S, 1, said("not written yet"))
    assert await records.delete(S) is True
    assert await records.read(S) is None
    assert await records.delete(S) is False
    records.update(S, 1, said("of a deleted one"))
    assert await records.list() == []
    records.prompt(S, 2, TEXT)
    assert [entry["type"] for entry in await entries(records)] == ["prompt"]


async def test_what_never_began_leaves_nothing(records: Records) -> None:
    for name, reference in (("neveropened1", ""), ("openedbefore", "theirs")):
        records.begin(About(name, "fake", "/w", reference=reference))
        records.prompt(name, 1, TEXT)
        records.abandon(name)
        records.end(name, {"turn": 1, "stopReason": "failed"})
    records.abandon("unknown12345")
    assert [about.session_id for about in await records.list()] == ["openedbefore"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "A" * 12, "x" * 65, "a.b"])
async def test_ids_that_are_none(records: Records, name: str) -> None:
    assert await records.read(name) is None
    assert await records.delete(name) is False


async def test_files_are_the_users_alone(tmp_path: Path, folder: RecordFolder, records: Records) -> None:
    before = os.umask(0)
    try:
        records.begin(About(S, "fake", "/w"))
        records.prompt(S, 1, TEXT)
        await records.read(S)
    finally:
        os.umask(before)
    path = tmp_path / "sessions"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.iterdir()} == {
        f"{S}.json": 0o600,
        f"{S}.jsonl": 0o600,
    }


async def test_a_folder_that_cannot_be_written_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "sessions").write_text("a file")
    records = Records(RecordFolder(tmp_path / "sessions"))
    with caplog.at_level(logging.WARNING):
        records.begin(About(S, "fake", "/w"))
        for turn in range(3):
            records.prompt(S, turn, TEXT)
        await records.aclose()
    assert len([one for one in caplog.records if "not recorded" in one.message]) == 1


# the folder


def test_a_line_that_was_cut_off(tmp_path: Path, folder: RecordFolder) -> None:
    folder.write_about(About(S, "fake", "/w"))
    folder.append(S, [{"type": "prompt"}])
    path = tmp_path / "sessions" / f"{S}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"type":"upd')  # a crash
    folder.append(S, [{"type": "end"}])
    found = folder.read(S)
    assert found is not None
    assert [entry["type"] for entry in found[1]] == ["prompt", "end"]


def test_what_is_none_of_ours_is_left_out(tmp_path: Path, folder: RecordFolder) -> None:
    folder.write_about(About(S, "fake", "/w"))
    good = json.loads((tmp_path / "sessions" / f"{S}.json").read_text())
    others: dict[str, object] = {
        "nojson000000": "{",
        "future000000": json.dumps({**good, "sessionId": "future000000", "v": 2}),
        "renamed00000": json.dumps(good),
        "list00000000": "[]",
        "notext000000": json.dumps({**good, "sessionId": "notext000000", "cwd": 7}),
    }
    for name, text in others.items():
        (tmp_path / "sessions" / f"{name}.json").write_text(str(text))
    (tmp_path / "sessions" / "README.json").write_text("{}")
    assert [about.session_id for about in folder.abouts()] == [S]


def test_the_oldest_half_of_too_much_goes(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path / "sessions", most_bytes=10_000)
    folder.write_about(About(S, "fake", "/w"))
    for number in range(300):
        folder.append(S, [{"at": "now", "type": "update", "n": number, "text": "x" * 80}])
        assert (tmp_path / "sessions" / f"{S}.jsonl").stat().st_size <= 10_000
    found = folder.read(S)
    assert found is not None
    first, *rest = found[1]
    assert first == {"at": "now", "type": "omitted"}
    assert [entry["n"] for entry in rest] == list(range(300 - len(rest), 300))
    assert len(rest) > 20


def test_one_entry_larger_than_everything(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path / "sessions", most_bytes=1000)
    folder.write_about(About(S, "fake", "/w"))
    folder.append(S, [{"type": "update", "text": "x" * 5000}])
    found = folder.read(S)
    assert found is not None
    assert [entry["type"] for entry in found[1]] == ["omitted"]


def test_only_so_many_sessions_are_kept(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path / "sessions", most_sessions=3)
    for number in range(6):
        name = f"session{number}"
        folder.write_about(About(name, "fake", "/w"))
        folder.append(name, [{"type": "prompt"}])
        os.utime(tmp_path / "sessions" / f"{name}.json", (number, number))
    folder.retain({"session0"})
    assert sorted(about.session_id for about in folder.abouts()) == [
        "session0",
        "session3",
        "session4",
        "session5",
    ]
    assert len(list((tmp_path / "sessions").glob("*.jsonl"))) == 4


async def test_a_turn_is_called_by_its_prompt_also_after_a_restart(folder: RecordFolder) -> None:
    def rows(turn: int) -> list[dict[str, Any]]:
        return [{"sessionId": S, "turn": turn, "earlier": [{"sessionId": S, "turn": 1}]}]

    first = Records(folder)
    first.begin(About(S, "fake", "/w"))
    first.prompt(S, 1, TEXT)
    assert await first.titles.add_to(rows(1)) == [
        {
            "sessionId": S,
            "turn": 1,
            "title": "do it",
            "earlier": [{"sessionId": S, "turn": 1, "title": "do it"}],
        }
    ]
    await first.aclose()
    later = Records(folder)
    later.begin(About(S, "fake", "/w", turn=1), known=True)
    later.prompt(S, 2, [{"type": "text", "text": "and\nnow that"}])
    assert [await later.titles.of(S, turn) for turn in (1, 2, 3)] == ["do it", "and", ""]
    assert await later.titles.of("nobody", 1) == ""
    for number in range(MOST):  # nothing is kept of conversations of long ago but their records
        later.titles.note(f"other {number}", 1, TEXT)
    assert [await later.titles.of(S, turn) for turn in (1, 2, 3)] == ["do it", "and", ""]
    await later.delete(S)
    assert await later.titles.add_to([{"sessionId": S, "turn": 1}]) == [{"sessionId": S, "turn": 1}]
    await later.aclose()
