"""Which cases `make test` runs; CI runs all of them.

Twelve thousand cases take most of an hour on two cores, and they are few tests with many cases each. `make test` is for the minutes between two
commits. Of every test with cases it runs the square root of their number; of every file of tests with real editors or whole programs, the square
root of its tests, and half as many where a browser draws them. They are spread evenly from the first on, and they are always the same ones.
`make test CASES=all` runs everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil, sqrt
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
BY_FILE = {"attach", "crash", "extension", "gates", "proxy", "relayed", "release"}
"""Folders whose tests take as long as those with real editors (marked e2e): they start whole programs again and again."""


def spread(count: int, wanted: int) -> set[int]:
    """So many places (from 0) of `count`, evenly."""
    if wanted >= count:
        return set(range(count))
    if wanted == 1:
        return {0}
    return {round(number * (count - 1) / (wanted - 1)) for number in range(wanted)}


def some(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of the tests those that `make test` runs, in their order."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        groups[_together(item)].append(place)
    kept: set[int] = set()
    for group in groups.values():
        is_drawn = items[group[0]].get_closest_marker("browser") is not None
        kept.update(group[number] for number in spread(len(group), share(len(group), is_drawn=is_drawn)))
    return [item for place, item in enumerate(items) if place in kept]


def share(count: int, *, is_drawn: bool) -> int:
    """How many of so many. `is_drawn`: by a browser."""
    return ceil(sqrt(count) / 2) if is_drawn else ceil(sqrt(count))


def _together(item: pytest.Item) -> str:
    folder = item.path.relative_to(TESTS).parts[0]
    is_by_file = item.get_closest_marker("e2e") is not None or folder in BY_FILE
    return str(item.path) if is_by_file else item.nodeid.partition("[")[0]
