"""What stands beneath a row of a whole file stays: earlier rows of its path, and the hunks in the text that was there (test_file_rows_at_random.py found each
of these). With the real journal, which knows what was under review in a text that is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.diff import diff
from sidecar.core.file_state import FileState
from sidecar.core.ledger import Author
from sidecar.core.text import Text
from sidecar.core.uri import from_path
from sidecar.journal import SqliteJournal, Store
from sidecar.recovery.settle import at_start
from sidecar.workspace.review.review import Selector
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.editor_time import run
from tests.support.file_time import tick
from tests.support.workspaces import Bench, QuietEditor, a_workspace
from tests.turns.doors import CommandLine
from tests.turns.journals import SlowJournal
from tests.turns.world import entries
from tests.workspace.test_behind import Agent, Turn
from tests.workspace.test_gone_again import acts, plays, puts, removes, user
from tests.workspace.test_rows_upon_rows import Act, chmods, links, moves_here, nothing_there

BYTES, TEXT, OTHER = b"\0bytes", b"text\n", b"other\n"
LINES = b"one\ntwo\nthree\nfour\nfive\nsix\n"
CHANGED = LINES.replace(b"two", b"TWO")
EMPTY = puts(b"")
orders = pytest.mark.parametrize("order", ["at once", "the oldest first", "the newest first"])


def moves_to(name: str) -> Act:
    return lambda folder: (folder / "a.txt").rename(folder / name)


def all_of(*some: Act) -> Act:
    def act(folder: Path) -> None:
        for one in some:
            one(folder)

    return act


async def listed(bench: Bench) -> list[dict[str, Any]]:
    return list(map(dict, await bench.workspace.review.listed(Selector())))


def _age(row: dict[str, Any]) -> tuple[int, bool, str]:
    return row["turn"], "file" not in row, row["changeId"]


@asynccontextmanager
async def a_sidecar(folder: Path, agents: Agent) -> AsyncGenerator[Bench]:
    """With a real journal, which is beside the folder."""
    journal = SlowJournal(folder.parent / "journal", 0)
    await at_start(journal)
    editor = FakeEditor(VSCODE, folder)
    async with a_workspace(folder, editor, agents, journal=journal) as bench:
        agents.bench = bench
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        await bench.workspace.restore_reviews()
        yield bench
    await journal.close()


def tells(folder: Path, turns: Sequence[Sequence[Act]], order: str, *, restarts: bool = False) -> None:
    """Each turn is of a session of its own. What each has changed is listed after it; and then all is rejected."""
    agents, left = Agent(), list(turns)
    before = entries(folder)

    async def script(turn: Turn) -> None:
        for act in left.pop(0):
            await acts(act)(turn)

    agents.script = script

    async def works(bench: Bench) -> None:
        sessions = [await bench.another_session() for _ in turns]
        for session in sessions:
            await bench.workspace.start_prompt(session, [])[2]
            await asyncio.sleep(15)
            paths = {row["uri"] for row in await listed(bench)}
            paths |= {row["file"]["from"] for row in await listed(bench) if row.get("file", {}).get("from")}
            now = entries(folder)
            for name in before.keys() | now.keys():
                assert before.get(name) == now.get(name) or bench.uri(name) in paths, (name, now)

    async def rejects(bench: Bench) -> None:
        review = bench.workspace.review
        if order == "at once":
            await review.reject(Selector(everything=True))
        while rows := sorted(await listed(bench), key=_age, reverse=order == "the newest first"):
            done: list[str] = []
            for row in rows:
                done += (await review.reject(Selector(change_ids=frozenset([row["changeId"]])))).done
            assert done, rows

    async def main() -> None:
        for part in [[works], [rejects]] if restarts else [[works, rejects]]:
            async with a_sidecar(folder, agents) as bench:
                for one in part:
                    await one(bench)
                await asyncio.sleep(5)

    run(main())
    assert entries(folder) == before


STORIES: dict[str, tuple[Act, list[list[Act]]]] = {
    # Hunks stand beneath a row whose text replaced theirs as a whole
    "a changed text is bytes, and another text": (
        puts(TEXT),
        [[puts(OTHER)], [puts(BYTES), puts(b"third\n")]],
    ),
    "a changed text is a link": (puts(TEXT), [[puts(OTHER)], [links()]]),
    "a changed text is bytes, and then empty": (puts(TEXT), [[puts(OTHER)], [puts(BYTES)], [EMPTY]]),
    "an emptied text is bytes, and then a text": (puts(TEXT), [[puts(b"")], [puts(BYTES)], [puts(OTHER)]]),
    # However alike, the text that a row has made is another one
    "a changed text is bytes, and then much as it was": (
        puts(LINES),
        [[puts(CHANGED)], [puts(BYTES)], [puts(CHANGED.replace(b"six", b"SIX"))]],
    ),
    # Rows stand beneath hunks that stand beneath a row
    "bytes are a text, which is changed and removed": (puts(BYTES), [[puts(TEXT)], [puts(OTHER)], [removes]]),
    "bytes are a text, which is emptied and removed": (
        puts(BYTES),
        [[puts(TEXT), puts(b"", "c.txt"), moves_here("c.txt")], [removes]],
    ),
    "made empty, filled, and moved": (nothing_there, [[EMPTY], [puts(TEXT)], [moves_to("b.txt")]]),
    # What is put in the place of a removed file begins with that file
    "a removed text is back as a link": (puts(TEXT), [[removes], [puts(OTHER), links()]]),
    "removed, and made empty and filled as it was with another mode": (
        puts(TEXT),
        [[removes], [EMPTY, all_of(puts(TEXT), chmods(0o755))]],
    ),
    # So does what is put in the place of a link or of bytes, also where it was an empty file first, or another text was in between
    "a link is removed, and made empty and filled": (links(), [[removes], [EMPTY, puts(TEXT)]]),
    "moved bytes, and in their place a text that is moved away and back": (
        puts(BYTES),
        [[moves_to("b.txt")], [puts(TEXT)], [moves_to("c.txt"), moves_here("c.txt")]],
    ),
    # A file that is removed and made anew in one turn has another mode
    "an empty file is another empty file": (
        EMPTY,
        [[all_of(puts(b"", "c.txt"), chmods(0o755, "c.txt")), moves_here("c.txt")]],
    ),
    "an empty file is removed, and made empty": (EMPTY, [[removes, all_of(EMPTY, chmods(0o755))]]),
    # So has a text that is as it was when the turn began, and was something else in between
    "an empty file is bytes with another mode, and empty again": (
        EMPTY,
        [[all_of(puts(BYTES), chmods(0o755)), EMPTY]],
    ),
    # A row of several writes, in the place of which there is a text, is the removal of what was there before all of them
    "a made text is bytes and removed, and another": (
        nothing_there,
        [[puts(TEXT)], [puts(BYTES), removes], [puts(OTHER)]],
    ),
    "a made text is bytes, moved and another": (
        puts(LINES, "c.txt"),
        [[puts(TEXT)], [puts(BYTES), moves_to("c.txt"), puts(OTHER)]],
    ),
}


@orders
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("story", STORIES)
def test_all_of_it_is_taken_back(tmp_path: Path, story: str, order: str, restarts: bool) -> None:
    begins_with, turns = STORIES[story]
    (folder := tmp_path.resolve() / "w").mkdir()
    begins_with(folder)
    tells(folder, turns, order, restarts=restarts)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("then", "left"), [(b"mine\n", []), (b"text\n", [("two", "")])], ids=["other", "same"]
)
@pytest.mark.parametrize("ended", [[BYTES], [BYTES, OTHER]], ids=["bytes", "bytes and a text"])
def test_what_was_under_review_in_a_text_that_an_agent_ended_is_back_with_that_text_only(
    tmp_path: Path, ended: list[bytes], then: bytes, left: list[tuple[str, str]], restarts: bool
) -> None:
    """Also if it is the user who puts a text there, while a sidecar runs or none does."""
    (folder := tmp_path.resolve() / "w").mkdir()
    puts(b"text\ntwo\n")(folder)
    agents = Agent()

    async def found(bench: Bench) -> list[tuple[str, str]]:
        return [(row["oldText"].strip(), row["newText"]) for row in await listed(bench)]

    async def main() -> None:
        async with a_sidecar(folder, agents) as bench:
            for data in (TEXT, *ended):
                agents.script = acts(puts(data))
                await bench.workspace.start_prompt(await bench.another_session(), [])[2]
                await asyncio.sleep(15)
            if not restarts:
                puts(then)(folder)
                assert await found(bench) == left
        puts(then)(folder)
        async with a_sidecar(folder, agents) as bench:
            assert await found(bench) == left

    run(main())


@pytest.mark.parametrize("many", [1, 2], ids=["one of two", "both"])
def test_what_is_kept_in_a_text_that_was_bytes_leaves_the_row_beneath(tmp_path: Path, many: int) -> None:
    puts(BYTES)(tmp_path)
    before = entries(tmp_path)

    async def after(bench: Bench) -> None:
        hunks = [str(row["changeId"]) for row in await listed(bench) if "file" not in row]
        assert len(hunks) == 2
        bench.workspace.review.keep(Selector(change_ids=frozenset(hunks[:many])))
        left = await listed(bench)
        assert len(left) == 3 - many
        assert [row["file"]["kind"] for row in left if "file" in row] == ["changed"]

    steps = [b"one\ntwo\nthree\n", b"ONE\ntwo\nthree\n", b"ONE\ntwo\nTHREE\n"]
    plays(tmp_path, *([acts(puts(text))] for text in steps), after=after)
    assert entries(tmp_path) == before


@pytest.mark.parametrize(
    "data", [TEXT.decode().encode("utf-16"), b"\xef\xbb\xbf" + TEXT], ids=["utf-16", "BOM"]
)
def test_a_text_that_was_bytes_gets_another_encoding(tmp_path: Path, data: bytes) -> None:
    puts(BYTES)(tmp_path)
    before = entries(tmp_path)

    async def after(bench: Bench) -> None:
        assert [row["file"]["kind"] for row in await listed(bench)] == ["changed"]

    plays(tmp_path, [acts(puts(TEXT))], [acts(puts(data))], after=after)
    assert entries(tmp_path) == before


def test_the_mode_of_a_file_that_was_moved_since_is_put_back_where_it_is(tmp_path: Path) -> None:
    """Not in the link that is in its old place by now."""
    puts(TEXT)(tmp_path)
    before = entries(tmp_path)

    async def after(bench: Bench) -> None:
        mode = frozenset(str(r["changeId"]) for r in await listed(bench) if r["file"]["kind"] == "mode")
        assert (await bench.workspace.review.reject(Selector(change_ids=mode))).impossible
        assert mode <= {row["changeId"] for row in await listed(bench)}

    plays(tmp_path, [acts(chmods(0o755))], [acts(moves_to("b.txt"))], [acts(links())], after=after)
    assert entries(tmp_path) == before


@pytest.mark.parametrize("then", [removes, moves_to("b.txt"), puts(b"\0other")], ids=["rm", "mv", "bytes"])
def test_what_the_user_put_between_two_changes_of_a_turn_stays(tmp_path: Path, then: Act) -> None:
    """The two are no one change: taken back as one, the user's text went with them."""
    puts(TEXT)(tmp_path)
    before = entries(tmp_path)

    async def after(bench: Bench) -> None:
        await bench.workspace.review.reject(Selector(everything=True))
        assert (tmp_path / "a.txt").read_bytes() == b"mine\n"
        for row in reversed(await listed(bench)):  # what is not known by whom only goes if the user picks it
            await bench.workspace.review.reject(Selector(change_ids=frozenset([row["changeId"]])))

    plays(tmp_path, [acts(puts(BYTES)), user(puts(b"mine\n")), acts(then)], after=after)
    assert entries(tmp_path) == before


def test_what_the_user_put_where_a_change_had_been_rejected_is_back(tmp_path: Path) -> None:
    """That the rejection had left nothing there explains nothing: it was before the turn in which an agent moves the user's file away."""
    (folder := tmp_path.resolve() / "w").mkdir()
    agents = Agent()

    async def main() -> None:
        async with a_sidecar(folder, agents) as bench:
            session, review = await bench.another_session(), bench.workspace.review
            for act in (links(), moves_to("b.txt")):
                before = entries(folder)
                agents.script = acts(act)
                await bench.workspace.start_prompt(session, [])[2]
                await asyncio.sleep(15)
                assert await listed(bench)
                assert not (await review.reject(Selector(everything=True))).impossible
                assert entries(folder) == before
                puts(BYTES)(folder)
                tick()
                await asyncio.sleep(15)

    run(main())


def test_a_removal_that_is_under_review_again_is_of_what_was_there_when_its_turn_began(
    tmp_path: Path,
) -> None:
    """The turn changed it as a whole before that. What another agent made in its place is taken back by the command line."""
    (folder := tmp_path.resolve() / "w").mkdir()
    puts(LINES)(folder)
    agents, turns = Agent(), [[puts(CHANGED)], [puts(BYTES), removes], [puts(OTHER)]]

    async def script(turn: Turn) -> None:
        for act in turns.pop(0):
            await acts(act)(turn)

    agents.script = script

    async def main() -> None:
        async with a_sidecar(folder, agents) as bench:
            sessions = [await bench.another_session() for _ in turns]
            for session in sessions:
                await bench.workspace.start_prompt(session, [])[2]
                await asyncio.sleep(15)
            command_line = CommandLine(folder.parent / "journal", print)
            await command_line.revert_beside(bench.workspace, "--session", sessions[-1])
            (removal,) = await listed(bench)
            assert (removal["file"]["kind"], removal["oldText"]) == ("deleted", CHANGED.decode())
            await bench.workspace.review.reject(Selector(change_ids=frozenset([removal["changeId"]])))
            (hunk,) = await listed(bench)
            assert (hunk["oldText"], hunk["newText"]) == ("two", "TWO")

    run(main())
    assert (folder / "a.txt").read_bytes() == CHANGED


@pytest.mark.parametrize("data", [b"", TEXT], ids=["empty", "text"])
def test_what_is_made_where_a_removal_was_kept_is_new_also_if_it_says_what_was_removed(
    tmp_path: Path, data: bytes
) -> None:
    (folder := tmp_path.resolve() / "w").mkdir()
    puts(data)(folder)
    agents = Agent()

    async def main() -> None:
        async with a_sidecar(folder, agents) as bench:
            session, review = await bench.another_session(), bench.workspace.review
            for act in (removes, puts(data)):
                agents.script = acts(act)
                await bench.workspace.start_prompt(session, [])[2]
                await asyncio.sleep(15)
                (row,) = await listed(bench)
                if act is removes:
                    review.keep(Selector(change_ids=frozenset([row["changeId"]])))
                    await asyncio.sleep(5)
            await review.reject(Selector(everything=True))
            assert not entries(folder)

    run(main())


async def test_a_row_that_was_kept_between_two_of_a_turn_stays_between_them_after_a_restart(
    tmp_path: Path,
) -> None:
    """Taken back, the later one leads to what the user kept."""
    folder, path = str(tmp_path.resolve()), str(tmp_path.resolve() / "x.bin")
    states = [FileState(b"\0" + bytes([n])) for n in range(4)]
    async with SqliteJournal.opened(tmp_path / "journal") as journal:
        async with a_workspace(tmp_path.resolve(), QuietEditor(), journal=journal) as bench:
            files = bench.workspace.review.files
            for number, session in enumerate(["first", "second", "first"]):
                author = Author(session, 1, f"w{number}", agent="agent")
                files.enter(path, states[number], states[number + 1], author)
            files.keep(list(files)[1])
            await files.stored()
        async with a_workspace(tmp_path.resolve(), QuietEditor(), journal=journal) as bench:
            files = bench.workspace.review.files
            await files.restore([folder])
            assert [(row.before, row.after) for row in files] == [
                (states[0], states[1]),
                (states[2], states[3]),
            ]


async def test_what_was_kept_in_a_text_that_is_gone_is_not_under_review_when_it_is_back(
    tmp_path: Path,
) -> None:
    """It was kept in the document, which was still open when the agent removed the file."""
    path = tmp_path.resolve() / "a.txt"
    uri, before, after = from_path(str(path)), Text.of("one\ntwo\n"), Text.of("one\nTWO\n")
    async with a_workspace(tmp_path.resolve(), QuietEditor()) as bench:
        files, ledgers = bench.workspace.review.files, bench.workspace.state.ledgers
        reviewed = ledgers.at(uri, before, live=False)
        author = Author("s", 1, "w1", agent="agent")
        reviewed.ledger.agent_edit(before, diff(str(before), str(after)), after, author)
        reviewed.closed(after)
        removal = replace(author, write="w2")
        files.enter(
            str(path), FileState(str(after).encode()), None, removal, hunks=tuple(reviewed.ledger.hunks)
        )
        reviewed.ledger.keep([hunk.id for hunk in reviewed.ledger.hunks])
        await files.rejected(list(files))
        assert ledgers.get(uri) is not None
        assert not reviewed.ledger.hunks


def test_what_others_left_of_a_removed_text_that_they_had_made_anew_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That was taken back by a command line that was killed before it could forget their review (turns seed 1885222901)."""
    (folder := tmp_path.resolve() / "w").mkdir()
    puts(LINES)(folder)
    agents, ours = Agent(), CHANGED.replace(b"six", b"SIX")
    works = [puts(ours), removes, puts(LINES.replace(b"two", b"2"))]

    async def main() -> None:
        async with a_sidecar(folder, agents) as bench:
            session, other = await bench.another_session(), await bench.another_session()
            for its, act in zip((session, session, other), works, strict=True):
                agents.script = acts(act)
                await bench.workspace.start_prompt(its, [])[2]
                await asyncio.sleep(15)
        with monkeypatch.context() as killed:
            killed.setattr(Store, "forget_ledger", lambda *_: None)
            CommandLine(folder.parent / "journal", print).revert("--session", other)
        assert not entries(folder)
        async with a_sidecar(folder, agents) as bench:
            assert [row["file"]["kind"] for row in await listed(bench)] == ["deleted"]
            assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
        assert (folder / "a.txt").read_bytes() == LINES

    run(main())
