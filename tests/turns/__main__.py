"""Many runs, or one of them step by step.

python -m tests.turns                  10,000 runs on all cores; the last line says what came of them, and stderr how far it is
python -m tests.turns --seed 123       the run with that seed, told step by step
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.turns.play import play
from tests.turns.scene import Report

_CHUNK = 10
_TOLD_EVERY = 250
"""Runs after which a line says how far it is."""


def runs(first: int, count: int) -> list[Report]:
    logging.disable(logging.ERROR)
    return [play(seed) for seed in range(first, first + count)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.turns", description="whole turns, taken back")
    parser.add_argument("--seed", type=int, help="only this run, step by step")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    say = sys.stdout.write
    if options.seed is not None:
        report = play(options.seed, lambda line: void(say(line + "\n")))
        say(f"{report}\n")
        return bool(report.problems)
    wrong = done = refused = 0
    began = time.monotonic()
    starts = range(options.first, options.first + options.runs, _CHUNK)
    end = options.first + options.runs
    with ProcessPoolExecutor(options.jobs) as pool:
        for chunk in [pool.submit(runs, start, min(_CHUNK, end - start)) for start in starts]:
            for report in chunk.result():
                done += 1
                refused += report.refused
                if report.problems:
                    wrong += 1
                    say(f"{report}\n")
                    sys.stdout.flush()
                if done % _TOLD_EVERY == 0:
                    seconds = time.monotonic() - began
                    left = seconds / done * (options.runs - done)
                    sys.stderr.write(
                        f"{done} of {options.runs} turns, {wrong} wrong, {seconds / 60:.0f} min, {left / 60:.0f} min left\n"
                    )
    say(
        f"{options.runs} whole turns taken back, {wrong} not as they began; "
        f"in {refused} the command line refused a file and said so, and the review took it back\n"
    )
    return wrong > 0


def void(value: object) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
