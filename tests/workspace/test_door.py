"""Every edit ends the same way, whoever asked for it: an agent's write, a rejection, a revert, a decided conflict."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.ledger import Author
from sidecar.core.refusal import Kind, Refusal
from sidecar.workspace.behind.settling import Settling
from sidecar.workspace.edits.recording import Recorder
from sidecar.workspace.edits.sending import Sender
from sidecar.workspace.edits.write_task import WriteDone
from sidecar.workspace.ports.ports import AgentFailed
from sidecar.workspace.review.review import Selector
from tests.bridge.test_applying import applies
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import WELL_BEHAVED
from tests.support.workspaces import Bench
from tests.workspace.test_conflicts import the_conflict, told
from tests.workspace.test_in_flight import LATE
from tests.workspace.test_put_right import sent
from tests.workspace.test_review import agent_writes, texts
from tests.workspace.test_writes import BASE, done, play, play_seen, refused

ALL = Selector(everything=True)
WANTED = BASE.replace("two", "TWO")
LAGS = replace(WELL_BEHAVED, lag=0.5, order="answer first")
MINE = BASE.replace("one", "mine")
THEIRS = BASE.replace("one", "theirs")


async def a_refused_write(bench: Bench, editor: FakeEditor) -> str:
    """The id of the conflict that it leaves."""
    editor.opens("a.txt")
    assert await bench.read("a.txt") == BASE
    editor.replaces("a.txt", "one", "mine")
    await asyncio.sleep(1)
    assert isinstance(await bench.write("a.txt", THEIRS), Refusal)
    return str((await the_conflict(bench))["conflictId"])


def test_a_decision_that_the_editor_makes_late_is_not_called_untouched(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await a_refused_write(bench, editor)
        rows = told(bench)
        with pytest.raises(AgentFailed) as failed:
            await bench.workspace.resolver.resolve(conflict, "agent")
        assert "untouched" not in str(failed.value)
        assert "has not answered" in str(failed.value)
        assert editor.text("a.txt") == MINE
        with pytest.raises(AgentFailed, match="has not answered"):
            await bench.workspace.resolver.resolve(conflict, "mine")
        await asyncio.sleep(60)
        assert editor.text("a.txt") == THEIRS
        assert [(r["state"], r["outcome"]) for r in rows] == [("closed", "agent")]
        assert texts(bench) == [("mine", "theirs")]

    play(tmp_path, replace(WELL_BEHAVED, thinks=90), case)


@pytest.mark.parametrize("way", ["reject", "revert"])
def test_a_change_taken_back_in_a_document_that_is_closed_meanwhile(tmp_path: Path, way: str) -> None:
    """The user closes the document while the edit is on its way; the editor opens it again, unseen, to make the edit. Nobody but
    the sidecar can save it there."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        assert (tmp_path / "a.txt").read_text() == WANTED
        taking_back = asyncio.ensure_future(
            bench.workspace.review.reject(ALL) if way == "reject" else applies(bench, (WANTED, BASE))
        )
        await asyncio.sleep(0.1)
        editor.closes("a.txt")
        await taking_back
        assert (tmp_path / "a.txt").read_text() == BASE
        assert texts(bench) == []
        assert editor.uri("a.txt") not in editor.model.documents, "closed by the user, so closed it stays"

    play(tmp_path, WELL_BEHAVED, case, arrives_after=0.2)


@pytest.mark.parametrize("way", ["reject", "revert"])
def test_what_is_typed_behind_a_change_taken_back_is_the_users_unsaved_work(tmp_path: Path, way: str) -> None:
    """The editor reports both at once, and cannot save the file then. What an agent writes next is not saved together with it."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        editor.opens("a.txt")
        await agent_writes(bench, WANTED)
        editor.model.habits = replace(LAGS, save_fails="always")
        taking_back = asyncio.ensure_future(
            bench.workspace.review.reject(ALL) if way == "reject" else applies(bench, (WANTED, BASE))
        )
        await sent(editor, 2)
        await asyncio.sleep(0.1)
        assert editor.text("a.txt") == BASE
        editor.types("a.txt", "typed\n", at=0)
        await taking_back
        editor.model.habits = LAGS
        await bench.read("a.txt")
        answer = await bench.write("a.txt", ("typed\n" + BASE).replace("five", "FIVE"))
        assert isinstance(answer, WriteDone)
        assert not answer.saved
        assert "typed" not in (tmp_path / "a.txt").read_text()

    play(tmp_path, LAGS, case)


async def the_disk_s(bench: Bench, editor: FakeEditor) -> str:
    """The id of a conflict with the file."""
    editor.opens("a.txt")
    assert await bench.read("a.txt") == BASE
    editor.replaces("a.txt", "one", "mine")
    await asyncio.sleep(1)
    (bench.folder / "a.txt").write_text(THEIRS)
    await bench.read("a.txt")
    return str((await the_conflict(bench))["conflictId"])


async def a_write(bench: Bench, editor: FakeEditor) -> str:
    editor.opens("a.txt")
    await agent_writes(bench, WANTED)
    return ""


async def writes_again(bench: Bench, conflict: str) -> str:
    answer = await bench.write("a.txt", WANTED.replace("five", "FIVE"))
    assert isinstance(answer, Refusal)
    return answer.message


async def rejects(bench: Bench, conflict: str) -> str:
    (why,) = (await bench.workspace.review.reject(ALL)).impossible
    return str(why["reason"])


async def reverts(bench: Bench, conflict: str) -> str:
    applied = await applies(bench, (WANTED, BASE))
    assert applied.result == "refused"
    return applied.reason


async def decides(bench: Bench, conflict: str) -> str:
    with pytest.raises(AgentFailed) as failed:
        await bench.workspace.resolver.resolve(conflict, "agent")
    return str(failed.value)


WAYS = {
    "write": (a_write, writes_again),
    "reject": (a_write, rejects),
    "revert": (a_write, reverts),
    "decided write": (a_refused_write, decides),
    "decided change of the disk": (the_disk_s, decides),
}
FATES = {
    "late": replace(WELL_BEHAVED, thinks=90),
    "closed": replace(WELL_BEHAVED, unopened="untold"),
    "left": LATE,
    "hung up": WELL_BEHAVED,
}


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("fate", list(FATES))
def test_nothing_is_called_unchanged_that_may_be_changed(tmp_path: Path, way: str, fate: str) -> None:
    """The editor has not answered, says nothing of a document that was closed, made the edit where it cannot be taken out again, or is gone."""
    (tmp_path / "a.txt").write_text(BASE)
    begins, asks = WAYS[way]

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await begins(bench, editor)
        editor.model.habits = FATES[fate]
        before, asked = editor.text("a.txt"), len(editor.sent)
        asking = asyncio.ensure_future(asks(bench, conflict))
        await sent(editor, asked + 1)
        if fate == "closed":
            editor.closes("a.txt")
        elif fate == "hung up":
            editor.disconnects()
        elif fate == "left":
            editor.types("a.txt", "typed\n", at=0)
            for number in range(2, 7):
                await sent(editor, asked + number)
                editor.types("a.txt", f"word{number}\n", at=0)
        said = await asking
        false = [word for word in ("unchanged", "untouched", "nothing was", "not accept") if word in said]
        assert (false, said) == ([], said)
        assert "look at the file" in said or "Read the file" in said
        await asyncio.sleep(100)
        if fate == "late":
            assert editor.text("a.txt") != before, "a case that shows nothing"
        if fate == "hung up":
            editor.model.documents.clear()

    habits = replace(WELL_BEHAVED, unopened=FATES[fate].unopened)
    play(tmp_path, habits, case, custom=False, arrives_after=0.2)


def test_a_document_can_be_written_again_after_a_late_edit_could_not_be_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails once the answer is there fails alone."""

    async def case(bench: Bench, editor: FakeEditor) -> None:
        bench.workspace._tasks._strict = False
        with monkeypatch.context() as patched:
            patched.setattr(Recorder, "live_edit", lambda *given: fails)
            refused(await bench.write("a.txt", WANTED), Kind.OUTCOME_UNKNOWN)
            await asyncio.sleep(60)
        assert editor.text("a.txt") == WANTED
        editor.model.habits = WELL_BEHAVED
        await bench.read("a.txt")
        wanted = WANTED.replace("five", "FIVE")
        done(await asyncio.wait_for(bench.write("a.txt", wanted), 300))
        assert editor.text("a.txt") == wanted

    play_seen(tmp_path, replace(WELL_BEHAVED, thinks=90), case)


def fails(*given: object) -> None:
    raise ValueError("it failed")


async def fails_later(*given: object) -> None:
    raise ValueError("it failed")


@pytest.mark.parametrize("what", ["taking it out", "entering it"])
def test_a_decision_ends_although_something_fails_once_the_late_edit_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await the_disk_s(bench, editor)
        bench.workspace._tasks._strict = False
        if what == "taking it out":
            monkeypatch.setattr(Sender, "_take_out", fails_later)
            editor.model.habits = replace(LATE, thinks=70)
        else:
            monkeypatch.setattr(Settling, "settle", fails_later)
            editor.model.habits = replace(WELL_BEHAVED, thinks=70)
        (known,) = bench.workspace.conflicts
        known.author = known.author or Author(bench.session, 1, "1")
        deciding = asyncio.ensure_future(decides(bench, conflict))
        await asyncio.sleep(69.9)
        if what == "taking it out":
            editor.types("a.txt", "typed\n", at=0)
        assert "has not answered" in await deciding
        assert known.on_its_way
        await asyncio.sleep(60)
        assert not known.on_its_way
        assert (bench.workspace.conflicts.get(conflict) is None) == (what == "entering it")

    play(tmp_path, WELL_BEHAVED, case, custom=False)


@pytest.mark.parametrize("way", ["decided write", "decided change of the disk"])
def test_who_decides_again_meanwhile_is_told_that_it_is_being_done(tmp_path: Path, way: str) -> None:
    """The editor has a minute to answer."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await WAYS[way][0](bench, editor)
        asked = len(editor.sent)
        deciding = asyncio.ensure_future(bench.workspace.resolver.resolve(conflict, "agent"))
        at_once = asyncio.ensure_future(decides(bench, conflict))
        await sent(editor, asked + 1)
        for said in (await decides(bench, conflict), await at_once):
            assert "being carried out" in said
            assert "not answered" not in said
        assert (await deciding) == {"conflictId": conflict, "outcome": "agent"}
        assert len(editor.sent) == asked + 1
        assert editor.text("a.txt") == THEIRS

    play(tmp_path, WELL_BEHAVED, case, custom=False, arrives_after=5.0)


@pytest.mark.parametrize("way", ["decided write", "decided change of the disk"])
@pytest.mark.parametrize("thinks", [20.0, 90.0])
def test_a_decision_that_nobody_waits_for_any_more_goes_on(tmp_path: Path, way: str, thinks: float) -> None:
    """Once the editor was asked: it makes the edit anyhow."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await WAYS[way][0](bench, editor)
        (known,) = bench.workspace.conflicts
        known.author = known.author or Author(bench.session, 1, "1")
        rows, asked = told(bench), len(editor.sent)
        editor.model.habits = replace(WELL_BEHAVED, thinks=thinks)
        deciding = asyncio.ensure_future(bench.workspace.resolver.resolve(conflict, "agent"))
        await sent(editor, asked + 1)
        deciding.cancel()
        await asyncio.sleep(1)
        assert deciding.cancelled()
        assert "being carried out" in await decides(bench, conflict)
        await asyncio.sleep(120)
        assert editor.text("a.txt") == THEIRS
        assert [(r["state"], r["outcome"]) for r in rows] == [("closed", "agent")]
        assert texts(bench) == [("mine", "theirs")]

    play(tmp_path, WELL_BEHAVED, case, custom=False)


@pytest.mark.parametrize("way", ["decided write", "decided change of the disk"])
def test_a_decision_that_is_cancelled_before_the_editor_is_asked_is_not_made(
    tmp_path: Path, way: str
) -> None:
    """Another edit of the document is unanswered."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await WAYS[way][0](bench, editor)
        (known,) = bench.workspace.conflicts
        editor.model.habits = replace(WELL_BEHAVED, thinks=20)
        asked = len(editor.sent)
        length = len(editor.text("a.txt"))
        other = bench.workspace._sender.send(
            known.tracked, ChangeSet.of(length, [Edit(length, length, "more\n")]), "another"
        )
        waiting = asyncio.ensure_future(other)
        await sent(editor, asked + 1)
        deciding = asyncio.ensure_future(bench.workspace.resolver.resolve(conflict, "agent"))
        await asyncio.sleep(1)
        deciding.cancel()
        await asyncio.sleep(1)
        assert not known.on_its_way
        await waiting
        await asyncio.sleep(60)
        assert len(editor.sent) == asked + 1
        assert editor.text("a.txt") == MINE + "more\n"
        editor.model.habits = WELL_BEHAVED

    play(tmp_path, WELL_BEHAVED, case, custom=False)


def test_what_the_editor_made_at_a_wrong_place_is_not_called_refused(tmp_path: Path) -> None:
    """It was taken out again."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await the_disk_s(bench, editor)
        editor.model.habits = LATE
        asked = len(editor.sent)
        deciding = asyncio.ensure_future(decides(bench, conflict))
        await sent(editor, asked + 1)
        editor.types("a.txt", "typed\n", at=0)
        said = await deciding
        assert editor.text("a.txt") == "typed\n" + MINE
        assert "not accept" not in said
        assert "in the wrong place" in said
        assert "no longer in your text" in said
        assert "look at the file" not in said

    play(tmp_path, WELL_BEHAVED, case, custom=False, arrives_after=0.2)


def test_what_the_editor_makes_at_a_wrong_place_each_time_is_not_called_refused(tmp_path: Path) -> None:
    """The user types whenever it is made, and not when it is taken out."""
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await a_refused_write(bench, editor)
        editor.model.habits = LATE
        asked = len(editor.sent)
        deciding = asyncio.ensure_future(decides(bench, conflict))
        for number in range(5):
            await sent(editor, asked + 2 * number + 1)
            editor.types("a.txt", f"word{number}\n", at=0)
        said = await deciding
        assert editor.text("a.txt") == "".join(f"word{number}\n" for number in reversed(range(5))) + MINE
        assert "not accept" not in said
        assert "in the wrong place" in said
        assert "no longer in your text" in said

    play(tmp_path, WELL_BEHAVED, case, custom=False, arrives_after=0.2)


def test_what_the_user_saved_over_is_not_called_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)

    async def case(bench: Bench, editor: FakeEditor) -> None:
        conflict = await the_disk_s(bench, editor)
        editor.model.habits = replace(WELL_BEHAVED, thinks=20)
        deciding = asyncio.ensure_future(decides(bench, conflict))
        await asyncio.sleep(2)
        assert editor.saves("a.txt") or editor.overwrites("a.txt")
        said = await deciding
        assert editor.text("a.txt") == MINE
        assert "not accept" not in said
        assert "saved" in said
        assert "no longer in your text" in said

    play(tmp_path, WELL_BEHAVED, case, custom=False)
