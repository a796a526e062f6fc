"""How many changes of each turn the user kept and rejected is told once for every decision, and recorded."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from sidecar.core.file_state import FileState
from sidecar.core.ledger import Author
from sidecar.records import Records
from sidecar.records.folder import RecordFolder
from sidecar.workspace.review.decided import Decided
from sidecar.workspace.review.review import Selector
from tests.lsp.fakes import until
from tests.support.repositories import git, with_git
from tests.support.workspaces import Bench, IdleAgents, QuietEditor, a_workspace
from tests.workspace.test_review import ALL, only
from tests.workspace.test_writes import done

BASE = "".join(f"line {n}\n" for n in range(9))
CHANGED = BASE.replace("line 1\n", "first\n").replace("line 4\n", "fourth\n").replace("line 7\n", "seventh\n")


class Hearing(QuietEditor):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[int, str, int]] = []

    def reviewed(self, session_id: str, turn: int, verdict: str, changes: int) -> None:
        self.heard.append((turn, verdict, changes))


async def agent_wrote(bench: Bench, name: str = "a.txt", text: str = CHANGED) -> None:
    await bench.read(name)
    done(await bench.write(name, text))


async def test_each_decision_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    editor = Hearing()
    async with a_workspace(tmp_path, editor) as bench:
        await agent_wrote(bench)
        review = bench.workspace.review
        review.keep(only(review.changes(ALL)[0]))
        assert editor.heard == [(0, "kept", 1)]
        assert not (await review.reject(ALL)).impossible
        review.keep(ALL)
        assert editor.heard == [(0, "kept", 1), (0, "rejected", 2)]


async def test_what_could_not_be_put_back_is_not_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    editor = Hearing()
    async with a_workspace(tmp_path, editor) as bench:
        await agent_wrote(bench)
        (tmp_path / "a.txt").unlink()
        (tmp_path / "a.txt").mkdir()
        assert (await bench.workspace.review.reject(ALL)).impossible
        assert editor.heard == []


async def test_a_turn_that_is_undone_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    editor = Hearing()
    async with a_workspace(tmp_path, editor) as bench:
        await agent_wrote(bench)
        session = bench.workspace.state.sessions.get(bench.session)
        assert session is not None
        session.end_turn()
        await bench.workspace.review.revert_turn(bench.session, 0)
        assert editor.heard == [(0, "rejected", 3)]


async def test_rows_of_whole_files_count_and_what_nobody_made_does_not(tmp_path: Path) -> None:
    editor = Hearing()
    async with a_workspace(tmp_path, editor) as bench:
        review = bench.workspace.review
        session = bench.workspace.state.sessions.get(bench.session)
        assert session is not None
        for name, author in (
            ("a.bin", Author(session.id, 1, "w1", "agent")),
            ("b.bin", Author("", 0, "w2", "", unknown=True)),
        ):
            (tmp_path / name).write_bytes(b"\0\1")
            after = FileState(b"\0\1", 0o644)
            review.files.enter(str(tmp_path / name), FileState(b"\0", 0o644), after, author)
        review.keep(Selector(everything=True))
        assert editor.heard == [(1, "kept", 1)]


@with_git
async def test_a_commit_keeps(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.txt").write_text(BASE)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    editor = Hearing()
    async with a_workspace(folder, editor) as bench:
        await agent_wrote(bench)
        session = bench.workspace.state.sessions.get(bench.session)
        assert session is not None
        session.end_turn()
        await bench.workspace.review.listed(ALL)
        git(folder, "commit", "--all", "--quiet", "--message", "two")
        assert await bench.workspace.review.listed(ALL) == []
        assert editor.heard == [(0, "kept", 3)]


async def test_it_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    records, agents = Records(RecordFolder(tmp_path / "records")), IdleAgents()
    async with a_workspace(tmp_path, QuietEditor(), agents, records=records) as bench:
        _, turn, outcome = bench.workspace.start_prompt(bench.session, [{"type": "text", "text": "go"}])
        ending = asyncio.ensure_future(outcome)
        await until(lambda: agents.stop)
        assert agents.stop is not None
        await agent_wrote(bench)
        agents.stop.set_result("end_turn")
        await ending
        bench.workspace.review.keep(only(bench.workspace.review.changes(ALL)[0]))
        entries = (await bench.workspace.conversations.transcript(bench.session))["entries"]
    assert isinstance(entries, list)
    ended, reviewed = entries[-2:]
    assert (ended["type"], reviewed.pop("at") > "") == ("end", True)
    assert reviewed == {"type": "reviewed", "turn": turn, "verdict": "kept", "changed": 1}


def test_decisions_in_one_are_told_at_its_end_also_when_it_fails() -> None:
    told: list[object] = []
    decided = Decided(lambda *what: told.append(what))
    mine = Author("s", 2, "w", "agent")
    with suppress(ValueError), decided.together():
        with decided.together():
            decided.count(mine, "kept")
        decided.count(mine, "kept")
        decided.count(mine, "rejected")
        assert told == []
        raise ValueError
    assert told == [("s", 2, "kept", 2), ("s", 2, "rejected", 1)]
