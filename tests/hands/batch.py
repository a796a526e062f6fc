"""Batch: many runs in one editor, one after the other.

An editor that hangs or ends is a fault of that run, and the next run gets a new one.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Protocol, cast

from tests.hands.editor import Editor
from tests.hands.report import Report
from tests.hands.run import play

EDITORS = {"vscode": 500, **dict.fromkeys(("nvim-0.7", "nvim-0.11", "emacs-28", "emacs-30", "helix"), 2000)}
"""The editors, and how many runs count as full size. The part before the "-" is the module of the driver."""


class Driver(Protocol):
    def started(self, folder: Path, log: Path) -> AbstractContextManager[Editor]:
        """The editor, running, with the agent of `agent.py`, which writes to `log`; ended afterwards."""
        ...


def driver(name: str) -> Driver:
    kind, _, version = name.partition("-")
    module = importlib.import_module(f"tests.hands.{kind}")
    return cast(Driver, module.Version(name) if version else module)


Say = Callable[[str], None]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def nothing(line: str) -> None:
    pass


def part(
    editor: str,
    seeds: range,
    steps: int,
    end: float = float("inf"),
    tell: Say = nothing,
    storm: bool = False,
    kept: Path | None = None,
) -> list[Report]:
    """Runs in one editor, as many as begin before `end` (as `time.time` has it). What failed is said at once, and its story is written into the
    folder `kept`."""
    reports: list[Report] = []
    in_time = (seed for seed in seeds if time.time() < end)
    with tempfile.TemporaryDirectory(prefix="hands-", ignore_cleanup_errors=True) as name:
        for report in played(driver(editor), in_time, steps, Path(name), tell, storm=storm):
            reports.append(report)
            if report.problems and kept is not None:
                kept.mkdir(parents=True, exist_ok=True)
                (kept / f"{editor}-{report.seed}.txt").write_text(f"{report}\n{report.said}")
            if report.problems:
                say("\n".join([str(report), *([report.said] if report.failed else [])]))
    return reports


def played(
    driver: Driver,
    seeds: Iterable[int],
    steps: int,
    folder: Path,
    say: Callable[[str], None] = lambda line: None,
    *,
    storm: bool = False,
) -> Generator[Report]:
    """The runs with these seeds, each when it has ended. What they need is in `folder`."""
    left = iter(seeds)
    for number in itertools.count(1):
        first = next(left, None)
        if first is None:
            return
        home, log = folder / f"e{number}", folder / f"agent{number}.log"
        with ExitStack() as stack:
            editor = stack.enter_context(driver.started(home, log))
            for seed in itertools.chain([first], left):
                here = home / "ws" / f"run{seed}"
                here.mkdir(parents=True)
                report = play(editor, seed, steps, here, log, say, storm=storm)
                yield report
                if report.hung:
                    break
