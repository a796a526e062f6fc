"""Beliefs: what a write is measured from after whole and partial reads, line ends and marks aside."""

from __future__ import annotations

import gc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.core import belief
from sidecar.core.belief import Beliefs
from sidecar.core.change import ChangeSet, Edit
from sidecar.core.diff import diff
from sidecar.core.normal import normal
from sidecar.core.rope import Rope
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri
from tests.support.chunk_size import chunk_size

URI = DocumentUri("file:///a")
DISK = "one\ntwo\nthree\nfour\n"
TYPED = "one\nTWO\nthree\nFOUR\nfive\n"


def believed(beliefs: Beliefs) -> str:
    return beliefs.candidates("s", URI)[-1].text


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ([(None, None)], TYPED),
        ([(0, 1)], DISK),
        ([(0, 2)], "one\nTWO\nthree\nfour\n"),
        ([(1, 1)], "one\nTWO\nthree\nfour\n"),
        ([(3, 1)], DISK),  # the change reaches beyond the line that was served
        ([(3, 2)], "one\ntwo\nthree\nFOUR\nfive\n"),
        ([(1, 1), (3, 2)], TYPED),
        ([(0, 99)], TYPED),
    ],
    ids=str,
)
@pytest.mark.parametrize("spelling", ["lf", "crlf", "mark"])
def test_what_was_served_is_laid_over_what_the_disk_says(
    reads: list[tuple[int | None, int | None]], expected: str, spelling: str
) -> None:
    raw = {"lf": TYPED, "crlf": TYPED.replace("\n", "\r\n"), "mark": "\ufeff" + TYPED}[spelling]
    beliefs, text = Beliefs(), Text.of(raw)
    for first, count in reads:
        if first is None or count is None:
            beliefs.served_whole("s", URI, text)
        else:
            beliefs.served_slice("s", URI, text, DISK, first, count)
    assert believed(beliefs) == expected


def test_a_slice_of_a_file_that_is_not_on_the_disk_is_believed_with_all_around_it() -> None:
    beliefs = Beliefs()
    beliefs.served_slice("s", URI, Text.of(TYPED), None, 0, 1)
    assert believed(beliefs) == TYPED


def test_what_was_written_is_the_ground_for_later_slices() -> None:
    beliefs = Beliefs()
    beliefs.wrote("s", URI, DISK)
    beliefs.served_slice("s", URI, Text.of(TYPED), "elsewhere", 1, 1)
    assert believed(beliefs) == "one\nTWO\nthree\nfour\n"


def test_what_was_shown_before_is_forgotten() -> None:
    """An agent that was shown a text means a change of that, also when it was shown parts of it."""
    beliefs = Beliefs()
    beliefs.served_whole("s", URI, Text.of(DISK))
    beliefs.served_slice("s", URI, Text.of(TYPED), None, 1, 1)
    beliefs.served_slice("s", URI, Text.of(TYPED), None, 3, 2)
    assert [c.text for c in beliefs.candidates("s", URI)] == [TYPED]


def test_what_only_the_program_was_given_is_known_beside_what_the_model_was_shown() -> None:
    beliefs = Beliefs()
    beliefs.served_whole("s", URI, Text.of(DISK))
    beliefs.served_whole("s", URI, Text.of(TYPED), by_program=True)
    beliefs.served_slice("s", URI, Text.of("1\n2\n"), None, 0, 1, by_program=True)
    found = beliefs.candidates("s", URI)
    assert [(c.text, c.is_certain) for c in found[:2]] == [(DISK, True), (TYPED, False)]
    assert not found[2].is_certain
    beliefs.served_slice("s", URI, Text.of(TYPED), None, 1, 1)
    found = beliefs.candidates("s", URI)
    assert [(c.text, c.is_certain) for c in found] == [("one\nTWO\nthree\nfour\n", True)], "shown since"
    beliefs.served_whole("s", URI, Text.of(TYPED), by_program=True)
    beliefs.wrote("s", URI, "mine\n")
    assert [c.text for c in beliefs.candidates("s", URI)] == ["mine\n"]


def test_other_line_ends_are_no_change() -> None:
    beliefs = Beliefs()
    beliefs.served_whole("s", URI, Text.of(DISK))
    beliefs.served_slice("s", URI, Text.of(TYPED.replace("\n", "\r\n")), DISK, 1, 1)
    assert believed(beliefs) == "one\nTWO\nthree\nfour\n"


def test_many_reads_come_to_the_same() -> None:
    beliefs, text = Beliefs(), Text.of(TYPED)
    for _ in range(100):
        beliefs.served_slice("s", URI, text, DISK, 1, 1)
    assert believed(beliefs) == "one\nTWO\nthree\nfour\n"


LINE = st.integers(0, 11)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("replace"), LINE, st.integers(1, 2)),
        st.tuples(st.just("insert"), LINE, st.integers(1, 3)),
        st.tuples(st.just("delete"), LINE, st.integers(1, 2)),
        st.tuples(st.just("read"), LINE, st.integers(0, 5)),
        st.tuples(st.just("read whole"), LINE, LINE),
    ),
    max_size=12,
)


@given(STEPS, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]))
@example([("insert", 0, 2), ("delete", 8, 2), ("read", 0, 0), ("delete", 8, 2), ("read", 3, 5)], "\n", "")
def test_reads_between_edits_come_to_what_the_definition_says(
    steps: list[tuple[str, int, int]], end: str, mark: str
) -> None:
    disk = "".join(f"line {number}\n" for number in range(10))
    with chunk_size(24):
        rope = Rope(mark + disk.replace("\n", end))
        beliefs, expected = Beliefs(), disk
        fresh = iter(range(1000))
        for kind, line, count in steps:
            text = rope.snapshot()
            if kind == "read":
                beliefs.served_slice("s", URI, text, disk, line, count)
                expected = laid_over(expected, normal(str(text)), line, count)
            elif kind == "read whole":
                beliefs.served_whole("s", URI, text)
                expected = normal(str(text))
            else:
                lines = str(text).removeprefix(mark).splitlines(keepends=True)
                start = len(mark) + sum(map(len, lines[:line]))
                gone = 0 if kind == "insert" else sum(map(len, lines[line : line + count]))
                more = "" if kind == "delete" else "".join(f"new {next(fresh)}{end}" for _ in range(count))
                rope.splice(start, start + gone, more)
        found = beliefs.candidates("s", URI)
        assert [candidate.text for candidate in found[-1:]] in ([expected], [])


def laid_over(earlier: str, text: str, first: int, count: int) -> str:
    """`earlier` with what changed inside the served lines of `text`, and of an insertion what was served of it."""
    lines = text.splitlines(keepends=True)
    start, end = len("".join(lines[:first])), len("".join(lines[: first + count]))
    taken: list[Edit] = []
    shift = 0
    for edit in diff(earlier, text).edits:
        at = edit.start + shift
        shift += edit.growth
        if start <= at and at + len(edit.new) <= end:
            taken.append(edit)
        elif edit.start == edit.end and at < end and start < at + len(edit.new):
            taken.append(Edit(edit.start, edit.end, text[max(start, at) : min(end, at + len(edit.new))]))
    return ChangeSet.of(len(earlier), tuple(taken)).apply(earlier)


def test_slices_cost_what_was_edited_where_they_were_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all that lies between the first and the last edit, once for each slice."""
    compared: list[int] = []

    def counted(old: str, new: str) -> ChangeSet:
        compared.append(len(old) + len(new))
        return diff(old, new)

    monkeypatch.setattr(belief, "diff", counted)
    disk = "".join(f"line {number}\n" for number in range(100_000))
    rope, beliefs = Rope(disk), Beliefs()
    beliefs.served_whole("s", URI, rope.snapshot())
    for at in range(900_000, 0, -100_000):
        rope.splice(at, at, "typed")
    text = rope.snapshot()
    for line in range(0, text.line_count, 2_000):
        beliefs.served_slice("s", URI, text, disk, line, 10)
    typed = laid_over(disk, str(text), 0, 10)
    for line in range(2_000, text.line_count, 2_000):
        typed = laid_over(typed, str(text), line, 10)
    assert believed(beliefs) == typed
    assert sum(compared) < 2 * len(disk)


def test_a_large_file_that_is_read_again_and_again_is_kept_once() -> None:
    beliefs = Beliefs()
    length = 777_777
    for _ in range(30):
        beliefs.served_whole("s", URI, Text.of("x" * length))
    kept = [one for one in gc.get_objects() if isinstance(one, Text) and len(one) == length]
    assert len(kept) == 1
    assert believed(beliefs) == "x" * length
    beliefs.served_whole("s", URI, Text.of("y" * length))
    assert believed(beliefs) == "y" * length


def test_what_the_document_says_is_no_text_of_its_own() -> None:
    """Of a large file, one more string would be as large as the file."""
    beliefs, raw = Beliefs(), "line\r\n" * 3000
    now = normal(raw)
    for text in (raw, now):
        beliefs.served_whole("s", URI, Text.of(text))
        (candidate,) = beliefs.candidates("s", URI, like=now)
        assert candidate.text is now
    beliefs.wrote("s", URI, now)
    assert beliefs.candidates("s", URI, like=now)[0].text is now
    assert beliefs.candidates("s", URI, like="another")[0].text == now


def test_a_write_of_its_own_is_known_until_the_whole_text_is_read() -> None:
    beliefs = Beliefs()
    assert beliefs.own("s", URI, beliefs.moment()) is None
    beliefs.wrote("s", URI, "mine\n")
    own = beliefs.own("s", URI, beliefs.moment())
    assert own is not None
    assert own.text == "mine\n"
    beliefs.served_slice("s", URI, Text.of("MINE\n"), "mine\n", 0, 1)
    assert beliefs.own("s", URI, beliefs.moment()) == own, "brought up to date in part"
    beliefs.formatted(URI, "MINE\n", "  MINE\n")
    assert beliefs.own("s", URI, beliefs.moment()) == own
    before = beliefs.moment()
    beliefs.served_whole("s", URI, Text.of("theirs\n"))
    assert beliefs.own("s", URI, before) == own, "what was read later is not in an earlier write"
    assert beliefs.own("s", URI, beliefs.moment()) is None


def test_what_a_session_changed_is_known_whatever_it_reads_since() -> None:
    beliefs = Beliefs()
    read, wrote, edited = (DocumentUri(f"file:///{name}") for name in ("read", "wrote", "edited"))
    for uri in (read, edited):
        beliefs.served_whole("s", uri, Text.of(DISK))
    beliefs.wrote("s", wrote, "one\n")
    beliefs.edited("s", edited, DISK, DISK + "more\n")
    beliefs.wrote("another", read, "two\n")

    def written(most: int = 100) -> list[tuple[DocumentUri, str | None]]:
        return [(uri, beliefs.believed("s", uri, most)) for uri in beliefs.written("s")]

    assert written() == [(edited, DISK + "more\n"), (wrote, "one\n")]
    assert written(4) == [(edited, None), (wrote, "one\n")], "long ones are not made"
    beliefs.served_whole("s", wrote, Text.of(TYPED))
    assert dict(written())[wrote] == TYPED
    beliefs.forget(wrote)
    assert written() == [(edited, DISK + "more\n")]
