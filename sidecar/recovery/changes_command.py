"""`acp-sidecar changes`: lists what agents changed in this folder, from the journal. `--purge` deletes those entries."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from sidecar.core.escape import plain
from sidecar.journal import Store
from sidecar.journal.entry import JournalFailed, Recorded
from sidecar.journal.selecting import Selection
from sidecar.recovery import cut_off
from sidecar.recovery.files import shown
from sidecar.recovery.unified import unified


def run(arguments: argparse.Namespace, store: Store | None = None) -> int:
    """Run the command and return its exit code."""
    with store or Store() as journal:
        try:
            return _Command(arguments, journal).run()
        except JournalFailed as failed:
            return fail("changes", f"{failed} (the journal is in {journal.folder})")
        finally:
            for notice in journal.notices:
                sys.stderr.write(f"{notice}\n")


def fail(command: str, words: str, code: int = 1) -> int:
    sys.stderr.write(f"acp-sidecar {command}: {words}\n")
    return code


class _Command:
    def __init__(self, arguments: argparse.Namespace, store: Store) -> None:
        self._arguments = arguments
        self._store = store
        self._folder = os.path.realpath(os.getcwd())

    def run(self) -> int:
        arguments, store = self._arguments, self._store
        if arguments.purge and arguments.json:
            return fail("changes", "--purge and --json do not go together", 2)
        if not store.exists:
            missing = next((word for word in arguments.paths if not os.path.lexists(word)), None)
            return self._show([], 0) if missing is None else fail("changes", _no_such(missing))
        for sentence in cut_off.settle(store):  # changes that a sidecar could not journal because it died
            sys.stderr.write(f"{sentence}\n")
        selection = self._selection()
        if isinstance(selection, str):
            return fail("changes", selection)
        if arguments.purge:
            return self._purge(selection)
        if not arguments.failed:
            selection = selection._replace(without=("failed",))
        total = store.count(selection)
        limit = arguments.limit or None
        return self._show(store.entries(selection._replace(limit=limit)), total)

    def _selection(self) -> Selection | str:
        """Return the selected writes, or an error message."""
        arguments = self._arguments
        selection = Selection()
        if arguments.session is not None:
            session = one_session(self._store, arguments.session)
            if isinstance(session, str):
                return session
            selection = selection._replace(session=session[0])
        ids, paths = list[str](), list[str]()
        for word in arguments.paths:
            named = [] if os.path.lexists(word) or os.sep in word else self._store.named(word)
            if len(named) > 1:
                return f'"{plain(word)}" names {len(named)} changes; give more characters of the id'
            if named:
                ids.append(named[0].id)
                continue
            path = os.path.realpath(word)
            # A file that no longer exists can have changes: an agent may have removed it
            if not os.path.lexists(word) and not self._store.count(Selection(paths=(path,))):
                return _no_such(word)
            paths.append(path)
        if ids and paths:
            return "give either ids or paths"
        if ids:
            return selection._replace(ids=tuple(ids))
        if not paths and not arguments.everywhere and arguments.session is None:
            paths = [self._folder]
        return selection._replace(paths=tuple(paths)) if paths else selection

    def _show(self, writes: Sequence[Recorded], total: int) -> int:
        arguments, store = self._arguments, self._store
        if arguments.json:
            sys.stdout.write(json.dumps([self._row(write) for write in writes], indent=2) + "\n")
            return 0
        from sidecar.recovery.present import Screen, turn_name  # importing rich takes 60 ms

        screen = Screen()
        if not writes:
            screen.say(f"The journal has no changes by agents{self._where()}.")
            return 0
        if arguments.diff:
            for write in reversed(writes):
                sign = plain(shown(write.path, self._folder), 400)
                try:
                    screen.diff(store.texts(write.id), f"{write.short}  {sign}  {plain(write.agent)}")
                except JournalFailed as failed:
                    screen.say(f"{write.short}  {sign}: {failed}", "red")
            return 0
        owners = {write.owner for write in writes if write.state == "intent"}
        running = [owner for owner in owners if store.is_running(owner)]
        screen.changes(writes, self._folder, running, time.time())
        screen.say("")
        if total > len(writes):
            screen.say(f"{total - len(writes)} earlier ones: --limit 0", "dim")
        newest = writes[0]
        screen.say(f"Look:       acp-sidecar changes --diff {newest.short}", "dim")
        screen.say(f"Take back:  acp-sidecar revert {newest.short}", "dim")
        if newest.session:
            screen.say(f"            acp-sidecar revert --turn {turn_name(newest)}", "dim")
        return 0

    def _where(self) -> str:
        """Return the requested places, as the end of a sentence."""
        arguments = self._arguments
        if arguments.paths:
            return f" in {', '.join(plain(shown(os.path.realpath(word))) for word in arguments.paths)}"
        return "" if arguments.everywhere or arguments.session else f" in {shown(self._folder)}"

    def _row(self, write: Recorded) -> dict[str, object]:
        row: dict[str, object] = {
            "id": write.id,
            "created": datetime.fromtimestamp(write.created, UTC).isoformat(timespec="milliseconds"),
            "agent": write.agent,
            "sessionId": write.session,
            "turn": write.turn,
            "toolCallId": write.tool_call,
            "root": write.root,
            "path": write.path,
            "kind": "create" if not write.existed else "edit" if write.exists else "remove",
            "added": write.added,
            "removed": write.removed,
            "via": write.via,
            "state": write.state,
        }
        if self._arguments.diff:
            row["diff"] = "\n".join(
                line.text if line.mark == "@" else line.mark + line.text
                for line in unified(*self._store.texts(write.id))
            )
        return row

    def _purge(self, selection: Selection) -> int:
        count = self._store.count(selection)
        whole = selection == Selection()
        if not count and not whole:
            self._store.purge(selection)  # data of turns that have ended, which nothing depends on
            sys.stdout.write("There is nothing to delete.\n")
            return 0
        if not self._arguments.yes:
            if not sys.stdin.isatty():
                return fail("changes", "--purge deletes for good; add --yes to do it without being asked", 2)
            what = "one change" if count == 1 else f"{count} changes"
            sys.stdout.write(
                f"{what} will be deleted from the journal and cannot be taken back afterwards. Delete? [y/N] "
            )
            sys.stdout.flush()
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                sys.stdout.write("Nothing was deleted.\n")
                return 1
        removed = self._store.purge(selection)
        sys.stdout.write(f"Deleted from the journal: {removed}.\n")
        return 0


def _no_such(word: str) -> str:
    return (
        f'"{plain(word)}" is not a file or folder, and the journal has no change with that name; '
        "`acp-sidecar changes --everywhere` lists all changes"
    )


def one_session(store: Store, name: str) -> tuple[str] | str:
    """Return the single session whose id starts with `name`, or an error message."""
    found = store.sessions_named(name)
    if len(found) == 1:
        return (found[0],)
    if found:
        return f'"{plain(name)}" names {len(found)} sessions; give more characters of the id'
    return (
        f'there is no session "{plain(name)}" in the journal; `acp-sidecar changes --everywhere` lists them'
    )
