"""Globs match as their words say, and many stars cost no more than one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.mcp.arguments import Wrong
from sidecar.mcp.globs import MOST, compiled

ROWS = [
    ("src/**", "src/a/b.py", True),
    ("src/**", "src", False),
    ("**/b.py", "b.py", True),
    ("src/**/**/b.py", "src/b.py", True),
    ("a*b", "x/a/b", False),
    ("[^a].py", "a.py", False),
    ("{src,lib}/*.{py,md}", "lib/a.md", True),
    ("./a.py", "a.py", True),
    ("a.py/", "a.py", False),
    ("*", ".hidden", True),
    ("a\nb", "a\nb", True),
]


@pytest.mark.parametrize(("pattern", "name", "expected"), ROWS)
def test_rows(pattern: str, name: str, expected: bool) -> None:
    assert compiled(pattern)(name) is expected


def in_words(pattern: list[str], names: list[str]) -> bool:
    """The same in the shortest words, which try everything."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return in_words(pattern[1:], names) or (bool(names) and in_words(pattern, names[1:]))
    return bool(names) and one(pattern[0], names[0]) and in_words(pattern[1:], names[1:])


def one(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return one(pattern[1:], name) or (bool(name) and one(pattern, name[1:]))
    return bool(name) and pattern[0] in ("?", name[0]) and one(pattern[1:], name[1:])


PART = st.one_of(st.just("**"), st.text("ab?", min_size=1, max_size=3), st.sampled_from(["*", "a*", "*b*"]))


@given(
    st.lists(PART, min_size=2, max_size=5),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=5),
)
def test_as_if_everything_were_tried(parts: list[str], names: list[str]) -> None:
    expected = in_words(parts if parts[-1] != "**" else [*parts[:-1], "**", "*"], names)
    assert compiled("/".join(parts))("/".join(names)) is expected


MANY = [
    ("**/a/" * 60 + "b", "a/" * 59 + "a" * 200 + "/b"),
    ("*a" * 60 + "b", "a" * 255),
    ("**/*a*a*a*a/" * 30 + "b", "/".join(["a" * 200] * 29 + ["b"])),
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(("pattern", "name"), MANY, ids=["folders", "stars", "both"])
def test_many_stars(pattern: str, name: str) -> None:
    """Trying everything would take years."""
    assert not compiled(pattern)(name)


def test_too_many_alternatives() -> None:
    with pytest.raises(Wrong, match=str(MOST)):
        compiled("{a,b}" * 10)
