"""Report: how one run ended, and the sums of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.hands.oracle import Fault, Problem

MUST_BE_ZERO: frozenset[Fault] = frozenset({"lost", "twice", "answer", "mirror", "hung"})


@dataclass(slots=True)
class Report:
    editor: str
    seed: int
    steps: int
    problems: list[Problem] = field(default_factory=list[Problem])
    typed: int = 0
    """Characters of the person's."""
    writes: int = 0
    """Of the agent's, through the client."""
    refused: int = 0
    said: str = ""
    storm: bool = False

    @property
    def failed(self) -> bool:
        return any(problem.fault in MUST_BE_ZERO for problem in self.problems)

    @property
    def hung(self) -> bool:
        """Whether it did not come to its end: what the editor does now, nobody knows."""
        return any(problem.fault == "hung" for problem in self.problems)

    def __str__(self) -> str:
        words = "; ".join(map(str, self.problems)) or "nothing wrong"
        again = f"make hands EDITOR={self.editor} SEED={self.seed} STEPS={self.steps}"
        again += " HANDS=--storm" * self.storm
        return f"seed {self.seed}: {words}" + (f"  ({again})" if self.problems else "")


def _sum(reports: Sequence[Report], fault: Fault) -> int:
    return sum(problem.count for report in reports for problem in report.problems if problem.fault == fault)


def summary(reports: Iterable[Report]) -> str:
    """One line for all runs together."""
    reports = list(reports)
    words = [
        f"{len(reports)} runs in {reports[0].editor}" if reports else "no runs",
        f"{_sum(reports, 'lost')} characters lost",
        f"{_sum(reports, 'twice')} writes applied twice",
        f"{_sum(reports, 'answer')} writes answered otherwise than done",
        f"{_sum(reports, 'mirror')} reads that say something else than the editor",
        f"{_sum(reports, 'hung')} runs that hung",
        f"{_sum(reports, 'author')} changes with the wrong author",
        f"{_sum(reports, 'not back')} files not brought back",
        f"{sum(report.typed for report in reports)} characters typed",
        f"{sum(report.writes for report in reports)} writes, {sum(report.refused for report in reports)} of them refused",
    ]
    return ", ".join(words)
