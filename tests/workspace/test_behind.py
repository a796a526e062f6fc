"""What agents change on the disk by themselves: whose it is, that nothing of the user's is lost, and that it can be taken back.

Over the fake editor, in virtual time: the scripted agent announces tool calls and writes files as real ones do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.refusal import Refusal
from sidecar.workspace.behind import tree_notes
from sidecar.workspace.ports.ports import AgentFailed, Journal, Option, Question
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import EDITORS, HELIX, VSCODE, WELL_BEHAVED, Habits
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import Bench, IdleAgents, MemoryJournal, a_workspace

TAKES_EDITS = {name: habits for name, habits in EDITORS.items() if not habits.refuses}
every_editor = pytest.mark.parametrize("habits", list(TAKES_EDITS.values()), ids=list(TAKES_EDITS))
BASE = "one\ntwo\nthree\nfour\nfive\n"
CHANGED = BASE.replace("four", "FOUR")


class Agent(IdleAgents):
    """Does in a turn what the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.script: Callable[[Turn], Awaitable[None]] | None = None
        self.bench: Bench | None = None
        self.wrong: AssertionError | None = None
        """What a script found wrong: for the product it is an agent that fails, which is nothing unusual."""

    async def prompt(self, session_id: str, blocks: Sequence[Mapping[str, object]]) -> str:
        assert self.bench is not None
        assert self.script is not None
        try:
            await self.script(Turn(self.bench, session_id))
        except AssertionError as wrong:
            self.wrong = wrong
            raise
        return "end_turn"


class Turn:
    """What an agent does while its turn runs."""

    def __init__(self, bench: Bench, session: str) -> None:
        self.bench = bench
        self.session = session

    def says(
        self, kind: str, *names: str, call: str = "c1", status: str = "in_progress", **more: Any
    ) -> None:
        update: dict[str, Any] = {"toolCallId": call, "kind": kind, "status": status, **more}
        update["locations"] = [{"path": self.bench.path(name), "line": 0} for name in names]
        update["sessionUpdate"] = "tool_call"
        self.bench.workspace.session_update(self.session, update)

    def puts(self, name: str, text: str) -> None:
        """On the disk, by a new file in its place as most do."""
        path = Path(self.bench.path(name))
        new = path.with_name(path.name + ".tmp")
        new.write_bytes(text.encode())
        new.replace(path)


Case = Callable[[Turn, FakeEditor], Awaitable[None]]
After = Callable[[Bench, FakeEditor], Awaitable[None]]


async def nothing(bench: Bench, editor: FakeEditor) -> None: ...


def play(
    folder: Path,
    habits: Habits,
    script: Case,
    *,
    before: After = nothing,
    after: After = nothing,
    journal: Journal | None = None,
    also: Sequence[str] = (),
    watch: Any = None,
    **editor: Any,
) -> FakeEditor:
    """`before` the prompt, the turn, and `after` it; then every mirror equals its buffer."""
    agents = Agent()

    async def main() -> FakeEditor:
        fake = FakeEditor(habits, folder, **editor)
        async with a_workspace(folder, fake, agents, journal=journal, watch=watch) as bench:
            bench.workspace.state.overlay.encoding = fake.capabilities.encoding
            agents.bench = bench
            agents.script = lambda turn: script(turn, fake)
            fake.attach(bench.workspace.apply)
            if also:  # folders beside the workspace's own
                opened = await bench.workspace.new_session("agent", str(folder), also)
                bench.session = opened.session_id
            await before(bench, fake)
            await asyncio.sleep(1)
            await bench.workspace.start_prompt(bench.session, [])[2]
            if agents.wrong is not None:
                raise agents.wrong
            await asyncio.sleep(3)
            await after(bench, fake)
            await asyncio.sleep(20)
            if agents.wrong is not None:
                raise agents.wrong
            for uri, buffer in fake.model.documents.items():
                document = bench.workspace.state.overlay.get(uri)
                assert document is not None
                assert str(document.snapshot()) == buffer.text
        return fake

    return run(main())


def listed(bench: Bench) -> list[tuple[str, str, str]]:
    """Name, old and new text of each change of a text under review; all of them are this session's, of its first turn."""
    every: list[Mapping[str, Any]] = [dict(row) for row in bench.workspace.review.changes(Selector())]
    rows = [row for row in every if not row.get("unknown") and "file" not in row]
    assert all((row["sessionId"], row["turn"]) == (bench.session, 1) for row in rows)
    return [(row["uri"].rpartition("/")[2], row["oldText"], row["newText"]) for row in rows]


async def opened(bench: Bench, editor: FakeEditor) -> None:
    (bench.folder / "a.txt").write_text(BASE)
    editor.opens("a.txt")


async def opened_and_typed(bench: Bench, editor: FakeEditor) -> None:
    await opened(bench, editor)
    await asyncio.sleep(1)
    editor.replaces("a.txt", "one", "mine")


async def edits(turn: Turn, editor: FakeEditor) -> None:
    turn.says("edit", "a.txt")
    turn.puts("a.txt", CHANGED)
    await asyncio.sleep(2)
    turn.says("edit", "a.txt", status="completed")


@every_editor
def test_what_changed_before_the_turn_is_nobodys(tmp_path: Path, habits: Habits) -> None:
    """A checkout that no editor has told of: nobody looks at files while no agent works."""

    async def before(bench: Bench, editor: FakeEditor) -> None:
        await opened(bench, editor)
        await asyncio.sleep(1)
        (bench.folder / "a.txt").write_text(CHANGED)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        await asyncio.sleep(2)
        turn.puts("a.txt", CHANGED.replace("two", "TWO"))
        await asyncio.sleep(2)
        turn.says("edit", "a.txt", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == CHANGED.replace("two", "TWO")
        assert [(n, o.strip(), t.strip()) for n, o, t in listed(bench)] == [("a.txt", "two", "TWO")]
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert editor.text("a.txt") == CHANGED

    editor = play(tmp_path, habits, script, before=before, after=after)
    assert [(c["added"], c["removed"]) for c in editor.outcomes[0]["changes"]] == [(1, 1)]


@every_editor
def test_a_clean_document_says_it_and_it_is_listed_and_rejected(tmp_path: Path, habits: Habits) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == CHANGED
        assert [(n, o.strip(), t.strip()) for n, o, t in listed(bench)] == [("a.txt", "four", "FOUR")]
        result = await bench.workspace.review.reject(Selector(everything=True))
        assert not result.impossible
        assert editor.text("a.txt") == BASE
        assert listed(bench) == []

    journal = MemoryJournal()
    editor = play(tmp_path, habits, edits, before=opened, after=after, journal=journal)
    ((uri, counts),) = [(c["uri"], (c["added"], c["removed"])) for c in editor.outcomes[0]["changes"]]
    assert uri.endswith("a.txt")
    assert counts == (1, 1)
    entry = journal.entries["w1"]
    assert (entry.before, entry.after, entry.tool_call, journal.states["w1"]) == (
        BASE,
        CHANGED,
        "c1",
        "rejected",
    )
    assert len(journal.entries) == 2, "the change and the rejection"


@every_editor
def test_unsaved_lines_elsewhere_survive(tmp_path: Path, habits: Habits) -> None:
    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == CHANGED.replace("one", "mine")
        assert [(n, o.strip(), t.strip()) for n, o, t in listed(bench)] == [("a.txt", "four", "FOUR")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == BASE.replace("one", "mine")

    play(tmp_path, habits, edits, before=opened_and_typed, after=after)


@every_editor
def test_an_overlap_is_a_conflict_and_nothing_is_lost(tmp_path: Path, habits: Habits) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", BASE.replace("one", "theirs"))
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == BASE.replace("one", "mine")
        assert (tmp_path / "a.txt").read_text() == BASE.replace("one", "theirs")

    journal = MemoryJournal()
    editor = play(tmp_path, habits, script, before=opened_and_typed, after=after, journal=journal)
    (words,) = [words for level, words in editor.shown if level == "warning"]
    assert "a.txt" in words
    assert "line 1" in words
    assert [(e.before, e.after) for e in journal.entries.values()] == [(BASE, BASE.replace("one", "theirs"))]


@pytest.mark.parametrize("disk_first", [True, False])
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("habits", [VSCODE, HELIX, WELL_BEHAVED], ids=["vscode", "helix", "book"])
def test_the_same_change_on_disk_and_sent_counts_once(
    tmp_path: Path, habits: Habits, typed: bool, disk_first: bool
) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        if disk_first:
            turn.puts("a.txt", CHANGED)
        answer = await turn.bench.write("a.txt", CHANGED, session=turn.session)
        assert not isinstance(answer, Refusal), answer
        if not disk_first:
            turn.puts("a.txt", CHANGED)
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        base = BASE.replace("one", "mine") if typed else BASE
        assert editor.text("a.txt") == base.replace("four", "FOUR")
        assert listed(bench) == [("a.txt", "four\n", "FOUR\n")] or listed(bench) == [
            ("a.txt", "four", "FOUR")
        ]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == base

    journal = MemoryJournal()
    play(tmp_path, habits, script, before=opened_and_typed if typed else opened, after=after, journal=journal)
    assert sorted(s for s in journal.states.values() if s != "failed") == ["done", "rejected"]


async def closed_file(bench: Bench, editor: FakeEditor) -> None:
    (bench.folder / "a.txt").write_bytes(BASE.replace("\n", "\r\n").encode())


def test_a_file_that_is_not_open_is_taken_back_by_its_pre_image(tmp_path: Path) -> None:
    changed = CHANGED.replace("\n", "\r\n")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", changed)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [(n, o.strip(), t.strip()) for n, o, t in listed(bench)] == [("a.txt", "four", "FOUR")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert (tmp_path / "a.txt").read_bytes() == BASE.replace("\n", "\r\n").encode()

    play(tmp_path, VSCODE, script, before=closed_file, after=after, custom=False)


def test_a_new_file_is_removed_and_a_removed_one_is_in_the_journal(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old\n")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "new.txt", call="c1")
        turn.puts("new.txt", "new\n")
        turn.says("delete", "old.txt", call="c2")
        (tmp_path / "old.txt").unlink()

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("new.txt", "", "new\n")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert not (tmp_path / "new.txt").exists()
        assert (tmp_path / "old.txt").read_text() == "old\n"

    journal = MemoryJournal()
    play(tmp_path, VSCODE, script, after=after, journal=journal, custom=False)
    texts = [(e.tool_call, e.before, e.after) for e in journal.entries.values()][:2]
    assert set(texts) == {("c1", None, "new\n"), ("c2", "old\n", None)}


@pytest.mark.parametrize("disk_first", [True, False])
@pytest.mark.parametrize("custom", [True, False])
def test_a_file_that_is_not_open_counts_once(tmp_path: Path, custom: bool, disk_first: bool) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        for name, text in (("a.txt", CHANGED), ("new.txt", "new\n")):
            turn.says("edit", name, call=name)
            if disk_first:
                turn.puts(name, text)
                await asyncio.sleep(2)
            answer = await turn.bench.write(name, text, session=turn.session)
            assert not isinstance(answer, Refusal), answer
            if not disk_first:
                turn.puts(name, text)
                await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert sorted(name for name, _, _ in listed(bench)) == ["a.txt", "new.txt"]

    journal = MemoryJournal()
    play(tmp_path, VSCODE, script, after=after, journal=journal, custom=custom)
    assert list(journal.states.values()).count("done") == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [(BASE, CHANGED), ("four", "FOUR"), (BASE.rstrip("\n"), CHANGED)],
    ids=["whole", "snippet", "no end"],
)
def test_a_call_that_is_told_when_it_is_over_is_believed_by_its_diff(
    tmp_path: Path, old: str, new: str
) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.puts("a.txt", CHANGED)
        diff = {"type": "diff", "path": "a.txt", "oldText": old, "newText": new}
        turn.says("edit", status="completed", content=[diff])

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert ("four", "FOUR") in [(o.strip(), t.strip()) for _, o, t in listed(bench)]

    play(tmp_path, VSCODE, script, after=after, custom=False)


@pytest.mark.parametrize("told", ["before", "after"])
@pytest.mark.parametrize("is_open", [True, False])
def test_what_a_call_began_with_it_has_not_made(tmp_path: Path, is_open: bool, told: str) -> None:
    """Another program writes the file right before the call is announced, and the agent's tool reads that."""
    (tmp_path / "a.txt").write_text(BASE)
    others = "others\n" + BASE
    diff = {"type": "diff", "path": "a.txt", "oldText": others, "newText": others.replace("four", "FOUR")}

    async def before(bench: Bench, editor: FakeEditor) -> None:
        if is_open:
            editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "b.txt", call="c0", status="completed")
        await asyncio.sleep(0.1)
        turn.puts("a.txt", others)
        turn.says("edit", "a.txt", content=[diff] if told == "before" else [])
        turn.puts("a.txt", others.replace("four", "FOUR"))
        turn.says("edit", "a.txt", status="completed", content=[diff])

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "four", "FOUR")]

    play(tmp_path, VSCODE, script, before=before, after=after)


@pytest.mark.parametrize("is_open", [True, False])
def test_what_is_put_back_behind_a_document_is_nobodys_change(tmp_path: Path, is_open: bool) -> None:
    """The editor trims what it saves, and a call of the agent names the file: rejected, the file is as it was, and nothing is listed."""
    text = BASE.replace("one", "one  ")
    trims = replace(
        VSCODE,
        exact_behind=True,
        on_save=lambda text: "\n".join(line.rstrip(" ") for line in text.split("\n")),
    )

    async def before(bench: Bench, editor: FakeEditor) -> None:
        (tmp_path / "a.txt").write_text(text)
        if is_open:
            editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        answer = await turn.bench.write("a.txt", text.replace("four", "FOUR"), session=turn.session)
        assert not isinstance(answer, Refusal), answer
        turn.says("edit", "a.txt", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        await bench.workspace.review.reject(Selector(everything=True))
        await asyncio.sleep(5)
        assert (tmp_path / "a.txt").read_text() == text
        assert listed(bench) == []

    play(tmp_path, trims, script, before=before, after=after)


def test_nobody_is_blamed_without_a_turn_or_for_reading(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(BASE)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("read", "b.txt")
        (tmp_path / "b.txt").write_text(CHANGED)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == []
        await asyncio.sleep(30)
        (tmp_path / "a.txt").write_text(CHANGED)
        await bench.read("a.txt")
        assert editor.text("a.txt") == CHANGED
        assert listed(bench) == []

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_a_command_s_change_is_the_only_running_turn_s(tmp_path: Path) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        turn.puts("a.txt", CHANGED)
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert len(listed(bench)) == 1

    play(tmp_path, HELIX, script, before=opened, after=after)


@pytest.mark.parametrize("cut_short", [True, False])
def test_what_comes_right_after_the_turn_is_its_when_it_was_cut_short(
    tmp_path: Path, cut_short: bool
) -> None:
    """A command goes on for a while after a cancel. After a turn that its agent ended, the change is the user's."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        if cut_short:
            raise AgentFailed("died", "the agent ended")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        tick()
        (tmp_path / "a.txt").write_text(CHANGED)
        await asyncio.sleep(3)
        assert editor.text("a.txt") == CHANGED
        assert len(listed(bench)) == cut_short
        assert len(bench.workspace.review.changes(Selector())) == cut_short

    play(tmp_path, HELIX, script, before=opened, after=after)


@pytest.mark.parametrize("error", [AgentFailed("died", "the agent ended"), RuntimeError("a fault of ours")])
def test_a_turn_that_failed_is_looked_at_to_its_end(tmp_path: Path, error: Exception) -> None:
    """And it is noted as over: after a crash, nobody takes for its work what the user does later."""
    ended: list[str] = []

    class Noting(MemoryJournal):
        async def turn_ended(self, session: str) -> None:
            ended.append(session)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        tick()
        (tmp_path / "b.txt").write_text(CHANGED)
        raise error

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert [row[0] for row in listed(bench)] == ["b.txt"]
        assert ended == [bench.session]

    (tmp_path / "b.txt").write_text(BASE)
    play(tmp_path, VSCODE, script, after=after, journal=Noting())


@every_editor
def test_the_user_s_typing_on_top_of_a_reload_stays_the_user_s(tmp_path: Path, habits: Habits) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", CHANGED)
        editor.looks_at_disk()
        await asyncio.sleep(0.3)
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == "typed\n" + CHANGED
        assert [(o.strip(), t.strip()) for _, o, t in listed(bench)] == [("four", "FOUR")]
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == "typed\n" + BASE

    play(tmp_path, habits, script, before=opened, after=after)


def test_a_second_change_of_the_same_file_and_an_undo(tmp_path: Path) -> None:
    twice = CHANGED.replace("two", "TWO")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt", call="c1")
        turn.puts("a.txt", CHANGED)
        await asyncio.sleep(3)
        turn.says("edit", "a.txt", call="c2")
        turn.puts("a.txt", twice)
        await asyncio.sleep(3)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == twice
        assert [(o.strip(), t.strip()) for _, o, t in listed(bench)] == [("two", "TWO"), ("four", "FOUR")]
        editor.undoes("a.txt")
        await asyncio.sleep(1)
        assert [(o.strip(), t.strip()) for _, o, t in listed(bench)] == [("four", "FOUR")]

    play(tmp_path, VSCODE, script, before=opened, after=after)


def test_what_the_user_saves_meanwhile_is_the_user_s(tmp_path: Path) -> None:
    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        editor.replaces("a.txt", "four", "FOUR")
        editor.saves("a.txt")
        await turn.bench.read("a.txt", session=turn.session)
        await asyncio.sleep(2)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == []

    journal = MemoryJournal()
    play(tmp_path, VSCODE, script, before=opened, after=after, journal=journal)
    assert not journal.entries


def test_what_is_not_text_is_taken_back_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\1")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.bin")
        (tmp_path / "a.bin").write_bytes(b"\0\1\2")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        ((row),) = await bench.workspace.review.listed(Selector())
        assert row["file"] == {"kind": "changed"}
        assert not (await bench.workspace.review.revert_turn(bench.session, 1)).impossible
        assert (tmp_path / "a.bin").read_bytes() == b"\0\1"

    play(tmp_path, VSCODE, script, after=after)


def test_what_nobody_kept_is_said_to_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_notes, "MAX_TEXT", 1)
    (tmp_path / "a.bin").write_bytes(b"\0\1")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.bin")
        (tmp_path / "a.bin").write_bytes(b"\0\1\2")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert [one["changeId"] for one in result.impossible] == [f"0@{bench.uri('a.bin')}"]

    editor = play(tmp_path, VSCODE, script, after=after)
    assert [words for _, words in editor.shown if "cannot be taken back" in words]


def test_a_journal_that_fails_is_told_and_the_text_is_merged_all_the_same(tmp_path: Path) -> None:
    journal = MemoryJournal()
    journal.fail = "the disk is full"

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert editor.text("a.txt") == CHANGED
        assert listed(bench) == []

    editor = play(tmp_path, HELIX, edits, before=opened, after=after, journal=journal)
    assert [words for _, words in editor.shown if "the disk is full" in words]


def test_a_look_that_is_under_way_is_waited_for(tmp_path: Path) -> None:
    """The turn ends while the editor is still given its moment to reload: what is merged then belongs to the turn."""

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("edit", "a.txt")
        turn.puts("a.txt", CHANGED)
        tracked = turn.bench.workspace.state.documents.get(turn.bench.uri("a.txt"))
        assert tracked is not None
        while not tracked.looking.locked():  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.01)

    texts: list[str] = []

    async def before(bench: Bench, editor: FakeEditor) -> None:
        await opened_and_typed(bench, editor)
        told = editor.turn_ended
        editor.turn_ended = lambda outcome: (texts.append(editor.text("a.txt")), told(outcome))

    play(tmp_path, HELIX, script, before=before)
    assert texts == [CHANGED.replace("one", "mine")]


MINE = BASE.replace("two", "mine")


async def tells(turn: Turn, old: str) -> None:
    turn.says("edit", "a.txt", content=[_diff(turn, old)])


async def asks(turn: Turn, old: str) -> None:
    option = Option("no", "reject_once", "No")
    await turn.bench.workspace.ask(
        Question("q", turn.session, "write", "May I?", (option,), details={"diff": [_diff(turn, old)]})
    )


def _diff(turn: Turn, old: str) -> dict[str, Any]:
    return {"type": "diff", "path": turn.bench.path("a.txt"), "oldText": old, "newText": "NEW"}


@pytest.mark.parametrize("how", [tells, asks])
@pytest.mark.parametrize(
    ("old", "known"),
    [(MINE, True), (MINE.replace("\n", "\r\n"), True), (MINE[:-6], False), ("mine\n", False)],
    ids=["all", "other line ends", "not all", "a part"],
)
def test_a_diff_of_the_whole_buffer_shows_which_text_an_agent_knows(
    tmp_path: Path, how: Callable[[Turn, str], Awaitable[None]], old: str, known: bool
) -> None:
    """It was given the buffer by somebody else (its user pasted it); what is typed after that is not taken for something it left out."""
    answers: list[object] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.replaces("a.txt", "two", "mine")
        await asyncio.sleep(1)
        await how(turn, old)
        editor.replaces("a.txt", "mine", "mine too")
        await asyncio.sleep(1)
        answers.append(await turn.bench.write("a.txt", MINE.replace("four", "FOUR")))

    async def after(bench: Bench, editor: FakeEditor) -> None:
        typed = BASE.replace("two", "mine too")
        assert editor.text("a.txt") == (typed.replace("four", "FOUR") if known else typed)
        assert isinstance(answers[0], Refusal) is not known

    play(tmp_path, HELIX, script, before=opened, after=after)
