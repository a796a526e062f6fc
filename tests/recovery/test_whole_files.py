"""What a text does not say all of (modes, links, bytes, removals) is journalled and taken back by the command line as well."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.file_state import FileState, link
from sidecar.core.kept_files import KEPT, KeptFile, to_kept
from sidecar.core.ledger import Author
from sidecar.core.uri import from_path
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.selecting import Selection
from sidecar.recovery.revert import RevertOutcome, revert
from sidecar.recovery.revert_command import why_not
from sidecar.recovery.settle import settle
from sidecar.workspace.review.review import Selector
from tests.support.journals import entry
from tests.support.workspaces import QuietEditor, a_workspace

BYTES = FileState(b"\0\1", 0o644)
CASES: dict[str, tuple[FileState | None, FileState | None]] = {
    "bytes": (BYTES, FileState(b"\0\2", 0o644)),
    "mode": (FileState(b"a\n", 0o755), FileState(b"a\n", 0o600)),
    "link": (link("a"), link("b")),
    "link removed": (link("a"), None),
    "link for a file": (FileState(b"a\n", 0o644), link("b")),
    "removed": (BYTES, None),
    "made": (None, BYTES),
}


def put(path: Path, state: FileState | None) -> None:
    if os.path.lexists(path):
        path.unlink()
    if state is not None and state.is_link:
        path.symlink_to(state.data.decode())
    elif state is not None:
        path.write_bytes(state.data)
        path.chmod(state.mode)


def there(path: Path) -> FileState | None:
    if not os.path.lexists(path):
        return None
    if path.is_symlink():
        return link(os.readlink(path))
    return FileState(path.read_bytes(), path.stat().st_mode & 0o777)


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("edited", [False, True])
def test_taken_back(tmp_path: Path, before: FileState | None, after: FileState | None, edited: bool) -> None:
    folder = (tmp_path / "w").resolve()
    folder.mkdir()
    path = folder / "f"
    with Store(tmp_path / "journal") as store:
        done = store.begin(entry(None, None, str(path), root=str(folder), states=(before, after)))
        store.finish(done, "done")
        assert store.states(done) == (before, after)
        put(path, FileState(b"mine", 0o640) if edited else after)
        (result,) = revert(store, store.entries(), "r-1")
        if edited:
            # A mode is put back whatever the file holds by now; anything else of the user's stays.
            wanted = FileState(b"mine", 0o640)
            assert result.outcome is RevertOutcome.STANDS
        else:
            wanted = before
            assert not result.outcome.is_failure
            assert [write.state for write in store.entries() if write.id == done] == ["undone"]
    assert there(path) == wanted


OLD, NEW, NEWER = (FileState(text, 0o644) for text in (b"one\ntwo\n", b"one\nTWO\n", b"ONE\nTWO\n"))
STEPS: dict[str, tuple[list[FileState | None], RevertOutcome]] = {
    "removed, and made anew": ([OLD, None, NEW], RevertOutcome.PUT_BACK),
    "changed, removed, and made anew": ([OLD, NEW, None, NEWER], RevertOutcome.PUT_BACK),
    "removed, made anew, and removed": ([OLD, None, NEW, None], RevertOutcome.MADE_AGAIN),
    "changed, and removed": ([OLD, NEW, None], RevertOutcome.MADE_AGAIN),
    "made, removed, and made anew": ([None, OLD, None, NEW], RevertOutcome.REMOVED),
    "its mode, its text, its mode": (
        [OLD, FileState(OLD.data, 0o755), FileState(NEW.data, 0o755), FileState(NEW.data, 0o600)],
        RevertOutcome.PUT_BACK,
    ),
}


@pytest.mark.parametrize(("states", "outcome"), STEPS.values(), ids=STEPS)
def test_what_was_done_to_one_file_in_turn_is_taken_back_in_turn(
    tmp_path: Path, states: list[FileState | None], outcome: RevertOutcome
) -> None:
    """In one revert: what is newer in the file is taken back with it (turns seed 1002035)."""
    folder = (tmp_path / "w").resolve()
    folder.mkdir()
    path = folder / "f"
    with Store(tmp_path / "journal") as store:
        for before, after in itertools.pairwise(states):
            put(path, after)
            is_text = after is not None and (before is None or before.data != after.data)
            texts = [None if one is None else one.data.decode() for one in (before, after)]
            made = (
                entry(*texts, str(path), root=str(folder))
                if is_text
                else entry(None, None, str(path), root=str(folder), states=(before, after))
            )
            store.finish(store.begin(made), "done")
        (result,) = revert(store, store.entries(), "r-1")
        assert result.outcome is outcome
        assert {write.state for write in store.entries() if write.agent == "agent"} == {"undone"}
    assert there(path) == states[0]


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("is_there", ["before", "after", "mine"])
def test_how_an_interrupted_one_ended(
    tmp_path: Path, before: FileState | None, after: FileState | None, is_there: str
) -> None:
    """It is compared as a whole: no text says whether a link, a mode, or bytes were put back."""
    path = tmp_path / "w" / "f"
    path.parent.mkdir()
    put(path, {"before": before, "after": after, "mine": FileState(b"mine", 0o640)}[is_there])
    with Store(tmp_path / "journal") as store:
        store.begin(entry(None, None, str(path), root=str(path.parent), states=(before, after)))
    with Store(tmp_path / "journal") as store:
        told = settle(store)
        (found,) = store.entries()
    assert found.state == {"before": "failed", "after": "done", "mine": "unknown"}[is_there], told


def test_a_revert_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    """What it had begun with and not done yet is still to be taken back."""
    folder = (tmp_path / "w").resolve()
    folder.mkdir()
    states = (BYTES, None)
    with Store(tmp_path / "journal") as store:
        done = store.begin(entry(None, None, str(folder / "f"), root=str(folder), states=states))
        store.finish(done, "done")
        undoing = entry(
            None,
            None,
            str(folder / "f"),
            root=str(folder),
            states=states[::-1],
            session="r-1",
            agent="revert",
        )
        store.begin(undoing, [done])
    with Store(tmp_path / "journal") as store:
        settle(store)
        left = [one for one in store.entries() if one.session == "s" and why_not(one, store) is None]
        (result,) = revert(store, left, "r-2")
    assert result.outcome is RevertOutcome.MADE_AGAIN
    assert there(folder / "f") == BYTES


@pytest.mark.parametrize("edited", [False, True])
def test_a_file_that_was_moved_with_work_in_it_that_is_taken_back_first(tmp_path: Path, edited: bool) -> None:
    """One agent changes a file, and another moves it: the new name goes when the second one's work is taken back, too."""
    folder = (tmp_path / "w").resolve()
    folder.mkdir()
    path = folder / "moved"
    moved = FileState(b"one\nAGENT\n", 0o644)
    with Store(tmp_path / "journal") as store:
        done = store.begin(
            entry(None, "one\nAGENT\n", str(path), root=str(folder), states=(None, moved), session="b")
        )
        store.finish(done, "done")
        back = entry("one\nAGENT\n", "one\ntwo\n", str(path), root=str(folder), session="", agent="reject")
        store.finish(store.begin(back), "done")
        path.write_text("one\nmine\n" if edited else "one\ntwo\n")
        (result,) = revert(store, [one for one in store.entries() if one.session == "b"], "r-1")
        assert result.outcome is (RevertOutcome.STANDS if edited else RevertOutcome.REMOVED)
        assert path.exists() is edited


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_what_was_taken_back_in_a_moved_file_does_not_come_back_under_its_old_name(
    tmp_path: Path, encoding: str
) -> None:
    """One agent changes a file, another moves it, and the first one's work is taken back where the file is then."""
    folder = (tmp_path / "w").resolve()
    folder.mkdir()
    old, new = folder / "old", folder / "new"
    base, changed = "one\ntwo\nthree\n", "one\nAGENT\nthree\n"
    bom = "\ufeff".encode(encoding)
    moved = FileState(bom + changed.encode(encoding), 0o600)
    with Store(tmp_path / "journal") as store:

        def written(path: Path, before: str | None, after: str | None, session: str, **more: Any) -> None:
            values = {"root": str(folder), "session": session, "encoding": encoding, "bom": bom, **more}
            store.finish(store.begin(entry(before, after, str(path), **values)), "done")

        written(old, base, changed, "a")
        written(old, changed, None, "b", states=(moved, None))
        written(new, None, changed, "b", states=(None, moved))
        written(new, changed, base, "", agent="reject")
        (first,) = [write for write in store.entries() if write.session == "a"]
        store.finish(first.id, "rejected")
        put(new, FileState(bom + base.encode(encoding), 0o600))
        done = list(revert(store, [one for one in store.entries() if one.session == "b"], "r-1"))
        assert not any(one.outcome.is_failure for one in done)
    assert there(new) is None
    assert there(old) == FileState(bom + base.encode(encoding), 0o600)


@pytest.mark.parametrize("made_anew_by", ["one", "two"])
def test_work_before_and_after_anothers_removal(tmp_path: Path, made_anew_by: str) -> None:
    """Sessions can be taken back whatever their writes lie between: each time as much as can be, and the rest once the other's is."""
    folder = tmp_path.resolve()
    path = folder / "f"
    old = FileState(b"b\n", 0o644)
    with Store(tmp_path / "journal") as store:

        def written(before: str | None, after: str | None, session: str, **more: Any) -> None:
            one = entry(before, after, str(path), root=str(folder), session=session, **more)
            store.finish(store.begin(one), "done")

        def taken_back(session: str) -> bool:
            left = [w for w in store.entries() if w.session == session and why_not(w, store) is None]
            (result,) = revert(store, left, "r-1")
            return not result.outcome.is_failure

        written("a\n", "b\n", "one")
        written("b\n", None, "two", states=(old, None))
        written(None, "c\n", made_anew_by)
        written("c\n", "d\n", "one")
        path.write_text("d\n")
        assert not taken_back("two"), "the first one's is on top of it"
        assert not taken_back("one"), "not all of it"
        assert path.exists() is (made_anew_by == "two")
        assert taken_back("two")
        assert path.read_text() == "b\n"
        assert taken_back("one")
    assert path.read_text() == "a\n"


@pytest.mark.parametrize("order", ["one two", "two one"])
@pytest.mark.parametrize("removed_again", [False, True])
def test_a_file_that_was_made_where_another_had_removed_one(
    tmp_path: Path, journal: Path, order: str, removed_again: bool
) -> None:
    """Once both are taken back, what was there before is there again, whichever is taken back first."""
    folder = tmp_path.resolve()
    path, made = folder / "f", None if removed_again else b"c\n"
    old, new = FileState(b"b\n", 0o644), FileState(b"c\n", 0o644)
    with Store(journal) as store:
        writes = [
            entry("b\n", None, str(path), root=str(folder), session="one", states=(old, None)),
            entry(None, "c\n", str(path), root=str(folder), session="two"),
            entry("c\n", None, str(path), root=str(folder), session="two", states=(new, None)),
        ]
        for write in writes if removed_again else writes[:2]:
            store.finish(store.begin(write), "done")
        put(path, None if made is None else FileState(made, 0o644))
        for session in order.split():
            left = [w for w in store.entries(Selection(session=session)) if why_not(w, store) is None]
            (done,) = revert(store, left, "r-1")
            assert done.outcome.is_failure is (session == "one" and order == "one two" and not removed_again)
        left = [w for w in store.entries() if w.agent == "agent" and why_not(w, store) is None]
        assert not any(done.outcome.is_failure for done in revert(store, left, "r-2"))
    assert there(path) == old


A, B, C = (FileState(b"\0" + bytes([n])) for n in range(3))


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize(
    "states",
    [(A, B, C), (A, B, None), (None, A, B), (A, None, B), (A, replace(A, mode=0o600), None)],
    ids=[
        "changed twice",
        "and then removed",
        "and made before",
        "removed, and made anew",
        "its mode, and removed",
    ],
)
def test_what_was_changed_twice_is_put_back_in_one_step(
    tmp_path: Path, journal: Path, states: tuple[FileState | None, ...], by_hand: bool
) -> None:
    """Whatever ends that leaves no half of it, which no review has. Also where somebody has put back the newer change by hand."""
    path = tmp_path.resolve() / "f"
    with Store(journal) as store:
        for two in pairwise(states):
            store.finish(store.begin(entry(None, None, str(path), root=str(path.parent), states=two)), "done")
        put(path, states[1 if by_hand else 2])
        (done,) = revert(store, store.entries(), "r-1")
        assert not done.outcome.is_failure
        assert [one.state for one in store.entries()] == ["done", "undone", "undone"]
    assert there(path) == states[0]


def test_a_mode_that_another_had_put_right_does_not_come_back(tmp_path: Path, journal: Path) -> None:
    """The second one's work is taken back while the first one's is on top of it."""
    path, modes = tmp_path.resolve() / "f", (0o644, 0o744, 0o600, 0o744)
    states = [FileState(b"a\n", mode) for mode in modes]
    with Store(journal) as store:
        for two, session in zip(pairwise(states), ("first", "second", "first"), strict=True):
            made = entry("a\n", "a\n", str(path), root=str(path.parent), states=two, session=session)
            store.finish(store.begin(made), "done")
        put(path, states[-1])
        for session in ("second", "first"):
            assert not any(
                done.outcome.is_failure
                for done in revert(store, store.entries(Selection(session=session)), "r-1")
            )
    assert there(path) == states[0]


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_was_made_where_another_had_removed_it(
    tmp_path: Path, journal: Path, restarted: bool
) -> None:
    """It is there as if nobody had removed it, which is taken back: what is left to reject is what was done before."""
    path = tmp_path.resolve() / "f"
    states = [link("a"), link("b"), None, link("b")]
    with Store(journal) as store:
        for turn, two in enumerate(pairwise(states)):
            session = "second" if turn == 1 else "first"
            made = entry(None, None, str(path), root=str(path.parent), states=two, session=session)
            write = store.begin(made)
            store.finish(write, "done")
            row = KeptFile(str(path), *two, Author(session, turn, write))
            store.save_ledger(f"{KEPT}{write}:{from_path(str(path))}", *to_kept(row))
    put(path, states[-1])

    def is_reverted() -> None:
        with Store(journal) as store:
            (done,) = revert(store, store.entries(Selection(session="second")), "r-1")
            assert done.outcome is RevertOutcome.ALREADY

    if restarted:
        is_reverted()
    async with (
        SqliteJournal.opened(journal) as kept,
        a_workspace(path.parent, QuietEditor(), journal=kept) as bench,
    ):
        await bench.workspace.review.files.restore([str(path.parent)])
        if not restarted:
            is_reverted()
        assert not (await bench.workspace.review.reject(Selector(everything=True))).impossible
    assert there(path) == states[0]


@pytest.mark.parametrize("by", ["the same turn", "the user"])
def test_a_removal_is_over_where_the_file_was_back_when_it_was_written_next(
    tmp_path: Path, journal: Path, by: str
) -> None:
    """So it is in nobody's way: what was changed before it and after it is taken back, and what the user did since stays."""
    path = tmp_path.resolve() / "a.txt"
    base, first = "one\ntwo\nthree\n", "ONE\ntwo\nthree\n"
    back = first if by == "the same turn" else first.replace("two", "mine")
    texts: list[tuple[str, str | None]] = [
        (base, first),
        (first, None),
        (back, back.replace("three", "THREE")),
    ]
    with Store(journal) as store:
        for before, after in texts:
            removed = None if after is not None or before is None else FileState(before.encode(), 0o644)
            states = None if removed is None else (removed, None)
            write = entry(before, after, str(path), root=str(tmp_path), states=states)
            store.finish(store.begin(write), "done")
        path.write_text("ONE\ntyped\nTHREE\n")
        (result,) = revert(store, store.entries(), "r-1")
        assert result.outcome is RevertOutcome.PUT_BACK
        assert path.read_text() == base.replace("two", "typed")
        assert {one.state for one in store.entries() if one.agent == "agent"} == {"undone"}


def test_an_earlier_removal_that_is_taken_back_brings_nothing_back_where_another_one_stands(
    tmp_path: Path, journal: Path
) -> None:
    """The user had brought the file back in between, and changed it."""
    path = tmp_path.resolve() / "a.txt"
    with Store(journal) as store:

        def written(before: str | None, after: str | None, session: str, state: Any = "done") -> str:
            states = (
                None if after is not None or before is None else (FileState(before.encode(), 0o644), None)
            )
            one = entry(before, after, str(path), root=str(path.parent), session=session, states=states)
            store.finish(name := store.begin(one), state)
            return name

        written("agent\n", None, "one", "undone")
        removal = written("mine\n", None, "other")
        anew = written(None, "anew\n", "one")
        path.write_text("anew\n")
        for name, text in ((anew, None), (removal, "mine\n")):
            (done,) = revert(store, store.entries(Selection(ids=(name,))), "r-1")
            assert not done.outcome.is_failure
            assert (path.read_text() if path.exists() else None) == text


def test_a_file_that_another_worked_in_and_removed_is_taken_back_after_that(
    tmp_path: Path, journal: Path
) -> None:
    """Though it is gone: it comes back with the other's removal."""
    path = tmp_path.resolve() / "a.txt"
    with Store(journal) as store:
        more = {"root": str(path.parent)}
        made = store.begin(entry(None, "one\ntwo\n", str(path), session="one", **more))
        edit = store.begin(entry("one\ntwo\n", "one\nTWO\n", str(path), session="other", **more))
        states = (FileState(b"one\nTWO\n", 0o644), None)
        gone = store.begin(entry("one\nTWO\n", None, str(path), session="other", states=states, **more))
        store.finish_all([made, edit, gone], "done")

        def taken_back(session: str) -> RevertOutcome:
            (done,) = revert(store, store.entries(Selection(session=session)), "r-1")
            return done.outcome

        assert taken_back("one") is RevertOutcome.STANDS
        assert not taken_back("other").is_failure
        assert path.read_text() == "one\ntwo\n"
        assert taken_back("one") is RevertOutcome.REMOVED
    assert not path.exists()
