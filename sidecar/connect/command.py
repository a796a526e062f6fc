"""The command: shows the change to a settings file as a diff, and makes it after a yes. The diff goes to stdout, messages to
stderr."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sidecar.bridge import UNSUPPORTED
from sidecar.connect.agents import AGENTS, ConnectableAgent, started
from sidecar.connect.edits import connected, disconnected, entry_in
from sidecar.connect.notes import Note, Notes
from sidecar.connect.settings_file import SettingsFailed, SettingsFile
from sidecar.core.escape import escape
from sidecar.mcp.guest_names import GUESTS
from sidecar.own_program import own_program

_Work = Callable[[argparse.Namespace, ConnectableAgent, SettingsFile], int]


def connect(arguments: argparse.Namespace) -> int:
    """Connect an agent. Returns 0 if it is connected, or with `--print`; 1 if it is not, and stderr says why."""
    return _guarded("connect", arguments, _connect)


def disconnect(arguments: argparse.Namespace) -> int:
    return _guarded("disconnect", arguments, _disconnect)


def _connect(arguments: argparse.Namespace, agent: ConnectableAgent, file: SettingsFile) -> int:
    text = file.read()
    entry = agent.entry([*command(sys.argv[0]), *started(arguments.agent)])
    there = entry_in(agent, arguments.agent, text or "")
    if there == entry:
        _say(f"{arguments.agent} is connected already, in {file.path}.")
        return 0
    notes = Notes()
    without = text if there is None else disconnected(agent, arguments.agent, text or "", notes.of(file.path))
    made = connected(agent, without, entry)
    note = made.note._replace(
        made_file=made.note.made_file or (there is not None and notes.of(file.path).made_file)
    )
    if not _agreed(arguments, file.path, text, made.text, f"Add this to {file.path}?"):
        return 0 if arguments.print else 1
    _note_and_replace(notes, file, note, made.text)
    name = GUESTS.get(arguments.agent)
    asks = (
        f'Your editor asks you before its first call; its changes are listed under "{name}". ' if name else ""
    )
    _say(
        f"{arguments.agent} is connected. {agent.then} {asks}acp-sidecar disconnect {_words(arguments)} removes this again."
    )
    return 0


def _disconnect(arguments: argparse.Namespace, agent: ConnectableAgent, file: SettingsFile) -> int:
    text = file.read()
    notes = Notes()
    if text is None or entry_in(agent, arguments.agent, text) is None:
        _say(f"{arguments.agent} is not connected: {file.path} has no entry of acp-sidecar.")
        return 0
    after = disconnected(agent, arguments.agent, text, notes.of(file.path))
    if not _agreed(arguments, file.path, text, after, f"Remove this from {file.path}?"):
        return 0 if arguments.print else 1
    file.replace(after)
    notes.write(file.path, None)
    _say(f"{arguments.agent} is disconnected. If it is running, restart it.")
    return 0


def _note_and_replace(notes: Notes, file: SettingsFile, note: Note, text: str) -> None:
    """Write the note first: a note without the file does no harm."""
    before = notes.of(file.path)
    notes.write(file.path, note)
    try:
        file.replace(text)
    except SettingsFailed:
        notes.write(file.path, before if before.piece else None)
        raise


def _guarded(name: str, arguments: argparse.Namespace, work: _Work) -> int:
    try:
        if UNSUPPORTED:
            raise SettingsFailed(UNSUPPORTED)
        agent = AGENTS[arguments.agent]
        return work(arguments, agent, _settings_of(agent, arguments))
    except SettingsFailed as failed:
        _say(f"acp-sidecar {name}: {escape(str(failed))}")
    except OSError as error:
        _say(f"acp-sidecar {name}: {escape(str(error.filename))} cannot be written ({error.strerror})")
    return 1


def _settings_of(agent: ConnectableAgent, arguments: argparse.Namespace) -> SettingsFile:
    if arguments.workspace:
        if not agent.workspace_file:
            raise SettingsFailed(
                f"{arguments.agent} is connected for all folders only; leave out --workspace"
            )
        return SettingsFile(Path.cwd(), agent.workspace_file)
    file = agent.file(os.environ, Path.home())
    return SettingsFile(file.parent, file.name)


def command(script: str) -> list[str]:
    """The command that starts `acp-sidecar` from any folder and with any PATH. `script`: `sys.argv[0]`."""
    path = os.path.abspath(script)
    if os.path.basename(path) == "acp-sidecar" and os.access(path, os.X_OK):
        return [path]
    return list(own_program())


def _agreed(
    arguments: argparse.Namespace, path: str, before: str | None, after: str | None, ask: str
) -> bool:
    sys.stdout.write(_diff(path, before, after))
    sys.stdout.flush()
    if arguments.print or arguments.yes:
        return not arguments.print
    if not sys.stdin.isatty():
        raise SettingsFailed("nobody can confirm this here; add --yes to do it without being asked")
    sys.stderr.write(f"{escape(ask)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    _say("Nothing was changed.")
    return False


def _diff(path: str, before: str | None, after: str | None) -> str:
    lines = difflib.unified_diff(
        _lines(before),
        _lines(after),
        "/dev/null" if before is None else escape(path),
        "/dev/null" if after is None else escape(path),
        lineterm="",
    )
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str | None) -> Sequence[str]:
    """The lines as they are shown, escaped: a file may contain sequences that a terminal would obey."""
    if not text:
        return []
    lines = ["\t".join(map(escape, line.rstrip("\r").split("\t"))) for line in text.split("\n")]
    return lines[:-1] if not lines[-1] else [*lines[:-1], lines[-1] + " \\ no line end after it"]


def _words(arguments: argparse.Namespace) -> str:
    return f"{arguments.agent} --workspace" if arguments.workspace else arguments.agent


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")
