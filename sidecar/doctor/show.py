"""The doctor's report on a terminal or as JSON. The exit code is 1 if something does not work."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from sidecar.core.escape import escape
from sidecar.doctor import agents, editors, leftovers, machine, running, state
from sidecar.doctor.finding import Finding, Mark

_MARKS: dict[Mark, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "note": ("·", "cyan"),
    "warn": ("!", "yellow"),
    "fail": ("✗", "red"),
}


def findings() -> Iterator[Finding]:
    yield from machine.look()
    yield from state.look()
    yield from leftovers.look()
    yield from running.look()
    yield from agents.look()
    yield from editors.look()


def run(*, as_json: bool = False) -> int:
    found = list(findings())
    if as_json:
        json.dump([asdict(one) for one in found], sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        show(Console(highlight=False), found)
    return 1 if any(one.mark == "fail" for one in found) else 0


def show(console: Console, found: list[Finding]) -> None:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    area = ""
    for one in found:
        mark, colour = _MARKS[one.mark]
        if one.area != area and area:
            table.add_row()
        table.add_row(
            f"[bold]{one.area if one.area != area else ''}[/]", f"[{colour}]{mark}[/]", _plain(one.words)
        )
        if one.todo:
            table.add_row("", "", f"[dim]→ {_plain(one.todo)}[/]")
        area = one.area
    console.print(table)


def _plain(words: str) -> str:
    return escape(words).replace("[", "\\[")
