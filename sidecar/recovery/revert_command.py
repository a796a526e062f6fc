"""`acp-sidecar revert`: reverts single changes, a turn or a session of an agent, and reports what it could not revert."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType

from sidecar.core.escape import plain
from sidecar.journal import Store
from sidecar.journal.entry import JournalFailed, Recorded
from sidecar.journal.selecting import Selection
from sidecar.recovery.changes_command import fail, one_session
from sidecar.recovery.live import Live
from sidecar.recovery.revert import RevertOutcome, new_session, revert
from sidecar.recovery.settle import settle

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""


def run(arguments: argparse.Namespace, store: Store | None = None, live: Live | None = None) -> int:
    """Run the command and return its exit code: 1 if something could not be reverted, 130 if it was stopped."""
    if sum(map(bool, (arguments.ids, arguments.turn, arguments.session))) != 1:
        return fail(
            "revert", "give either IDs, or --turn SESSION:N, or --session S (see `acp-sidecar changes`)", 2
        )
    with store or Store() as journal:
        try:
            if not journal.exists:
                return fail("revert", "the journal has no changes by agents")
            for sentence in settle(journal):
                sys.stderr.write(f"{sentence}\n")
            writes = _chosen(arguments, journal)
            if isinstance(writes, str):
                return fail("revert", writes)
            return _revert(journal, writes, live, dry_run=arguments.dry_run)
        except JournalFailed as failed:
            return fail("revert", f"{failed} (the journal is in {journal.folder})")
        finally:
            for notice in journal.notices:
                sys.stderr.write(f"{notice}\n")


def _chosen(arguments: argparse.Namespace, store: Store) -> list[Recorded] | str:
    """Return the writes to revert, or an error message."""
    if arguments.ids:
        return _by_id(arguments.ids, store)
    name, turn = arguments.session, None
    if arguments.turn:
        name, colon, number = arguments.turn.rpartition(":")
        if not colon or not number.isdecimal():
            return (
                f'"{plain(arguments.turn)}" is not a turn; write SESSION:N as `acp-sidecar changes` shows it'
            )
        turn = int(number)
    session = one_session(store, name)
    if isinstance(session, str):
        return session
    writes = store.entries(Selection(session=session[0], turn=turn))
    chosen = [write for write in writes if why_not(write, store) is None]
    if chosen:
        return chosen
    what = "this session" if turn is None else "this turn"
    return f"there is nothing to take back in {what}" + (" any more" if writes else "")


def _by_id(ids: Sequence[str], store: Store) -> list[Recorded] | str:
    chosen: dict[str, Recorded] = {}
    for name in ids:
        found = store.named(name)
        if not found:
            return f'there is no change "{plain(name)}" in the journal; `acp-sidecar changes` lists them'
        if len(found) > 1:
            return f'"{plain(name)}" names {len(found)} changes; give more characters of the id'
        why = why_not(found[0], store)
        if why is not None:
            return f"{found[0].short} {why}"
        chosen[found[0].id] = found[0]
    return list(chosen.values())


def why_not(write: Recorded, store: Store) -> str | None:
    """Return why the write cannot be taken back, as the end of a sentence for the user, or None if it can."""
    match write.state:
        case "failed":
            return "was never made"
        case "rejected" | "undone":
            return "was taken back already"
        case "intent" if store.is_running(write.owner):
            return "is just being written; try again in a moment"
        case _:
            return None


def _revert(store: Store, writes: Sequence[Recorded], live: Live | None, *, dry_run: bool) -> int:
    from sidecar.recovery.present import Screen  # importing rich takes 60 ms

    screen = Screen()
    folder = os.path.realpath(os.getcwd())
    session = new_session()
    results = list[RevertOutcome]()
    changed = False
    count = len({write.path for write in writes})
    with _interrupted() as stopped, screen.progress(count) as show:
        for result in revert(store, writes, session, dry_run=dry_run, live=live, stopped=stopped):
            screen.reverted(result, folder, dry_run=dry_run)
            if dry_run and result.texts is not None:
                screen.diff(result.texts)
            results.append(result.outcome)
            show(len(results))
            changed |= bool(
                not dry_run and not result.outcome.is_failure and result.outcome is not RevertOutcome.ALREADY
            )
    failures = sum(outcome.is_failure for outcome in results)
    if failures:
        screen.say("")
        screen.say(f"{failures} of {len(results)} files were not changed.", "red")
    if changed:
        screen.say("")
        screen.say(f"To restore it: acp-sidecar revert --session {session}", "dim")
    if len(results) < count:
        screen.say("")
        screen.say(
            f"Stopped: {count - len(results)} of {count} files were not begun, and are unchanged.",
            "red",
        )
        return INTERRUPTED
    return 1 if failures else 0


@contextmanager
def _interrupted() -> Generator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed. The work in progress is then finished; a second press ends the command as usual."""
    pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, before)

    if threading.current_thread() is not threading.main_thread():  # other threads cannot set signal handlers
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
