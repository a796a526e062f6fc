"""What an agent that writes the disk itself had read there, and what it cannot have."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from sidecar.core.refusal import Kind
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE, WELL_BEHAVED
from tests.support.workspaces import Bench
from tests.workspace.test_behind import Turn, listed
from tests.workspace.test_behind import play as play_turn
from tests.workspace.test_in_flight import tool
from tests.workspace.test_review import ALL
from tests.workspace.test_writes import BASE, done, play, refused


def test_a_line_of_its_own_that_an_agent_changes_is_there_once(tmp_path: Path) -> None:
    """It has put it on the disk and sent it; what the file said before that, and says once more now, it has not gone back to."""
    (tmp_path / "a.txt").write_text("one\n  more\n")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        tool(bench, "edit", "execute")
        mine = "one\nmine as well\n"
        (tmp_path / "a.txt").write_text(mine)
        done(await bench.write("a.txt", mine))
        tool(bench, "edit", "execute", status="completed")
        await asyncio.sleep(1)
        wanted = "  one\n  more\n  mine as it is now, and much more of it\n  last\n"
        done(await bench.write("a.txt", wanted))
        assert editor.text("a.txt") == wanted

    play(tmp_path, WELL_BEHAVED, case)


def test_what_was_on_the_disk_only_between_two_agents_is_known(tmp_path: Path) -> None:
    """The first sends what it has written there after another one has written on top: it had not seen that."""
    base = "one\ntwo\nthree\n"
    (tmp_path / "a.txt").write_text(base)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        other = await bench.another_session()
        turns = [bench.workspace.start_prompt(session, [])[2] for session in (bench.session, other)]
        running = [asyncio.ensure_future(turn) for turn in turns]
        while not all(session.acting for session in bench.workspace.state.sessions):  # noqa: ASYNC110 - by turns
            await asyncio.sleep(0.01)
        editor.opens("a.txt")
        await bench.read("a.txt")
        await bench.read("a.txt", session=other)
        tool(bench, "first", "execute")
        first = base.replace("three\n", "three\nfrom the first\n")
        (tmp_path / "a.txt").write_text(first)
        update = {"sessionUpdate": "tool_call", "toolCallId": "second", "title": "sed", "kind": "execute"}
        bench.workspace.session_update(other, update)
        second = first.replace("two", "two by the second")
        (tmp_path / "a.txt").write_text(second)
        done(await bench.write("a.txt", second, other))
        done(await bench.write("a.txt", first))
        assert editor.text("a.txt") == second
        for task in running:
            task.cancel()

    play(tmp_path, WELL_BEHAVED, case)


def test_a_call_that_read_one_file_through_us_may_have_read_another_on_the_disk(tmp_path: Path) -> None:
    """What the user typed in that one, the agent need not have had."""
    base = "one\ntwo\nthree\nfour\nfive\n"
    (tmp_path / "a.txt").write_text(base)
    (tmp_path / "b.txt").write_text("other\n")

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "typed\n", at=0)
        await asyncio.sleep(1)
        await bench.read("a.txt")
        tool(bench, "read", "read")
        await bench.read("b.txt", 1, 1)
        done(await bench.write("a.txt", base.replace("four", "FOUR")))
        assert editor.text("a.txt") == "typed\n" + base.replace("four", "FOUR")

    play(tmp_path, WELL_BEHAVED, case)


def test_an_edit_of_the_disk_by_the_agent_itself_is_what_it_knows_next(tmp_path: Path) -> None:
    """Its tool edits the file there, where the person's unsaved line is not, and asks for nothing: what it sends next is a change of that
    text, not of the one that we had shown it, and takes nothing away."""
    base = "".join(f"line {number}\n" for number in range(1, 8))
    (tmp_path / "a.txt").write_text(base)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.replaces("a.txt", "line 2", "typed by the person, line 2")
        await bench.read("a.txt")
        tool(bench, "edit", "edit")
        mine = "from the tool\n" + base
        (tmp_path / "a.txt").write_text(mine)
        tool(bench, "edit", "edit", status="completed")
        await asyncio.sleep(2)
        done(await bench.write("a.txt", mine.replace("line 7", "LINE 7")))
        assert "typed by the person, line 2" in editor.text("a.txt")
        assert "LINE 7" in editor.text("a.txt")

    play(tmp_path, WELL_BEHAVED, case)


def test_a_read_through_us_says_nothing_of_what_was_sent_before_it(tmp_path: Path) -> None:
    """The call under way turns out to be that read. What the agent sent before may be made of what the call had read on the disk."""
    base = "one\ntwo\n"
    (tmp_path / "a.txt").write_text(base)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "mine ", at=0)
        await asyncio.sleep(1)
        await bench.read("a.txt")
        done(await bench.write("a.txt", "first\n    mine " + base))
        tool(bench, "cat", "read")
        state = bench.workspace.state
        session, uri = state.sessions.get(bench.session), bench.uri("a.txt")
        assert session is not None
        sent = session.moment()
        await bench.read("a.txt")

        def disk(moment: int) -> list[str]:
            return [one.text for one in state.candidates(session, uri, moment) if one.from_disk]

        assert disk(sent) == [base]
        assert disk(session.moment()) == []

    play(tmp_path, WELL_BEHAVED, case)


def test_a_read_asked_for_before_a_tool_began_is_not_that_tool(tmp_path: Path) -> None:
    """The tool reads the disk behind us; what is unsaved is not taken away by what it leads to."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "mine\n", at=BASE.index("four"))
        read = asyncio.ensure_future(bench.read("a.txt"))
        await asyncio.sleep(0)
        tool(bench, "cat", "read")
        assert "mine" in str(await read)
        done(await bench.write("a.txt", BASE.replace("one", "ONE")))
        assert editor.text("a.txt") == BASE.replace("one", "ONE").replace("four", "mine\nfour")

    play(tmp_path, WELL_BEHAVED, case)


def test_a_file_that_a_tool_reads_is_a_base(tmp_path: Path) -> None:
    """Never open, never read through us: what it said when the tool began is what the write is measured from."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        turn = asyncio.ensure_future(bench.workspace.start_prompt(bench.session, [])[2])
        await asyncio.sleep(0.1)
        tool(bench, "cat", "read", "a.txt")
        (tmp_path / "a.txt").write_text(BASE.replace("five", "five\nby a program"))
        done(await bench.write("a.txt", BASE.replace("one", "ONE")))
        assert "by a program" in (tmp_path / "a.txt").read_text()
        turn.cancel()

    play(tmp_path, WELL_BEHAVED, case)


def test_an_agent_that_was_only_given_a_part_had_the_rest_from_elsewhere(tmp_path: Path) -> None:
    """The tool had read the file before another program wrote it, and then asks us for a line of it. (inflight seed 1940017043)"""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        turn = asyncio.ensure_future(bench.workspace.start_prompt(bench.session, [])[2])
        await asyncio.sleep(0.1)
        tool(bench, "cat", "read", "a.txt")
        (tmp_path / "a.txt").write_text(BASE.replace("five", "five\nby a program"))
        await bench.read("a.txt", 2, 1)
        done(await bench.write("a.txt", BASE.replace("one", "ONE")))
        said = (tmp_path / "a.txt").read_text()
        assert "by a program" in said
        assert "ONE" in said
        turn.cancel()

    play(tmp_path, WELL_BEHAVED, case)


def test_what_an_editor_took_from_the_disk_by_itself_is_a_base(tmp_path: Path) -> None:
    """And was written over before anybody else looked."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(1)
        tool(bench, "cat", "execute")
        seen = BASE.replace("one", "ONE")
        (tmp_path / "a.txt").write_text(seen)
        editor.looks_at_disk()
        await asyncio.sleep(1)
        editor.types("a.txt", "typed\n", at=BASE.index("two"))
        editor.saves("a.txt")
        done(await bench.write("a.txt", "first\n" + seen))
        assert editor.text("a.txt") == "first\n" + seen.replace("two", "typed\ntwo")

    play(tmp_path, replace(WELL_BEHAVED, reloads=0.2), case)


def test_what_a_tool_read_before_it_wrote_is_a_base_though_we_were_read_since(tmp_path: Path) -> None:
    """It writes the disk where the user has replaced everything, is shown the user's text, and sends what it wrote."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await asyncio.sleep(0.5)
        editor.replaces("a.txt", BASE, "all mine\n")
        tool(bench, "edit", "execute")
        wanted = BASE.replace("two", "TWO")
        (tmp_path / "a.txt").write_text(wanted)
        assert await bench.read("a.txt") == "all mine\n"
        refused(await bench.write("a.txt", wanted), Kind.CONFLICT)
        assert editor.text("a.txt") == "all mine\n"

    play(tmp_path, WELL_BEHAVED, case)


def test_what_the_disk_said_before_its_write_was_saved_is_known_when_it_was_read_again(
    tmp_path: Path,
) -> None:
    """Its write is in the editor only, beside what the user has not saved. Its tool reads the file, then that is saved, then it sends a
    change of what its tool had read: the user's line is not taken away."""
    disk = "one\ntwo\nthree\nfour\nfive\nsix\n"
    (tmp_path / "a.txt").write_text(disk)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        editor.types("a.txt", "the user's\n", at=0)
        seen = await bench.read("a.txt")
        assert isinstance(seen, str)
        done(await bench.write("a.txt", seen.replace("two\n", "two\nthe agent's\n")))
        tool(bench, "look", "read")
        tool(bench, "look", "read", status="completed")
        assert editor.saves("a.txt")
        await asyncio.sleep(1)
        await bench.write("a.txt", disk.replace("six\n", "six\nlast\n"))
        assert editor.text("a.txt").startswith("the user's\n")

    play(tmp_path, WELL_BEHAVED, case)


def test_what_was_saved_meanwhile_and_the_agents_text_has_too_is_the_users(tmp_path: Path) -> None:
    """Whatever the agent had read: here it cannot be told, the two are in conflict, and the user closes the document without deciding."""
    file = tmp_path / "a.txt"
    file.write_text("one\n")

    async def before(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")

    async def script(turn: Turn, editor: FakeEditor) -> None:
        editor.types("a.txt", " my\nmore and more and more", len("one"))
        editor.saves("a.txt")
        await asyncio.sleep(1)
        await turn.bench.read("a.txt", session=turn.session)
        turn.says("edit", "a.txt")
        turn.puts("a.txt", "one my\nAGENT\n")
        await asyncio.sleep(2)
        turn.says("edit", "a.txt", status="completed")

    async def after(bench: Bench, editor: FakeEditor) -> None:
        editor.closes("a.txt")
        await asyncio.sleep(5)
        assert listed(bench) == [("a.txt", "", "AGENT\n")]
        await bench.workspace.review.reject(ALL)
        assert file.read_text() == "one my\n"

    play_turn(tmp_path, VSCODE, script, before=before, after=after)


def test_a_call_that_was_given_some_lines_through_us_may_have_read_the_others_on_the_disk(
    tmp_path: Path,
) -> None:
    """The agent sends what only the disk's text has: it has read that there. (Seed 1940018729 of the fuzzer.)"""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        mine = BASE.replace("two\n", "two\nmine, the first\nmine, the second\n")
        editor.types("a.txt", "mine, the first\nmine, the second\n", at=mine.index("mine"))
        editor.saves("a.txt")
        tool(bench, "cat", "read", "a.txt")
        await bench.read("a.txt", 1, 1)
        tool(bench, "cat", "read", "a.txt", status="completed")
        wanted = mine.replace("mine, the first", "the agent's")
        done(await bench.write("a.txt", wanted))
        assert editor.text("a.txt") == wanted

    play(tmp_path, WELL_BEHAVED, case)


def test_a_call_that_was_given_unsaved_lines_through_us_changes_them(tmp_path: Path) -> None:
    """What the disk still says there is no reason for a conflict: nothing of that was sent."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await bench.read("a.txt")
        editor.replaces("a.txt", "two\n", "two\nmine\n")
        tool(bench, "part", "read", "a.txt")
        await bench.read("a.txt", 1, 4)
        tool(bench, "part", "read", "a.txt", status="completed")
        wanted = BASE.replace("two\n", "two\nthe agent's\n")
        done(await bench.write("a.txt", wanted))
        assert editor.text("a.txt") == wanted

    play(tmp_path, WELL_BEHAVED, case)
