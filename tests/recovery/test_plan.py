"""Taking back, as texts: what it makes of a file, or what is in the way."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.normal import normal
from sidecar.core.taken_back import joined
from sidecar.journal.entry import Texts
from sidecar.recovery.plan import Already, Becomes, Clash, Stands, take_back

A = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
TWO = A.replace("2\n", "two\n")
TWO_EIGHT = TWO.replace("8\n", "eight\n")

WANTED = [
    # name, the file now, writes newest first as (before, after), what it becomes
    ("unchanged since", TWO, [(A, TWO)], A),
    ("later work stays", TWO.replace("9\n", "nine\n"), [(A, TWO)], A.replace("9\n", "nine\n")),
    ("two that follow each other", TWO_EIGHT, [(TWO, TWO_EIGHT), (A, TWO)], A),
    ("only the older one", TWO_EIGHT, [(A, TWO)], A.replace("8\n", "eight\n")),
    ("only the newer one", TWO_EIGHT, [(TWO, TWO_EIGHT)], TWO),
    (
        "the user's work between two",
        "0\n" + TWO_EIGHT,
        [("0\n" + TWO, "0\n" + TWO_EIGHT), (A, TWO)],
        "0\n" + A,
    ),
    ("made and unchanged", "new\n", [(None, "new\n")], None),
    ("made, then edited by the agent", "new\nmore\n", [("new\n", "new\nmore\n"), (None, "new\n")], None),
    ("made empty", "", [(None, "")], None),
    ("made, saved with other line ends", "a\r\nb\r\n", [(None, "a\nb\n")], None),
    ("removed", None, [("old\r\n", None)], "old\r\n"),
    ("removed after an edit", None, [("b\n", None), ("a\n", "b\n")], "a\n"),
    ("made and removed", None, [("x\n", None), (None, "x\n")], Already()),
    ("back already", A, [(A, TWO)], Already()),
    ("made and gone already", None, [(None, "x")], Already()),
    ("removed and back already", "x\r\n", [("x\n", None)], Already()),
    ("nothing changed", A, [(A, A)], Already()),
    # what never got into the file, or is out again
    ("the newest was never made", TWO, [(TWO, TWO_EIGHT), (A, TWO)], A),
    ("the newest two were never made", A, [(TWO, TWO_EIGHT), (A, TWO)], Already()),
    ("the newest removal was never made", TWO, [(TWO, None), (A, TWO)], A),
    (
        "never made, other line ends",
        "1\r\ntwo\r\n",
        [("1\ntwo\n", "one\n"), ("1\n2\n", "1\ntwo\n")],
        "1\r\n2\r\n",
    ),
    (
        "found on the disk, noted in other line ends, and written on",
        TWO_EIGHT.replace("\n", "\r\n"),
        [(TWO.replace("\n", "\r\n"), TWO_EIGHT.replace("\n", "\r\n")), (A, TWO)],
        A.replace("\n", "\r\n"),
    ),
    ("line ends that a write changed", "1\r\n2\r\n", [("1\n2\n", "1\r\n2\r\n")], "1\n2\n"),
    ("the last of three is known to be in it", A, [(TWO, A), (A, TWO), ("0\n", A)], "0\n"),
    (
        "put back in between by somebody of whom nothing is known",
        TWO_EIGHT,
        [(TWO, TWO_EIGHT), (TWO, A), (A, TWO)],
        A,
    ),
    (
        "put back to an older text",
        TWO_EIGHT,
        [(TWO, TWO_EIGHT), (TWO.replace("9", "nine"), A), (TWO, TWO.replace("9", "nine")), (A, TWO)],
        A,
    ),
    (
        "twice the same, and the user worked on top",
        TWO.replace("two", "TWO"),
        [(TWO, A), (A, TWO)],
        Already(),
    ),
    # line ends and marks: exactly as they were where nobody wrote since, as they are where somebody did
    ("mixed line ends, exact", "a\r\nB\nc\r", [("a\r\nb\rc\r", "a\r\nB\nc\r")], "a\r\nb\rc\r"),
    (
        "LF in the editor, CRLF in the file",
        "1\r\ntwo\r\n3\r\n",
        [("1\n2\n3\n", "1\ntwo\n3\n")],
        "1\r\n2\r\n3\r\n",
    ),
    (
        "new lines take the majority",
        "1\r\n3\r\nnine\r\n",
        [("1\n2\n3\n9\n", "1\n3\n9\n")],
        "1\r\n2\r\n3\r\nnine\r\n",
    ),
    ("the editor's mark", "1\n2\n", [("\ufeff1\n", "\ufeff1\n2\n")], "1\n"),
]


@pytest.mark.parametrize(
    ("now", "writes", "wanted"), [row[1:] for row in WANTED], ids=[row[0] for row in WANTED]
)
def test_what_it_becomes(now: str | None, writes: list, wanted: object) -> None:
    expected = wanted if isinstance(wanted, Already) else Becomes(wanted)
    assert take_back(now, [Texts(*write) for write in writes]) == expected


IN_THE_WAY = [
    # name, now, writes, lines of the places in the file now (from 1), or a part of the reason
    ("same line", TWO.replace("two", "TWO"), [(A, TWO)], [2]),
    ("the line was deleted", TWO.replace("two\n", ""), [(A, TWO)], [2]),
    (
        "two places",
        "0\n" + TWO_EIGHT.replace("two", "zwei").replace("eight", "acht"),
        [(A, TWO_EIGHT)],
        [3, 9],
    ),
    (
        "in the older of two, counted in the file now",
        TWO.replace("two\n", "two\nx\ny\n").replace("8\n", "acht\n"),
        [(TWO, TWO.replace("two\n", "two\nx\ny\n")), (TWO, TWO_EIGHT)],
        [10],
    ),
    ("made and edited since", "new\nmine\n", [(None, "new\n")], "edited since"),
    (
        "made, edited by agent and user",
        "new\nmore\nmine\n",
        [("new\n", "new\nmore\n"), (None, "new\n")],
        "edited since",
    ),
    ("removed since by the user", None, [(A, TWO)], "removed since"),
    ("removed, and another one there", "other\n", [("old\n", None)], "of that name exists again"),
]


@pytest.mark.parametrize(
    ("now", "writes", "place"), [row[1:] for row in IN_THE_WAY], ids=[row[0] for row in IN_THE_WAY]
)
def test_what_is_in_the_way(now: str | None, writes: list, place: list[int] | str) -> None:
    found = take_back(now, [Texts(*write) for write in writes])
    if isinstance(place, str):
        assert isinstance(found, Stands)
        assert place in found.why
    else:
        assert isinstance(found, Clash)
        assert [one.start_line + 1 for one in found.places] == place


TEXT = st.lists(st.sampled_from(["a", "b", "c", "", "dd"]), max_size=8).map("\n".join)


@given(st.lists(TEXT, min_size=2, max_size=5), st.sampled_from(["\n", "\r\n", "\r"]))
def test_writes_without_anything_in_between_are_taken_back_whole(steps: list[str], end: str) -> None:
    raw = [step.replace("\n", end) for step in steps]
    writes = [Texts(a, b) for a, b in itertools.pairwise(raw)][::-1]
    assert joined(writes) == [Texts(raw[0], raw[-1])]
    found = take_back(raw[-1], writes)
    assert found == (Already() if raw[0] == raw[-1] else Becomes(raw[0]))


@given(st.lists(TEXT, min_size=2, max_size=5), st.data())
def test_the_newest_writes_may_never_have_been_made(steps: list[str], data: st.DataObject) -> None:
    """Wherever the file stopped among the texts of its writes, it goes back to the first."""
    writes = [Texts(a, b) for a, b in itertools.pairwise(steps)][::-1]
    now = data.draw(st.sampled_from(steps))
    assert take_back(now, writes) == (Already() if now == steps[0] else Becomes(steps[0]))


LINES = st.lists(st.sampled_from("abc"), min_size=3, max_size=3)


@given(st.lists(LINES, min_size=2, max_size=5), st.data())
def test_the_newest_writes_may_never_have_been_made_and_the_user_has_worked_since(
    steps: list[list[str]], data: st.DataObject
) -> None:
    """It goes back to the first, or it is said what is in the way."""
    texts = [
        "top\n" + "".join(f"{at}{line}\n-{at}\n={at}\n" for at, line in enumerate(step)) for step in steps
    ]
    writes = [Texts(a, b) for a, b in itertools.pairwise(texts)][::-1]
    now = data.draw(st.sampled_from(texts))
    found = take_back(f"mine\n{now}", writes)
    same = texts[0] == now
    assert isinstance(found, Clash) or found == (Already() if same else Becomes(f"mine\n{texts[0]}"))


@given(st.lists(TEXT, min_size=2, max_size=5), st.lists(TEXT, min_size=1, max_size=3), st.data())
def test_an_earlier_text_may_have_been_brought_back(
    first: list[str], then: list[str], data: st.DataObject
) -> None:
    """By somebody of whom nothing is known, and others have worked on top of it: it goes back to the first."""
    back = data.draw(st.sampled_from(first))
    texts = [*itertools.pairwise(first), *itertools.pairwise([back, *then])]
    writes = [Texts(*pair) for pair in texts][::-1]
    for apart in range(len(writes)):
        runs = joined(writes, apart)
        assert runs[:apart] == writes[:apart]
        found = take_back(then[-1], [Texts(*run) for run in runs])
        assert found == (Already() if then[-1] == first[0] else Becomes(first[0]))


@given(TEXT, TEXT, TEXT)
def test_what_the_user_wrote_is_never_lost(before: str, after: str, typed: str) -> None:
    """Lines put in front and behind, with a wall between them and the agent's work, survive any taking back."""
    wall = "=\n=\n=\n"
    typed = typed.replace("\n", " ")
    written = [f"s\n{wall}{text}\n{wall}e\n" for text in (before, after)]
    now = f"start {typed}\n{wall}{after}\n{wall}end\n"
    found = take_back(now, [Texts(written[0], written[1])])
    if isinstance(found, Becomes):
        assert found.text is not None
        assert normal(found.text).startswith(f"start {typed}\n")
        assert found.text.endswith("end\n")


def test_what_an_editor_has_unsaved_is_in_the_text_also_where_a_later_write_found_the_file_without_it() -> (
    None
):
    """One was made in the editor, the next one on the disk, and the editor brought the two together."""
    unsaved, on_disk = A.replace("8\n", "eight\n"), TWO
    assert take_back(TWO_EIGHT, [Texts(A, on_disk), Texts(A, unsaved)]) == Becomes(A)
