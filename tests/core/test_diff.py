"""diff: the law first, then what the edits look like, then that odd and large texts keep within bounds."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.core.change import ChangeSet
from sidecar.core.diff import diff
from sidecar.core.hunks import MAX_HUNKS

PIECES = st.sampled_from(
    [
        "a",
        "b",
        " ",
        "\n",
        "\r",
        "\r\n",
        "foo(x)\n",
        "    ",
        "é",
        "e\u0301",
        "\u0301",
        "\u200d",
        "😀",
        "👍🏽",
        "🇫🇷",
        "\ud83d",
        "\ude00",
        "\u2028",
        "\x0c",
        "\0",
    ]
)


@st.composite
def two_texts(draw: st.DrawFn) -> tuple[str, str]:
    old = draw(st.lists(PIECES, max_size=60))
    new = old[:]
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(new)))
        end = min(len(new), start + draw(st.integers(0, 5)))
        new[start:end] = draw(st.lists(PIECES, max_size=5))
    return "".join(old), "".join(new)


def inseparable(text: str, at: int) -> bool:
    pair = text[at - 1 : at + 1] if at else ""
    return pair == "\r\n" or bool(re.fullmatch("[\ud800-\udbff][\udc00-\udfff]", pair))


@given(two_texts())
@example(("a\r\nb", "a\nb"))
@example(("\ud83d\ude00", "\ud83d\ude01"))
@example(("", "x"))
def test_laws(texts: tuple[str, str]) -> None:
    old, new = texts
    change = diff(old, new)
    assert change.apply(old) == new
    assert ChangeSet.of(change.length, change.edits) == change
    assert diff(old, old).is_empty
    assert all(a.end < b.start for a, b in pairwise(change.edits))
    for edit in change.edits:
        assert old[edit.start : edit.end] != edit.new
    back = change.invert(old)
    for boundaries, text in ((change, old), (back, new)):
        for edit in boundaries.edits:
            assert not inseparable(text, edit.start)
            assert not inseparable(text, edit.end)


def check(marked: str) -> None:
    """`[old|new]` marks the edits that are expected, and no others."""
    old = re.sub(r"\[([^|\]]*)\|([^\]]*)\]", r"\1", marked)
    new = re.sub(r"\[([^|\]]*)\|([^\]]*)\]", r"\2", marked)
    shown: list[str] = []
    reached = 0
    for edit in diff(old, new).edits:
        shown.append(old[reached : edit.start] + f"[{old[edit.start : edit.end]}|{edit.new}]")
        reached = edit.end
    assert "".join(shown) + old[reached:] == marked


@pytest.mark.parametrize(
    "marked",
    [
        "nothing\n",
        "[|all of it\n]",
        "[all of it\n|]",
        "a\n[|b\n]c\n",
        "a\n[b\n|]c\n",
        "a\n[|b\nb\n]c\n",
        "a = [1|2]\n",
        "def f([a, b|x, y]):\n    return [a + b|x + y]\n",
        "one [two|TWO] three four [five|FIVE] six\n",
        "x\n[|a line before it\n]last line[|\nanother behind\n]",
        "[if x:\n    |]foo()\n[    |]bar()\n",
        "[|with y:\n    ]foo()\n[|    ]bar([1|2])\n[|    ]baz()\n",
        "[|import x\n]a = [1|2]\n",
        "no end[|\n]",
        "an end[\n|]",
        "a[\r\n|\n]b[\r\n|\n]",
        "a[\n|\r\n]b\n",
        "x [e\u0301|e\u0300] y\n",
        "x [e|e\u0301] y\n",
        "[\ud83d\ude00|\ud83d\ude01]\n",
        "[👍🏽|👍🏿]\n",
        "日本語の[テキスト|文章]です。\n",
        "def f():\n    a\n\n[|def h():\n    c\n\n]def g():\n    b\n",
    ],
)
def test_edits(marked: str) -> None:
    check(marked)


def test_a_rewritten_function_is_one_edit() -> None:
    old = "def f(a):\n    total = 0\n    for x in a:\n        total += x\n    return total\n"
    assert len(diff(old, "def f(values):\n    return sum(values)\n").edits) == 1


def code(lines: int, seed: int) -> list[str]:
    pick = random.Random(seed)
    words = ["self", "value", "return", "if", "foo(bar)", "=", "+", "index", "# note", "None"]
    return [
        "    " * pick.randint(0, 3) + " ".join(pick.choices(words, k=pick.randint(1, 8))) + f" {number}\n"
        for number in range(lines)
    ]


def test_far_edits_in_one_long_line() -> None:
    old = "".join(code(5000, 1)).replace("\n", ";")
    new = old[:50] + "X" + old[51:90_000] + old[90_003:150_000] + "YY" + old[150_000:]
    change = diff(old, new)
    assert change.apply(old) == new
    assert len(change.edits) == 3
    assert sum(edit.end - edit.start + len(edit.new) for edit in change.edits) < 30


def test_indenting_a_page_touches_only_the_indentation() -> None:
    lines = code(2000, 2)
    old, new = "".join(lines), "if True:\n" + "".join("    " + line for line in lines)
    change = diff(old, new)
    assert change.apply(old) == new
    assert all(edit.start == edit.end for edit in change.edits)
    assert len(change.edits) == len(lines)


@pytest.mark.parametrize("kind", ["rewritten", "shuffled", "repeated", "renamed", "no lines", "one letter"])
def test_there_are_never_too_many_edits(kind: str) -> None:
    lines = code(3 * MAX_HUNKS, 3)
    old = "".join(lines)
    match kind:
        case "rewritten":
            new = "".join(code(3 * MAX_HUNKS, 4))
        case "shuffled":
            new = "".join(random.Random(5).sample(lines, len(lines)))
        case "repeated":
            pick = random.Random(6)
            old, new = ("".join(pick.choices(["a\n", "b\n", "c\n"], k=50_000)) for _ in range(2))
        case "renamed":
            new = old.replace("self", "this").replace("value", "worth")
        case "no lines":
            pick = random.Random(7)
            old, new = ("".join(pick.choices("abc ", k=200_000)) for _ in range(2))
        case _:
            old, new = "a" * 300_000, "a" * 150_000 + "b" + "a" * 150_000
    change = diff(old, new)
    assert change.apply(old) == new
    assert len(change.edits) <= MAX_HUNKS


def test_a_pile_of_combining_marks_ends() -> None:
    old = "e" + "\u0301" * 50_000
    assert diff(old, old + "\u0301").apply(old) == old + "\u0301"


EMOJI = "    return value  # \U0001f600\n"


@pytest.mark.parametrize(
    ("line", "lines", "changed", "whole"),
    [
        (EMOJI, 50_000, 0.24, False),
        (EMOJI, 50_000, 0.26, True),
        (EMOJI, 1_000, 0.99, False),
        (EMOJI.replace("\U0001f600", "中"), 50_000, 0.99, False),
    ],
    ids=["a part of it", "much of it", "a small text", "two bytes for each character"],
)
def test_a_large_text_with_emoji_is_replaced_rather_than_copied(
    line: str, lines: int, changed: float, whole: bool
) -> None:
    """`changed`: how much of it, at its end."""
    old = line * lines
    kept = line * round(lines * (1 - changed))
    new = kept + ("x" * len(line)) * (lines - round(lines * (1 - changed))) + line[-4:]
    edits = diff(old, new).edits
    assert (edits[0].start == 0) == whole
    assert (edits[0].new is new) == whole
    assert diff(old, new).apply(old) == new
