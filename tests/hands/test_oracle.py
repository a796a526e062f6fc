"""That the account sees what must not be, and excuses what people and agents mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hands.oracle import Oracle
from tests.hands.steps import STORM, WEIGHTS, plan
from tests.hands.tokens import agents_alone, characters_lost

CHANGE = {"verb": "change", "before": "l1x\nu2x\n", "after": "l1x\nu2x\na3x\n", "answer": "done"}


@pytest.fixture
def oracle(tmp_path: Path) -> Oracle:
    oracle = Oracle(tmp_path, tmp_path / "log")
    oracle.starts("a.txt", "l1x\n")
    oracle.typed("a.txt", "u2x\n")
    return oracle


def did(oracle: Oracle, folder: Path, **changes: object) -> None:
    with (folder / "log").open("a") as log:
        log.write(json.dumps({**CHANGE, "path": str(folder / "a.txt"), **changes}) + "\n")


def faults(oracle: Oracle, text: str) -> list[tuple[str, int]]:
    return [(problem.fault, problem.count) for problem in oracle.verdict("a.txt", text)]


@pytest.mark.parametrize(
    ("text", "lost"), [("u17x", 0), ("u1AAA\n7x", 0), ("u1x u7x", 4), ("u7x", 4), ("u17 u2x", 1), ("", 4)]
)
def test_characters_are_counted(text: str, lost: int) -> None:
    assert characters_lost("u17x", text) == lost


def test_nothing_is_wrong(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path)
    assert faults(oracle, "l1x\nu2x\na3x\n") == []


def test_what_is_typed_and_not_there_is_lost(oracle: Oracle) -> None:
    assert faults(oracle, "l1x\nu\n") == [("lost", 2)]


@pytest.mark.parametrize(
    ("before", "excused"),
    [
        ("u\n", True),
        ("ul9x\n", True),
        ("l9xu\n", True),
        ("u2\n", False),
        ("u9x\n", False),
        ("l9xu3\n", False),
    ],
)
def test_an_agent_may_take_away_what_is_being_typed(
    oracle: Oracle, tmp_path: Path, before: str, excused: bool
) -> None:
    """It was shown the first key of `u2x`."""
    did(oracle, tmp_path, before=f"l1x\n{before}", after="l1x\na3x\n")
    assert faults(oracle, "l1x\n2x\na3x\n") == ([] if excused else [("lost", 1)])


@pytest.mark.parametrize(("before", "lost"), [("u2\n", []), ("u9\n", [("lost", 1)])])
def test_what_it_took_away_may_come_back_behind_what_was_typed_since(
    oracle: Oracle, tmp_path: Path, before: str, lost: list[tuple[str, int]]
) -> None:
    did(oracle, tmp_path, before=f"l1x\n{before}", after="l1x\na3x\n")
    assert faults(oracle, "l1x\nx\nu2\na3x\n") == lost
    assert faults(oracle, "l1x\nu2\na3x\n") == [("lost", 1)]


@pytest.mark.parametrize(("undone", "lost"), [("x", [("lost", 2)]), ("2x", [])])
def test_the_person_may_undo_the_rest_of_what_an_agent_took_away(
    oracle: Oracle, tmp_path: Path, undone: str, lost: list[tuple[str, int]]
) -> None:
    """It was shown `u` of `u2x`, and the person's undo takes back what was typed after that."""
    did(oracle, tmp_path, before="l1x\nu\n", after="l1x\na3x\n")
    left = "2x".removesuffix(undone)
    oracle.stepped("a.txt", "l1x\n2x\na3x\n", f"l1x\n{left}\na3x\n")
    assert faults(oracle, "l1x\na3x\n") == lost
    oracle.stepped("a.txt", f"l1x\n{left}\na3x\n", "l1x\n2x\na3x\n")
    assert faults(oracle, "l1x\na3x\n") == [("lost", 3)], "a redo brought it back"


@pytest.mark.parametrize(("seen", "lost"), [("l1x\nu2x\n", []), ("l1x\n", [("lost", 3)])])
def test_what_is_closed_while_it_is_out_of_sight(
    oracle: Oracle, seen: str, lost: list[tuple[str, int]]
) -> None:
    """A reload shows what the disk says for a moment."""
    oracle.sees("a.txt", seen)
    oracle.closed("a.txt", "l1x\na3x\n", "l1x\na3x\n")
    assert faults(oracle, "l1x\na3x\n") == lost


@pytest.mark.parametrize(("shown", "lost"), [("l1x\n", []), ("l1x\nu2x\n", [("lost", 3)])])
def test_what_a_close_would_bring_from_the_disk_counts_once_it_is_shown(
    oracle: Oracle, shown: str, lost: list[tuple[str, int]]
) -> None:
    """VS Code takes a document for saved that an undo brought to the text of an earlier save, and keeps its text when it is closed."""
    oracle.stepped("a.txt", "l1x\nu2x\n", "l1x\n")
    oracle.closed("a.txt", "l1x\n", "l1x\nu2x\n")
    oracle.sees("a.txt", shown)
    oracle.sees("a.txt", shown)
    assert faults(oracle, "l1x\n") == lost


def test_what_is_there_twice(oracle: Oracle) -> None:
    assert faults(oracle, "l1x\nu2x\nu2x\n") == [("twice", 1)]


def test_what_a_close_takes_away_was_there_also_in_pieces(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path)
    oracle.stepped("a.txt", "l1x\nu\nAAA2x\na3\nBBx\n", "l1x\n")
    assert faults(oracle, "l1x\n") == []


def test_what_was_lost_before_a_close_stays_lost(oracle: Oracle) -> None:
    oracle.stepped("a.txt", "l1x\nu\nAAA2\n", "l1x\n")
    assert faults(oracle, "l1x\n") == [("lost", 1)]


def test_an_undo_takes_away_and_a_redo_brings_back(oracle: Oracle) -> None:
    oracle.stepped("a.txt", "l1x\nu2x\n", "l1x\n")
    assert faults(oracle, "l1x\n") == []
    oracle.stepped("a.txt", "l1x\n", "l1x\nu2x\n")
    assert faults(oracle, "l1x\n") == [("lost", 3)]


def test_an_agent_may_leave_out_what_it_saw(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path, after="l1x\na3x\n")
    assert faults(oracle, "l1x\na3x\n") == []


@pytest.mark.parametrize("answer", ['{"code": -32603}', None])
def test_only_a_write_that_was_done_excuses(oracle: Oracle, tmp_path: Path, answer: str | None) -> None:
    did(oracle, tmp_path, after="l1x\na3x\n", answer=answer)
    assert faults(oracle, "l1x\n") == ([] if answer is None else [("lost", 3)])


def test_a_rejection_takes_nothing_of_the_persons(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path)
    oracle.rejected("a.txt", "l1x\nu2x\na3x\n", "l1x\n")
    assert faults(oracle, "l1x\n") == [("lost", 3)]


@pytest.mark.parametrize("step", ["rejected", "stepped"])
def test_a_write_may_land_while_the_person_takes_back(oracle: Oracle, tmp_path: Path, step: str) -> None:
    """It was under way when they began: neither the text before has it nor the one after."""
    did(oracle, tmp_path, after="l1x\nu2x\na9x\n")  # done before they began
    did(oracle, tmp_path, answer=None)
    since = oracle.settled()
    assert since == 1
    did(oracle, tmp_path)
    getattr(oracle, step)("a.txt", "l1x\nu2x\n", "l1x\nu2x\n", since)
    (problem,) = oracle.verdict("a.txt", "l1x\nu2x\n")
    assert problem.what == "a9x was answered with success and is not in a.txt"


def test_answered_with_success_and_not_there(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path)
    assert faults(oracle, "l1x\nu2x\n") == [("answer", 1)]


def test_what_the_person_typed_into_a_write_is_no_lost_write(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path)
    oracle.typed("a.txt", "u4x")
    assert faults(oracle, "l1x\nu2x\nau4x3x\n") == []


def test_refused_and_there(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path, answer='{"code": -32603}')
    assert faults(oracle, "l1x\nu2x\na3x\n") == [("answer", 1)]


def test_a_seed_is_the_same_plan_every_time() -> None:
    settings = {"files.autoSave": ("off", "afterDelay")}
    kinds = frozenset(WEIGHTS)
    assert plan(5, 30, kinds, settings) == plan(5, 30, kinds, settings) != plan(6, 30, kinds, settings)
    made = [step.kind for seed in range(40) for step in plan(seed, 30, kinds, settings).steps]
    assert set(made) == kinds
    stormy = [step.kind for seed in range(40) for step in plan(seed, 30, kinds, settings, storm=True).steps]
    assert set(stormy) == set(STORM)


@pytest.mark.parametrize(("kind", "wrong"), [("conflict", [("answer", 1)]), ("editor_misapplied", [])])
def test_what_was_refused_is_not_there_unless_the_answer_says_so(
    oracle: Oracle, tmp_path: Path, kind: str, wrong: list[tuple[str, int]]
) -> None:
    """(Neovim 0.11, 3000662)"""
    did(oracle, tmp_path, answer=json.dumps({"data": {"errorKind": kind}}))
    assert faults(oracle, "l1x\nu2x\na3x\n") == wrong


def test_what_a_program_takes_from_the_disk_goes_also_after_an_undo_and_a_redo(oracle: Oracle) -> None:
    """The editor takes the disk's text at its next look, also where the person came back to the text that was saved."""
    oracle.put("a.txt", "l1x\nu2x\n", "l1x\n", shown="l1x\nu2x\n")
    oracle.stepped("a.txt", "l1x\nu2x\n", "l1x\n")
    oracle.stepped("a.txt", "l1x\n", "l1x\nu2x\n")
    assert faults(oracle, "l1x\n") == []


def test_what_a_program_takes_from_the_disk_goes_also_if_it_was_rejected_and_that_is_undone(
    oracle: Oracle, tmp_path: Path
) -> None:
    """(Neovim 0.11, 3000155) The rejection was not saved."""
    did(oracle, tmp_path)
    oracle.rejected("a.txt", "l1x\nu2x\na3x\n", "l1x\nu2x\n")
    oracle.put("a.txt", "l1x\nu2x\na3x\n", "l1x\nu2x\n", shown="l1x\nu2x\n")
    oracle.stepped("a.txt", "l1x\nu2x\n", "l1x\nu2x\na3x\n")
    assert faults(oracle, "l1x\nu2x\n") == []


def test_what_the_person_brings_back_once_it_has_gone_is_lost(oracle: Oracle) -> None:
    oracle.put("a.txt", "l1x\nu2x\n", "l1x\n", shown="l1x\nu2x\n")
    oracle.stepped("a.txt", "l1x\n", "l1x\nu2x\n")
    assert faults(oracle, "l1x\n") == [("lost", 3)]


def test_what_the_agent_wrote_over_is_kept_with_what_it_wrote(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path)
    did(oracle, tmp_path, before="l1x\nu2x\na3x\n", after="l1x\nu2x\na4x\n")
    oracle.kept("a.txt", "l1x\nu2x\na4x\n")
    assert oracle.file("a.txt").kept == {"a3x", "a4x"}


def test_an_agents_line_that_the_person_types_in_is_the_persons() -> None:
    assert agents_alone("a1x MADE\na2x MADEu3x\nu4a5x\na6xS\nl7x\n") == {"a1x"}


def test_what_was_rejected_does_not_come_back_with_a_close(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path)
    oracle.rejected("a.txt", "l1x\nu2x\na3x\n", "l1x\nu2x\n")
    oracle.closed("a.txt", "l1x\nu2x\n", "l1x\nu2x\na3x\n")
    assert faults(oracle, "l1x\nu2x\n") == []


def test_what_was_undone_comes_back_with_a_close(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path)
    oracle.stepped("a.txt", "l1x\nu2x\na3x\n", "l1x\nu2x\n")
    oracle.closed("a.txt", "l1x\nu2x\n", "l1x\nu2x\na3x\n")
    assert faults(oracle, "l1x\nu2x\n") == [("answer", 1)]


def test_what_the_person_brings_back_while_the_agent_makes_it_again_is_there_twice(
    oracle: Oracle, tmp_path: Path
) -> None:
    did(oracle, tmp_path)
    oracle.stepped("a.txt", "l1x\nu2x\na3x\n", "l1x\nu2x\n")
    assert faults(oracle, "l1x\nu2x\na3x\na3x\n") == [("twice", 1)]
    oracle.stepped("a.txt", "l1x\nu2x\n", "l1x\nu2x\na3x\n")
    assert faults(oracle, "l1x\nu2x\na3x\na3x\n") == [("twice", 1)]
    did(oracle, tmp_path)
    did(oracle, tmp_path, before="l1x\nu2x\n", after="l1x\nu2x\na3x\n\n")
    assert faults(oracle, "l1x\nu2x\na3x\na3x\n") == []


def test_what_a_tool_wrote_over_without_knowing_it_must_come_back(oracle: Oracle, tmp_path: Path) -> None:
    did(oracle, tmp_path, verb="put", before="l1x\n", after="l1x\na3x\n")
    assert faults(oracle, "l1x\na3x\n") == [("lost", 3)]
    assert oracle.was_written_over("a.txt", "u2x", "l1x\nu2x\n")
    assert not oracle.was_written_over("a.txt", "u2x", "l1x\n"), "it does not"


@pytest.mark.parametrize("changes", [{"verb": "change", "before": "l1x\n"}, {"verb": "put"}])
def test_what_it_knew_or_wrote_through_the_client_is_no_excuse(
    oracle: Oracle, tmp_path: Path, changes: dict[str, str]
) -> None:
    did(oracle, tmp_path, **changes)
    assert not oracle.was_written_over("a.txt", "u2x", "l1x\nu2x\n")
