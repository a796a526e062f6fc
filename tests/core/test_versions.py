"""Versions of several stretches put together: the same as one after the other, and with a bound. And without some authors'."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.versions import Author, Version, on_top, rejected, together


def version(session: str, write: int, text: str, aftermath: bool) -> Version:
    return Version(Author(session, 1, f"w{write:02}", aftermath=aftermath), text)


STRETCHES = st.lists(
    st.tuples(
        st.text("ab\n", max_size=3),
        st.lists(
            st.builds(
                version, st.sampled_from("AB"), st.integers(0, 20), st.text("xy\n", max_size=3), st.booleans()
            ),
            max_size=4,
        ),
    ),
    min_size=1,
    max_size=4,
)


@given(STRETCHES, st.data())
def test_each_version_is_put_on_top_of_those_that_were_written_before(
    stretches: list[tuple[str, list[Version]]], data: st.DataObject
) -> None:
    gaps = data.draw(
        st.lists(st.text("-", max_size=2), min_size=len(stretches) + 1, max_size=len(stretches) + 1)
    )
    texts = [old for old, _ in stretches]

    def whole() -> str:
        return "".join(gap + text for gap, text in zip(gaps, [*texts, ""], strict=True))

    old, left = whole(), [list(versions) for _, versions in stretches]
    expected: tuple[Version, ...] = ()
    while any(left):
        nth = min((n for n, one in enumerate(left) if one), key=lambda n: left[n][0].author.write)
        one = left[nth].pop(0)
        texts[nth] = one.text
        expected = on_top(expected, Version(one.author, whole()))
    assert together(stretches, gaps) == (old, expected)


def test_what_is_put_together_has_a_bound() -> None:
    """A thousand hunks of two turns by turns, in a file of a megabyte, which something replaces as a whole: not a gigabyte of versions."""
    stretches = [("old\n", [Version(Author("AB"[n % 2], 1, f"w{n:05}"), "new\n")]) for n in range(1000)]
    gaps = ["x" * 1000] * 1001
    old, versions = together(stretches, gaps)
    assert sum(len(one.text) for one in versions) < 10_000_000
    assert versions[-1].text == old.replace("old", "new")
    assert [one.author.session for one in versions[-2:]] == ["A", "B"]


LINE = st.sampled_from(["A", "B", "C", "D"])


@given(st.lists(st.tuples(LINE, LINE, LINE, st.sampled_from(["put back", "left", "the user's"])), min_size=1))
def test_who_puts_a_line_back_is_not_in_the_way_of_taking_back_what_led_there(
    lines: list[tuple[str, str, str, str]],
) -> None:
    """Two agents change lines, one after the other; then somebody puts some of them back, and changes lines of their own."""

    def text(of: list[str]) -> str:
        return "".join(f"{number}{line}\n" for number, line in enumerate(of))

    old = text([first for first, *_ in lines])
    one = text([first if does == "the user's" else second for first, second, _, does in lines])
    two = text([first if does == "the user's" else third for first, _, third, does in lines])
    now = text([{"put back": first, "left": third}.get(does, "mine") for first, _, third, does in lines])
    wanted = text(["mine" if does == "the user's" else first for first, _, _, does in lines])
    mine = version("U", 3, now, aftermath=False)
    agents = [version("A", 1, one, aftermath=False), version("B", 2, two, aftermath=False)]
    assert rejected(old, [*agents, mine], lambda author: author.session != "U") == (
        Version(mine.author, wanted),
    )
