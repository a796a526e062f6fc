"""inflight: people type, undo, save and close while agents write, over editors with all their habits; nothing may be lost.

One seed is one run, the same every time: `python -m tests.inflight.fuzz --seed 123 -v` tells it step by step. `make fuzz` plays many more.
"""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.core import writes
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.text import Text
from sidecar.workspace.edits.sending import Sender, Sent
from sidecar.workspace.state.tracked import Landing, Tracked
from tests.inflight.fuzz import summary
from tests.inflight.run import play
from tests.support.chunk_size import chunk_size

SEEDS = 200


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_lost_or_written_twice(seed: int) -> None:
    report = play(seed)
    assert not report.problems, report


@pytest.mark.parametrize("seed", range(12))
def test_nor_where_texts_are_kept_as_large_ones_are(seed: int) -> None:
    """Those with characters of two or four bytes: as UTF-8, in small chunks."""
    with chunk_size(16, narrow=True):
        report = play(seed)
    assert not report.problems, report


FOUND = {
    301904: "line ends that a change on the disk took away moved the hunks below",
    303932: "the same change, on the disk and on its way through the editor, was entered twice",
    305557: "what the user typed, saved and closed while a save was asked for was taken for what the save had formatted",
    305161: "what was to put a misplaced edit right was misplaced, too, and when that was taken back what it took was forgotten",
    308107: "a change on the disk that was still on its way into the buffer was entered twice",
    308814: "an edit that ended behind a carriage return was not found, and cut a word in two",
    309311: "what the file said before the agent wrote it itself was taken for what it had seen since",
    310022: "a change that the editor had taken from the disk was made a second time by our edit",
    312735: "a change on its way from the disk came over what the user had saved over it",
    312887: "what the file said by itself was taken for what our edit had made of it, and the edit came on top",
    315641: "what an agent had put on the disk, and another one written over, was never seen",
    323432: "what the user saved and closed was taken for what the agent had read, where the save had ended the last line",
    324434: "a line end that came with a save was taken for something put on the disk, and an agent's line came twice with it",
}
"""Runs beyond the first that found something, and what; with saves at once, as all editors had them then."""


@pytest.mark.parametrize("seed", FOUND, ids=str)
def test_what_was_found_is_not_there_any_more(seed: int) -> None:
    report = play(seed, saves_at_once=True)
    assert not report.problems, report


def test_what_the_user_throws_away_is_not_lost() -> None:
    """An edit had torn it, its agent had no answer yet, and the user closed the file without saving it."""
    report = play(1810019092, journals_at_once=True)
    assert not report.problems, report


def test_nor_what_of_it_the_user_deletes() -> None:
    """An edit of ours had come into the midst of a word, its agent had no answer yet, and the user deleted the line with the rest of the word."""
    report = play(1930005367)
    assert not report.problems, report


def test_what_an_agent_indents_is_not_there_twice() -> None:
    """It had read the file on the disk, and only indented the line that its command had put there."""
    report = play(1930001570)
    assert not report.problems, report


def test_what_the_user_takes_back_stays_though_a_tool_leaves_the_last_line_without_an_end() -> None:
    """The tool had read the file with the line that the save had ended, and seemed to have read what the file said before that line."""
    report = play(1940004343)
    assert not report.problems, report


def test_an_edit_that_is_told_together_with_what_was_typed_into_it_is_there() -> None:
    report = play(1940003868)
    assert not report.problems, report


def test_what_the_user_has_brought_back_stays_when_a_tool_writes_over_what_came_between() -> None:
    report = play(777700323)
    assert not report.problems, report


def test_what_came_twice_from_the_disk_and_was_saved_and_closed_is_told() -> None:
    """The editor opened the document again to make the edit, and told what it had made together with the user's save. Only they can take it out now."""
    report = play(2000032940)
    assert not report.problems, report


def test_an_editor_does_not_reload_what_it_has_saved_itself() -> None:
    """Told as closing and opening before the save was told, the user's lines were listed as nobody's."""
    report = play(2000030228)
    assert not report.problems, report


def test_what_is_written_while_a_save_runs_stays_when_that_lands_over_it() -> None:
    """The editor had taken it from the disk. The file was looked at before the save was told, and what that had put there was taken for somebody's change."""
    report = play(2000028024)
    assert not report.problems, report


@pytest.mark.parametrize("seed", [928, 1492])
def test_what_is_saved_while_the_file_is_closed_is_the_users(seed: int) -> None:
    """Such a save is never told; while an agent's call for the file ran, the user's lines were listed as nobody's."""
    report = play(seed, journals_at_once=True)
    assert not report.problems, report


@pytest.mark.parametrize("seed", [1795763867, 1795768541])
def test_a_file_whose_line_ends_an_agent_changes_with_its_text_is_taken(seed: int) -> None:
    """As another text than was meant, it was not, and the agent was told that its write was there."""
    report = play(seed, journals_at_once=True)
    assert not report.problems, report


def test_what_is_typed_while_a_save_runs_stays_though_a_tool_writes_the_file_right_after_it() -> None:
    report = play(1795765031, journals_at_once=True)
    assert not report.problems, report


@pytest.mark.parametrize("seed", [1888, 2983])
def test_an_edit_that_comes_late_and_to_a_wrong_place_is_put_right(seed: int) -> None:
    """Nobody waits for it any more; the door failed there."""
    report = play(seed, journals_at_once=True)
    assert not report.problems, report


@pytest.mark.parametrize("seed", [1880000318, 1900001070])
def test_what_is_typed_while_a_save_runs_is_not_taken_for_saved(seed: int) -> None:
    """It is told before the save, and the file was looked at in between. A tool that wrote the file then seemed to have taken it away."""
    report = play(seed)
    assert not report.problems, report


@pytest.mark.parametrize("seed", [1940014123, 1940016953, 1950000145])
def test_no_line_is_there_twice(seed: int) -> None:
    """Edits that were to take out a misplaced one were misplaced, too, in documents that were closed at that moment."""
    report = play(seed)
    assert not report.problems, report


def test_what_a_program_changes_of_a_save_that_nobody_was_told_of_may_be_there_twice() -> None:
    report = play(1970005378)
    assert not report.problems, report


@pytest.mark.parametrize("seed", [2000007987, 1940018729])
def test_what_the_user_took_back_or_saved_is_neither_taken_away_nor_doubled(seed: int) -> None:
    """They undid it while a save ran; an agent had read it on the disk in a call that was given some lines through us."""
    report = play(seed)
    assert not report.problems, report


STAYS = {
    "written before the document had it": [
        1890000655,
        1900000640,
        1900000759,
        1900001206,
        1900001682,
        1910000256,
    ],
    "an undo and typing told together": [1900001396],
    "lines that end with CR": [1890000417, 1900001581, 1910000391, 1910001216],
    "whole texts, lines that begin alike": [1890001139, 2000006281, 2000006724],
}


@pytest.mark.parametrize("seed", [seed for seeds in STAYS.values() for seed in seeds])
def test_what_was_written_stays_under_review(seed: int) -> None:
    report = play(seed)
    assert not report.problems, report


def test_a_seed_is_the_same_run_every_time() -> None:
    told: list[list[str]] = [[], []]
    for lines in told:
        play(7, lambda line, lines=lines: lines.append(line.split("/a.txt")[-1]))
    assert len(told[0]) > 10
    assert [_words(line) for line in told[0]] == [_words(line) for line in told[1]]


def test_the_runs_are_no_idle_ones() -> None:
    reports = [play(seed) for seed in range(60)]
    answers = sum((report.answers for report in reports), reports[0].answers.__class__())
    assert answers["done"] > 100
    assert answers["conflict"] > 10
    assert sum(report.typed for report in reports) > 1000


def test_measured_from_the_current_text_writes_lose_what_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the harness sees losses: an agent's write that simply replaces the text, as other clients do."""

    def replaced(base: str, current: str, new: str) -> writes.Plan:
        return writes.EditText(diff(current, new), current)

    monkeypatch.setattr(writes, "_plan", replaced)
    reports = [play(seed) for seed in range(60)]
    lost = [problem for report in reports for problem in report.problems if problem.kind == "lost"]
    assert len(lost) > 10, summary(reports)


def test_an_edit_that_is_sent_again_though_it_was_made_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the harness sees writes applied twice: a client that repeats an edit without looking at what became of it."""
    once = Sender.send

    async def twice(
        self: Sender,
        tracked: Tracked,
        changes: ChangeSet,
        label: str,
        landing: Landing | None = None,
        after: Text | None = None,
        **words: Any,
    ) -> Sent:
        sent = await once(self, tracked, changes, label, landing, after, **words)
        if sent.landed and not tracked.closed:
            size = len(tracked.document.rope)
            again = (Edit(min(e.start, size), min(e.start, size), e.new) for e in changes.edits)
            return await once(self, tracked, ChangeSet.of(size, again), label, landing, **words)
        return sent

    monkeypatch.setattr(Sender, "send", twice)
    reports = [play(seed) for seed in range(30)]
    repeated = [problem for report in reports for problem in report.problems if problem.kind == "twice"]
    assert len(repeated) > 10, summary(reports)


def _words(line: str) -> str:
    """Without the name of the folder, which is another one every time."""
    return " ".join(word for word in line.split() if "inflight-" not in word)
