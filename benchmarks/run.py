"""Runs the benchmarks that are named, or all; prints a table and keeps it in benchmarks/results.json.

    python -m benchmarks.run [--rounds N] [--list] [name …]

A run of some replaces their rows in the results and leaves the others. Peers that are not installed are named, loudly.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks._common import Case, Row, measure

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"


def names() -> list[str]:
    found = [module.name for module in pkgutil.iter_modules([str(HERE)]) if not module.ispkg]
    return sorted(name for name in found if name not in ("run", "__main__") and not name.startswith("_"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(names()))
    parser.add_argument("--rounds", type=int, default=5, help="medians of this many (default 5)")
    parser.add_argument("--list", action="store_true", help="say what there is and end")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(names()))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)} (there are: {', '.join(names())})")
    console = Console(width=None if sys.stdout.isatty() else 150)
    chosen: list[str] = arguments.names or names()
    missing: dict[str, str] = {}
    for name in chosen:
        module = importlib.import_module(f"benchmarks.{name}")
        title = (module.__doc__ or name).strip().splitlines()[0]
        if arguments.list:
            console.print(f"{name}: {title}", highlight=False)
            continue
        rows: list[Row] = []
        cases: Iterator[Case] = module.cases()
        for case in cases:
            console.print(f"{name}: {case.name} …", style="dim", highlight=False)
            rows += measure(name, case, arguments.rounds)
        missing |= {row.peer: row.missing for row in rows if row.missing}
        console.print(table(name, title, rows))
        keep(name, rows, arguments.rounds)
    for peer, why in sorted(missing.items()):
        console.print(f"PEER LEFT OUT: {peer}: {why}", style="bold yellow", highlight=False)


def table(name: str, title: str, rows: list[Row]) -> Table:
    shown = Table(title=f"{name}: {title}", title_justify="left", title_style="bold")
    for column in ("case", "peer", "target", "besides"):
        shown.add_column(column, overflow="fold")
    for column in ("ours", "peer's", "ratio"):
        shown.add_column(column, justify="right", no_wrap=True)
    shown.columns = [shown.columns[i] for i in (0, 4, 1, 5, 6, 2, 3)]
    before = ""
    for row in rows:
        first = row.case != before
        before = row.case
        digits = 0 if row.ratio is None or row.ratio >= 100 else 1 if row.ratio >= 2 else 2
        ratio = "" if row.ratio is None else f"{row.ratio:,.{digits}f} ×"
        shown.add_row(
            row.case if first else "",
            readable(row.ours_s, row.unit) if first else "",
            row.peer,
            "left out" if row.missing else "" if row.peer_s is None else readable(row.peer_s, row.unit),
            ratio,
            row.target if first else "",
            ", ".join([f"least {readable(row.least['ours'], row.unit)}", *_words(row)]) if first else "",
        )
    return shown


def _words(row: Row) -> list[str]:
    return [f"{key} {value}" for key, value in row.facts.items()]


def readable(amount: float, unit: str = "") -> str:
    """With three digits; without a unit it is seconds."""
    if unit:
        return f"{amount:.3g} {unit}"
    for part, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if amount >= scale:
            return f"{amount / scale:.3g} {part}"
    return f"{amount * 1e9:.3g} ns"


def keep(name: str, rows: list[Row], rounds: int) -> None:
    """Replaces the rows of one benchmark in the results: `[{bench, case, ours_s, peer, peer_s, ratio, least, facts, rounds, machine}]`."""
    results: list[dict[str, object]] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    measured_on = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }
    new = [{**row.as_json(), "rounds": rounds, "machine": measured_on} for row in rows]
    others = [row for row in results if row["bench"] != name]
    ordered = sorted([*others, *new], key=lambda row: str(row["bench"]))
    RESULTS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
