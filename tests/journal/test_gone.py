"""What a file that an agent removed said, without what the user had rejected in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.core.file_state import FileState
from sidecar.disk.states import less_gone, text_of
from sidecar.journal import Store
from sidecar.journal.entry import EntryState
from tests.support.journals import entry

PATH = "/w/a.txt"
BASE = "one\ntwo\nthree\nfour\nfive\n"
BOTH = BASE.replace("one", "ONE").replace("five", "FIVE")
FIRST = BASE.replace("one", "ONE")
LAST = BASE.replace("five", "FIVE")

CASES: dict[str, tuple[list[tuple[str, str, str, EntryState]], str, str]] = {
    # the writes in order (agent, before, after, state), the text that was removed, the text to bring back
    "rejected and then removed": (
        [("agent", BASE, BOTH, "rejected"), ("reject", BOTH, BASE, "done")],
        BASE,
        BASE,
    ),
    "removed, rejected before that was noted": (
        [("agent", BASE, BOTH, "rejected"), ("reject", BOTH, BASE, "done")],
        BOTH,
        BASE,
    ),
    "of two changes one": (
        [("agent", BASE, BOTH, "done"), ("reject", BOTH, FIRST, "done")],
        BOTH,
        FIRST,
    ),
    "one after the other": (
        [("agent", BASE, BOTH, "rejected"), ("reject", BOTH, FIRST, "done"), ("reject", FIRST, BASE, "done")],
        BOTH,
        BASE,
    ),
    "the second of two": (
        [("agent", BASE, BOTH, "rejected"), ("reject", BOTH, FIRST, "done"), ("reject", FIRST, BASE, "done")],
        FIRST,
        BASE,
    ),
    "one, and after the removal the other": (
        [("agent", BASE, BOTH, "undone"), ("reject", BOTH, FIRST, "done")],
        FIRST,
        BASE,
    ),
    "rejected in a document with unsaved text": (
        [("agent", BASE, BOTH, "rejected"), ("reject", BOTH + "mine\n", BASE + "mine\n", "done")],
        BOTH,
        BASE,
    ),
    "the same, and made again since": (
        [
            ("agent", BASE, BOTH, "rejected"),
            ("reject", BOTH + "mine\n", BASE + "mine\n", "done"),
            ("agent", BASE, BOTH, "done"),
        ],
        BOTH,
        BOTH,
    ),
    "one after the other, in a document with unsaved text": (
        [
            ("agent", BASE, BOTH, "rejected"),
            ("reject", BOTH + "mine\n", FIRST + "mine\n", "done"),
            ("reject", FIRST + "MINE\n", BASE + "MINE\n", "done"),
        ],
        BOTH,
        BASE,
    ),
    "each after the other, and the first of them later": (
        [
            ("agent", BASE, FIRST, "undone"),
            ("agent", FIRST, BOTH, "rejected"),
            ("reject", BOTH, FIRST, "done"),
        ],
        FIRST,
        BASE,
    ),
    "an earlier one in full": (
        [
            ("agent", BASE, FIRST, "rejected"),
            ("reject", FIRST, BASE, "done"),
            ("agent", BASE, FIRST, "done"),
            ("agent", FIRST, BOTH, "rejected"),
            ("reject", BOTH, FIRST, "done"),
        ],
        FIRST,
        FIRST,
    ),
    "made again since": (
        [("agent", BASE, BOTH, "rejected"), ("reject", BOTH, BASE, "done"), ("agent", BASE, BOTH, "done")],
        BOTH,
        BOTH,
    ),
    "what was left of two by one rejection": (  # turns seed 1885025329
        [
            ("agent", BASE, FIRST, "rejected"),
            ("agent", FIRST, BOTH, "rejected"),
            ("reject", BOTH, LAST, "done"),
            ("agent", LAST, LAST.replace("three", "THREE"), "rejected"),
            ("reject", LAST.replace("three", "THREE"), BASE, "done"),
            ("agent", BASE, BASE.replace("one", "1"), "done"),
        ],
        BASE.replace("one", "1"),
        BASE.replace("one", "1"),
    ),
    "the same text made twice, and a part of it rejected each time": (
        [
            ("agent", BASE, BOTH, "rejected"),
            ("reject", BOTH, BASE, "done"),
            ("agent", BASE, BOTH, "rejected"),
            ("reject", BOTH, FIRST, "done"),
            ("user", FIRST, FIRST.replace("three", "3"), "done"),
        ],
        FIRST.replace("three", "3"),
        BASE.replace("three", "3"),
    ),
    "both versions of a line, and later the rest of the newer one": (
        [
            ("agent", BASE, BASE.replace("three", "THREE"), "rejected"),
            ("agent", BASE.replace("three", "THREE"), LAST.replace("three", "3"), "undone"),
            ("reject", LAST.replace("three", "3"), LAST, "done"),
        ],
        LAST,
        BASE,
    ),
    "a part of an older one with a newer one, and another rejection between the two": (
        [
            ("agent", BASE, FIRST.replace("three", "THREE"), "undone"),
            ("agent", FIRST.replace("three", "THREE"), BOTH.replace("three", "THREE"), "rejected"),
            ("reject", BOTH.replace("three", "THREE"), FIRST.replace("three", "THREE"), "done"),
            ("agent", FIRST.replace("three", "THREE"), FIRST.replace("three", "THREE") + "6\n", "rejected"),
            ("reject", FIRST.replace("three", "THREE") + "6\n", BASE.replace("three", "THREE"), "done"),
        ],
        BASE.replace("three", "THREE"),
        BASE,
    ),
    "the rejection failed": (
        [("agent", BASE, BOTH, "done"), ("reject", BOTH, BASE, "failed")],
        BOTH,
        BOTH,
    ),
    "the user went on": (
        [("agent", BASE, BOTH, "rejected"), ("reject", BOTH, BASE, "done")],
        BOTH + "six\n",
        BOTH + "six\n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_comes_back_with_the_file(tmp_path: Path, case: str) -> None:
    writes, was, back = CASES[case]
    with Store(tmp_path / "j") as store:
        for agent, before, after, state in writes:
            store.finish(store.begin(entry(before, after, PATH, agent=agent)), state)
        removed = store.begin(entry(was, None, PATH))
        store.finish(removed, "done")
        found = less_gone(FileState(was.encode(), 0o644), store.gone_before(removed), PATH)
    assert text_of(found) == back


@pytest.mark.parametrize(
    ("after", "state", "back"),
    [([FIRST], "done", FIRST), ([FIRST, BASE], "done", BASE), ([FIRST], "failed", BOTH)],
    ids=["one", "both", "it failed"],
)
def test_what_was_taken_back_in_a_document_that_stayed_open(
    tmp_path: Path, after: list[str], state: EntryState, back: str
) -> None:
    """(turns seed 1883002017)"""
    with Store(tmp_path / "j") as store:
        store.finish(store.begin(entry(BASE, BOTH, PATH)), "done")
        removed = store.begin(entry(BOTH, None, PATH))
        store.finish(removed, "done")
        for before, then in zip([BOTH, *after], after, strict=False):
            store.finish(store.begin(entry(before, then, PATH, agent="reject")), state)
        found = less_gone(FileState(BOTH.encode(), 0o644), store.gone_before(removed), PATH)
    assert text_of(found) == back


def test_what_was_made_anew_and_rejected_leaves_what_had_been_removed(tmp_path: Path) -> None:
    """(turns seed 1883021135)"""
    base = FileState(BASE.encode(), 0o644)
    with Store(tmp_path / "j") as store:
        store.finish(store.begin(entry(BASE, None, PATH, states=(base, None))), "done")
        store.finish(store.begin(entry(None, BOTH, PATH)), "rejected")
        store.finish(store.begin(entry(BOTH, BASE, PATH, agent="reject")), "done")
        removed = store.begin(entry(BASE, None, PATH, states=(base, None)))
        store.finish(removed, "done")
        assert not store.gone_before(removed)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("brought", [BOTH, FIRST])
def test_what_was_taken_back_after_an_earlier_removal_was(tmp_path: Path, times: int, brought: str) -> None:
    """If the earlier removal was not taken back exactly, some of the file's changes were taken back with it, and nobody knows which. (turns seed
    1883007670)"""
    whole, back = FileState(BOTH.encode(), 0o644), FileState(brought.encode(), 0o644)
    with Store(tmp_path / "j") as store:
        store.finish(store.begin(entry(BASE, BOTH, PATH)), "undone")
        for _ in range(times):
            store.finish(store.begin(entry(BOTH, None, PATH, states=(whole, None))), "rejected")
            store.finish(store.begin(entry(None, None, PATH, agent="reject", states=(None, back))), "done")
        removed = store.begin(entry(brought, None, PATH, states=(back, None)))
        store.finish(removed, "done")
        found = less_gone(back, store.gone_before(removed), PATH)
    assert text_of(found) == (BASE if brought == BOTH else brought)


@pytest.mark.parametrize("removed", ["undone", "rejected"])
@pytest.mark.parametrize(("first", "back"), [("undone", BASE), ("rejected", BASE), ("done", BOTH)])
def test_what_another_agent_made_in_place_of_a_file_that_is_back(
    tmp_path: Path, first: EntryState, back: str, removed: EntryState
) -> None:
    """Taking that back gives what had been removed, without what was taken back of it. (turns seed 1885187243)"""
    whole = FileState(BOTH.encode(), 0o644)
    with Store(tmp_path / "j") as store:
        store.finish(store.begin(entry(BASE, BOTH, PATH)), first)
        store.finish(store.begin(entry(BOTH, None, PATH, states=(whole, None))), removed)
        made = store.begin(entry(None, LAST, PATH))
        store.finish(made, "done")
        found = less_gone(None, store.gone_before(made), PATH)
    assert text_of(found) == back
