"""Which cases `make test` runs; CI runs all of them.

Twelve thousand cases take most of an hour on two cores, and they are few tests with many cases each. `make test` is for the minutes between two
commits. Of every test with cases it runs the square root of their number; of every file of tests that start real editors or whole programs, half the
square root of theirs. They are spread evenly from the first on, and they are always the same ones.
`make test CASES=all` runs everything.
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


def some(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of the tests those that `make test` runs, in their order."""
    tests: defaultdict[str, list[int]] = defaultdict(list)
    files: defaultdict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        if _starts_programs(item):
            files[str(item.path)].append(place)
        else:
            tests[item.nodeid.partition("[")[0]].append(place)
    kept: set[int] = set()
    for groups, part in ((tests, 1), (files, 2)):
        for group in groups.values():
            kept.update(group[number] for number in spread(len(group), ceil(sqrt(len(group)) / part)))
    return [item for place, item in enumerate(items) if place in kept]


def _starts_programs(item: pytest.Item) -> bool:
    return item.get_closest_marker("e2e") is not None or item.path.relative_to(TESTS).parts[0] in PROGRAMS
