"""Many runs, or one of them step by step.

python -m tests.turns                  10,000 runs on all cores; the last line says what came of them
python -m tests.turns --seed 123       the run with that seed, told step by step
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.turns.play import Report, play

_CHUNK = 10


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
    wrong = 0
    starts = range(options.first, options.first + options.runs, _CHUNK)
    end = options.first + options.runs
    with ProcessPoolExecutor(options.jobs) as pool:
        for chunk in [pool.submit(runs, start, min(_CHUNK, end - start)) for start in starts]:
            for report in chunk.result():
                if report.problems:
                    wrong += 1
                    say(f"{report}\n")
    say(f"{options.runs} whole turns taken back, {wrong} not as they began\n")
    return wrong > 0


def void(value: object) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
