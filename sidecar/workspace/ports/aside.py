"""aside: runs pure work on texts, in a thread if they are large, so that the event loop is not blocked.

The work must depend only on its arguments. What it was given may be outdated when it is done: the caller must check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from sidecar import given_back

T = TypeVar("T")

LARGE = given_back.LARGE
"""Characters. Comparing, journalling and noting fewer takes the loop a few milliseconds; handing work to a thread costs
as much as a few thousand."""
ESCAPING = 16
"""How many times as long as other work on a text it takes to escape it for the user. Multiply the size by it."""


async def aside(size: int, work: Callable[[], T]) -> T:
    """Returns what `work` returns. `size`: characters of the texts together."""
    given_back.soon(size)
    if size <= LARGE:
        return work()
    return await anyio.to_thread.run_sync(work)
