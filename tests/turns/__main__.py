"""Many runs, or one of them step by step (see the package). The last line says what came of them, and stderr how far it is."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.turns.each_call import at_each_call
from tests.turns.play import play
from tests.turns.scene import Report

_CHUNK = 10
_TOLD_EVERY = 250
"""Runs after which a line says how far it is."""


def runs(seeds: range, each_call: bool) -> list[list[Report]]:
    """Of each seed."""
    logging.disable(logging.ERROR)
    return [list(at_each_call(seed)) if each_call else [play(seed)] for seed in seeds]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.turns", description="whole turns, taken back")
    parser.add_argument("--seed", type=int, help="only this run, step by step")
    parser.add_argument(
        "--moment",
        type=int,
        help="with --seed: its sidecar is killed in that one, before or after a call of the journal",
    )
    parser.add_argument(
        "--each-call", action="store_true", help="kill before and after each call of the journal in turn"
    )
    parser.add_argument("--runs", type=int, default=10_000, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    say = sys.stdout.write
    if options.seed is not None:
        report = play(options.seed, lambda line: void(say(line + "\n")), options.moment)
        say(f"{report}\n")
        return bool(report.problems)
    wrong = done = played = refused = 0
    began = time.monotonic()
    end = options.first + options.runs
    chunk_size, told_every = (1, 5) if options.each_call else (_CHUNK, _TOLD_EVERY)
    starts = range(options.first, end, chunk_size)
    with ProcessPoolExecutor(options.jobs) as pool:
        chunks = [
            pool.submit(runs, range(start, min(start + chunk_size, end)), options.each_call)
            for start in starts
        ]
        for reports in (reports for chunk in chunks for reports in chunk.result()):
            done += 1
            played += len(reports)
            refused += sum(report.refused for report in reports)
            for report in reports:
                if report.problems:
                    wrong += 1
                    say(f"{report}\n")
                    sys.stdout.flush()
            if done % told_every == 0:
                seconds = time.monotonic() - began
                left = seconds / done * (options.runs - done)
                sys.stderr.write(
                    f"{done} of {options.runs} turns, {wrong} wrong, {seconds / 60:.0f} min, {left / 60:.0f} min left\n"
                )
    say(
        f"{played} whole turns taken back{', their sidecars killed before and after each call of the journal' if options.each_call else ''}, "
        f"{wrong} not as they began; in {refused} the command line refused a file and said so, and the review took it back\n"
    )
    return wrong > 0


def void(value: object) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
