"""python -m tests.hands vscode                      500 runs of 30 steps; the last line says what came of them
python -m tests.hands vscode --seed 123 -v        the run with that seed, told step by step
python -m tests.hands vscode --storm              keys and saves while others write the file, and little else
python -m tests.hands all                         full size in every editor, one after the other; the last lines are theirs
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.hands.batch import EDITORS, nothing, part, say
from tests.hands.report import Report, summary

EVERY = "all"
"""In the place of an editor: each of them."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hands", description="random people in real editors"
    )
    parser.add_argument("editor", choices=[*sorted(EDITORS), EVERY])
    parser.add_argument("--seed", type=int, help="only this run")
    parser.add_argument("-v", "--verbose", action="store_true", help="every step, and what is shown after it")
    parser.add_argument("--runs", type=int, help="how many; full size is the default")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1, help="editors side by side")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="in an editor, begins no run after so many"
    )
    parser.add_argument("--storm", action="store_true", help="keys and saves while others write the file")
    parser.add_argument(
        "--kept", type=Path, help="the folder for the stories of the runs in which something is wrong"
    )
    options = parser.parse_args(arguments)
    names = [*EDITORS] if options.editor == EVERY else [options.editor]
    sums: list[str] = []
    failed = False
    for name in names:
        began = time.time()
        reports = runs(name, options, began)
        sums.append(summary(reports) + f", {(time.time() - began) / 60:.1f} minutes")
        say(sums[-1])
        failed |= any(report.failed for report in reports)
    if len(sums) > 1:
        say("\n".join(["", *sums]))
    return failed


def runs(editor: str, options: argparse.Namespace, began: float) -> list[Report]:
    if options.seed is not None:
        only = range(options.seed, options.seed + 1)
        tell = say if options.verbose else nothing
        return part(editor, only, options.steps, tell=tell, storm=options.storm, kept=options.kept)
    last, end = options.first + (options.runs or EDITORS[editor]), began + options.minutes * 60
    shares = [range(options.first + number, last, options.jobs) for number in range(options.jobs)]
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        parts = [
            pool.submit(part, editor, share, options.steps, end, nothing, options.storm, options.kept)
            for share in shares
        ]
        return [report for done in parts for report in done.result()]


if __name__ == "__main__":
    sys.exit(main())
