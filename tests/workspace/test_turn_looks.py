"""The prompt does not wait for a large folder: the look goes on while the agent works, and what it can no longer find out is said."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sidecar.disk import folder_files
from sidecar.journal.turns import FolderStart
from sidecar.workspace.behind import tree_looks, tree_notes
from sidecar.workspace.behind.tree_looks import Found, TreeLooks
from sidecar.workspace.behind.tree_notes import NOTHING, LeftToRead, Touched, TreeNote
from sidecar.workspace.behind.tree_starts import LATE, TreeStart
from sidecar.workspace.behind.turn_starts import Changed, TurnStarts
from sidecar.workspace.ports.session_ports import CommandEnd
from sidecar.workspace.review.review import Selector
from sidecar.workspace.state.acts import now as file_time
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.file_time import tick
from tests.support.repositories import commit, git, with_git
from tests.support.workspaces import Bench, MemoryJournal
from tests.workspace.test_behind import Turn, listed, play

OLD, NEW = "one\ntwo\n", "one\nTWO\n"


class Held:
    """Looks at folders take long: until they may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on = asyncio.Event()
        self.asked = 0
        look = TreeLooks.look

        async def held(
            looks: TreeLooks, top: str, since: int, touched: Touched, long: Callable[[], None]
        ) -> Found:
            self.asked += 1
            if since < 2**63:
                long()
                await self.go_on.wait()
            return await look(looks, top, since, touched, long)

        monkeypatch.setattr(TreeLooks, "look", held)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(monkeypatch)


def warnings(editor: FakeEditor) -> list[str]:
    return [words for level, words in editor.shown if level == "warning"]


def test_the_agent_has_its_prompt_before_the_look_is_over(tmp_path: Path, held: Held) -> None:
    (tmp_path / "a.txt").write_text(OLD)
    journal = MemoryJournal()
    noted: list[list[FolderStart]] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        await asyncio.sleep(0.1)
        noted.append(list(journal.turns[turn.session].folders))
        held.go_on.set()
        await asyncio.sleep(1)
        noted.append(list(journal.turns[turn.session].folders))
        turn.says("execute")
        tick()
        turn.puts("a.txt", NEW)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "two", "TWO")]
        await bench.workspace.review.revert_turn(bench.session, 1)
        assert (tmp_path / "a.txt").read_text() == OLD

    editor = play(tmp_path, VSCODE, script, after=after, journal=journal)
    ((unnoted,), (known,)) = noted
    assert (unnoted.noted, unnoted.folder, dict(unnoted.texts)) == (False, str(tmp_path), {})
    assert (known.noted, known.texts["a.txt"].text) == (True, OLD)
    assert warnings(editor) == []


def test_what_is_read_later_is_what_the_turn_began_with(tmp_path: Path, held: Held) -> None:
    """By the file's own time it has not changed since the prompt."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(OLD)
    tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        tick()
        turn.says("execute")
        tick()
        turn.puts("b.txt", "too early\n")
        held.go_on.set()
        await asyncio.sleep(1)
        turn.puts("a.txt", NEW)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "two", "TWO")]
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert (tmp_path / "a.txt").read_text() == OLD
        assert (tmp_path / "b.txt").read_text() == "too early\n"
        assert [one["changeId"].rpartition("/")[2] for one in result.impossible] == ["b.txt"]

    editor = play(tmp_path, VSCODE, script, after=after)
    (warning,) = warnings(editor)
    assert "b.txt" in warning
    assert LATE in warning


def test_what_a_call_named_in_time_can_be_taken_back(tmp_path: Path, held: Held) -> None:
    (tmp_path / "a.txt").write_text(OLD)
    tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        tick()
        turn.says("edit", "a.txt")
        tick()
        turn.puts("a.txt", NEW)
        held.go_on.set()
        await asyncio.sleep(2)
        turn.says("edit", "a.txt", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "two", "TWO")]
        await bench.workspace.review.revert_turn(bench.session, 1)
        assert (tmp_path / "a.txt").read_text() == OLD

    editor = play(tmp_path, VSCODE, script, after=after)
    assert warnings(editor) == []


def test_what_a_call_named_can_be_taken_back_though_there_was_no_room_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order where there is no room for all: named by calls, open, changed lately, the rest."""
    monkeypatch.setattr(tree_notes, "MAX_KEPT", 2)
    for name in ("named.txt", "open.txt", "rest.txt", "lately.txt"):
        (tmp_path / name).write_text(OLD)
        tick()

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("open.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.closes("open.txt")
        turn.says("execute", "named.txt")
        tick()
        for name in ("named.txt", "open.txt", "rest.txt", "lately.txt"):
            turn.puts(name, NEW)
        tick()
        turn.says("execute", "named.txt", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        back = ["lately.txt", "named.txt", "open.txt"]
        assert sorted(listed(bench)) == [(name, "two", "TWO") for name in back]
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
            **dict.fromkeys(back, OLD),
            "rest.txt": NEW,
        }
        assert [one["changeId"].rpartition("/")[2] for one in result.impossible] == ["rest.txt"]

    editor = play(tmp_path, VSCODE, script, before=before, after=after)
    (warning,) = warnings(editor)
    assert warning.startswith("rest.txt was changed")


def test_what_is_removed_too_early_is_named(tmp_path: Path, held: Held) -> None:
    """An earlier look, or git, knows that it was there."""
    (tmp_path / "a.txt").write_text(OLD)
    tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        tick()
        turn.says("execute")
        tick()
        (tmp_path / "a.txt").unlink()
        held.go_on.set()
        await asyncio.sleep(1)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert [one["changeId"].rpartition("/")[2] for one in result.impossible] == ["a.txt"]

    editor = play(tmp_path, VSCODE, script, after=after)
    (warning,) = warnings(editor)
    assert "a.txt" in warning
    assert LATE in warning


def test_a_folder_that_is_moved_there_too_early_is_named(tmp_path: Path, held: Held) -> None:
    """Its files have not changed by that."""
    folder = tmp_path / "w"
    folder.mkdir()
    (tmp_path / "came" / "deep").mkdir(parents=True)
    (tmp_path / "came" / "deep" / "a.txt").write_text(OLD)
    (folder / "was").mkdir()
    (folder / "was" / "b.txt").write_text(OLD)
    tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        tick()
        turn.says("execute")
        tick()
        (tmp_path / "came").rename(folder / "came")
        held.go_on.set()
        await asyncio.sleep(1)

    async def after(bench: Bench, editor: FakeEditor) -> None:
        result = await bench.workspace.review.revert_turn(bench.session, 1)
        assert [one["changeId"].rpartition("/")[2] for one in result.impossible] == ["a.txt"]

    editor = play(folder, VSCODE, script, after=after)
    (warning,) = warnings(editor)
    assert "a.txt" in warning


def test_a_command_in_our_terminal_waits_for_the_look(tmp_path: Path, held: Held) -> None:
    (tmp_path / "a.txt").write_text(OLD)
    order: list[str] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:

        async def runs() -> None:
            folder = await turn.bench.workspace.run(turn.session, ["make"], None, [])
            assert folder == str(tmp_path)
            order.append("runs")
            turn.bench.workspace.command_started(turn.session, "t1")
            turn.puts("a.txt", NEW)
            turn.bench.workspace.command_ended(turn.session, "t1", CommandEnd())

        running = asyncio.create_task(runs())
        await asyncio.sleep(3)
        order.append("looked")
        held.go_on.set()
        await running

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert order == ["looked", "runs"]
        assert listed(bench) == [("a.txt", "two", "TWO")]

    play(tmp_path, VSCODE, script, after=after, answer=lambda _: "allow")


def test_what_the_user_saves_while_the_look_goes_on_is_not_the_agents(tmp_path: Path, held: Held) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    journal = MemoryJournal()
    tick()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        tick()
        turn.says("execute")
        editor.opens("a.txt")
        await asyncio.sleep(0.5)
        editor.replaces("a.txt", "one", "mine")
        assert editor.saves("a.txt")
        await asyncio.sleep(0.5)
        editor.closes("a.txt")
        await asyncio.sleep(0.5)
        held.go_on.set()
        await asyncio.sleep(0.5)
        tick()
        turn.puts("a.txt", "mine\ntwo\nTHREE\n")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        assert listed(bench) == [("a.txt", "three", "THREE")]

    editor = play(tmp_path, VSCODE, script, after=after, journal=journal)
    assert [image.text for image in journal.turn_saves.values()] == ["mine\ntwo\nthree\n"]
    assert warnings(editor) == []


def test_what_the_user_saves_while_earlier_saves_are_journalled_is_not_lost(
    tmp_path: Path, held: Held
) -> None:
    """The look failed then, and nothing of the turn's beginning was known (hands, Neovim, seed 590019)."""

    class Slow(MemoryJournal):
        async def turn_saved(self, *args: Any) -> None:
            await asyncio.sleep(5)
            await super().turn_saved(*args)

    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(OLD)
    journal = Slow()
    tick()

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.opens("b.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        tick()
        turn.says("execute")
        for name in ("a.txt", "b.txt"):
            editor.replaces(name, "one", "mine")
            assert editor.saves(name)
            await asyncio.sleep(2)
            held.go_on.set()
            await asyncio.sleep(1)
        await asyncio.sleep(15)

    editor = play(tmp_path, VSCODE, script, before=before, journal=journal)
    assert [image.text for image in journal.turn_saves.values()] == ["mine\ntwo\n"] * 2
    assert warnings(editor) == []


def test_a_turn_that_ends_before_the_look_leaves_nothing(tmp_path: Path, held: Held) -> None:
    (tmp_path / "a.txt").write_text(OLD)
    journal = MemoryJournal()

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("read")
        await asyncio.sleep(0.1)
        assert turn.session in journal.turns

    async def after(bench: Bench, editor: FakeEditor) -> None:
        held.go_on.set()
        await asyncio.sleep(1)
        assert journal.turns == {}
        session = bench.workspace.state.sessions.get(bench.session)
        assert session is not None
        assert not bench.workspace._disk_watch._starts.has(session)

    editor = play(tmp_path, VSCODE, script, after=after, journal=journal)
    assert warnings(editor) == []


def test_a_look_that_does_not_end_is_told(tmp_path: Path, held: Held) -> None:
    (tmp_path / "a.txt").write_text(OLD)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        turn.says("execute")
        turn.puts("a.txt", NEW)

    editor = play(tmp_path, VSCODE, script)
    assert any("no time to check the files" in words for words in warnings(editor))


@pytest.mark.parametrize("in_git", [pytest.param(True, marks=with_git), False], ids=["git", "no git"])
def test_that_a_folder_is_large_is_known_before_it_is_looked_at(
    tmp_path: Path, in_git: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_looks, "LARGE", 5)
    monkeypatch.setattr(folder_files, "COUNTED", 2)
    files = {f"d{number}/f{number}": b"x" for number in range(10)}
    if in_git:
        commit(tmp_path, files)
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    told: list[str] = []
    take = tree_notes.take
    monkeypatch.setattr(tree_notes, "take", lambda *words: told.append("looked") or take(*words))

    async def main() -> None:
        looks = TreeLooks()
        await looks.look(str(tmp_path), 0, NOTHING, lambda: told.append("long"))
        assert told == ["long", "looked"]
        await looks.look(str(tmp_path), 0, NOTHING, lambda: told.append("long"))
        assert told == ["long", "looked", "long", "looked"], "the second time at once, and once"
        for name in list(files)[3:]:
            (tmp_path / name).unlink()
        if in_git:
            git(tmp_path, "add", "-A")
        await looks.look(str(tmp_path), 0, NOTHING, lambda: None)
        told.clear()
        await looks.look(str(tmp_path), 0, NOTHING, lambda: told.append("long"))
        assert told == ["looked"], "it is not large any more"

    asyncio.run(main())


def test_a_prompt_does_not_wait_for_what_another_session_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a large folder."""
    monkeypatch.setattr(tree_looks, "LARGE", 1)
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(OLD)
    may_end = asyncio.Event()
    changed = TurnStarts.changed

    async def long(starts: TurnStarts, session_id: str) -> list[Changed]:
        async with asyncio.timeout(60):
            await may_end.wait()
        return await changed(starts, session_id)

    async def script(turn: Turn, editor: FakeEditor) -> None:
        workspace = turn.bench.workspace
        if turn.session != turn.bench.session:
            turn.says("execute")
            tick()
            turn.puts("b.txt", NEW)
            tick()
            turn.says("execute", status="completed")
            may_end.set()
            return
        await asyncio.sleep(1)
        turn.says("execute")
        tick()
        turn.puts("a.txt", NEW)
        tick()
        turn.says("execute", status="completed")
        tick()
        monkeypatch.setattr(TurnStarts, "changed", long)
        await workspace.start_prompt(await turn.bench.another_session(), [])[2]

    async def after(bench: Bench, editor: FakeEditor) -> None:
        rows = {str(row["uri"]).rpartition("/")[2]: row for row in bench.workspace.review.changes(Selector())}
        assert rows.keys() == {"a.txt", "b.txt"}
        assert rows["a.txt"]["sessionId"] == bench.session
        assert rows["b.txt"]["sessionId"] not in ("", bench.session)

    play(tmp_path, VSCODE, script, after=after)


def test_ten_sessions_that_start_at_once_cost_one_look(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text(OLD)
    notes: list[TreeNote] = []

    async def script(turn: Turn, editor: FakeEditor) -> None:
        bench = turn.bench
        starts = bench.workspace._disk_watch._starts
        sessions = [bench.workspace.state.sessions.get(await bench.another_session()) for _ in range(10)]
        await asyncio.sleep(1)
        before = starts.looks.looks
        async with asyncio.TaskGroup() as group:
            for session in sessions:
                assert session is not None
                session.begin_turn()
                bench.workspace._disk_watch.turn_began(session)
                group.create_task(bench.workspace._disk_watch.before_turn(session))
        assert starts.looks.looks == before + 1
        for session in sessions:
            assert session is not None
            (start,) = starts._starts[session.id]
            notes.append(start.note)

    play(tmp_path, VSCODE, script)
    assert len(notes) == 10
    assert len(set(map(id, notes))) == 1, "what it found is there once"


def test_who_asks_while_a_look_goes_on_gets_the_next_one(tmp_path: Path) -> None:
    """What the running one has looked at may have changed since."""

    async def main() -> None:
        looks = TreeLooks()
        (tmp_path / "a").write_text(OLD)
        began, go_on = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        now = looks.now

        def slow(*words: object) -> Found:
            found = now(*words)  # handed on as they came
            loop.call_soon_threadsafe(began.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(60)
            return found

        looks.now = slow  # of this one alone
        first = asyncio.create_task(looks.look(str(tmp_path), 0, NOTHING, lambda: None))
        await began.wait()
        (tmp_path / "b").write_text(OLD)
        others = [asyncio.create_task(looks.look(str(tmp_path), 0, NOTHING, lambda: None)) for _ in range(3)]
        await asyncio.sleep(0)
        go_on.set()
        assert list((await first).notes[0].files) == ["a"]
        found = [await other for other in others]
        assert sorted(found[0].notes[0].files) == ["a", "b"]
        assert all(one is found[0] for one in found)
        assert looks.looks == 2

    asyncio.run(main())


# Against a full read


def everything(folder: Path) -> dict[str, tuple[str, bytes, int]]:
    """Kind, bytes and mode of all that is in the folder."""
    found: dict[str, tuple[str, bytes, int]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] == ".git" or (path.is_dir() and not path.is_symlink()):
            continue
        is_link = path.is_symlink()
        data = os.readlink(path).encode() if is_link else path.read_bytes()
        found[name] = ("link" if is_link else "file", data, 0 if is_link else path.stat().st_mode & 0o777)
    return found


def act(folder: Path, random: Random, times: int) -> None:
    """Somebody does something, to files that are there and to new ones."""
    for _ in range(times):
        there = sorted(everything(folder))
        name = random.choice([*there, f"new{random.randint(0, 9)}", f"d{random.randint(0, 2)}/new"])
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match random.choice(["write", "append", "replace", "remove", "rename", "mode", "link", "touch"]):
            case "write":
                if path.is_symlink():
                    path.unlink()
                path.write_text(random.choice(["x", "longer\n", "one\r\n", f"{random.random()}"]))
            case "append" if path.is_file() and not path.is_symlink():
                path.write_bytes(path.read_bytes() + b"more\n")
            case "replace":
                other = folder / ".other"
                other.write_text(f"{random.random()}")
                other.replace(path)
            case "remove":
                path.unlink(missing_ok=True)
            case "rename" if os.path.lexists(path):
                path.rename(folder / f"moved{random.randint(0, 9)}")
            case "mode" if path.is_file() and not path.is_symlink():
                path.chmod(random.choice([0o644, 0o600, 0o755]))
            case "link":
                path.unlink(missing_ok=True)
                path.symlink_to("nowhere")
            case _ if path.is_file() and not path.is_symlink():
                os.utime(path)
            case _:
                pass


def shown(row: Changed) -> tuple[str, bytes, int] | None:
    state = row.before.state
    if state is None:
        return None
    return state.kind, state.data, 0 if state.is_link else state.mode


def commits(folder: Path, random: Random) -> None:
    if random.random() < 0.7:
        git(folder, "add", "-A")
    if random.random() < 0.7:
        git(folder, "commit", "-q", "--allow-empty", "-m", "m")


def noted(folder: Path, before: TreeNote | None, since: int) -> TreeNote:
    (tree,) = folder_files.trees(str(folder)).found
    return tree_notes.take(tree, LeftToRead(), before, since)


@pytest.fixture(params=["git", "git, each file for itself", "no git"])
def in_git(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "git":
        monkeypatch.setattr(tree_notes, "MIN_INDEX", 0)
    return request.param != "no git"


@with_git
@pytest.mark.parametrize("seed", range(15))
def test_against_a_full_read(tmp_path: Path, seed: int, in_git: bool) -> None:
    """Before, while and after the look somebody changes files: what differs from the prompt's moment is found, with what it was then, or it is said
    that nobody knows; and nothing else is found."""
    random = Random(seed)
    folder = tmp_path / "w"
    folder.mkdir()
    before: TreeNote | None = None
    act(folder, random, 12)
    if in_git:
        git(folder, "init", "-q")
        commits(folder, random)
    for _ in range(random.randint(0, 2)):  # earlier turns
        before = noted(folder, before, 2**63)
        act(folder, random, random.randint(0, 4))
        if in_git and random.random() < 0.5:
            commits(folder, random)
    tick()
    since = file_time()
    then = everything(folder)
    asked = file_time()
    tick()
    act(folder, random, random.choice([0, 0, 1, 3]))  # before the look
    between = everything(folder)
    note = noted(folder, before, since)
    again = noted(folder, None, since)
    assert (note.kept, note.absent, set(note.files.entries())) == (
        again.kept, again.absent, set(again.files.entries()),
    )  # fmt: skip
    start = TreeStart(note, asked)
    tick()
    act(folder, random, random.randint(0, 4))
    if in_git and random.random() < 0.3:
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "-m", "the agent's")
    now = everything(folder)
    starts = TurnStarts(MemoryJournal())
    rows = {os.path.relpath(row.path, folder): row for row in starts._changed([start], [str(folder)])}
    known = _known(folder, before)
    for name in then.keys() | now.keys() | rows.keys():
        row = rows.get(name)
        if name in then and name not in between and name not in known:
            continue  # gone, and nobody can know that it was there
        if row is not None and row.before.why:
            assert row.before.why == LATE
            assert name in start.note.recent
        elif row is not None:
            assert shown(row) == then.get(name), name
        else:
            assert then.get(name) == now.get(name), name
    for name in then.keys() & between.keys():
        assert then[name] != between[name] or name in start.note.recent or not start.is_late(name)


def _known(folder: Path, before: TreeNote | None) -> set[str]:
    """Names that somebody had seen."""
    found: set[str] = set() if before is None else {*before.files, *before.links}
    if (folder / ".git").exists():
        found |= set(git(folder, "ls-files", "-z", "--cached").split("\0"))
    return found


def test_what_changed_last_is_kept_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_notes, "MAX_KEPT", 2)
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).write_text(name)
        tick()
    (tree,) = folder_files.trees(str(tmp_path)).found
    assert sorted(tree_notes.take(tree, LeftToRead(), None, 0).kept) == ["c", "d"]
    is_open = [str(tmp_path / "a")]
    assert sorted(tree_notes.take(tree, LeftToRead(), None, 0, Touched(is_open)).kept) == ["a", "d"]
    made = [str(tmp_path / name) for name in ("b", "c", "d")]
    assert sorted(tree_notes.take(tree, LeftToRead(), None, 0, Touched((), made)).kept) == ["a", "c", "d"]
