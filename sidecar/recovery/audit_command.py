"""`acp-sidecar audit`: shows what agents read, wrote, ran and asked, from the audit log, and where that log is."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from sidecar import audit
from sidecar.core.escape import plain
from sidecar.recovery.changes_command import fail
from sidecar.recovery.files import shown

Line = Mapping[str, object]


def run(arguments: argparse.Namespace, folder: Path | None = None) -> int:
    """Run the command and return its exit code."""
    folder = audit.default_folder() if folder is None else folder
    try:
        if arguments.path:
            sys.stdout.write("".join(f"{path}\n" for path in audit.files(folder)))
            if not audit.files(folder):
                sys.stderr.write(f"There is no audit log yet. It will be in {folder}\n")
            return 0
        found = deque(_chosen(audit.read_back(folder), arguments.session), arguments.limit or None)
    except OSError as error:
        return fail("audit", f"the audit log in {folder} cannot be read ({error.strerror})")
    if arguments.session is not None and not found:
        return fail(
            "audit",
            f'the audit log has no line of a session "{plain(arguments.session, 60)}"; '
            "`acp-sidecar audit --limit 0` shows all lines",
        )
    if arguments.json:
        sys.stdout.write("".join(f"{json.dumps(line)}\n" for line in found))
        return 0
    sys.stderr.write(f"The audit log is in {folder}\n")
    for line in found:
        sys.stdout.write(f"{_row(line)}\n")
    if not found:
        sys.stdout.write("Nothing is in it yet.\n")
    return 0


def _chosen(lines: Iterator[dict[str, object]], session: str | None) -> Iterator[dict[str, object]]:
    return (line for line in lines if session is None or str(line.get("session") or "").startswith(session))


def _row(line: Line) -> str:
    """Return one row: when, session, action, outcome, and the rest as name=value. All of it may come from an agent, so it is escaped."""
    rest = {name: value for name, value in line.items() if name not in _HEAD and value is not None}
    words = [
        _when(line.get("at")),
        plain(str(line.get("session") or "-")[:8]).ljust(8),
        plain(str(line.get("event") or "?"), 20).ljust(8),
        plain(str(line.get("outcome") or line.get("answer") or "-"), 40).ljust(8),
        *(_named(name, value) for name, value in rest.items()),
    ]
    return "  ".join(words).rstrip()


_HEAD = frozenset({"at", "pid", "session", "event", "outcome", "answer"})


def _named(name: str, value: object) -> str:
    if name == "path":
        return plain(shown(str(value), os.path.realpath(os.getcwd())), 400)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{plain(name, 40)}={plain(text, 400)}"


def _when(at: object) -> str:
    try:
        return (
            datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")
            if isinstance(at, int | float)
            else "-" * 19
        )
    except (ValueError, OverflowError, OSError):  # a time outside the calendar
        return "-" * 19
