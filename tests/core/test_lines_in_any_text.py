"""Where lines begin and end in a text, however it is kept: as `lines_of` divides it, which is how LSP does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, product

import pytest

from sidecar.core.any_text import AnyText, begins_line, ends_line, line_end, line_start
from sidecar.core.change import Edit
from sidecar.core.hunk import Hunk, without_edited_lines
from sidecar.core.hunks import lines_of
from sidecar.core.split import split
from sidecar.core.text import Text
from sidecar.core.versions import Author, Version

FIRST, SECOND = Author("first", 1, "w1"), Author("second", 1, "w2")


@pytest.mark.parametrize("kept", [str, Text.of])
def test_they_begin_and_end_where_lsp_says(kept: Callable[[str], AnyText]) -> None:
    for letters in product("a\r\n\x0c", repeat=5):
        said = "".join(letters)
        text, starts = kept(said), [0, *accumulate(map(len, lines_of(said)))]
        ends = starts[-1] > 0 and said[-1] in "\r\n"
        assert ends_line(text) == ends, repr(said)
        for at in range(len(said) + 1):
            whole = at in starts[:-1] or (at == len(said) and ends)
            assert begins_line(text, at) == whole, (said, at)
            begin = max(start for start in starts if start <= at and (start < len(said) or ends))
            assert line_start(text, at) == begin, (said, at)
            if at < len(said):
                assert line_end(text, at) == min(start for start in starts if start > at), (said, at)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_of_an_agents_lines_only_the_one_that_the_user_edits_leaves_the_review(end: str) -> None:
    lines = [f"one{end}", f"two{end}", f"three{end}"]
    hunk = Hunk(1, 0, len("".join(lines)), "", (Version(FIRST, "".join(lines)),))
    at = len(lines[0]) + 1
    left = without_edited_lines(hunk, Edit(at, at, "typed"), lambda: 2)
    assert [one.text for one in left] == [lines[0], lines[2]]
    assert left[1].start == len(lines[0] + lines[1]) + len("typed")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_two_agents_are_divided(end: str) -> None:
    first = f"one{end}two{end}"
    both = first.replace("two", "TWO")
    parts = split("", [Version(FIRST, first), Version(SECOND, both)], len(f"one{end}"))
    assert parts is not None
    assert [[version.text for version in part.versions] for part in parts] == [
        [f"one{end}"],
        [f"two{end}", f"TWO{end}"],
    ]
