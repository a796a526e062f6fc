"""Measures ours and its peers in turns, round by round, so that whatever else the machine does hits all of them alike."""

from __future__ import annotations

import gc
import importlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import ModuleType


class Amount(float):
    """What a run returns that measured itself, in the unit of its case."""


class Seconds(Amount):
    """A time per change of a burst, a latency inside another process."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer that cannot run here; `why` is printed and goes into the results."""

    why: str


Run = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table for every peer. `ours` and the peers do the same work on the same input."""

    name: str
    ours: Run
    peers: Mapping[str, Run | Missing] = field(default_factory=dict)
    target: str = ""
    """What PERFORMANCE asks for, in words: printed beside what was measured."""
    facts: Mapping[str, float | str] = field(default_factory=dict)
    """What else a reader wants to know: sizes of edits, CPU time. May be filled by the runs."""
    unit: str = ""
    """Of what the runs return; "" is seconds. Less is better in any."""


@dataclass(frozen=True, slots=True)
class Row:
    """Medians, in seconds unless there is a `unit`. `ratio` is the peer's through ours: above 1, ours is faster or smaller."""

    bench: str
    case: str
    ours_s: float
    peer: str
    peer_s: float | None
    ratio: float | None
    target: str = ""
    facts: Mapping[str, float | str] = field(default_factory=dict)
    missing: str = ""
    unit: str = ""
    least: Mapping[str, float] = field(default_factory=dict[str, float])
    """The best round of either side, where there were several: on a busy machine it says more than the median."""

    def as_json(self) -> dict[str, object]:
        fields = {name: value for name, value in asdict(self).items() if value not in ("", {})}
        if self.unit:
            fields["ours"], fields["peer's"] = fields.pop("ours_s"), fields.pop("peer_s")
        return fields


def have(module: str) -> ModuleType | Missing:
    """An optional package, or the reason why its peers are left out."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        return Missing(f"{error.name or module} is not installed")


def measure(bench: str, case: Case, rounds: int, patience: float = 20.0) -> list[Row]:
    """Medians of `rounds` rounds after one that warms up; a runner that has used `patience` seconds sits out the rest."""
    runners: dict[str, Run] = {"": case.ours}
    runners |= {name: peer for name, peer in case.peers.items() if not isinstance(peer, Missing)}
    times: dict[str, list[float]] = {name: [] for name in runners}
    for turn in range(rounds + 1):
        for name, run in runners.items():
            if sum(times[name]) < patience:
                taken = _once(run)
                if turn or taken > patience / rounds:
                    times[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    ours = medians[""]

    def row(peer: str, theirs: float | None, ratio: float | None, missing: str = "") -> Row:
        least = {"ours": min(times[""])} | ({"peer's": min(times[peer])} if peer in times and peer else {})
        return Row(
            bench, case.name, ours, peer, theirs, ratio, case.target, case.facts, missing, case.unit, least
        )

    rows: list[Row] = []
    for name, peer in case.peers.items():
        if isinstance(peer, Missing):
            rows.append(row(name, None, None, peer.why))
        else:
            theirs = medians[name]
            rows.append(row(name, theirs, theirs / ours))
    return rows or [row("", None, None)]


def _once(run: Run) -> float:
    gc.collect()
    start = time.perf_counter()
    result = run()
    taken = time.perf_counter() - start
    return float(result) if isinstance(result, Amount) else taken
