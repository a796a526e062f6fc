"""fuzz: many runs, or one of them step by step.

python -m tests.inflight.fuzz                  10,000 runs on all cores; the last line says what came of them
python -m tests.inflight.fuzz --seed 123 -v    the run with that seed, told step by step
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

from tests.inflight.run import Report, play

_CHUNK = 25


def runs(first: int, count: int) -> list[Report]:
    logging.disable(logging.WARNING)
    return [play(seed) for seed in range(first, first + count)]


def summary(reports: Iterable[Report]) -> str:
    """One line for all runs together."""
    reports = list(reports)
    answers: Counter[str] = Counter()
    for report in reports:
        answers += report.answers
    problems = [problem for report in reports for problem in report.problems]
    lost = sum(problem.characters for problem in problems)
    twice = sum(problem.kind == "twice" for problem in problems)
    others = sum(problem.kind not in ("lost", "twice") for problem in problems)
    words = [
        f"{len(reports)} runs",
        f"{lost} characters lost",
        f"{twice} writes applied twice",
        f"{others} other faults",
        f"{answers['conflict']} conflicts reported",
        f"{answers['conflict?']} doubtful",
        f"{answers['done']} of {answers.total()} writes done",
        f"{answers['outcome_unknown']} unanswered",
        f"{answers['editor_misapplied']} misapplied and told",
    ]
    return ", ".join(words)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.inflight.fuzz", description="many runs, or one of them step by step"
    )
    parser.add_argument("--seed", type=int, help="only this run")
    parser.add_argument("-v", "--verbose", action="store_true", help="with --seed: every step")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    say = sys.stdout.write
    logging.disable(logging.WARNING)  # what the habits make the mirror say
    if options.seed is not None:
        report = play(
            options.seed, (lambda line: void(say(line + "\n"))) if options.verbose else lambda line: None
        )
        say(f"{report}\n")
        return bool(report.problems)
    reports: list[Report] = []
    starts = range(options.first, options.first + options.runs, _CHUNK)
    end = options.first + options.runs
    with ProcessPoolExecutor(options.jobs) as pool:
        chunks = [pool.submit(runs, start, min(_CHUNK, end - start)) for start in starts]
        for chunk in chunks:
            for report in chunk.result():
                reports.append(report)
                if report.problems:
                    say(f"{report}\n")
    say(summary(reports) + "\n")
    return any(report.problems for report in reports)


def void(value: object) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
