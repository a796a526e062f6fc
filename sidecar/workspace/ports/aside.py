"""aside: pure work on texts, in a thread where they are large, so that everybody else goes on meanwhile.

The work must depend on its arguments only. Whoever awaits it must look again at what may have changed since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from sidecar import given_back

T = TypeVar("T")

LARGE = given_back.LARGE
"""Characters. To compare, journal and note fewer takes the loop a few milliseconds; to ask a thread costs as much as a few thousand."""


async def aside(size: int, work: Callable[[], T]) -> T:
    """What `work` returns. `size`: characters of the texts together."""
    if size <= LARGE:
        return work()
    given_back.soon(size)
    return await anyio.to_thread.run_sync(work)
