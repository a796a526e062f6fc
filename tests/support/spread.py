"""Which cases `make test` runs; CI runs all of them.

Twelve thousand cases take twenty minutes on two cores that have nothing else to do, and most of an hour on two that have. They are few tests with many
cases each. `make test` is for the minutes between two commits. It runs half the square root of the cases of every test; where tests start real
editors or whole programs, a third of the square root of the tests of every file. They are spread evenly from the first on, and they are always the same ones.
Tests marked `always` are all run.
`make unit` runs all cases of all tests without real editors, `make test CASES=all` runs everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil, sqrt
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PROGRAMS = {"attach", "crash", "extension", "gates", "proxy", "relayed", "release"}
"""Folders whose tests start whole programs again and again. So do those with real editors (marked e2e)."""


def spread(count: int, wanted: int) -> set[int]:
    """So many places (from 0) of `count`, evenly."""
    if wanted >= count:
        return set(range(count))
    if wanted == 1:
        return {0}
    return {round(number * (count - 1) / (wanted - 1)) for number in range(wanted)}


def share(count: int, part: int = 2) -> int:
    """How many of so many."""
    return ceil(sqrt(count) / part)


def some(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of the tests those that `make test` runs, in their order."""
    cases: defaultdict[str, list[int]] = defaultdict(list)
    programs: defaultdict[Path, list[int]] = defaultdict(list)
    always = {place for place, item in enumerate(items) if item.get_closest_marker("always")}
    for place, item in enumerate(items):
        if starts_programs(item):
            programs[item.path].append(place)
        else:
            cases[item.nodeid.partition("[")[0]].append(place)
    kept = {
        group[number]
        for groups, part in ((cases.values(), 2), (programs.values(), 3))
        for group in groups
        for number in spread(len(group), share(len(group), part))
    }
    return [item for place, item in enumerate(items) if place in kept | always]


def starts_programs(item: pytest.Item) -> bool:
    folder = item.path.relative_to(TESTS).parts[0]
    return item.get_closest_marker("e2e") is not None or folder in PROGRAMS
