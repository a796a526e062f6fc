"""What an editor kept unsaved while no sidecar ran, and what the command line had taken back in the file meanwhile: it is under review in the document."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from sidecar.core.diff import diff
from sidecar.core.file_state import FileState
from sidecar.core.kept_files import KEPT, KeptFile, to_kept
from sidecar.core.kept_hunks import to_json
from sidecar.core.ledger import Author, Ledger
from sidecar.core.text import Text
from sidecar.core.uri import from_path
from sidecar.journal import SqliteJournal, Store
from sidecar.journal.selecting import Selection
from sidecar.recovery.revert import revert
from sidecar.recovery.revert_command import why_not
from sidecar.workspace.review.applying import Change, Step
from sidecar.workspace.review.review import Selector
from tests.recovery.test_review_after_revert import (
    BASE,
    FIRST,
    SECOND,
    mine,
    on_the_journal,
    revert_second,
    written,
)
from tests.support.editor_fake import FakeEditor
from tests.support.editor_habits import VSCODE
from tests.support.journals import entry
from tests.support.workspaces import Bench, a_workspace


async def opens_with(bench: Bench, editor: FakeEditor, text: str) -> None:
    """The editor has kept `text` unsaved, and opens a.txt with it."""
    buffer = editor.opens("a.txt")
    editor.attach(bench.workspace.apply)
    buffer.text = text
    editor.model.opened(buffer)
    await bench.observed("a.txt")


async def rejected_in(
    folder: Path, journal: Path, text: str, *, seen_first: bool, custom: bool = True
) -> str:
    """What a.txt says in an editor that had kept `text` unsaved over a restart, once everything is rejected. `seen_first`: the stored reviews
    are looked at before it opens the file."""
    editor = FakeEditor(VSCODE, folder, custom=custom)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        if seen_first:
            await bench.workspace.restore_reviews()
        await opens_with(bench, editor, text)
        await bench.workspace.review.reject(Selector(everything=True))
        return editor.text("a.txt")


async def first_written(folder: Path, journal: Path) -> Path:
    """An agent has written a.txt, and the sidecar has ended."""
    path = folder.resolve() / "a.txt"
    path.write_text(BASE)
    async with on_the_journal(path.parent, journal) as bench:
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        await bench.workspace.reviews_stored()
    return path


@pytest.mark.parametrize("seen_first", [False, True])
async def test_an_editor_has_kept_what_the_turn_wrote_first(
    tmp_path: Path, journal: Path, seen_first: bool
) -> None:
    """Unsaved, while the file says what the same turn wrote next."""
    folder = tmp_path.resolve()
    path, second = folder / "a.txt", FIRST.replace("agent48", "agent49")
    path.write_text(BASE)
    async with on_the_journal(folder, journal) as bench:
        for text in (FIRST, second):
            await bench.read("a.txt")
            await bench.write("a.txt", text)
        await bench.workspace.reviews_stored()
    assert await rejected_in(folder, journal, FIRST, seen_first=seen_first) == BASE


@pytest.mark.parametrize("seen_first", [False, True])
async def test_an_editor_has_kept_a_line_that_another_agent_removed_in_the_file(
    tmp_path: Path, journal: Path, seen_first: bool
) -> None:
    """What is stored of the review of the text that it has kept counts, and not what can be concluded from the writes."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    removed = BASE.replace("base21\n", "").replace("base24", "agent69")
    taken, second = FIRST.replace("base24", "agent69"), SECOND.replace("agent62", "base22")
    path.write_text(removed)
    writes = [("a", BASE, FIRST, "editor"), ("b", BASE, removed, "disk"), ("a", taken, second, "editor")]
    ledger = Ledger()
    with Store(journal) as store:
        for who, before, after, via in writes:
            write = store.begin(entry(before, after, str(path), root=str(folder), session=who, via=via))
            store.finish(write, "done")
            steps = [(FIRST, taken)] if via == "disk" else [(before, after)]
            for was, now in steps:
                ledger.agent_edit(Text.of(was), diff(was, now), Text.of(now), Author(who, 1, write))
        store.save_ledger(from_path(str(path)), second, to_json(ledger.hunks))
    assert await rejected_in(folder, journal, second, seen_first=seen_first) == BASE


@pytest.mark.parametrize("seen_first", [False, True])
@pytest.mark.parametrize("is_stored", [False, True])
async def test_an_editor_has_brought_what_was_written_in_the_file_into_what_it_has_unsaved(
    tmp_path: Path, journal: Path, is_stored: bool, seen_first: bool
) -> None:
    """The sidecar was ended before it stored the review of that."""
    folder = tmp_path.resolve()
    path, on_disk = folder / "a.txt", BASE.replace("base24", "agent69")
    path.write_text(on_disk)
    with Store(journal) as store:
        for after, via in ((FIRST, "editor"), (on_disk, "disk")):
            write = store.begin(entry(BASE, after, str(path), root=str(folder), session="a", via=via))
            store.finish(write, "done")
            if is_stored and via == "editor":
                ledger = Ledger()
                ledger.agent_edit(Text.of(BASE), diff(BASE, FIRST), Text.of(FIRST), Author("a", 1, write))
                store.save_ledger(from_path(str(path)), FIRST, to_json(ledger.hunks))
    assert (
        await rejected_in(folder, journal, FIRST.replace("base24", "agent69"), seen_first=seen_first) == BASE
    )


async def test_an_editor_has_kept_what_was_taken_back_in_the_file(tmp_path: Path, journal: Path) -> None:
    """Unsaved: it had taken back the other's work, and the command line then took back this one's, while no sidecar ran."""
    folder = tmp_path.resolve()
    path, second = folder / "a.txt", FIRST.replace("base24", "agent69")
    path.write_text(BASE)
    editor = FakeEditor(VSCODE, folder, custom=False)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        await written(bench, second)
        editor.opens("a.txt")
        await bench.observed("a.txt")
        (_, first) = await kept.entries()
        change = Change(str(path), (Step(FIRST, BASE),), "revert", takes_back=(first.id,))
        assert (await bench.workspace.applier.apply(change)).result == "applied"
        unsaved = editor.text("a.txt")
        assert (unsaved, path.read_text()) == (BASE.replace("base24", "agent69"), second)
        await bench.workspace.reviews_stored()
    revert_second(journal, path, bench.session)
    assert path.read_text() == FIRST
    assert await rejected_in(folder, journal, unsaved, seen_first=False, custom=False) == BASE


@pytest.mark.parametrize("seen_first", [True, False])
async def test_an_editor_has_kept_what_was_taken_back_in_the_file_and_the_user_had_typed_in_it(
    tmp_path: Path, journal: Path, seen_first: bool
) -> None:
    """No write led to that text. (turns seed 1885003057)"""
    path = await first_written(tmp_path, journal)
    revert_second(journal, path, "nobody's")
    assert path.read_text() == BASE
    assert await rejected_in(path.parent, journal, mine(FIRST), seen_first=seen_first) == mine(BASE)


@pytest.mark.parametrize("seen_first", [True, False])
async def test_an_editor_has_kept_the_text_of_a_file_that_is_gone(
    tmp_path: Path, journal: Path, seen_first: bool
) -> None:
    """(turns seed 1885002073)"""
    path = await first_written(tmp_path, journal)
    path.unlink()
    assert await rejected_in(path.parent, journal, mine(FIRST), seen_first=seen_first) == mine(BASE)


@pytest.mark.parametrize("seen_first", [False, True])
async def test_an_editor_has_kept_a_part_of_what_the_command_line_took_back_beside_other_work(
    tmp_path: Path, journal: Path, seen_first: bool
) -> None:
    """The rest of that was rejected in the editor. The file has the other work, which is under review, too. (turns seed 1885071077)"""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    first = BASE.replace("base20", "agent20")
    second = first.replace("base22", "agent22").replace("base24", "agent24")
    left = second.replace("agent22", "base22")
    path.write_text(first)
    ledger = Ledger()
    with Store(journal) as store:
        for turn, (before, after) in enumerate(pairwise([BASE, first, second]), 1):
            write = store.begin(entry(before, after, str(path), root=str(folder), turn=turn, via="disk"))
            store.finish(write, "done")
            ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("s", turn, write))
        rejection = entry(second, left, str(path), root=str(folder), agent="reject", via="editor")
        store.finish(store.begin(rejection), "done")
        ledger.user_led(Text.of(second), Text.of(left))
        revert = entry(second, first, str(path), root=str(folder), agent="revert", via="disk")
        store.finish(store.begin(revert, [write]), "done")
        store.finish(write, "undone")
        store.save_ledger(from_path(str(path)), left, to_json(ledger.hunks))
    assert await rejected_in(folder, journal, mine(left), seen_first=seen_first) == mine(BASE)


@pytest.mark.parametrize("seen_first", [False, True])
@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("made_anew", [True, False])
async def test_what_an_editor_has_kept_of_a_file_that_is_gone_is_not_saved_with_a_rejection(
    tmp_path: Path, journal: Path, custom: bool, seen_first: bool, made_anew: bool
) -> None:
    """Nor if an agent had removed the file before, and made it anew. (turns seed 1885070795)"""
    path = tmp_path.resolve() / "a.txt"
    if not made_anew:
        await first_written(tmp_path, journal)
    state = FileState(FIRST.encode(), 0o644)
    with Store(journal) as store:
        if made_anew:
            path.write_text(FIRST)
            states = (FileState(BASE.encode(), 0o644), None)
            for before, after, whole in ((BASE, None, states), (None, FIRST, None)):
                made = entry(before, after, str(path), root=str(path.parent), states=whole)
                store.finish(store.begin(made), "done")
        removal = store.begin(entry(FIRST, None, str(path), root=str(path.parent), states=(state, None)))
        store.finish(removal, "done")
        row = KeptFile(str(path), state, None, Author("s", 1, removal), "", "")
        store.save_ledger(f"{KEPT}1:{from_path(str(path))}", *to_kept(row))
    editor = FakeEditor(VSCODE, path.parent, custom=custom)
    async with SqliteJournal.opened(journal) as kept, a_workspace(path.parent, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        buffer = editor.opens("a.txt")
        path.unlink()
        if seen_first:
            await bench.workspace.restore_reviews()
        editor.attach(bench.workspace.apply)
        buffer.text = mine(FIRST)
        editor.model.opened(buffer)
        await bench.observed("a.txt")
        await bench.workspace.restore_reviews()
        await bench.workspace.review.reject(Selector(everything=True))
        assert editor.text("a.txt") == mine(BASE)
    assert "mine" not in path.read_text()


@pytest.mark.parametrize("seen_first", [False, True])
@pytest.mark.parametrize("is_kept", [False, True])
async def test_what_an_agent_wrote_in_the_file_of_a_document_in_which_the_user_had_replaced_it(
    tmp_path: Path, journal: Path, is_kept: bool, seen_first: bool
) -> None:
    """Unsaved, when the sidecar ended. It is under review again once that is thrown away; by an editor that has not kept it, or by the user. (keeper seeds
    186 and 805)"""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(BASE)
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")
        await bench.observed("a.txt")
        await bench.read("a.txt")
        await bench.write("a.txt", FIRST)
        editor.replaces("a.txt", "agent48", "mine")
        await bench.workspace.reviews_stored()
        unsaved = editor.text("a.txt")
        assert path.read_text() == FIRST
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        if seen_first:
            await bench.workspace.restore_reviews()
        if is_kept:
            await opens_with(bench, editor, unsaved)
            await bench.workspace.restore_reviews()
            assert not await bench.workspace.review.listed(Selector())
            editor.closes("a.txt")
        await bench.workspace.restore_reviews()
        assert len(await bench.workspace.review.listed(Selector())) == 1
        await bench.workspace.review.reject(Selector(everything=True))
        assert path.read_text() == BASE


@pytest.mark.parametrize("seen_first", [False, True])
@pytest.mark.parametrize("is_kept", [False, True])
async def test_what_an_agent_wrote_in_the_file_beside_what_is_under_review_in_the_document(
    tmp_path: Path, journal: Path, is_kept: bool, seen_first: bool
) -> None:
    """The user had replaced one of two changes, unsaved, when the sidecar ended. Both are under review in the file, also where no write led to its text.
    (keeper seed 6928)"""
    folder, mixed = tmp_path.resolve(), LINES.replace("two", "TWO").replace("six", "SIX")
    path = folder / "a.txt"
    path.write_text(LINES)
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")
        await bench.observed("a.txt")
        await bench.read("a.txt")
        await bench.write("a.txt", mixed)
        editor.replaces("a.txt", "nine", "mine")
        assert editor.saves("a.txt")
        editor.replaces("a.txt", "TWO", "also mine")
        await bench.workspace.reviews_stored()
        unsaved = editor.text("a.txt")
    assert path.read_text() == mixed.replace("nine", "mine")
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        if seen_first:
            await bench.workspace.restore_reviews()
        if is_kept:
            await opens_with(bench, editor, unsaved)
            await bench.workspace.restore_reviews()
            assert [row["newText"] for row in await bench.workspace.review.listed(Selector())] == ["SIX"]
            editor.closes("a.txt")
        await bench.workspace.restore_reviews()
        assert [row["newText"] for row in await bench.workspace.review.listed(Selector())] == ["TWO", "SIX"]
        await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == LINES.replace("nine", "mine")


async def test_an_editor_has_kept_what_an_agent_wrote_although_a_sidecar_found_the_file_gone_meanwhile(
    tmp_path: Path, journal: Path
) -> None:
    """Unsaved, where the user has typed over what was under review in the file. The file is back when the next sidecar starts."""
    folder, saved = tmp_path.resolve(), LINES.replace("two", "TWO")
    path = folder / "a.txt"
    path.write_text(LINES)
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        editor.opens("a.txt")
        await bench.observed("a.txt")
        await bench.read("a.txt")
        await bench.write("a.txt", saved)
        editor.replaces("a.txt", "TWO", "mine")
        await bench.read("a.txt")
        await bench.write("a.txt", editor.text("a.txt").replace("five", "FIVE").replace("eight", "EIGHT"))
        editor.replaces("a.txt", "EIGHT", "also mine")
        await bench.workspace.reviews_stored()
        unsaved = editor.text("a.txt")
    assert path.read_text() == saved
    path.unlink()
    async with on_the_journal(folder, journal) as bench:
        await bench.workspace.restore_reviews()
        await bench.workspace.reviews_stored()
    path.write_text(saved)
    left = await rejected_in(folder, journal, unsaved, seen_first=True)
    assert left == LINES.replace("two", "mine").replace("eight", "also mine")


LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
TYPED = LINES.replace("five", "mine")
AGENTS = TYPED.replace("one", "ONE").replace("six", "SIX").replace("nine", "NINE")


def stored_of_lines(path: Path, journal: Path) -> None:
    """An agent made AGENTS of TYPED, which the editor had unsaved, and the review of that is stored."""
    ledger = Ledger()
    with Store(journal) as store:
        write = store.begin(entry(TYPED, AGENTS, str(path), root=str(path.parent), session="a", via="editor"))
        store.finish(write, "done")
        ledger.agent_edit(Text.of(TYPED), diff(TYPED, AGENTS), Text.of(AGENTS), Author("a", 1, write))
        store.save_ledger(from_path(str(path)), AGENTS, to_json(ledger.hunks))


@pytest.mark.parametrize("seen_first", [False, True])
async def test_an_editor_has_kept_the_users_lines_right_beside_the_agents(
    tmp_path: Path, journal: Path, seen_first: bool
) -> None:
    """Nothing of it was saved. Compared with the file, only what stands alone is what the agent wrote. (turns seed 1885121066)"""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(LINES)
    stored_of_lines(path, journal)
    kept, left = (text.replace("two", "mine").replace("eight", "mine") for text in (AGENTS, TYPED))
    assert await rejected_in(folder, journal, kept, seen_first=seen_first) == left


def stored_of_two(
    path: Path,
    journal: Path,
    texts: list[str],
    turns: tuple[int, int],
    via: Literal["disk", "editor"] = "disk",
) -> list[str]:
    """Agents led from each of these texts to the next one, and the review of the last one is stored. Returns the writes."""
    ledger, writes = Ledger(), list[str]()
    with Store(journal) as store:
        for turn, (before, after) in zip(turns, pairwise(texts), strict=True):
            write = store.begin(entry(before, after, str(path), root=str(path.parent), turn=turn, via=via))
            store.finish(write, "done")
            ledger.agent_edit(Text.of(before), diff(before, after), Text.of(after), Author("s", turn, write))
            writes.append(write)
        store.save_ledger(from_path(str(path)), texts[-1], to_json(ledger.hunks))
    return writes


@pytest.mark.parametrize("is_taken_back", [False, True])
@pytest.mark.parametrize("seen_first", [False, True])
@pytest.mark.parametrize("turns", [(1, 2), (1, 1)], ids=["two turns", "one turn"])
async def test_an_editor_has_kept_what_an_agent_wrote_before_its_last_write_and_the_users_line_right_beside_that(
    tmp_path: Path, journal: Path, turns: tuple[int, int], seen_first: bool, is_taken_back: bool
) -> None:
    """The file has what the agent wrote on top, unless the command line has taken back everything there. (turns seed 1885185857)"""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    first = LINES.replace("four", "FOUR").replace("six\nseven", "SIX\nSEVEN")
    second = first.replace("SIX\nSEVEN", "6\n7")
    path.write_text(LINES if is_taken_back else second)
    writes = stored_of_two(path, journal, [LINES, first, second], turns)
    if is_taken_back:
        with Store(journal) as store:
            revert = entry(second, LINES, str(path), root=str(folder), agent="revert", via="disk")
            store.finish(store.begin(revert, writes), "done")
    kept = first.replace("five", "mine")
    assert await rejected_in(folder, journal, kept, seen_first=seen_first) == TYPED


@pytest.mark.parametrize("seen_first", [False, True])
@pytest.mark.parametrize("more", ["", "mine\n"], ids=["", "and the user's line"])
async def test_an_editor_has_kept_a_part_of_what_an_agent_wrote_last(
    tmp_path: Path, journal: Path, seen_first: bool, more: str
) -> None:
    """The user has typed over the rest. What is left of it stays under review."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    first = LINES.replace("four", "FOUR")
    second = first.replace("one", "ONE").replace("six", "SIX")
    path.write_text(second)
    stored_of_two(path, journal, [LINES, first, second], (1, 2))
    kept = more + second.replace("SIX", "mine")
    left = more + LINES.replace("six", "mine")
    assert await rejected_in(folder, journal, kept, seen_first=seen_first) == left


@pytest.mark.parametrize("seen_first", [False, True])
async def test_an_editor_has_kept_the_line_ends_that_an_agent_made(
    tmp_path: Path, journal: Path, seen_first: bool
) -> None:
    """And the user's line, somewhere else."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    first = LINES.replace("four", "FOUR")
    second = first.replace("one\n", "one\r\n")
    path.write_bytes(second.encode())
    stored_of_two(path, journal, [LINES, first, second], (1, 2))
    kept, left = (text.replace("nine", "mine") for text in (second, LINES))
    assert await rejected_in(folder, journal, kept, seen_first=seen_first) == left


@pytest.mark.parametrize("does", ["keeps", "rejects"])
async def test_what_the_user_decided_before_the_file_was_opened_stays_so(
    tmp_path: Path, journal: Path, does: str
) -> None:
    """In the file, which has a part of what was stored."""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(LINES.replace("nine", "NINE"))
    editor = FakeEditor(VSCODE, folder)
    stored_of_lines(path, journal)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        review = bench.workspace.review
        await bench.workspace.restore_reviews()
        assert [row["newText"] for row in map(dict, await review.listed(Selector()))] == ["NINE"]
        if does == "keeps":
            review.keep(Selector(everything=True))
        else:
            await review.reject(Selector(everything=True))
        await opens_with(bench, editor, LINES.replace("two", "mine").replace("nine", "NINE"))
        assert await review.listed(Selector()) == []


@pytest.mark.parametrize("seen_first", [False, True])
@pytest.mark.parametrize("was_saved", [False, True])
async def test_what_an_editor_has_kept_and_the_user_saves_was_not_taken_back_in_the_file(
    tmp_path: Path, journal: Path, was_saved: bool, seen_first: bool
) -> None:
    """The command line found it in the file, or did not: the editor had it. In the file it can be taken back, by the next sidecar and the command line.
    (keeper seed 4429)"""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    path.write_text(LINES)
    stored_of_lines(path, journal)
    if was_saved:
        path.write_text(AGENTS)
    with Store(journal) as store:
        writes = store.entries(Selection())
        assert not any(one.outcome.is_failure for one in revert(store, writes, "r-1"))
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        if seen_first:
            await bench.workspace.restore_reviews()
        await opens_with(bench, editor, AGENTS)
        assert editor.saves("a.txt")
        await bench.workspace.reviews_stored()
    path.write_text(AGENTS + "more\n")
    async with on_the_journal(folder, journal) as bench:
        await bench.workspace.restore_reviews()
        listed = await bench.workspace.review.listed(Selector())
        assert [row["newText"] for row in map(dict, listed)] == ["ONE", "SIX", "NINE"]
    with Store(journal) as store:
        writes = [one for one in store.entries(Selection()) if one.agent == "agent"]
        assert [why_not(one, store) for one in writes] == [None]
        assert not any(one.outcome.is_failure for one in revert(store, writes, "r-2"))
    assert path.read_text() == TYPED + "more\n"


@pytest.mark.parametrize("opened", [False, True])
async def test_what_an_agent_removed_in_unsaved_text_that_was_thrown_away_is_under_review_in_the_file(
    tmp_path: Path, journal: Path, opened: bool
) -> None:
    """The sidecar had ended before, and the user has changed another of the agent's lines in the file since. (keeper seed 4420)"""
    folder = tmp_path.resolve()
    path = folder / "a.txt"
    saved = LINES.replace("one", "ONE").replace("nine", "NINE")
    stored_of_two(path, journal, [LINES, saved, saved.replace("ONE\n", "")], (1, 2), via="editor")
    path.write_text(saved.replace("NINE", "mine"))
    editor = FakeEditor(VSCODE, folder)
    async with SqliteJournal.opened(journal) as kept, a_workspace(folder, editor, journal=kept) as bench:
        bench.workspace.state.overlay.encoding = editor.capabilities.encoding
        editor.attach(bench.workspace.apply)
        if opened:
            editor.opens("a.txt")
            await bench.observed("a.txt")
        await bench.workspace.restore_reviews()
        listed = await bench.workspace.review.listed(Selector())
        assert [(row["oldText"], row["newText"]) for row in map(dict, listed)] == [("one", "ONE")]
        await bench.workspace.review.reject(Selector(everything=True))
    assert path.read_text() == LINES.replace("nine", "mine")
