"""align: runs are equal, in order, and as many as there can be where that is promised."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.align import Budget, Run, align, shortest

TOKENS = st.lists(st.sampled_from("abcde"), max_size=30)


def check(a: list[str], b: list[str], runs: list[Run]) -> int:
    """Valid runs; the number of tokens in them."""
    x0 = y0 = 0
    for x, y, n in runs:
        assert n > 0
        assert x >= x0
        assert y >= y0
        assert a[x : x + n] == b[y : y + n]
        x0, y0 = x + n, y + n
    return sum(n for _, _, n in runs)


def longest_common(a: list[str], b: list[str]) -> int:
    row = [0] * (len(b) + 1)
    for token in a:
        before = row
        row = [0]
        for y, other in enumerate(b):
            row.append(before[y] + 1 if token == other else max(before[y + 1], row[y]))
    return row[-1]


@given(TOKENS, TOKENS)
def test_shortest_finds_a_longest_common_sequence(a: list[str], b: list[str]) -> None:
    found = shortest(a, b, 60, Budget(100_000))
    assert found is not None
    runs, x, y = found
    assert (x, y) == (len(a), len(b))
    assert check(a, b, runs) == longest_common(a, b)


@given(TOKENS, TOKENS, st.integers(0, 10))
def test_shortest_gives_up_beyond_its_limit(a: list[str], b: list[str], limit: int) -> None:
    differing = len(a) + len(b) - 2 * longest_common(a, b)
    assert (shortest(a, b, limit, Budget(100_000)) is not None) == (differing <= limit)


@given(TOKENS, TOKENS, st.integers(1, 5))
def test_shortest_may_end_at_a_solid_run(a: list[str], b: list[str], solid: int) -> None:
    found = shortest(a, b, 60, Budget(100_000), solid)
    assert found is not None
    runs, x, y = found
    check(a[:x], b[:y], runs)
    if (x, y) != (len(a), len(b)):
        last_x, last_y, n = runs[-1]
        assert n >= solid
        assert (last_x + n, last_y + n) == (x, y)


@given(TOKENS, TOKENS, st.sampled_from([0, 5, 100_000]))
def test_align_is_valid_with_any_budget(a: list[str], b: list[str], budget: int) -> None:
    check(a, b, align(a, b, Budget(budget)))


@given(st.lists(st.sampled_from("abcdefgh"), max_size=300), st.randoms(use_true_random=False))
def test_align_keeps_what_stayed(a: list[str], random: object) -> None:
    marked = [token + str(index) for index, token in enumerate(a)]
    b = marked[:]
    for index in range(0, len(b), 7):
        b[index] = "changed"
    kept = check(marked, b, align(marked, b, Budget(100_000)))
    assert kept == len(marked) - len(range(0, len(b), 7))
