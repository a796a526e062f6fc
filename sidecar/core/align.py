"""align: finds the equal runs of two token sequences: `shortest` for a few differences, `align` for many, both bounded.

Tokens are strings compared by equality (lines or words; the caller cuts them and joins them again). The greedy search is
Myers' ("An O(ND) Difference Algorithm", 1986); the anchors on tokens that occur once are Bram Cohen's patience diff.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Run = tuple[int, int, int]
"""(x, y, n): a[x : x + n] == b[y : y + n], with n > 0."""

_NOWHERE = -2
_SMALL = 200
"""Sequences up to this many tokens are searched greedily before anchors are looked for."""
_GREEDY_LIMIT = 60
_CHANCE = 500
"""In more than _LARGE tokens, fewer than one anchor in this many is chance, and nothing worth comparing is left."""
_LARGE = 20_000


@dataclass(slots=True)
class Budget:
    """Remaining work, in steps of roughly a third of a microsecond. A search gives up when none is left."""

    left: int


def shortest(
    a: Sequence[str], b: Sequence[str], limit: int, budget: Budget, solid: int = 0
) -> tuple[list[Run], int, int] | None:
    """The equal runs of a shortest edit script and where it ends (x, y). None if it takes more than `limit` tokens.

    With `solid` > 0 the search ends early, after the first run of that many equal tokens: both sides are in step again.
    """
    n, m = len(a), len(b)
    if not solid and abs(n - m) > limit:
        return None
    middle = limit + 1
    reach = [_NOWHERE] * (2 * limit + 3)  # reach[middle + k]: furthest x on diagonal k = x - y
    reach[middle + 1] = 0
    trace: list[list[int]] = []
    for d in range(limit + 1):
        if budget.left <= 0:
            return None
        trace.append(reach[middle - d - 1 : middle + d + 2])
        budget.left -= d + 1
        for at in range(middle - d, middle + d + 1, 2):
            # One more deletion (from k - 1) or insertion (from k + 1), whichever leads further without leaving a or b.
            start = reach[at - 1] + 1
            down = reach[at + 1]
            if start > n or (down >= start and down - at + middle <= m):
                start = down if down - at + middle <= m else _NOWHERE
            if start < 0:
                reach[at] = _NOWHERE
                continue
            x = start
            y = x - at + middle
            while x < n and y < m and a[x] == b[y]:
                x += 1
                y += 1
            reach[at] = x
            if (x == n and y == m) or (solid and x - start >= solid):
                return _runs(trace, x, y, n, m), x, y
            budget.left -= (x - start) >> 3
    return None


def _runs(trace: list[list[int]], x: int, y: int, n: int, m: int) -> list[Run]:
    """The equal runs on the way back from (x, y), which was reached with len(trace) - 1 differences."""
    runs: list[Run] = []
    for d in range(len(trace) - 1, -1, -1):
        k = x - y
        left, above = trace[d][k + d], trace[d][k + d + 2]
        came_down = above - k <= m and (above > left or left == n)
        start = above if came_down else left + 1
        if start < x:
            runs.append((start, start - k, x - start))
        x, y = (start, start - k - 1) if came_down else (start - 1, start - k)
    runs.reverse()
    return runs


def align(a: Sequence[str], b: Sequence[str], budget: Budget) -> list[Run]:
    """The equal runs of two sequences, in order. The parts between them differ, or were too much work to compare."""
    found: list[Run] = []
    todo = [(0, len(a), 0, len(b))]
    anchorable = 5 * (len(a) + len(b)) // 4  # tokens: all of them once, and a quarter for the parts left over
    while todo:
        x0, x1, y0, y1 = todo.pop()
        n = 0
        while x0 + n < x1 and y0 + n < y1 and a[x0 + n] == b[y0 + n]:
            n += 1
        if n:
            found.append((x0, y0, n))
            x0, y0 = x0 + n, y0 + n
        n = 0
        while x0 < x1 - n and y0 < y1 - n and a[x1 - n - 1] == b[y1 - n - 1]:
            n += 1
        if n:
            x1, y1 = x1 - n, y1 - n
            found.append((x1, y1, n))
        if x0 == x1 or y0 == y1 or budget.left <= 0:
            continue
        size = x1 - x0 + y1 - y0
        budget.left -= size >> 3
        small = size <= _SMALL
        script = shortest(a[x0:x1], b[y0:y1], _GREEDY_LIMIT, budget) if small else None
        anchors: list[tuple[int, int]] = []
        if not script and anchorable > 0:
            anchorable -= size
            anchors = _anchors(a, x0, x1, b, y0, y1)
            if size > _LARGE and len(anchors) * _CHANCE < size:
                continue
        if not anchors:
            if not script and not small:
                script = shortest(a[x0:x1], b[y0:y1], _GREEDY_LIMIT, budget)
            if script:
                found.extend((x0 + x, y0 + y, n) for x, y, n in script[0])
            continue
        for x, y in anchors:
            if x < x0:
                continue  # inside the run that the anchor before it began
            n = 0
            while x + n < x1 and y + n < y1 and a[x + n] == b[y + n]:
                n += 1
            found.append((x, y, n))
            todo.append((x0, x, y0, y))
            x0, y0 = x + n, y + n
        todo.append((x0, x1, y0, y1))
    found.sort()
    return _joined(found)


def _anchors(a: Sequence[str], x0: int, x1: int, b: Sequence[str], y0: int, y1: int) -> list[tuple[int, int]]:
    """Pairs of tokens that occur once on either side: the longest chain in the same order on both."""
    in_b = set(b[y0:y1])
    xs = _once(a, (x for x in range(x0, x1) if a[x] in in_b))
    ys = _once(b, (y for y in range(y0, y1) if b[y] in xs))
    pairs = [(x, ys[token]) for token, x in xs.items() if token in ys]
    tails: list[int] = []  # tails[i]: smallest y that ends an increasing chain of i + 1 pairs
    at: list[int] = []
    came: list[int] = []
    for index, (_, y) in enumerate(pairs):
        i = len(tails) if not tails or y > tails[-1] else bisect_left(tails, y)
        if i == len(tails):
            tails.append(y)
            at.append(index)
        else:
            tails[i] = y
            at[i] = index
        came.append(at[i - 1] if i else -1)
    chain: list[tuple[int, int]] = []
    index = at[-1] if at else -1
    while index >= 0:
        chain.append(pairs[index])
        index = came[index]
    chain.reverse()
    return chain


def _once(tokens: Sequence[str], indices: Iterable[int]) -> dict[str, int]:
    """Token → index, for tokens that occur exactly once at `indices`, in their order."""
    first: dict[str, int] = {}
    again: set[str] = set()
    for i in indices:
        token = tokens[i]
        if first.setdefault(token, i) != i:
            again.add(token)
    return {token: i for token, i in first.items() if token not in again}


def _joined(runs: list[Run]) -> list[Run]:
    joined: list[Run] = []
    for x, y, n in runs:
        if joined:
            x0, y0, n0 = joined[-1]
            if x0 + n0 == x and y0 + n0 == y:
                joined[-1] = (x0, y0, n0 + n)
                continue
        joined.append((x, y, n))
    return joined
