"""Large texts with characters of two or four bytes are planned, journalled and put under review as Texts: it comes to the same as with strings."""

from __future__ import annotations

import tracemalloc
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.any_text import AnyText, narrowed, size_of
from sidecar.core.belief import Candidate
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.kept_hunks import from_json, to_json
from sidecar.core.ledger import Author, Ledger
from sidecar.core.lines_changed import lines_changed
from sidecar.core.merge import Conflict
from sidecar.core.normal import Normal, normal, say_the_same, without_mark
from sidecar.core.normal_text import NormalText, normal_of
from sidecar.core.places import Places
from sidecar.core.rope import Rope
from sidecar.core.sharing import sharing
from sidecar.core.text import Text
from sidecar.core.writes import EditText, NoChange, plan_write
from tests.support.chunk_size import chunk_size

PIECES = [
    "a",
    "b ",
    "wort ",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "é",
    "e\u0301",
    "漢",
    "😀",
    "👍🏽",
    "\u200d",
    "𐍈",
    "\ud83d",
    "\x85",
]
LINES = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
MARKED = st.tuples(st.sampled_from(["", "", "\ufeff", "\ufeff\ufeff"]), LINES).map("".join)


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and another one that has most of it."""
    old = draw(MARKED)
    new = list(old)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(new)))
        new[at : at + draw(st.integers(0, 6))] = draw(LINES)[:6]
    return old, "".join(new)


def as_text(text: str) -> Text:
    found = narrowed(text)
    return found if isinstance(found, Text) else Text.of(text)


@given(changed())
def test_they_lead_from_one_text_to_the_other(texts: tuple[str, str]) -> None:
    old, new = texts
    with chunk_size(3, narrow=True):
        places = Places.between(as_text(old), as_text(new))
        changes = places.changes()
        assert changes.apply(old) == new
        assert changes == ChangeSet.of(len(old), changes.edits)
        assert Places.of(changes, as_text(new)) == places
        assert places.added == sum(len(edit.new) for edit in changes.edits)
        assert lines_changed(as_text(old), places) == lines_changed(old, changes)
        for edit in changes.edits:
            assert "\r\n" not in (old[edit.start - 1 : edit.start + 1], old[edit.end - 1 : edit.end + 1])


@given(changed())
def test_in_the_raw_text_they_come_to_the_same_as_strings_do(texts: tuple[str, str]) -> None:
    old, new = texts
    as_string = Normal(old)
    with chunk_size(3, narrow=True):
        now = NormalText(as_text(old))
        assert (now.text, now.terminator) == (as_string.text, as_string.terminator)
        offsets = range(len(as_string.text) + 1)
        assert [now.offset_in_raw(at) for at in offsets] == [as_string.offset_in_raw(at) for at in offsets]
        in_raw = now.in_raw(Places.between(now.text, normal(as_text(new))))
        assert in_raw.changes().apply(old) == in_raw.new
        assert normal(str(in_raw.new)) == normal(new) or normal(new).startswith("\ufeff")
        assert normal(in_raw.new) == normal(str(in_raw.new))  # what `expanded` knows of it
        assert normal(normal(as_text(new))) == normal(normal(new))


@given(changed(), LINES)
def test_texts_are_equal_to_strings_and_share_what_is_the_same(texts: tuple[str, str], other: str) -> None:
    old, new = texts
    with chunk_size(3, narrow=True):
        one, two = as_text(old), as_text(new)
        assert (one == two, one == new, new == one) == ((old == new),) * 3
        shared = sharing(two, one)
        assert shared == new
        assert all(piece for piece in shared.chunks) or not new
        assert say_the_same(one, two) == (normal(old) == normal(new))
        assert without_mark(two) == new.removeprefix("\ufeff")
        assert size_of(two) == len(new.encode("utf-8", "surrogatepass"))
        assert two.part(len(new) // 3, len(new)) == new[len(new) // 3 :]
        assert two.has_returns == ("\r" in new)
        at, end = len(new) // 3, len(new) - len(new) // 4
        assert [two.find(c, at) for c in "\n\ra"] == [new.find(c, at) for c in "\n\ra"]
        assert [two.rfind(c, at, end) for c in "\n\ra"] == [new.rfind(c, at, end) for c in "\n\ra"]
        expanded = Text.of(normal(new)).expanded("\r\n")
        assert expanded == normal(new).replace("\n", "\r\n")
        assert "".join(expanded.folded()) == normal(new)
        assert normal(expanded) == normal(str(expanded))


@given(changed(), changed(), st.booleans())
def test_a_write_is_planned_as_with_strings(
    texts: tuple[str, str], more: tuple[str, str], from_disk: bool
) -> None:
    """Not by the same edits, but what they lead to, and whether they are a conflict."""
    base, current = map(normal, texts)
    new = normal(more[0])

    def outcome(*texts: AnyText) -> object:
        base, current, new = texts
        candidates = [Candidate(base, 2), Candidate(current, 1, from_disk=from_disk)]
        match plan_write(candidates, current, new):
            case NoChange():
                return str(current)
            case Conflict() as conflict:
                return conflict
            case EditText() as plan:
                assert plan.after is None or plan.after == plan.changes.apply(str(current))
                if isinstance(current, Text):
                    assert plan.places(current).new == plan.changes.apply(str(current))
                return plan.changes.apply(str(current))

    for sent in (new, base, current):
        with chunk_size(3, narrow=True):
            plain = outcome(base, current, sent)
            assert outcome(as_text(base), as_text(current), as_text(sent)) == plain
            assert outcome(base, as_text(current), sent) == plain


@given(changed())
def test_under_review_is_the_same(texts: tuple[str, str]) -> None:
    old, new = texts
    author = Author("s", 1, "w")
    changes = diff(old, new)
    plain, ledger = Ledger(), Ledger()
    plain.agent_edit(Text.of(old), changes, Text.of(new), author)
    with chunk_size(3, narrow=True):
        before, after = as_text(old), as_text(new)
        ledger.agent_edit(before, Places.of(changes, after), after, author)
        assert [(h.start, h.end, h.old, h.text) for h in ledger.hunks] == [
            (h.start, h.end, h.old, h.text) for h in plain.hunks
        ]
        ledger.agent_edit(
            after,
            Places.of(ChangeSet(len(new), (Edit(0, 0, "x\n"),)), as_text("x\n" + new)),
            as_text("x\n" + new),
            author,
        )
        rejected = ledger.reject(len(new) + 2, [hunk.id for hunk in ledger.hunks])
        assert rejected.changes.apply("x\n" + new) == old


@given(
    LINES, st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(0, 9), LINES), max_size=6)
)
def test_whoever_edits_keeps_and_rejects_what_is_left_is_the_same(
    text: str, steps: list[tuple[int, int, int, str]]
) -> None:
    """Step by step, in two ledgers: one has strings, one Texts."""
    plain, ledger = Ledger(), Ledger()
    authors = [Author("s", 1, "w1"), Author("t", 1, "w2")]
    with chunk_size(3, narrow=True):
        for what, at, size, new in steps:
            at = min(at, len(text))
            edit = Edit(at, min(at + size, len(text)), new)
            changes = ChangeSet.of(len(text), (edit,))
            after = changes.apply(text)
            if what < 2:
                plain.agent_edit(Text([text]), changes, Text([after]), authors[what])
                ledger.agent_edit(as_text(text), changes, as_text(after), authors[what])
                text = after
            elif what == 2:
                for one, made in ((plain, lambda text: Text([text])), (ledger, as_text)):
                    one.user_edit(edit, len(after), partial(made, after), partial(made, text))
                text = after
            elif what == 3:
                ids = [hunk.id for hunk in plain.hunks][at % 3 :]
                ledger.keep(ids)
                plain.keep(ids)
            else:
                ids = [hunk.id for hunk in plain.hunks][at % 3 :]
                rejected, other = (one.reject(len(text), ids) for one in (plain, ledger))
                after = rejected.changes.apply(text)
                assert other.changes == rejected.changes
                plain.rejected(Text([text]), rejected, Text([after]))
                ledger.rejected(as_text(text), other, as_text(after))
                text = after
            assert ledger.hunks == plain.hunks
            assert ledger.base(text) == plain.base(text)


def test_what_the_journal_has_under_review_is_kept_as_it_was() -> None:
    old, new = (as_text(f"value — {word}\n" * 100_000) for word in ("one", "other"))
    ledger = Ledger()
    ledger.agent_edit(old, Places.between(old, new), new, Author("s", 1, "w"))
    (hunk,) = from_json(to_json(ledger.hunks))
    assert hunk == ledger.hunks[0]
    assert isinstance(hunk.was, Text)
    assert isinstance(hunk.said, Text)


def test_typing_in_a_large_change_makes_no_string_of_it() -> None:
    line = "    return value + 1234567890  # remark 😀\n"
    made = as_text(line * 50_000)
    author = Author("s", 1, "w")
    ledger = Ledger()
    ledger.agent_edit(Text.of(""), Places.made(made), made, author)
    rope = Rope.of(made)
    tracemalloc.start()
    try:
        for number in range(3):
            before, at = rope.snapshot(), len(line) * 20_000 + number
            ledger.user_edit(rope.splice(at, at, "a"), len(rope), rope.snapshot, lambda before=before: before)
        assert not ledger.reject(len(rope), []).impossible
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(ledger.hunks) == 2
    assert most < 4 * len(made)  # bytes of such a string


def test_no_string_is_made_of_large_texts() -> None:
    line = "    return value + 1234567890  # remark\r\n"
    old, new = (
        as_text(f"{word}\U0001f600\r\n" + line.replace("value", word) * 50_000) for word in ("one", "other")
    )
    old.folded()
    wanted = normal(new)
    tracemalloc.start()
    try:
        now = normal_of(old, new)
        assert isinstance(now, NormalText)
        plan = plan_write([Candidate(now.text, 1)], now.text, wanted)
        assert isinstance(plan, EditText)
        in_raw = now.in_raw(plan.places(now.text))
        author = Author("s", 1, "w")
        ledger = Ledger()
        ledger.agent_edit(old, in_raw, in_raw.new, author)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ledger.hunks[0].said == new
    assert most < 5 * (size_of(old) + size_of(new))
