"""each_call: a run again and again, its sidecar killed half a call of the journal later each time: before it and after it.

Where the run would have been killed at random, that is done from there to the end of taking back. Where its sidecar was shut down, the next one is
killed, from its start on: while it finds out what the first has left, and while it takes that back.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from tests.turns import killed
from tests.turns.play import play
from tests.turns.scene import Report, ending_of


def at_each_call(seed: int, first: int = 1, step: int = 1) -> Iterator[Report]:
    """None where the sidecar of that run goes on to the end. `first`: of the moments, counted from 1; `step`: from each to the next."""
    if not ending_of(seed) or not killed.CAN:
        return
    for moment in count(first, step):
        report = play(seed, moment=moment)
        yield report
        if not report.in_the_middle:
            return
