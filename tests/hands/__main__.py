"""python -m tests.hands vscode                      500 runs of 30 steps; the last line says what came of them
python -m tests.hands vscode --seed 123 -v        the run with that seed, told step by step
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, cast

from tests.hands.editor import Editor
from tests.hands.report import Report, summary
from tests.hands.run import play
from tests.support.waiting import NeverHappened

EDITORS = {"vscode": 500, "nvim-0.7": 2000, "nvim-0.11": 2000}
"""The editors, and how many runs count as full size. The part before the "-" is the module of the driver."""


class Driver(Protocol):
    def started(self, folder: Path, log: Path) -> AbstractContextManager[Editor]:
        """The editor, running, with the agent of `agent.py`, which writes to `log`; ended afterwards."""
        ...


def driver(name: str) -> Driver:
    kind, _, version = name.partition("-")
    module = importlib.import_module(f"tests.hands.{kind}")
    return cast(Driver, module.Version(name) if version else module)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hands", description="random people in real editors"
    )
    parser.add_argument("editor", choices=sorted(EDITORS))
    parser.add_argument("--seed", type=int, help="only this run")
    parser.add_argument("-v", "--verbose", action="store_true", help="every step, and what is shown after it")
    parser.add_argument("--runs", type=int, help="how many; full size is the default")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args(arguments)
    say = sys.stdout.write
    seeds = range(options.first, options.first + (options.runs or EDITORS[options.editor]))
    reports: list[Report] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hands-", ignore_cleanup_errors=True) as name:
        folder, log = Path(name), Path(name) / "agent.log"
        with driver(options.editor).started(folder / "e", log) as editor:
            for seed in [options.seed] if options.seed is not None else seeds:
                here = folder / "e" / "ws" / f"run{seed}"
                here.mkdir(parents=True)

                def tell(line: str) -> None:
                    if options.verbose:
                        say(line + "\n")
                        sys.stdout.flush()

                try:
                    report = play(editor, seed, options.steps, here, log, tell)
                except (NeverHappened, OSError) as problem:
                    say(f"seed {seed}: {problem}\n")
                    raise
                reports.append(report)
                if report.problems:
                    say(f"{report}\n")
                    if report.failed:
                        say(report.said + "\n")
                    sys.stdout.flush()
    say(summary(reports) + f", {(time.monotonic() - began) / 60:.1f} minutes\n")
    return any(report.failed for report in reports)


if __name__ == "__main__":
    sys.exit(main())
