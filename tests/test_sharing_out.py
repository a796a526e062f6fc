"""The order in which workers get the tests: the last one begins with the browser's."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.conftest import shared_out


class Item:
    def __init__(self, number: int, browser: bool) -> None:
        self.number = number
        self.browser = browser

    def get_closest_marker(self, name: str) -> object:
        return self.browser if name == "browser" else None


def beginning_of_the_last(count: int, workers: int) -> int:
    """Where the last worker's part begins when every worker is given its share of what is left (--dist worksteal)."""
    given = 0
    for left in range(workers, 1, -1):
        given += (count - given) // left
    return given


@pytest.mark.parametrize("workers", [2, 3, 4, 7])
@pytest.mark.parametrize("count", [100, 101, 102, 6011])
def test_the_last_worker_begins_with_the_browsers(workers: int, count: int) -> None:
    items = [Item(number, browser=number >= count - 9) for number in range(count)]
    ordered = cast("list[Any]", shared_out(cast("list[Any]", items), workers))
    assert sorted(one.number for one in ordered) == list(range(count)), "none is lost"
    begins = beginning_of_the_last(count, workers)
    assert [one.browser for one in ordered[begins : begins + 9]] == [True] * 9
    assert [one.number for one in ordered if not one.browser] == list(range(count - 9)), "in their order"


def test_alone_or_without_a_browser_the_order_stays() -> None:
    for browser, workers in ((True, 1), (False, 2)):
        items = cast("list[Any]", [Item(number, browser and number > 5) for number in range(9)])
        assert shared_out(items, workers) == items
