"""`acp-sidecar sessions`: lists the recorded conversations of this folder. `--purge` deletes the records.

Agents keep histories of their own, which this command does not touch. Changes by agents are in the journal:
`acp-sidecar changes --purge`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from sidecar.core.escape import plain
from sidecar.records.about import About
from sidecar.records.folder import RecordFolder
from sidecar.recovery.changes_command import fail
from sidecar.recovery.files import is_below, shown


def run(arguments: argparse.Namespace, folder: RecordFolder | None = None) -> int:
    """Run the command and return its exit code."""
    if arguments.purge and arguments.json:
        return fail("sessions", "--purge and --json do not go together", 2)
    records = folder or RecordFolder()
    try:
        chosen = _chosen(records.abouts(), arguments)
        if isinstance(chosen, str):
            return fail("sessions", chosen)
        return _purge(records, chosen, arguments) if arguments.purge else _show(chosen, arguments)
    except OSError as error:
        return fail("sessions", f"the records of sessions cannot be read or deleted ({error.strerror})")


def _chosen(found: Sequence[About], arguments: argparse.Namespace) -> list[About] | str:
    """Return the selected sessions, or an error message."""
    if arguments.session is not None:
        named = [about for about in found if about.session_id.startswith(arguments.session)]
        exact = [about for about in named if about.session_id == arguments.session] or named
        if len(exact) == 1:
            return exact
        name = plain(arguments.session, 60)
        if exact:
            return f'"{name}" names {len(exact)} sessions; give more characters of the id'
        return f'there is no record of a session "{name}"; `acp-sidecar sessions --everywhere` lists them'
    here = os.path.realpath(os.getcwd())
    return [
        about
        for about in found
        if arguments.everywhere
        or os.path.realpath(about.cwd) == here
        or is_below(os.path.realpath(about.cwd), here)
    ]


def _show(chosen: Sequence[About], arguments: argparse.Namespace) -> int:
    if arguments.json:
        rows = [
            {
                "sessionId": about.session_id,
                "agent": about.agent,
                "cwd": about.cwd,
                "title": about.title,
                "createdAt": about.created,
                "updatedAt": about.updated,
                "turn": about.turn,
            }
            for about in chosen
        ]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    if not chosen:
        where = "" if arguments.everywhere else f" in {shown(os.path.realpath(os.getcwd()))}"
        sys.stdout.write(f"There is no record of a conversation{where}.\n")
        return 0
    for about in chosen:
        last = (about.updated or about.created)[:16].replace("T", " ")
        words = [
            about.session_id,
            last,
            plain(about.agent, 40),
            plain(shown(about.cwd), 200),
            plain(about.title, 80),
        ]
        sys.stdout.write("  ".join(word for word in words if word) + "\n")
    return 0


def _purge(records: RecordFolder, chosen: Sequence[About], arguments: argparse.Namespace) -> int:
    if not chosen:
        sys.stdout.write("There is nothing to delete.\n")
        return 0
    if not arguments.yes:
        if not sys.stdin.isatty():
            return fail("sessions", "--purge deletes for good; add --yes to do it without being asked", 2)
        what = (
            "The record of one conversation"
            if len(chosen) == 1
            else f"The records of {len(chosen)} conversations"
        )
        sys.stdout.write(f"{what} will be deleted. Delete? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            sys.stdout.write("Nothing was deleted.\n")
            return 1
    deleted = sum(records.delete(about.session_id) for about in chosen)
    sys.stdout.write(
        f"Records deleted: {deleted}. What agents changed is kept: `acp-sidecar changes --purge`.\n"
    )
    return 0
